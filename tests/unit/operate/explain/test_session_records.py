"""Enriched records read back: what they tell of a session is what the pipeline told."""

from typing import Any

from schemas.codec import Codec
from streams.core.domain.outcome import Scored
from streams.core.domain.topic import Topic
from streams.core.offline import Judgement
from streams.operate.explain.explanation import Explanation
from streams.operate.explain.session_records import scored_again
from tests.stream import Stream, decision_log, repeated

SUBJECT = f"{Topic.ENRICHED}-value"


def outcomes() -> list[Scored]:
    """A session that loops, comes out of it, and goes on."""
    stream = Stream()
    looping = repeated(5, session="a/b", tool="bash", error="1 failed")
    after = [
        decision_log(f"step {number}", f"tool_{number}", "success", number=number, session="a/b")
        for number in range(5, 9)
    ]
    return stream.run([*looping, *after])


def through_the_topic(enriched: dict[str, Any]) -> dict[str, Any]:
    codec = Codec.bundled()
    encoder = codec.encoder(SUBJECT)
    return codec.decoder(SUBJECT).decode(encoder.encode(enriched), list(encoder.headers))


def told(scored: list[Scored]) -> Explanation:
    explanation = Explanation("a/b")
    for each in scored:
        explanation.add(Judgement(each.decision.offset, "a/b", each.decision.event_id, each))
    return explanation


def test_a_record_of_the_topic_tells_what_the_pipeline_told() -> None:
    before = outcomes()
    after = [scored_again(through_the_topic(scored.enriched)) for scored in before]
    for one, other in zip(before, after, strict=True):
        assert (one.decision.partition, one.decision.offset) == (
            other.decision.partition,
            other.decision.offset,
        )
        assert one.decision.session_id == other.decision.session_id == "a/b"
        assert [event.topic for event in one.events] == [event.topic for event in other.events]
        assert one.decision.signature == other.decision.signature


def test_the_explanation_is_the_same_from_the_topic() -> None:
    before = outcomes()
    here = told(before)
    there = told([scored_again(through_the_topic(scored.enriched)) for scored in before])
    assert here.firings == there.firings
    assert {firing.rule for firing in here.firings.values()} >= {"R1", "A1", "A2:tool", "A3:test_fail_loop"}
    assert here.loops == there.loops == 1
    for one, other in zip(here.course, there.course, strict=True):
        assert one.items() <= other.items()
