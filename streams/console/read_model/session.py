"""What is known of a session: presence by the index, everything else by the newest record that says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from streams.console.read_model.episode import figures_of
from streams.console.read_model.offsets import Places
from streams.console.read_model.place import NOWHERE, Fields, named_place, place
from streams.console.read_model.points import Points, amount
from streams.console.read_model.rows import SessionRow
from streams.core.detectors.budget.detector import granted
from streams.core.domain.level import NodeState

#: How many places on decision-logs-enriched are kept of a session, of each partition.
KEPT_PLACES: Final = 4_096

_AMOUNTS: Final = ("steps_budget", "tokens_budget", "steps_remaining", "tokens_remaining", "total_progress")

#: If one record has two events, the one with the later state counts; idle ends a session.
_NODE_RANK: Final[Mapping[str, int]] = {
    NodeState.ACTIVE: 0,
    NodeState.BLOCKED: 1,
    NodeState.ALERT_ENTROPY: 2,
    NodeState.IDLE: 3,
}

_NO_TEXT: Final = ""


def tokens_used(budget: Fields) -> float | None:
    """Return the tokens that a session has used, None if it reports none.

    A worker of before version 6 of the schema says only what is left of a budget, which says nothing at 0.
    """
    used = _bounded(budget.get("tokens_used"))
    if used is None:
        whole, left = _bounded(budget.get("tokens_budget")), _bounded(budget.get("tokens_remaining"))
        used = whole - left if whole is not None and left else None
    return used or None


class SessionState:
    """A session in memory. It changes with each record, so it is no row; `row` makes one.

    Every change keeps what the newest place says, so records may come in any order and more than once.
    """

    __slots__ = (
        "about_place",
        "agent_id",
        "agent_place",
        "agent_type",
        "budget",
        "budget_place",
        "cluster_id",
        "control",
        "cost",
        "denied_place",
        "drift",
        "drift_level",
        "drift_place",
        "episode",
        "episode_place",
        "first_ts",
        "goal",
        "goal_place",
        "hitl",
        "last_ts",
        "node",
        "node_place",
        "places",
        "points",
        "read_place",
        "session_id",
        "settings_version",
        "spent_place",
        "step",
        "task_type",
        "tokens",
        "trace_id",
    )

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.agent_id: str | None = None
        self.agent_type: str | None = None
        self.task_type: str | None = None
        self.trace_id: str | None = None
        self.cluster_id: str | None = None
        self.goal: str | None = None
        self.first_ts: int | None = None
        self.last_ts: int | None = None
        self.tokens: float | None = None
        self.cost: float | None = None
        self.node: str | None = None
        self.drift_level: str | None = None
        self.drift: float | None = None
        self.budget: Mapping[str, Any] | None = None
        self.settings_version: int | None = None
        self.step = self.hitl = 0
        self.control = ""
        self.episode: str | None = None
        self.agent_place = self.about_place = self.goal_place = self.spent_place = NOWHERE
        self.node_place = self.drift_place = self.budget_place = self.denied_place = NOWHERE
        self.episode_place = self.read_place = NOWHERE
        self.places = Places(KEPT_PLACES)
        self.points = Points()

    def seen(self, timestamp: int) -> None:
        """Take in that there is a record of this Kafka time."""
        if self.last_ts is None or self.first_ts is None:
            self.first_ts = self.last_ts = timestamp
        elif timestamp > self.last_ts:
            self.last_ts = timestamp
        elif timestamp < self.first_ts:
            self.first_ts = timestamp

    def said_by(self, at: int, agent_id: str) -> None:
        """Take in which agent a record is of."""
        _words(agent_id)
        if (at, agent_id) > (self.agent_place, self.agent_id or _NO_TEXT):
            self.agent_place, self.agent_id = at, agent_id

    def enriched(self, at: int, timestamp: int, fields: Fields) -> None:
        """Take in an enriched record whose value was read; ``at`` is its place on decision-logs."""
        eddy, meta, identity = fields["eddy"], fields["meta"], fields["identity"]
        delta, goal = fields.get("state_delta") or {}, (fields.get("cognition") or {}).get("goal")
        about = identity["agent_type"], fields.get("task_type"), meta["trace_id"], meta.get("cluster_id")
        _words(*about, goal)
        _numbers(eddy["settings_version"], eddy.get("step"))
        cost = _bounded(delta.get("cumulative_session_cost"))
        self.said_by(at, identity["agent_id"])
        self.step = max(self.step, eddy.get("step") or 0)
        self.points.add(at, timestamp, meta["timestamp"], delta.get("tokens_consumed") or 0)
        self._spent(at, eddy.get("budget"), cost)
        if goal and at > self.goal_place:
            self.goal_place, self.goal = at, goal
        if (drift := eddy.get("drift")) is not None:
            self.drifts(at, drift["level"], drift["overall"])
        control = fields.get("control") or {}
        if control.get("is_terminal"):
            # No event says that an active node is idle: the record does.
            self.becomes(at, str(NodeState.IDLE))
        if (verdict := eddy.get("verdict")) is not None and at > self.episode_place:
            figures = None if verdict.get("episode") is None else figures_of(verdict)
            self.episode_place, self.episode = at, figures
        if at > self.about_place:
            self.about_place = at
            self.agent_type, self.task_type, self.trace_id, self.cluster_id = about
            self.hitl = int(bool(control.get("hitl_required")))
            self.settings_version = eddy["settings_version"]

    def _spent(self, at: int, budget: Fields | None, cost: float | None) -> None:
        if budget is not None:
            self.budgets(at, budget)
        if cost is not None and at > self.spent_place:
            self.spent_place, self.cost = at, cost

    def budgets(self, at: int, budget: Fields) -> None:
        """Take in the budgets after the record at this place."""
        amounts = {name: _bounded(budget.get(name)) for name in _AMOUNTS}
        given = granted(amounts | {"velocity": budget.get("velocity")})
        if budget.get("emergency") == "denied" and given["exhausted"]:
            self.denied_place = max(self.denied_place, at)
        if at > self.budget_place:
            self.budget_place = at
            self.budget = given
            self.tokens = tokens_used(budget)

    def drifts(self, at: int, level: str, overall: float) -> None:
        """Take in the drift from the record at this place on."""
        _words(level)
        _numbers(overall)
        if at > self.drift_place:
            self.drift_place, self.drift_level, self.drift = at, level, overall

    def becomes(self, at: int, node: str) -> None:
        """Take in the state of the node from the record at this place on."""
        _words(node)
        if (at, _node_rank(node)) > (self.node_place, _node_rank(self.node)):
            self.node_place, self.node = at, node

    @property
    def ended(self) -> bool:
        """Whether the job said that the session is over, and no record came after that.

        A session that begins again under its old id is active from the start, which no event says.
        """
        return self.node == NodeState.IDLE and self.agent_place <= self.node_place

    @property
    def shown_node(self) -> str:
        """The state of its node, as far as told: a new node is active."""
        if self.node is None or (self.node == NodeState.IDLE and not self.ended):
            return str(NodeState.ACTIVE)
        return self.node

    @property
    def records(self) -> int:
        """How many records there were, as far as known."""
        return max(len(self.places), self.step)

    @property
    def is_sampled(self) -> bool:
        """Whether its newest record was not read whole, so that its figures are those of an earlier one."""
        return bool(self.places) and self.read_place < place(*self.places.last)

    @property
    def denied(self) -> bool:
        """Whether the budget is used up and was not extended."""
        return self.denied_place > NOWHERE and self.budget is not None and bool(self.budget["exhausted"])

    def row(self) -> SessionRow:
        """Return all of it as a row."""
        places = self.places
        partition, last = places.last if places else (None, None)
        return SessionRow(
            session_id=self.session_id,
            agent_id=self.agent_id,
            agent_type=self.agent_type,
            task_type=self.task_type,
            trace_id=self.trace_id,
            goal=self.goal,
            partition=partition,
            first_offset=places.first_offset if places else None,
            last_offset=last,
            first_ts=self.first_ts,
            last_ts=self.last_ts,
            records=self.records,
            tokens=self.tokens,
            cost=self.cost,
            node=self.node,
            drift_level=self.drift_level,
            budget=None if self.budget is None else orjson.dumps(self.budget).decode(),
            ended=int(self.ended),
            control=self.control,
            offsets=places.stored(),
            cluster_id=self.cluster_id,
            step=self.step,
            hitl=self.hitl,
            drift=self.drift,
            settings_version=self.settings_version,
            agent_place=self.agent_place,
            about_place=self.about_place,
            goal_place=self.goal_place,
            spent_place=self.spent_place,
            denied_place=self.denied_place,
            node_place=self.node_place,
            drift_place=self.drift_place,
            budget_place=self.budget_place,
            points=self.points.stored(),
            episode=self.episode,
            episode_place=self.episode_place,
            read_place=self.read_place,
        )

    @classmethod
    def of(cls, row: SessionRow) -> SessionState:
        """Return the session that a row is of."""
        state = cls(row.session_id)
        for name in _SAME:
            setattr(state, name, getattr(row, name))
        state.budget = None if row.budget is None else orjson.loads(row.budget)
        state.places, state.points = Places.of(row.offsets, KEPT_PLACES), Points(row.points)
        return state


#: What a row and a session call the same.
_SAME: Final = tuple(
    name for name in SessionState.__slots__ if name not in {"session_id", "places", "points", "budget"}
)


_LARGEST: Final = 2**63


def _words(*values: str | None) -> None:
    """Raise a TypeError for what is no text: others than the job may have written the record."""
    for value in values:
        if value is not None and type(value) is not str:
            raise TypeError("no text")


def _numbers(*values: float | None) -> None:
    """Raise a TypeError for what is no number, or a larger one than a column holds."""
    for value in values:
        if value is not None and (type(value) not in (int, float) or not -_LARGEST < value < _LARGEST):
            raise TypeError("no number")


def _bounded(value: float | None) -> float | None:
    """Return what an agent says of itself, as far as anybody may have used it; TypeError for no number."""
    if value is None:
        return None
    if type(value) not in (int, float):
        raise TypeError("no number")
    return amount(value)


def _node_rank(node: str | None) -> int:
    return -1 if node is None else _NODE_RANK.get(node, -1)


def source_place(fields: Fields) -> int:
    """Return the place on decision-logs that an event is about."""
    return named_place(fields["partition"], fields["offset"])


def enriched_place(fields: Fields) -> int:
    """Return the place on decision-logs that an enriched record came from: the end of its `eddy.id`.

    >>> enriched_place({"eddy": {"id": "s/17/0/23/enriched"}})
    23
    """
    _, partition, offset, _ = fields["eddy"]["id"].rsplit("/", 3)
    return named_place(int(partition), int(offset))
