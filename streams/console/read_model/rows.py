"""The rows of the read model: what the console keeps, in memory and in its archive.

A row holds scalars only; lists and objects are JSON text, sets of offsets are bytes (`fold.offsets`). A
column that ends in ``_place`` is a place as one number (`fold.place`); it tells which record the columns
beside it come from, so that an older record never overwrites a newer one. A row is a complete state: writing
it twice, or folding a record into it twice, changes nothing.

Times are milliseconds since 1970-01-01T00:00Z. ``ts`` and ``..._ts`` of a session are Kafka's, all others are
those of the event.
"""

from __future__ import annotations

from typing import NamedTuple


class WatermarkRow(NamedTuple):
    """How far a partition was read: from ``back_to`` up to ``next``, without that."""

    topic: str
    partition: int
    topic_id: str
    next: int
    back_to: int


class SessionRow(NamedTuple):
    """A session.

    ``partition``, ``first_offset``, ``last_offset``, ``records`` and ``offsets`` are of
    decision-logs-enriched. ``records`` counts places; above the 4,096 that are kept it is "at least".
    ``tokens`` and ``cost`` are as of the newest record whose value was read, ``read_place`` on
    decision-logs-enriched. ``budget`` is a JSON object: the budgets that somebody set, as of then.
    ``control`` is the state that the commands and acks led to, without regard to the time (`fold.control`).
    ``points`` are the newest records whose value was read (`fold.points`). ``episode`` is a JSON object: the
    open episode as of the newest record whose value was read, null if none was open.
    """

    session_id: str
    agent_id: str | None
    agent_type: str | None
    task_type: str | None
    trace_id: str | None
    goal: str | None
    partition: int | None
    first_offset: int | None
    last_offset: int | None
    first_ts: int | None
    last_ts: int | None
    records: int
    tokens: float | None
    cost: float | None
    node: str | None
    drift_level: str | None
    budget: str | None
    ended: int
    control: str
    offsets: bytes
    cluster_id: str | None
    step: int
    hitl: int
    drift: float | None
    settings_version: int | None
    agent_place: int
    about_place: int
    goal_place: int
    spent_place: int
    denied_place: int
    node_place: int
    drift_place: int
    budget_place: int
    points: bytes
    episode: str | None
    episode_place: int
    read_place: int


class EpisodeRow(NamedTuple):
    """An episode: a loop of one pattern. ``tools`` and ``signatures`` are JSON arrays.

    ``seen_offset`` is the offset of the record at which its newest event was published; ``at_open`` is as of
    the first published event, ``at_loop`` as of the first one of level LOOP. ``cause_key`` is equal where the
    rule and the set of tools are. ``reopened_place`` is the newest record that reopened it. ``stuck`` is
    a JSON object: the evidence of an episode by R7.
    """

    episode_id: str
    session_id: str
    agent_id: str
    partition: int
    level: str
    phase: str
    open: int
    reopened: int
    rule: str
    period: int | None
    occurrences: int | None
    tools: str
    signatures: str
    first_offset: int
    first_ts: int
    last_offset: int
    last_ts: int
    records: int
    tokens: float
    cost: float | None
    reason: str | None
    opened_ts: int
    loop_ts: int | None
    tokens_at_loop: float | None
    cause_key: str
    seen_offset: int
    seen_ts: int
    opened_place: int
    tokens_at_open: float
    cost_at_open: float | None
    loop_place: int | None
    cost_at_loop: float | None
    reopened_place: int
    stuck: str | None


class FindingRow(NamedTuple):
    """A finding about a session; ``body`` is the event as it came, JSON.

    The alerts of entropy-alerts are one row per session with the id ``<session>/entropy_alert``: ``body``
    then has ``first``, ``newest`` (the event), ``lowest`` and ``count``, and ``offsets`` their places.
    """

    id: str
    session_id: str
    kind: str
    rule: str | None
    level: str | None
    ts: int
    partition: int
    offset: int
    body: str
    offsets: bytes | None


