"""A session of a running job explained: from the topic, and by the worker that has it."""

import json

import pytest

from tests.integration.load import decision, keyed
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration

ERROR = {"status": "failure", "tool_call": "search", "error": "no match"}


async def test_a_running_job_tells_why_a_session_is_looping(stage: Stage) -> None:
    await stage.publish_settings(read_tools=[], identical_failing_loop=4)
    looping = [decision("stuck ☃", number, **ERROR) for number in range(5)]
    # As many sessions as it takes to have some in every partition.
    names = ("fine", *(f"s{number}" for number in range(30)))
    healthy = [decision(name, number, tool_call=f"tool-{number}") for name in names for number in range(3)]
    await stage.send(keyed(value, stage.partitions) for value in [*looping, *healthy])
    worker = await stage.worker().ready()
    await stage.processed()
    address = await worker._url()
    assert "A3:read_loop can never reach WARNING: " in worker.log

    told = json.loads(await stage.command("explain", "stuck ☃", "--topic", "--worker", address, "--json"))
    assert (told["scored"], told["duplicates"], told["rejected"]) == (5, 0, 0)
    assert [record["event_id"] for record in told["timeline"]] == [value["event_id"] for value in looping]
    levels = {(fired["rule"], fired["level"]): fired["times"] for fired in told["fired"]}
    assert (levels["R1", "WARNING"], levels["R1", "LOOP"]) == (1, 2)
    assert [event["phase"] for event in told["episodes"]] == ["opened", "escalated"]
    state = told["standing"]
    assert (state["session_id"], state["level"], state["settings_version"]) == ("stuck ☃", "LOOP", 1)
    assert told["eddy"]["id"] == f"stuck ☃/{state['partition']}/{state['offset']}/enriched"
    assert (told["eddy"]["step"], state["step"]) == (5, 5)
    assert told["because"].startswith("The session is considered looping: search: the same call")

    assert (await stage.command("explain", "fine", "--worker", address)).splitlines()[-1] == (
        "The session is not considered looping: no episode is open."
    )
    status, _, complained = await stage.attempt("explain", "gone", "--worker", address)
    assert (status, complained.count("no such session in the partitions of this worker: 0, 1, 2, 3.")) == (
        2,
        1,
    )
    by_beginning = await stage.command("explain", "stuck", "--topic", "--json")
    assert json.loads(by_beginning)["standing"] is None
    assert json.loads(by_beginning)["timeline"] == told["timeline"]
    status, _, complained = await stage.attempt("explain", "struck", "--topic")
    assert status == 2
    assert complained == (
        "eddy: No record of session struck in the topic decision-logs-enriched. "
        "The nearest of 32 sessions there: stuck ☃.\n"
    )

    printed = await stage.command("config", "explain", "R1:failing")
    assert "R1:failing LOOP fires at record 4\n" in printed
    status, printed, _ = await stage.attempt("config", "explain")
    assert status == 1
    assert printed.startswith("settings version 1: ")
    assert "\nA3:read_loop WARNING cannot fire: " in printed
