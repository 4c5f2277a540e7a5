"""What each of several workers has for itself."""

from pathlib import Path

import pytest

from streams.core.errors import ConfigurationError
from streams.observe.settings import WorkerSettings
from streams.worker.processes import of_each_process, of_process


def settings(**given: object) -> WorkerSettings:
    return WorkerSettings(**given)  # type: ignore[arg-type]


def test_the_first_has_what_a_worker_alone_has() -> None:
    alone = settings(data_dir=Path("d"), web_port=8066, group_instance_id="a")
    first = of_process(settings(data_dir=Path("d"), web_port=8066, group_instance_id="a", processes=3), 1)
    assert first == alone


def test_no_two_share_a_directory_a_port_or_a_name_in_the_group() -> None:
    several = list(of_each_process(settings(processes=4, web_port=9000, group_instance_id="a")))
    assert [each.web_port for each in several] == [9000, 9001, 9002, 9003]
    assert len({each.data_dir for each in several}) == len({each.group_instance_id for each in several}) == 4
    assert {each.processes for each in several} == {1}
    assert all(each.data_dir.is_relative_to(several[0].data_dir) for each in several)


def test_ports_that_are_chosen_stay_chosen_and_names_are_not_invented() -> None:
    several = list(of_each_process(settings(processes=3, web_port=0)))
    assert {(each.web_port, each.group_instance_id) for each in several} == {(0, None)}


def test_without_enough_ports_nothing_is_started() -> None:
    with pytest.raises(ConfigurationError, match=r"Process 2 .* EDDY_WEB_PORT"):
        list(of_each_process(settings(processes=2, web_port=65_535)))
