"""Order, retry, supersede, rate, digest and repeats of one sink."""

from streams.alerts.episodes import Episodes
from streams.alerts.outbox import DIGEST_S, GIVE_UP_S, LONGEST_S, Outbox
from streams.alerts.pending_delivery import PartlyDelivered
from streams.alerts.sinks.request import Gone, SinkRefused, TryAgain
from streams.alerts.sinks.sink import Alert, Digest, Sink, Traits
from tests.unit.alerts.receivers import ChatReceiver, Receiver, sent, settle_all, steps
from tests.unit.alerts.sinks.alerts import NOW_MS, alert

LATER = TryAgain("HTTP 503")
END = 1_000


def opened(sink: Sink, start: int = 0) -> tuple[Outbox, Episodes]:
    outbox = Outbox(sink, 0.0)
    outbox.start(0, start, (), 0.0)
    return outbox, Episodes()


def add(outbox: Outbox, episodes: Episodes, *alerts: Alert, now: float = 0.0) -> None:
    for each in alerts:
        delivery = episodes.take(each, NOW_MS)
        assert delivery is not None
        outbox.add(delivery, now)


def test_a_session_waits_for_its_own_and_for_no_other() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert(), alert("recovered", 9), alert("opened", 10, session="s-2"))
    first = sent(outbox, 0)
    assert steps(first) == [("s-1", "trigger"), ("s-2", "trigger")]
    assert sent(outbox, 0) == []
    settle_all(outbox, first)
    assert steps(sent(outbox, 0)) == [("s-1", "resolve")]


def test_the_mark_stands_before_what_is_not_delivered() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert(), alert("opened", 8, session="s-2"))
    outbox.read_to(0, END)
    one, two = sent(outbox, 0)
    settle_all(outbox, [two])
    assert outbox.mark(0) == 6
    settle_all(outbox, [one])
    assert outbox.mark(0) == END


def test_what_was_delivered_behind_one_that_waits_is_not_delivered_again_after_a_restart() -> None:
    outbox, episodes = opened(Receiver())
    alerts = [alert("opened", offset, session=f"s-{offset}") for offset in (6, 8, 9)]
    add(outbox, episodes, *alerts)
    outbox.read_to(0, END)
    one, *others = sent(outbox, 0)
    settle_all(outbox, [one], LATER)
    settle_all(outbox, others)
    mark, beyond = outbox.mark(0), outbox.beyond(0)
    assert (mark, beyond) == (6, PartlyDelivered(END, (6,)))
    again, episodes = Outbox(Receiver(), 0.0), Episodes()
    again.start(0, mark, (), 0.0, beyond)
    add(again, episodes, *alerts, alert("opened", END, session="s-1"))
    assert steps(sent(again, 0)) == [("s-6", "trigger"), ("s-1", "trigger")]
    assert again.mark(0) == 6


def test_what_fails_is_tried_again_under_the_same_id_for_a_day() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert())
    now, tries, ids = 0.0, 0, set()
    while now < GIVE_UP_S:
        [waiting] = sent(outbox, now)
        ids.add(waiting.what.id)
        assert settle_all(outbox, [waiting], LATER, now) == []
        tries += 1
        wake_at = outbox.wake_at(now)
        assert wake_at is not None
        assert now < wake_at <= now + LONGEST_S
        now = wake_at
    [letter] = settle_all(outbox, sent(outbox, now), LATER, now)
    assert letter.why == f"given up after {tries + 1} tries: HTTP 503"
    assert len(ids) == 1
    assert outbox.waiting == 0


def test_what_is_refused_is_a_dead_letter_at_once_and_the_session_goes_on() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert(), alert("recovered", 9))
    [letter] = settle_all(outbox, sent(outbox, 0), SinkRefused("HTTP 400", 400, b"no"))
    assert (letter.status, letter.body, letter.delivery.id) == (400, b"no", "s-1/0/6/loop_episode/opened")
    assert steps(sent(outbox, 0)) == [("s-1", "resolve")]


