"""Cells of the map stay where they are while sessions come and go."""

from hypothesis import given
from hypothesis import strategies as st

from streams.console.session_map import Seat, Seating

SESSIONS = st.dictionaries(st.integers(0, 40).map(str), st.sampled_from("abc"), max_size=40)
COURSES = st.lists(SESSIONS, max_size=12)


@given(COURSES)
def test_a_session_keeps_its_seat_and_no_two_have_the_same(course: list[dict[str, str]]) -> None:
    seating, before = Seating(), dict[str, tuple[str, Seat | None]]()
    for members in course:
        seating.settle(members)
        seats = {session: (group, seating.seat(session)) for session, group in members.items()}
        for session, (group, seat) in seats.items():
            assert seat is not None
            assert seating.session(seat) == session
            if before.get(session, ("", None))[0] == group:
                assert seat == before[session][1]
        assert len({seat for _, seat in seats.values()}) == len(members)
        before = seats


@given(COURSES)
def test_an_area_never_shrinks_and_a_group_keeps_its_place_while_it_has_sessions(
    course: list[dict[str, str]],
) -> None:
    seating, known = Seating(), dict[str, tuple[int, int]]()
    for members in course:
        seating.settle(members)
        areas = {area.name: area for area in seating.areas()}
        assert areas.keys() == set(members.values())
        for name, (place, capacity) in known.items():
            if name in areas and areas[name].place == place:
                assert areas[name].capacity >= capacity
        for name, area in areas.items():
            assert area.capacity & (area.capacity - 1) == 0
            assert len(area.sessions) <= area.capacity < 2 * max(1, len(area.sessions))
            assert sorted(each for each in area.sessions if each) == sorted(
                session for session, group in members.items() if group == name
            )
            assert area.place >= known.get(name, (0, 0))[0]
        known = {name: (area.place, area.capacity) for name, area in areas.items()}


@given(COURSES, st.integers(-3, 60), st.integers(-3, 60))
def test_an_empty_seat_has_nobody(course: list[dict[str, str]], place: int, slot: int) -> None:
    seating = Seating()
    for members in course:
        seating.settle(members)
    found = seating.session(Seat(place, slot))
    assert found is None or seating.seat(found) == Seat(place, slot)


def test_the_lowest_free_slot_is_taken_first() -> None:
    seating = Seating()
    seating.settle(dict.fromkeys("abcd", "group"))
    seating.settle(dict.fromkeys("bd", "group"))
    seating.settle(dict.fromkeys("bdxy", "group"))
    [area] = seating.areas()
    assert (area.sessions, area.capacity) == (("x", "b", "y", "d"), 4)
