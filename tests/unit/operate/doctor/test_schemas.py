"""The registry is asked, and nothing is registered."""

from __future__ import annotations

import pytest

from schemas.bundled import JOB_SUBJECTS, latest
from schemas.codec import register_all
from schemas.registered import RegistryAddress
from schemas.registry import Registry
from streams.observe.settings import WorkerSettings
from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.installation import bundled_check, registry_check
from tests.unit.schemas.fake_registry import FakeRegistry


async def checked(url, within=60, **given):
    settings = WorkerSettings(_env_file=None, schema_registry_url=url, **given)
    [found] = await registry_check(settings, within)
    return found


def test_the_bundled_schemas_can_be_used():
    assert bundled_check().status is CheckStatus.OK


async def test_without_a_registry_there_is_nothing_to_ask():
    assert (await checked(None)).status is CheckStatus.OK


async def test_a_registry_that_holds_everything_is_fine():
    registry = FakeRegistry()
    async with registry.serve() as url:
        async with Registry(RegistryAddress(url=url)) as client:
            await register_all(client, JOB_SUBJECTS)
        assert (await checked(url, schema_registry_register=False)).status is CheckStatus.OK


@pytest.mark.parametrize(("register", "status"), [(True, CheckStatus.WARN), (False, CheckStatus.FAIL)])
async def test_what_it_lacks_is_named_and_matters_where_no_worker_registers_it(register, status):
    registry = FakeRegistry()
    async with registry.serve() as url:
        found = await checked(url, schema_registry_register=register)
    assert found.status is status
    assert latest("decision-logs-value").name in found.said
    assert registry.subjects == {}
    assert {request.split()[0] for request in registry.requests} == {"POST"}


async def test_a_registry_that_refuses_or_is_not_there_is_a_failure():
    async with FakeRegistry(login=("ann", "secret")).serve() as url:
        found = await checked(url, schema_registry_username="ann", schema_registry_password="wrong")
        assert found.status is CheckStatus.FAIL
        assert "secret" not in found.said
    found = await checked(url, within=2)
    assert found.status is CheckStatus.FAIL
    assert found.said.startswith(f"{url} cannot be asked within 2 s (Client")
