"""What an alert means depends on the alerts before it, and on nothing else."""

from streams.alerts.episodes import Episodes
from streams.alerts.sinks.sink import Alert, Delivery, DeliveryStep, EpisodeReference
from streams.core.domain.level import Level
from tests.unit.alerts.sinks.alerts import NOW_MS, alert


def folded(*alerts: Alert) -> list[Delivery | None]:
    episodes = Episodes()
    return [episodes.take(each, NOW_MS) for each in alerts]


def steps(*alerts: Alert) -> list[DeliveryStep | None]:
    return [None if each is None else each.step for each in folded(*alerts)]


def test_an_episode_begins_goes_on_and_ends() -> None:
    assert steps(alert(), alert("still_open", 16), alert("recovered", 24)) == [
        DeliveryStep.TRIGGER,
        DeliveryStep.UPDATE,
        DeliveryStep.RESOLVE,
    ]


def test_a_loop_that_is_back_begins_again_under_the_same_key() -> None:
    first, _, again = folded(alert(), alert("recovered", 9), alert("opened", 12, reopened=True))
    assert first is not None
    assert again is not None
    assert again.step is DeliveryStep.TRIGGER
    assert again.alert.key == first.alert.key


def test_an_alert_that_a_worker_writes_again_is_told_once() -> None:
    run = [alert(), alert("still_open", 16), alert("recovered", 24)]
    assert steps(*run, *run) == [
        DeliveryStep.TRIGGER,
        DeliveryStep.UPDATE,
        DeliveryStep.RESOLVE,
        None,
        None,
        None,
    ]


def test_the_first_news_of_an_open_episode_begins_it() -> None:
    """A notifier that starts at the end of the topic has not read how it opened."""
    assert steps(alert("still_open", 16), alert("still_open", 26)) == [
        DeliveryStep.TRIGGER,
        DeliveryStep.UPDATE,
    ]


def test_an_end_without_a_beginning_is_told_all_the_same() -> None:
    assert steps(alert("recovered", 24)) == [DeliveryStep.RESOLVE]


def test_what_is_told_of_an_episode_keeps_its_first_rule_and_remembers_the_level_before() -> None:
    *_, last = folded(alert(level="WARNING"), alert("escalated", 7, rule="R2", timestamp=NOW_MS + 9))
    assert last is not None
    assert last.reference == EpisodeReference(NOW_MS, "R1", Level.WARNING)


def test_who_was_told_of_an_episode_hears_once_that_a_person_says_it_is_no_loop() -> None:
    episodes = Episodes()
    episodes.take(alert(), NOW_MS)
    said = episodes.take(alert("still_open", 16), NOW_MS, refuted=True)
    assert said is not None
    assert (said.step, said.refuted) == (DeliveryStep.RESOLVE, True)
    assert episodes.take(alert("still_open", 26), NOW_MS, refuted=True) is None
    assert episodes.take(alert("recovered", 36), NOW_MS, refuted=True) is None
    assert list(episodes.open()) == []


def test_of_an_episode_that_was_refuted_before_anybody_was_told_nobody_hears() -> None:
    assert Episodes().take(alert(), NOW_MS, refuted=True) is None


def test_an_episode_whose_label_was_taken_back_is_told_again() -> None:
    episodes = Episodes()
    episodes.take(alert(), NOW_MS)
    episodes.take(alert("still_open", 16), NOW_MS, refuted=True)
    said = episodes.take(alert("still_open", 26), NOW_MS)
    assert said is not None
    assert said.step is DeliveryStep.TRIGGER


def test_an_event_without_an_episode_stands_alone() -> None:
    event = {"event_type": "divergence_suspected", "episode_id": None, "level": None}
    assert steps(alert("", 5, **event), alert("", 6, **event)) == [DeliveryStep.NOTICE, DeliveryStep.NOTICE]


def test_open_episodes_are_known_after_the_same_alerts_are_read_again() -> None:
    alerts = [alert(), alert(session="s-2"), alert("recovered", 9, session="s-2"), alert(session="s-3")]
    first, again = Episodes(), Episodes()
    for episodes in (first, again):
        for each in alerts:
            episodes.take(each, NOW_MS)
    assert [each.alert.session_id for each in first.open()] == ["s-1", "s-3"]
    assert list(first.open()) == list(again.open())


def test_a_session_of_which_nothing_is_heard_for_long_is_forgotten() -> None:
    episodes = Episodes()
    episodes.take(alert(), NOW_MS)
    episodes.take(alert(session="s-2"), NOW_MS + 10)
    assert episodes.forget(NOW_MS + 5) == {"s-1"}
    assert len(episodes) == 1