def test_a_receiver_may_ask_all_to_wait() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0), TryAgain("HTTP 429", 30.0))
    add(outbox, episodes, alert(session="s-2"), now=1.0)
    assert sent(outbox, 29) == []
    assert outbox.wake_at(1) == 30
    assert steps(sent(outbox, 30)) == [("s-2", "trigger"), ("s-1", "trigger")]


def test_a_newer_update_replaces_one_that_waits_and_keeps_its_age() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0))
    add(outbox, episodes, alert("still_open", 16))
    settle_all(outbox, sent(outbox, 0), LATER)
    add(outbox, episodes, alert("still_open", 26), now=0.5)
    assert sent(outbox, 0.9) == []
    [waiting] = sent(outbox, 1.0)
    assert waiting.what.id == "s-1/0/26/loop_episode/still_open"
    assert waiting.tries == 1
    settle_all(outbox, [waiting])
    outbox.read_to(0, END)
    assert outbox.mark(0) == END
    assert outbox.counts["replaced"] == 1


def test_a_pager_gets_the_beginning_and_the_end_of_what_it_missed() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0), LATER)
    add(outbox, episodes, alert("still_open", 16), alert("recovered", 24))
    first = sent(outbox, 1)
    settle_all(outbox, first)
    assert steps(first + sent(outbox, 1)) == [("s-1", "trigger"), ("s-1", "resolve")]


def test_a_chat_gets_the_end_alone() -> None:
    outbox, episodes = opened(ChatReceiver())
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0), LATER)
    add(outbox, episodes, alert("recovered", 24))
    found = sent(outbox, 1)
    assert steps(found) == [("s-1", "resolve")]
    settle_all(outbox, found)
    outbox.read_to(0, END)
    assert outbox.mark(0) == END


def test_what_is_on_the_way_is_not_replaced() -> None:
    outbox, episodes = opened(ChatReceiver())
    add(outbox, episodes, alert())
    first = sent(outbox, 0)
    add(outbox, episodes, alert("recovered", 24))
    settle_all(outbox, first, LATER)
    assert steps(sent(outbox, 1)) == [("s-1", "trigger")]


def test_a_pager_is_told_no_faster_than_it_takes_and_of_everything() -> None:
    outbox, episodes = opened(Receiver(Traits(per_second=2, burst=3)))
    add(outbox, episodes, *(alert(offset=number, session=f"s-{number}") for number in range(9)))
    found, now = [], 0.0
    for _ in range(4):
        found.append(len(batch := sent(outbox, now)))
        settle_all(outbox, batch, now=now)
        now += 1
    assert found == [3, 2, 2, 2]


def test_a_chat_gets_a_digest_a_minute_of_what_is_too_much() -> None:
    outbox, episodes = opened(ChatReceiver(Traits(per_second=1, burst=3)))
    add(outbox, episodes, *(alert(offset=number, session=f"s-{number}") for number in range(15)))
    outbox.read_to(0, END)
    settle_all(outbox, sent(outbox, 0))
    assert sent(outbox, DIGEST_S - 1) == []
    assert outbox.mark(0) == 3
    [digest] = sent(outbox, DIGEST_S)
    assert isinstance(digest.what, Digest)
    assert len(digest.what.deliveries) == 12
    settle_all(outbox, [digest], LATER, DIGEST_S)
    assert outbox.mark(0) == 3
    [again] = sent(outbox, DIGEST_S + 1)
    assert again.what.id == digest.what.id
    settle_all(outbox, [again], now=DIGEST_S + 1)
    assert outbox.mark(0) == END
    assert outbox.counts == {"delivered": 3, "retried": 1, "digested": 12}


