"""The attacks hold for what they begin with and for chance: without a fuzzer, in seconds."""

import logging
import random
from importlib.metadata import requires

import pytest

from tests.fuzz.catalogue import TARGETS

CHANCES = 60


@pytest.fixture(autouse=True)
def _quiet(caplog):
    # What is refused is logged with its text, and some of it is made to confuse a terminal.
    caplog.set_level(logging.CRITICAL)


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_survived(name):
    seeds = list(TARGETS[name].seeds())
    assert seeds
    for seed in seeds:
        TARGETS[name].attack(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_chance_is_survived(name):
    chance = random.Random(name)
    seeds = list(TARGETS[name].seeds())
    for _ in range(CHANCES):
        data = bytearray(chance.choice(seeds)[:2000])
        for _ in range(chance.randrange(1, 8)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        TARGETS[name].attack(bytes(data))


def test_the_fuzzer_is_an_extra_of_its_own():
    needed_by = {
        line.partition("extra ==")[2].strip(" '\"") for line in requires("eddy-streams") if "atheris" in line
    }
    assert needed_by <= {"fuzz"}
