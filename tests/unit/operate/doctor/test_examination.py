"""Settings and port: what a worker would make of them."""

from __future__ import annotations

import socket

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from streams.observe.settings import WorkerSettings
from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.examination import port_check, settings_checks


def settings(**given):
    return WorkerSettings(_env_file=None, **given)


def test_a_misspelt_variable_is_told_with_the_one_it_may_mean():
    environment = {"EDDY_BOOTSRAP_SERVERS": "x", "EDDY_FAUST_DEBUG": "1", "EDDY_DATA_DIR": "y", "PATH": ""}
    [found] = settings_checks(settings(), environment)
    assert (found.status, found.said) == (
        CheckStatus.WARN,
        "means nothing to Eddy: EDDY_BOOTSRAP_SERVERS (perhaps EDDY_BOOTSTRAP_SERVERS?)",
    )
    [found] = settings_checks(settings(), {"eddy_data_dir": "y"})
    assert (found.status, found.said) == (CheckStatus.OK, "usable; 1 is set by a variable")


def test_the_variables_of_a_console_a_notifier_and_of_commands_mean_something():
    others = {"EDDY_CONSOLE_PORT": "8070", "EDDY_NOTIFY_ALERTMANAGER_URL": "http://am:9093"}
    [found] = settings_checks(settings(), {**others, "EDDY_COMMAND_KEY": "x" * 16})
    assert (found.status, found.said) == (CheckStatus.OK, "usable; no variable sets any")


def test_an_option_that_faust_does_not_have_is_a_failure():
    [found] = settings_checks(settings(faust={"nonsense": 1}), {})
    assert found.status is CheckStatus.FAIL
    assert "nonsense" in found.said


async def test_a_free_port_and_one_that_is_chosen_are_fine():
    assert (await port_check(settings(web_port=0), 1)).status is CheckStatus.OK
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert (await port_check(settings(web_port=port), 1)).said == f"127.0.0.1:{port} is free"


@pytest.mark.parametrize(("status", "said"), [(200, "ready"), (503, "not ready")])
async def test_a_worker_that_has_the_port_is_asked_how_it_is(status, said):
    async def ready(_):
        return web.json_response({}, status=status)

    application = web.Application()
    application.add_routes([web.get("/readyz", ready)])
    async with TestServer(application) as server:
        port = server.port
        found = await port_check(settings(web_port=port), 5)
    assert (found.status, found.said) == (CheckStatus.OK, f"a worker answers at 127.0.0.1:{port}: {said}")


async def test_a_port_that_somebody_else_has_is_a_warning_and_no_wait():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = await port_check(settings(web_port=silent.getsockname()[1]), 0.2)
    assert found.status is CheckStatus.WARN
    assert "EDDY_WEB_PORT" in found.advice
