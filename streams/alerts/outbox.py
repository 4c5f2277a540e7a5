"""What waits for one sink, and what of it is to be sent now: order, retry, rate, digest, repeats.

Pure: it knows no clock, no chance and no network. Times are seconds of one clock that does not go back.

- Of a session, one delivery at a time, in their order; other sessions do not wait for it.
- A later delivery of an episode replaces an update that waits. In a chat the end also replaces the beginning.
- What is over the rate waits; in a chat, one digest a minute takes it along.
- Updates go when nothing else may, unless something else of their session waits for them.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from itertools import count
from typing import Final

from streams.alerts.pending_delivery import (
    AlertDeadLetter,
    DeliveryProgress,
    PartlyDelivered,
    PendingDelivery,
    together,
)
from streams.alerts.sinks.request import Delivered, Gone, Outcome, SinkRefused, TryAgain
from streams.alerts.sinks.sink import Chat, Delivery, DeliveryStep, Sink, Traits


class TokenBucket:
    """A token bucket. Time is an argument, in seconds of any clock that does not go back.

    >>> bucket = TokenBucket(per_second=1, burst=2, now=0)
    >>> [bucket.take(0), bucket.take(0), bucket.take(0), bucket.take(1)]
    [True, True, False, True]
    """

    def __init__(self, per_second: float, burst: int, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._tokens = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._fill(now)
        # Sums of parts of a second may miss a whole one by the last bit.
        if self._tokens < 1 - 1e-9:
            return False
        self._tokens = max(0.0, self._tokens - 1)
        return True

    def next_at(self, now: float) -> float:
        """Return when there is a token."""
        self._fill(now)
        return now + max(0.0, 1 - self._tokens) / self._per_second

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._per_second)
        self._at = max(self._at, now)


_Places = list[tuple[float, int, PendingDelivery]]


class Schedule:
    """Each `PendingDelivery` has one place: if it is put there again, the place before is of no use.

    >>> from streams.alerts.sinks.sink import Digest
    >>> urgent, patient = PendingDelivery(Digest(()), due=5.0), PendingDelivery(Digest(()), due=1.0)
    >>> schedule = Schedule()
    >>> schedule.put(patient, is_urgent=False)
    >>> schedule.put(urgent, is_urgent=True)
    >>> schedule.first(1.0) is patient, schedule.first(5.0) is urgent
    (True, True)
    >>> schedule.remove(urgent)
    >>> schedule.first(5.0) is patient
    True
    """

    def __init__(self) -> None:
        self._urgent: Final[_Places] = []
        self._patient: Final[_Places] = []
        self._numbers = count(1)

    def put(self, waiting: PendingDelivery, *, is_urgent: bool) -> None:
        """Let it be due at its time."""
        waiting.place = next(self._numbers)
        heapq.heappush(self._urgent if is_urgent else self._patient, (waiting.due, waiting.place, waiting))

    def remove(self, waiting: PendingDelivery) -> None:
        """Take it out: it is sent, or is wanted no more."""
        waiting.place = 0

    def first(self, now: float) -> PendingDelivery | None:
        """Return what goes first of all that is due, None if nothing is."""
        return next((each for each in self.heads() if each.due <= now), None)

    def heads(self) -> list[PendingDelivery]:
        """Return what is due next of what is urgent, and of the rest."""
        return [places[0][2] for places in (self._urgent, self._patient) if _tidied(places)]


def _tidied(places: _Places) -> _Places:
    """Drop places that are of no use from the front."""
    while places and places[0][2].place != places[0][1]:
        heapq.heappop(places)
    return places


_FOR_LIFE: Final = -1


class Repeats:
    """The repeats of one sink, one for each episode.

    Args:
        traits: How often it wants them.
    """

    def __init__(self, traits: Traits) -> None:
        self._every_s = traits.refresh_s
        self._ends = traits.resolves - 1
        self._found: dict[tuple[str, str], PendingDelivery] = {}

    def __len__(self) -> int:
        """Return how many episodes are repeated."""
        return len(self._found)

    def begin(self, delivery: Delivery, now: float, *, at_once: bool = False) -> PendingDelivery | None:
        """Repeat a delivery from now on; return what is to be sent when it is due, None if nothing is."""
        if self._every_s is None or delivery.step is DeliveryStep.NOTICE:
            return None
        left = self._ends if delivery.step is DeliveryStep.RESOLVE else _FOR_LIFE
        if not left:
            self._found.pop(_key(delivery), None)
            return None
        # A repeat replaces nothing: its level is the one that was told last.
        settled = delivery._replace(reference=delivery.reference._replace(before=delivery.alert.level))
        due = now if at_once else now + self._every_s
        self._found[_key(delivery)] = repeat = PendingDelivery(settled, due=due, repeats=left)
        return repeat

    def is_current(self, repeat: PendingDelivery) -> bool:
        """Tell whether a repeat still holds: a later step of the episode replaces it."""
        return self._found.get(_key(repeat.first)) is repeat

    def settle(self, repeat: PendingDelivery, outcome: Outcome, now: float) -> bool:
        """Take note of what became of a repeat; return whether it is to be sent again when it is due."""
        repeat.in_flight = False
        repeat.arrived = 0
        if not self.is_current(repeat):
            return False
        if isinstance(outcome, Delivered) and repeat.repeats is not None and repeat.repeats > 0:
            repeat.repeats -= 1
        if repeat.repeats == 0 or isinstance(outcome, Gone | SinkRefused):
            del self._found[_key(repeat.first)]
            return False
        self.defer(repeat, now)
        return True

    def defer(self, repeat: PendingDelivery, now: float) -> None:
        """Let a repeat be due again later."""
        repeat.due = now + (self._every_s or 0.0)

    def stop(self, partition: int) -> None:
        """Repeat no more of a partition."""
        self._found = {
            key: each for key, each in self._found.items() if each.first.alert.partition != partition
        }

    def forget(self, session_ids: frozenset[str]) -> None:
        """Repeat no more of some sessions: nothing was heard of them for long."""
        self._found = {key: each for key, each in self._found.items() if key[0] not in session_ids}


def _key(delivery: Delivery) -> tuple[str, str]:
    return delivery.alert.session_id, delivery.alert.key


FIRST_S: Final = 1.0
LONGEST_S: Final = 300.0
GIVE_UP_S: Final = 86_400.0
"""A receiver may be away for a day."""

_SHORTEST_S: Final = 0.1


def wait_s(tries: int, chance: float) -> float:
    """Return how long to wait after so many tries.

    It is "full jitter": any time up to a limit that doubles, so that those who wait do not return together.

    Args:
        tries: Tries that have failed, at least 1.
        chance: 0 to 1, at random.

    >>> wait_s(1, 0.5), wait_s(4, 1.0), wait_s(100, 1.0)
    (0.5, 8.0, 300.0)
    """
    limit = min(LONGEST_S, FIRST_S * 2.0 ** min(tries - 1, 20))
    return max(_SHORTEST_S, limit * chance)


RESULTS: Final = ("delivered", "digested", "replaced", "unwanted", "retried", "repeated", "dead")
"""What can become of a delivery."""

DIGEST_S: Final = 60.0
"""How long a digest gathers."""


class Outbox:
    """Serves one sink.

    Args:
        sink: Where its alerts are sent.
        now: Time of the call, in seconds.

    Attributes:
        counts: What became of deliveries, by one of `RESULTS`.
        gone: Why the sink wants nothing any more; None while it does.
    """

    def __init__(self, sink: Sink, now: float) -> None:
        self._sink = sink
        self._is_chat = isinstance(sink, Chat)
        self._bucket = TokenBucket(sink.traits.per_second, sink.traits.burst, now)
        self._repeats = Repeats(sink.traits)
        self._progress: dict[int, DeliveryProgress] = {}
        self._queues: dict[str, deque[PendingDelivery]] = {}
        self._due = Schedule()
        self._digest: list[PendingDelivery] = []
        self._digest_at = 0.0
        self._repeating: set[str] = set()
        #: Repeats that wait until all that the sink had before the start was read again.
        self._held: list[PendingDelivery] = []
        self._paused_until = 0.0
        self.counts: Counter[str] = Counter()
        self.gone: Gone | None = None

    # -- partitions

    def start(
        self,
        partition: int,
        offset: int,
        open_now: Iterable[Delivery],
        now: float,
        beyond: PartlyDelivered | None = None,
    ) -> None:
        """Serve a partition.

        Args:
            partition: A partition of `session-alerts`.
            offset: What is before it was delivered.
            open_now: Episodes that were open where the reading begins: a sink that is told again and again
                hears of those that are still open behind all that it had.
            now: Time of the call, in seconds.
            beyond: What behind the offset was delivered, too.
        """
        self._progress[partition] = DeliveryProgress(offset, beyond)
        for delivery in open_now:
            self._repeat(delivery, now, at_once=True)

    def stop(self, partition: int) -> None:
        """Forget a partition: another notifier serves it from its mark on."""
        self._progress.pop(partition, None)
        self._repeats.stop(partition)
        for session_id in [id_ for id_, queue in self._queues.items() if _partition(queue[0]) == partition]:
            del self._queues[session_id]
        self._digest = [each for each in self._digest if _partition(each) != partition]
        self._held = [each for each in self._held if _partition(each) != partition]

    def mark(self, partition: int) -> int:
        """Return the offset before which nothing waits."""
        return self._progress[partition].mark

    def beyond(self, partition: int) -> PartlyDelivered | None:
        """Return what was delivered beyond the mark, None if nothing was."""
        return self._progress[partition].beyond()

    def read_to(self, partition: int, offset: int) -> None:
        """Note how far the partition was read."""
        self._progress[partition].read_to(offset)
        if self._held and self._progress[partition].is_caught_up:
            for each in self._held:
                if _partition(each) == partition and self._repeats.is_current(each):
                    self._schedule(each)
            self._held = [each for each in self._held if _partition(each) != partition]

    def forget(self, session_ids: frozenset[str]) -> None:
        """Repeat no more of some sessions: nothing was heard of them for long."""
        self._repeats.forget(session_ids)

    @property
    def waiting(self) -> int:
        """How many deliveries wait or are being sent."""
        return sum(map(len, self._queues.values()))

    # -- what comes in

    def add(self, delivery: Delivery, now: float) -> None:
        """Take a delivery in. What is before the start of its partition was delivered before."""
        place = delivery.alert.partition, delivery.alert.offset
        progress = self._progress[place[0]]
        if progress.is_behind(place[1]):
            self._repeat(delivery, now, at_once=True)
            return
        progress.begin(place[1])
        if not self._sink.wants(delivery):
            self.counts["unwanted"] += 1
            progress.end(place[1])
            return
        queue = self._queues.setdefault(delivery.alert.session_id, deque())
        new = PendingDelivery(delivery, [place], due=now)
        while queue and self._replaces(delivery, queue[-1]):
            self._replace(queue.pop(), new)
        queue.append(new)
        # What comes behind an update makes it urgent.
        if not queue[0].in_flight and not queue[0].in_digest:
            self._schedule(queue[0])

    def _replaces(self, new: Delivery, old: PendingDelivery) -> bool:
        before = old.first
        if old.in_flight or old.arrived or before.alert.key != new.alert.key:
            return False
        if before.step is DeliveryStep.UPDATE:
            return new.step in {DeliveryStep.UPDATE, DeliveryStep.RESOLVE}
        return self._is_chat and before.step is DeliveryStep.TRIGGER and new.step is DeliveryStep.RESOLVE

    def _replace(self, old: PendingDelivery, new: PendingDelivery) -> None:
        self.counts["replaced"] += 1
        new.inherit(old)
        if old.in_digest:
            new.in_digest = True
            self._digest[self._digest.index(old)] = new

    # -- what goes out

    def next(self, now: float, room: int) -> list[PendingDelivery]:
        """Return what to send now, at most ``room``; each is to be settled."""
        found: list[PendingDelivery] = []
        while len(found) < room and now >= self._paused_until:
            # A digest that is due goes first: changes of messages may come faster than they may leave.
            if self._digest and now >= self._digest_at and self._bucket.take(now):
                gathered, self._digest = self._digest, []
                found.append(self._sent(together(gathered)))
            elif (first := self._due.first(now)) is None:
                break
            elif not self._may_go(first):
                self._put_off(first, now)
            elif self._bucket.take(now):
                self._due.remove(first)
                found.append(self._sent(first))
            elif self._gathers(first):
                self._due.remove(first)
                self._gather(first, now)
            else:
                break
        return found

    def wake_at(self, now: float) -> float | None:
        """Return when `next` may have something, None if nothing waits."""
        times = []
        for first in self._due.heads():
            free = now if self._gathers(first) else self._bucket.next_at(now)
            times.append(max(first.due, free))
        if self._digest:
            times.append(max(self._digest_at, self._bucket.next_at(now)))
        return max(self._paused_until, min(times)) if times else None

    def settle(
        self, sent: PendingDelivery, outcome: Outcome, now: float, chance: float
    ) -> list[AlertDeadLetter]:
        """Take note of what became of something that was sent.

        What it returns has to be written as dead letters, and ``sent`` then to be given to `finish`.

        Args:
            sent: What `next` has returned.
            outcome: What became of it.
            now: Time of the call, in seconds.
            chance: 0 to 1, at random.
        """
        if sent.repeats is not None:
            self._settle_repeat(sent, outcome, now)
            return []
        match outcome:
            case Delivered():
                self.counts["digested" if sent.parts else "delivered"] += len(sent.deliveries)
                self.finish(sent, now)
                return []
            case TryAgain(why, after_s):
                sent.tries += 1
                sent.first_s = now if sent.first_s is None else sent.first_s
                if now - sent.first_s >= GIVE_UP_S:
                    return self._dead(sent, f"given up after {sent.tries} tries: {why}", 0, b"")
                self.counts["retried"] += 1
                if after_s is not None:
                    self._paused_until = max(self._paused_until, now + after_s)
                sent.in_flight = False
                sent.due = now + max(after_s or 0.0, wait_s(sent.tries, chance))
                self._schedule(sent)
                return []
            case Gone(why, status, body):
                self.gone = outcome
                return self._dead(sent, why, status, body)
            case SinkRefused(why, status, body):
                return self._dead(sent, why, status, body)

    def finish(self, sent: PendingDelivery, now: float) -> None:
        """Let the sessions go on of what was delivered, or has become a dead letter."""
        for part in sent.parts or (sent,):
            if not self._is_head(part):
                continue  # its partition has another owner
            for partition, offset in part.covered:
                self._progress[partition].end(offset)
            queue = self._queues[part.session_id]
            queue.popleft()
            if queue:
                queue[0].due = max(now, queue[0].due)
                self._schedule(queue[0])
            else:
                del self._queues[part.session_id]
            self._repeat(part.first, now)

    def _dead(self, sent: PendingDelivery, why: str, status: int, body: bytes) -> list[AlertDeadLetter]:
        self.counts["dead"] += len(sent.deliveries)
        return [AlertDeadLetter(delivery, why, status, body) for delivery in sent.deliveries]

    def _schedule(self, waiting: PendingDelivery) -> None:
        behind = self._queues.get(waiting.session_id, ())
        is_urgent = waiting.repeats is not None or any(
            each.first.step is not DeliveryStep.UPDATE for each in (waiting, *waiting.parts, *behind)
        )
        self._due.put(waiting, is_urgent=is_urgent)

    def _sent(self, waiting: PendingDelivery) -> PendingDelivery:
        for each in (waiting, *waiting.parts):
            each.in_flight = True
        if waiting.repeats is not None:
            self._repeating.add(waiting.session_id)
        return waiting

    def _may_go(self, found: PendingDelivery) -> bool:
        """Tell whether what is due is still wanted, and nothing of its session is on the way."""
        if found.in_flight or found.in_digest or found.session_id in self._repeating:
            return False
        if found.repeats is None:
            return self._is_current(found)
        # Sent now, an old state could arrive behind a new one.
        return self._repeats.is_current(found) and found.session_id not in self._queues

    def _put_off(self, found: PendingDelivery, now: float) -> None:
        """Let a repeat wait for its next turn. The end of a repeat schedules what else waits for it."""
        self._due.remove(found)
        if found.repeats is not None and not found.in_flight and self._repeats.is_current(found):
            self._repeats.defer(found, now)
            self._schedule(found)

    def _is_current(self, found: PendingDelivery) -> bool:
        return any(self._is_head(part) for part in found.parts or (found,))

    def _is_head(self, waiting: PendingDelivery) -> bool:
        queue = self._queues.get(waiting.session_id)
        return queue is not None and queue[0] is waiting

    # -- digests

    def _gathers(self, found: PendingDelivery) -> bool:
        """Tell whether a digest takes it along, where there is no room for a message of its own."""
        plain = found.repeats is None and not found.parts and not found.tries
        return self._is_chat and plain and found.first.step is not DeliveryStep.UPDATE

    def _gather(self, found: PendingDelivery, now: float) -> None:
        if not self._digest:
            self._digest_at = now + DIGEST_S
        found.in_digest = True
        self._digest.append(found)

    # -- repeats

    def _repeat(self, delivery: Delivery, now: float, *, at_once: bool = False) -> None:
        if (repeat := self._repeats.begin(delivery, now, at_once=at_once)) is None:
            return
        if self._progress[_partition(repeat)].is_caught_up:
            self._schedule(repeat)
        else:
            self._held.append(repeat)

    def _settle_repeat(self, sent: PendingDelivery, outcome: Outcome, now: float) -> None:
        self.counts["repeated"] += isinstance(outcome, Delivered)
        self._repeating.discard(sent.session_id)
        if self._repeats.settle(sent, outcome, now):
            self._schedule(sent)
        if (queue := self._queues.get(sent.session_id)) and not queue[0].in_flight:
            self._schedule(queue[0])


def _partition(waiting: PendingDelivery) -> int:
    return waiting.first.alert.partition
