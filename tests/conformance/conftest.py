"""Every vector of a file becomes one test of the module that names the file in VECTOR_FILES."""

import json
from pathlib import Path

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the parameter `vector` once per vector of the module's VECTOR_FILES."""
    if "vector" not in metafunc.fixturenames:
        return
    directory: Path = metafunc.config.getoption("--conformance")
    vectors = [
        vector
        for name in metafunc.module.VECTOR_FILES
        for vector in json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))["vectors"]
    ]
    metafunc.parametrize("vector", vectors, ids=[vector["name"] for vector in vectors])