def test_changes_of_messages_never_hold_a_digest_back() -> None:
    """Loops that go on change their messages faster than the chat takes changes."""
    outbox, episodes = opened(ChatReceiver(Traits(per_second=1, burst=1)))
    open_now = [f"s-{number}" for number in range(3, 103)]
    add(outbox, episodes, *(alert(session=each) for each in open_now))
    settle_all(outbox, sent(outbox, 0))
    settle_all(outbox, sent(outbox, DIGEST_S), now=DIGEST_S)
    add(outbox, episodes, alert("opened", 7, session="new"), now=DIGEST_S)
    assert sent(outbox, DIGEST_S) == []
    told: list[str] = []
    for second in range(1, 122):
        now, offset = DIGEST_S + second, 100 * second
        updates = [alert("still_open", offset + n, session=each) for n, each in enumerate(open_now)]
        add(outbox, episodes, *updates, now=now)
        found = sent(outbox, now)
        told += [session for session, _ in steps(found)]
        settle_all(outbox, found, now=now)
    assert "new" in told
    assert len(told) == 121


def slow_chat(*already_told: str) -> tuple[Outbox, Episodes]:
    """Return a chat that takes a message a second, and has one about each of some sessions."""
    outbox, episodes = opened(ChatReceiver(Traits(per_second=1, burst=1)))
    for now, session in enumerate(already_told):
        add(outbox, episodes, alert(session=session, offset=now), now=now)
        settle_all(outbox, sent(outbox, now), now=now)
    return outbox, episodes


def told(outbox: Outbox, *moments: int) -> list[tuple[str, str]]:
    """Return what is told at these moments, each delivery settled at once."""
    found = []
    for now in moments:
        found += steps(batch := sent(outbox, now))
        settle_all(outbox, batch, now=now)
    return found


def test_who_begins_to_loop_is_told_before_messages_are_changed() -> None:
    outbox, episodes = slow_chat("s-1", "s-2")
    updates = [alert("still_open", 16, session="s-1"), alert("still_open", 17, session="s-2")]
    add(outbox, episodes, *updates, now=5)
    add(outbox, episodes, alert("opened", 18, session="s-3"), now=5)
    assert told(outbox, 5, 6, 7) == [("s-3", "trigger"), ("s-1", "update"), ("s-2", "update")]


def test_an_update_does_not_keep_what_follows_it_in_its_session_waiting() -> None:
    """A chat is told of a loop that got worse, though others go on looping all the time."""
    outbox, episodes = slow_chat("s-1", "s-2")
    updates = [alert("still_open", 16, session="s-2"), alert("still_open", 17, session="s-1")]
    add(outbox, episodes, *updates, alert("escalated", 18, session="s-1"), now=5)
    assert told(outbox, 5, 6, 7) == [("s-1", "update"), ("s-1", "trigger"), ("s-2", "update")]


def test_an_end_takes_the_place_of_its_beginning_in_a_digest() -> None:
    outbox, episodes = opened(ChatReceiver(Traits(per_second=1, burst=1)))
    add(outbox, episodes, alert(), alert("opened", 7, session="s-2"), alert("opened", 8, session="s-3"))
    settle_all(outbox, sent(outbox, 0))
    add(outbox, episodes, alert("recovered", 20, session="s-2"))
    [digest] = sent(outbox, DIGEST_S)
    assert steps([digest]) == [("s-2", "resolve"), ("s-3", "trigger")]
    settle_all(outbox, [digest])
    outbox.read_to(0, END)
    assert outbox.mark(0) == END


def test_a_receiver_that_is_gone_is_told_nothing_more_and_the_log_of_it_is_kept() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert())
    gone = Gone("HTTP 410", 410, b"")
    assert len(settle_all(outbox, sent(outbox, 0), gone)) == 1
    assert outbox.gone == gone


def test_what_was_delivered_before_the_start_is_not_delivered_again() -> None:
    outbox, episodes = opened(Receiver(), start=7)
    add(outbox, episodes, alert(offset=6), alert("opened", 7, session="s-2"))
    assert steps(sent(outbox, 0)) == [("s-2", "trigger")]


