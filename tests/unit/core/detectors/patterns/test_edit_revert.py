import pytest

from streams.core.detectors.patterns.edit_revert import is_edit_revert
from tests.acts import window


@pytest.mark.parametrize(
    ("acts", "revert"),
    [
        (["w f A", "w f B", "w f A"], True),
        (["w f A", "w f B", "w f C", "w f A"], True),
        (["w f A", "w f B", "w f A", "w f B"], True),
        (["r f A", "w f B", "w f A"], True),
        (["w f A", "r f B", "w f A"], True),
        (["w f A", "w f A"], False),
        (["w f A", "r f A", "w f A"], False),
        (["w f A", "w f -", "w f A"], False),
        (["w f A", "w f B", "w g A"], False),
        (["w g A", "w f B", "w f A"], False),
        (["w f B", "w f A"], False),
        (["u f A", "w f B", "w f A"], False),
        (["w f A", "u f B", "w f A"], False),
        (["c f A", "w f B", "w f A"], False),
        (["w f A", ". f B", "w f A"], False),
        (["w f A", "w f B", "u f A"], False),
        (["w f A", "w f B", "r f A"], False),
        (["w f A", "w f B", "w f -"], False),
        (["w f A", "w f B", "w"], False),
    ],
)
def test_a_content_that_was_lost_and_came_back(acts: list[str], revert: bool) -> None:
    assert is_edit_revert(window(*acts)) is revert
