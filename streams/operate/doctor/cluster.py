"""The brokers and what stands on them: answers, topics, settings in force, clock, group, old state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.text.figures import count
from streams.core.domain.topic import Topic
from streams.core.policy.state_limits import keeps_ms
from streams.core.proof import warnings
from streams.core.settings_document import follows, resolve
from streams.kafka.client import Stored
from streams.kafka.settings_feed import read_document
from streams.kafka.survey import Ends, GroupOffsets, ServerAnswer
from streams.operate.doctor.check import Check, fail, ok, warn
from streams.operate.doctor.state import Database, span
from streams.worker.options import AGGREGATES, SESSIONS, changelog_topic, repartition_topic
from streams.worker.state.changelog import lacks_entries, may_have_missed
from streams.worker.state.origin import Ids, how_to_begin_anew
from streams.worker.state.store import StoreInspection
from topics.catalogue import Role
from topics.plan import ActualTopic, AddPartitions, AlterConfig, Change, CreateTopic, Refused

_IDENTITY = "local state"
_LARGEST = "max.message.bytes"

#: A topic, the id it had, and the one it has; None where the brokers do not report it.
_Replaced = tuple[str, str | None, str | None]


def identity_checks(
    application_id: str, databases: Iterable[Database], ids: Ids, redriven: str = Topic.REDRIVEN
) -> Iterator[Check]:
    """Yield each changelog, or source, that is another one now than databases were made from.

    One finding for all databases of a topic: a worker has two for each partition.
    """
    filled, built = defaultdict[_Replaced, list[Path]](list), defaultdict[_Replaced, list[Path]](list)
    for database in databases:
        found = database.found
        topic = changelog_topic(application_id, database.table)
        if isinstance(found, StoreInspection):
            filled[topic, found.changelog, ids.get(topic)].append(database.path)
        for source, before in database.sources.items():
            built[source, before, ids.get(source)].append(database.path)
    for replaced, paths in filled.items():
        if _differs(replaced):
            yield fail(
                _IDENTITY,
                _said(paths, "filled", replaced),
                "A worker would not start on it. If the topic was deleted on purpose, delete the directory: "
                "the sessions in it start again from the beginning.",
            )
    for replaced, paths in built.items():
        if _differs(replaced):
            tables = (SESSIONS, AGGREGATES)
            internal = [
                repartition_topic(application_id),
                *(changelog_topic(application_id, table) for table in tables),
            ]
            yield fail(
                _IDENTITY,
                _said(paths, "built", replaced),
                "A worker would not start on it: it would take new records for ones that were scored "
                "before. If that was not intended, find out what the producers wrote before you continue. "
                + how_to_begin_anew(application_id, internal, paths[0].parent.parent, redriven),
            )


def _differs(replaced: _Replaced) -> bool:
    _, before, now = replaced
    return before is not None and now is not None and before != now


def _said(paths: Sequence[Path], made: str, replaced: _Replaced) -> str:
    topic, before, now = replaced
    others = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
    return (
        f"{paths[0]}{others} was {made} from {topic} with the id {before}; it was deleted and created again, "
        f"and has the id {now}"
    )


def size_checks(described: Iterable[ActualTopic], topic_prefix: str = "") -> Iterator[Check]:
    """Yield where the dead letters' topic takes less than the input's: such a letter would be cut."""
    dead_letters, decision_logs = (
        f"{topic_prefix}{Topic.DEAD_LETTERS}",
        f"{topic_prefix}{Topic.DECISION_LOGS}",
    )
    sizes = {topic.name: topic.config.get(_LARGEST, "") for topic in described}
    letters, inputs = sizes.get(dead_letters, ""), sizes.get(decision_logs, "")
    if letters.isdigit() and inputs.isdigit() and int(letters) <= int(inputs):
        yield warn(
            "topics",
            f"{dead_letters} takes {letters} bytes, {decision_logs} {inputs}: a letter has more "
            "headers than its message, so the largest would be cut",
            f"Raise {_LARGEST} of {dead_letters} well above that of {decision_logs}.",
        )


#: How long brokers keep the offsets of a group without members, and a topic its records.
OFFSETS_RETENTION, RECORDS_RETENTION = "offsets.retention.minutes", "retention.ms"

_PLACE = "offsets"


def retention_checks(
    offsets_minutes: str | None,
    records_ms: str | None,
    settings: DetectionSettings,
    decision_logs: str = Topic.DECISION_LOGS,
) -> Iterator[Check]:
    """Yield whether a group that was away for so long that its offsets are gone would score records again.

    It reads the topic from its first record on, then. What the state knows is skipped; what is left are the
    records of sessions whose state was removed while workers still ran. There are none if the topic does not
    keep records for longer than the brokers keep offsets.

    Args:
        offsets_minutes: the brokers' setting; None where they do not report it.
        records_ms: that of the input; -1 is for ever.
        settings: the detection settings in force.
        decision_logs: what the input is called.
    """
    if not offsets_minutes or records_ms is None:
        yield ok(_PLACE, f"these brokers do not report their {OFFSETS_RETENTION}")
        return
    offsets_s, records_s = 60 * int(offsets_minutes), int(records_ms) / 1000
    kept = f"brokers keep the offsets of a group without workers for {span(offsets_s)}"
    if 0 <= records_s <= offsets_s:
        yield ok(_PLACE, f"{kept}, {decision_logs} keeps records no longer")
        return
    keeps = keeps_ms(settings)
    gone = "that have ended" if keeps is None else f"that have ended, or were silent for {span(keeps / 1000)}"
    records = "for ever" if records_s < 0 else f"for {span(records_s)}"
    need = "as long as workers may be away" if records_s < 0 else f"{-(-int(records_s) // 60)}"
    yield warn(
        _PLACE,
        f"{kept}, {decision_logs} keeps records {records}: after a longer pause of all workers it is "
        f"read from its beginning, and records of sessions {gone} before that are scored again, under the "
        "same ids",
        f"Raise {OFFSETS_RETENTION} of the brokers to {need}, lower {RECORDS_RETENTION} of "
        f"{decision_logs}, or do not let all workers be away for so long.",
    )


#: Which copy a broker names to a reader that says where it is.
REPLICA_SELECTOR = "replica.selector.class"
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def zone_checks(rack: str, racks: Collection[str | None], selector: str | None) -> Iterator[Check]:
    """Yield whether the brokers let readers of a zone read there; nothing where none is set.

    Args:
        rack: the zone that this reads in, by EDDY_CLIENT_RACK.
        racks: the zone of each broker, None where it has none.
        selector: the brokers' setting; None where they do not report it.
    """
    if not rack:
        return
    zones = ", ".join(sorted({each for each in racks if each}))
    if rack not in racks:
        yield warn(
            "zone",
            f"EDDY_CLIENT_RACK is {rack}, "
            + (f"brokers are in {zones}" if zones else "no broker has a zone"),
            "Everything is read from leaders, whatever zone they are in. Set it to the broker.rack of the "
            "brokers beside this.",
        )
    elif selector is not None and selector != _RACK_AWARE:
        yield warn(
            "zone",
            f"brokers are in {zones}, and name only leaders to readers",
            f"Set {REPLICA_SELECTOR} of the brokers to {_RACK_AWARE}.",
        )
    elif selector is None:
        yield warn(
            "zone",
            f"brokers are in {zones}, and do not report their {REPLICA_SELECTOR}",
            "So it is not known whether readers get another broker than the leader. Ask who runs them.",
        )
    else:
        yield ok("zone", f"records are read from the brokers in {rack} where they have them")


def lost_place_checks(
    name: str, group: GroupOffsets, databases: Iterable[Database], decision_logs: str = Topic.DECISION_LOGS
) -> Iterator[Check]:
    """Yield whether there is state of partitions whose offset the brokers have forgotten."""
    if group.members != 0:
        return  # a worker is about to commit one, or the brokers do not report it
    without = sorted(
        database.partition
        for database in databases
        if database.table == SESSIONS
        and isinstance(database.found, StoreInspection)
        and database.found.offset is not None
        and (decision_logs, database.partition) not in group.committed
    )
    if without:
        yield warn(
            "group",
            f"{name} has state of {decision_logs}[{', '.join(map(str, without))}], and no committed "
            "offset there",
            "A worker reads these from their first record on: sessions it still knows skip what they have "
            "counted, those that ended or expired are scored again, under the same ids. Where that must not "
            "be, set the offsets with kafka-consumer-groups.sh --reset-offsets before a worker starts.",
        )


Partitions = Mapping[tuple[str, int], Ends]
#: Clocks of machines that ask the same time server are closer than this.
_APART_MS: Final = 60_000


def broker_checks(answers: Sequence[ServerAnswer]) -> Iterator[Check]:
    """Yield whether each bootstrap server lets us in; one of several that does not is no failure."""
    fine = [answer.server for answer in answers if answer.problem is None]
    for answer in answers:
        if answer.problem is not None:
            verdict = warn if fine else fail
            yield verdict("broker", f"{answer.server}: {answer.problem}", answer.advice)
    if fine:
        yield ok("broker", f"{', '.join(fine)} let us in")


def topic_checks(changes: Iterable[Change]) -> Iterator[Check]:
    """Yield what `eddy topics plan` would change; a missing topic is worse than one that is otherwise."""
    name, apply = "topics", "Create the topics with `eddy topics apply`."
    look = "Look at `eddy topics plan`, then `eddy topics apply`."
    found = tuple(changes)
    if any(isinstance(change, Refused) for change in found):
        # All or nothing: with one change that it refuses, `apply` makes none.
        apply = look = "`eddy topics apply` changes nothing before what it refuses is put right, see below."
    missing = [change.topic for change in found if isinstance(change, CreateTopic)]
    needed = [topic.name for topic in missing if topic.role not in {Role.CONTROL, Role.NOTIFY}]
    of_control = [topic.name for topic in missing if topic.role is Role.CONTROL]
    of_notify = [topic.name for topic in missing if topic.role is Role.NOTIFY]
    other, refused = _differing(found)
    if needed:
        yield fail(name, f"missing: {', '.join(needed)}", apply)
    if of_control:
        said = f"missing: {', '.join(of_control)}; workers need none of them, but no agent can be paused"
        yield warn(name, said, apply)
    if of_notify:
        said = f"missing: {', '.join(of_notify)}; workers need none of them, but `eddy notify` does not start"
        yield warn(name, said, apply)
    if other:
        said = f"not as the catalogue has them: {', '.join(other)}"
        yield warn(name, said, look)
    if refused:
        said = f"not as the catalogue has them, and not for `eddy topics apply`: {'; '.join(refused)}"
        yield warn(name, said, "For each topic, do what its sentence says.")
    if not found:
        yield ok(name, "all there, as the catalogue has them")


def _differing(changes: Iterable[Change]) -> tuple[list[str], list[str]]:
    """Return what `eddy topics apply` would change, and what it would refuse, each with all its topics.

    With a setting such as the number of replicas every topic differs alike: it is said once.
    """
    other: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for change in changes:
        match change:
            case AlterConfig(topic_name):
                differing = ", ".join(f"{entry} {now} -> {wanted}" for entry, now, wanted in change.differing)
                other.setdefault(differing, []).append(topic_name)
            case AddPartitions(topic_name, now, wanted):
                other.setdefault(f"{now} -> {wanted} partitions", []).append(topic_name)
            case Refused(topic_name, why):
                refused.setdefault(why, []).append(topic_name)
            case CreateTopic():
                pass
    return (
        [f"{', '.join(names)} ({differing})" for differing, names in other.items()],
        [f"{', '.join(names)}: {why}" for why, names in refused.items()],
    )


def detection_checks(
    stored: Iterable[Stored], settings_topic: str = Topic.DETECTOR_CONFIG
) -> Iterator[Check]:
    """Yield which detection settings are in force, what of them is ignored, and which rules cannot fire."""
    name = "detection settings"
    settings, ignored, refused = _read(stored)
    said = f"version {settings.version}" if settings.version else "the defaults"
    if ignored:
        advice = "`eddy config history` shows which and why; `eddy config set` writes documents that count."
        yield warn(name, f"{count(ignored, 'document')} on {settings_topic} ignored", advice)
    if refused:
        advice = "Set them again with `eddy config set`."
        yield warn(name, f"{said} is in force, except {', '.join(refused)}", advice)
    unreachable = warnings(settings)
    if unreachable:
        advice = "`eddy config explain` shows what is in the way; change it or switch the rule off."
        yield warn(name, "; ".join(unreachable), advice)
    if not refused and not unreachable:
        yield ok(name, f"{said}: in force, every rule that is on can fire")


def in_force(stored: Iterable[Stored]) -> DetectionSettings:
    """Return the settings that a worker has in force that has read these records."""
    return _read(stored)[0]


def _read(stored: Iterable[Stored]) -> tuple[DetectionSettings, int, list[str]]:
    """Return the settings a worker has, how many documents it ignores, what of the last it refuses."""
    settings, ignored, refused = DEFAULTS, 0, list[str]()
    for record in stored:
        try:
            version, document = read_document(record.value)
        except ValueError:
            ignored += 1
            continue
        if not follows(version, settings.version):
            ignored += 1
            continue
        settings, problems = resolve(document, settings, version)
        refused = [f"{problem.setting}: {problem.problem}" for problem in problems]
    return settings, ignored, refused


def clock_check(newest: Iterable[int], now: int, decision_logs: str = Topic.DECISION_LOGS) -> Check:
    """Return whether this machine's clock agrees with the newest records (all in ms).

    Kafka reports no time of its own; records carry that of their producers, or of the brokers where the topic
    says so. So only a record that was written just now shows that the clock is right.
    """
    latest = max(newest, default=None)
    if latest is None:
        return ok("clock", f"nothing to compare with: {decision_logs} holds no record")
    ahead = latest - now
    if ahead > _APART_MS:
        said = f"a record of {decision_logs} is {span(ahead / 1000)} ahead of this machine's clock"
        return warn("clock", said, "Check the clocks (NTP) of this machine, the brokers and the producers.")
    age = f"the newest record is {span(max(0, -ahead) / 1000)} old by this machine's clock"
    return ok("clock", age if -ahead <= _APART_MS else f"not known: {age}, or the clock is ahead")


def group_checks(name: str, group: GroupOffsets, partitions: Partitions) -> Iterator[Check]:
    """Yield whether workers run, how much they have left to do, and whether offsets fit the topic."""
    committed = group.committed
    for (topic, number), offset in sorted(committed.items()):
        begin, end, _ = partitions[topic, number]
        if offset > end:
            yield fail(
                "group",
                f"{name} has committed {offset} of {topic}[{number}], which ends at {end}",
                "The topic was deleted and created again: start under a new EDDY_APPLICATION_ID.",
            )
        elif offset < begin:
            yield fail(
                "group",
                f"{topic}[{number}] begins at {begin}, {name} is at {offset}: {begin - offset} records are "
                "lost",
                "The topic's retention is shorter than the workers were behind. Raise it, add workers.",
            )
    lags = {each: max(0, end - committed.get(each, begin)) for each, (begin, end, _) in partitions.items()}
    lag = sum(lags.values())
    detail = f"{name}: {count(lag, 'record')} behind"
    if lag:
        (topic, number), most = max(lags.items(), key=lambda item: item[1])
        detail += f", {most:,} of them in {topic}[{number}]"
    if group.members is None:
        yield ok("group", f"{detail}; these brokers do not report its members")
    elif group.members == 0:
        advice = (
            "Start one with `eddy worker`. If workers have another EDDY_APPLICATION_ID, set it here, too."
        )
        yield warn("group", f"{detail}; no worker runs", advice)
    else:
        yield ok("group", f"{detail}; {count(group.members, 'worker')}, {group.state}")


def age_checks(
    application_id: str,
    databases: Iterable[Database],
    changelogs: Partitions,
    delete_retention_ms: Mapping[str, int],
    now: float,
) -> Iterator[Check]:
    """Yield whether each database fits its changelog: not ahead of it, and not behind for too long.

    A tombstone says what was deleted; the changelog keeps it for ``delete.retention.ms``:
    state that is behind for longer may have missed it. ``now`` is in seconds since 1970.
    """
    name = "local state"
    for database in databases:
        found = database.found
        topic = changelog_topic(application_id, database.table)
        ends = changelogs.get((topic, database.partition))
        if not isinstance(found, StoreInspection) or ends is None:
            continue
        if found.offset is not None and found.offset >= ends.end:
            yield fail(
                name,
                f"{database.path} is at offset {found.offset} of {topic}[{database.partition}], which ends "
                f"at {ends.end}",
                "The topic was deleted, or the state belongs to another cluster. Check the brokers; else "
                "delete the directory.",
            )
        limit = delete_retention_ms.get(topic)
        age = now - found.written_at
        behind = found.offset is not None and lacks_entries(found.offset, ends.end)
        if behind and limit is not None and database.held_by is None and may_have_missed(age * 1000, limit):
            yield warn(
                name,
                f"{database.path} was up to date {span(age)} ago and is behind, {topic} keeps deletions for "
                f"{span(limit / 1000)}",
                "The next worker that gets the partition discards it and restores all of it: that takes "
                "longer than a restart. Restart workers within that time, or raise delete.retention.ms.",
            )