def test_a_partition_that_goes_takes_its_deliveries_along() -> None:
    outbox, episodes = opened(Receiver())
    outbox.start(1, 0, (), 0.0)
    add(outbox, episodes, alert(), alert("opened", 3, session="s-2", topic_partition=1))
    first, _ = sent(outbox, 0)
    outbox.stop(0)
    settle_all(outbox, [first], LATER)  # on its way when the partition went
    assert outbox.waiting == 1
    assert sent(outbox, 1_000) == []


# -- what is told again and again ----------------------------------------------------------------------------

LEVEL = Receiver(Traits(per_second=1_000, burst=1_000, refresh_s=60, resolves=3))


def test_an_open_episode_is_told_every_minute_and_its_end_three_times() -> None:
    outbox, episodes = opened(LEVEL)
    add(outbox, episodes, alert())
    told: list[tuple[float, str]] = []
    for now in range(0, 600, 10):
        if now == 200:
            add(outbox, episodes, alert("recovered", 24), now=now)
        for waiting in (found := sent(outbox, now)):
            told.append((now, waiting.first.step.value))
        settle_all(outbox, found, now=now)
    assert told == [
        *((now, "trigger") for now in (0, 60, 120, 180)),
        *((now, "resolve") for now in (200, 260, 320)),
    ]


def test_an_old_state_never_overtakes_a_new_one() -> None:
    outbox, episodes = opened(LEVEL)
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0))
    [repeat] = sent(outbox, 60)
    add(outbox, episodes, alert("recovered", 24), now=60)
    assert sent(outbox, 61) == []  # the repeat is on its way
    settle_all(outbox, [repeat], now=62)
    assert steps(sent(outbox, 62)) == [("s-1", "resolve")]
    assert sent(outbox, 300) == []


def test_what_a_repeat_held_up_is_tried_again_no_sooner_than_it_should() -> None:
    outbox, episodes = opened(LEVEL)
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0))
    [repeat] = sent(outbox, 60)
    add(outbox, episodes, alert("recovered", 24), now=60)
    settle_all(outbox, [repeat], now=60)
    settle_all(outbox, sent(outbox, 60, room=1), LATER, now=60)
    assert sent(outbox, 60.9) == []
    assert steps(sent(outbox, 61)) == [("s-1", "resolve")]


def test_open_episodes_are_told_again_after_a_restart() -> None:
    before = Episodes()
    before.take(alert(), NOW_MS)
    outbox = Outbox(LEVEL, 0.0)
    outbox.start(0, 7, before.open(), 0.0)
    outbox.read_to(0, 7)
    assert steps(sent(outbox, 0)) == [("s-1", "trigger")]


def test_what_only_this_sink_had_before_a_restart_is_repeated_too() -> None:
    """Another sink was behind, so the reading begins before what this one has."""
    outbox, episodes = opened(LEVEL, start=20)
    add(outbox, episodes, alert())
    outbox.read_to(0, 19)
    assert sent(outbox, 0) == []
    outbox.read_to(0, 20)
    [repeat] = sent(outbox, 0)
    assert repeat.repeats is not None


def test_an_episode_whose_end_this_sink_had_before_a_restart_does_not_fire_again() -> None:
    """Another sink was behind, so the reading begins where the episode was open."""
    before = Episodes()
    before.take(alert(), NOW_MS)
    outbox = Outbox(LEVEL, 0.0)
    outbox.start(0, 25, before.open(), 0.0)
    outbox.read_to(0, 7)
    assert sent(outbox, 0) == []
    add(outbox, before, alert("recovered", 24))
    outbox.read_to(0, 25)
    assert steps(sent(outbox, 0)) == [("s-1", "resolve")]


def test_nothing_is_repeated_to_receivers_that_remember() -> None:
    outbox, episodes = opened(Receiver())
    add(outbox, episodes, alert())
    settle_all(outbox, sent(outbox, 0))
    assert outbox.wake_at(0) is None
