"""What every registered format has: a sample with what must come of it, and a row in the documents."""

import re
from pathlib import Path

import pytest

from streams.formats.adapters.adapter import Format
from streams.formats.reading import entries
from streams.formats.registry import FORMATS
from tests.pages import ROOT

SAMPLES = ROOT / "tests" / "samples"
PAGE = ROOT / "docs" / "sources" / "README.md"
EACH = [pytest.param(each, id=each.name) for each in FORMATS]


def inputs(form: Format) -> list[Path]:
    """Return the samples of which somebody wrote down what must come of them."""
    folder = SAMPLES / form.name.replace("-", "_")
    return [
        path
        for rows in sorted(folder.glob("*.expected.jsonl"))
        for path in folder.glob(f"{rows.name.removesuffix('.expected.jsonl')}.*")
        if path != rows
    ]


@pytest.mark.parametrize("form", EACH)
def test_a_format_has_a_sample_with_its_records(form: Format) -> None:
    assert inputs(form), f"put a file into {SAMPLES / form.name.replace('-', '_')}, with its .expected.jsonl"


@pytest.mark.parametrize("form", EACH)
def test_a_format_has_a_row_in_the_documents(form: Format) -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row.split("|")[3])}
    assert form.name in named, f"add a row to {PAGE.relative_to(ROOT)}"


def test_every_folder_of_samples_is_of_a_format() -> None:
    named = {each.name.replace("-", "_") for each in FORMATS}
    assert {path.name for path in SAMPLES.iterdir() if path.is_dir()} == named


def test_the_sample_of_a_format_of_eddys_own_gives_its_records_with_or_without_its_name() -> None:
    for form in (each for each in FORMATS if each.own):
        for path in inputs(form):
            rows = path.with_name(f"{path.stem}.expected.jsonl")
            expected = [entry.value for entry in entries([str(rows)], "jsonl")]
            for name in ("auto", form.name):
                assert [entry.value for entry in entries([str(path)], name)] == expected