class CommandRow(NamedTuple):
    """A command. ``partition`` and ``offset`` are its first place on session-commands, ``ts`` is Kafka's.

    A hold has no ``session_id``: ``scope`` is then ``agent`` or ``all``. ``body`` has all fields, JSON.
    ``value`` is the record as it was signed, ``mac`` its signature.
    """

    command_id: str
    session_id: str | None
    action: str
    issued_at: int
    expires_at: int
    issuer: str
    reason: str
    body: str
    partition: int
    offset: int
    scope: str
    agent_id: str | None
    on_timeout: str | None
    ts: int
    value: bytes
    mac: bytes | None


class AckRow(NamedTuple):
    """What a guard said of a command; ``body`` has all fields, JSON. Presence is in `GuardRow`."""

    id: str
    command_id: str
    guard_id: str
    status: str
    at: int
    body: str
    session_id: str
    effective_at: int | None
    partition: int
    offset: int


class GuardRow(NamedTuple):
    """A guard of a session: when it was last heard of, and whether it has left since."""

    session_id: str
    guard_id: str
    seen: int
    integration: str | None
    version: str | None
    detached: int
    place: int


class TriageRow(NamedTuple):
    """What operators decided about an episode. ``state`` is open, acknowledged or snoozed.

    ``tokens``, ``level`` and ``seen_place`` are those of the episode when it was acknowledged or snoozed: it
    returns when they get worse.
    """

    episode_id: str
    state: str
    by: str | None
    at: int | None
    until: int | None
    until_tokens: float | None
    assignee: str | None
    note: str | None
    offset: int
    tokens: float | None
    level: str | None
    seen_place: int
    state_place: int
    assignee_place: int
    note_place: int


class ActionRow(NamedTuple):
    """A record of console-actions: who did what; ``body`` has all fields, JSON."""

    id: str
    at: int
    who: str
    role: str
    kind: str
    target: str
    why: str
    result: str
    body: str
    partition: int
    offset: int


class LetterRow(NamedTuple):
    """A dead letter, from its key, headers and size. ``problems`` are separated by commas.

    ``source`` is ``partition/offset`` of the message on decision-logs; its fate is the `RedrivenRow` of that.
    """

    partition: int
    offset: int
    ts: int
    reason: str
    problems: str
    key: str | None
    session_id: str | None
    source: str | None
    size: int
    cut: str
    stage: str
    detail: str


class RedrivenRow(NamedTuple):
    """A message that was sent again: how often, by which run, and whether it arrived.

    ``source`` is ``partition/offset`` of the message on decision-logs, where it stood first.
    """

    source: str
    times: int
    done: int
    run: str


class HealthRow(NamedTuple):
    """An agent or a tool as of a bucket of five minutes; the greatest bucket is the newest.

    ``body`` is the record as it came, JSON.
    """

    scope: str
    name: str
    bucket: int
    body: str
    as_of: int
    place: int


class ProfileRow(NamedTuple):
    """The recommendation for a type of task; ``body`` is JSON."""

    task_type: str
    body: str
    place: int


class DifferenceRow(NamedTuple):
    """How often a field differed under a shadow version: the number of places, "at least" above 16,384."""

    shadow_version: int
    field: str
    occurrences: int
    offsets: bytes


class ShadowRow(NamedTuple):
    """One record of shadow-differences; ``body`` is the event, JSON. The newest 1,000 are kept."""

    id: str
    shadow_version: int
    session_id: str
    ts: int
    partition: int
    offset: int
    body: str


class VersionRow(NamedTuple):
    """A document on detector-config, shadow-config or intervention-policy; no ``body`` is a tombstone."""

    topic: str
    offset: int
    ts: int
    version: int
    at: int | None
    by: str | None
    why: str | None
    body: str | None


class ForgottenRow(NamedTuple):
    """A session that was forgotten by an order, named by its digest; what stands before that is not taken in.

    ``partition`` and ``offset`` are those of the order on decision-logs, ``at`` is Kafka's time of it.
    """

    digest: str
    partition: int
    offset: int
    at: int


Row = (
    WatermarkRow
    | ForgottenRow
    | SessionRow
    | EpisodeRow
    | FindingRow
    | CommandRow
    | AckRow
    | GuardRow
    | TriageRow
    | ActionRow
    | LetterRow
    | RedrivenRow
    | HealthRow
    | ProfileRow
    | DifferenceRow
    | ShadowRow
    | VersionRow
)
