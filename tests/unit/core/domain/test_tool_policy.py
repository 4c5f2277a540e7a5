"""The first policy that fits a tool's name, however many there are."""

from streams.core.domain.tool_policy import PolicyMode, ToolPolicy, first_policy

POLLING = ToolPolicy("get_*", PolicyMode.polling)
EXEMPT = ToolPolicy("*", PolicyMode.exempt)


class Unhashed(tuple[ToolPolicy, ...]):
    """Policies that nobody can afford to look at as a whole."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise AssertionError("hashed")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


def test_the_first_that_fits_holds_whatever_the_case_of_the_name() -> None:
    assert first_policy("GET_User", (POLLING, EXEMPT)) is POLLING
    assert first_policy("GET_User", (EXEMPT, POLLING)) is EXEMPT
    assert first_policy("search", (POLLING,)) is None


def test_policies_are_neither_hashed_nor_compared_for_a_record() -> None:
    policies = Unhashed((POLLING, EXEMPT))
    assert first_policy("get_user", policies) is POLLING
    assert first_policy("get_user", policies) is POLLING
    assert first_policy("search", policies) is EXEMPT


def test_more_settings_than_are_remembered_do_not_get_mixed_up() -> None:
    several = [(ToolPolicy("a", PolicyMode.polling, warn=number),) for number in range(1, 30)]
    for _ in range(2):
        found = [first_policy("a", policies) for policies in several]
        assert [policy.warn for policy in found if policy is not None] == list(range(1, 30))


def test_more_names_than_are_remembered_and_very_long_ones_find_theirs() -> None:
    policies = (POLLING, EXEMPT)
    names = [f"{'get_' if number % 2 else ''}{number}" for number in range(10_000)] + ["get_" + "x" * 9_000]
    for name in names + names[:10]:
        assert first_policy(name, policies) is (POLLING if name.startswith("get_") else EXEMPT)
