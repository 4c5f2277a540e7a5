"""Every command has a man page: it says what the help says, and nothing in it is taken for a request."""

import re
import shutil
import subprocess

import click
import pytest

from deploy.man.pages import pages
from streams.cli import main
from tests.test_docs import COMMANDS

PAGES = dict(pages())
#: What the pages may ask of man.
REQUESTS = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".BR", ".nf", ".fi"}
ESCAPES = {"\\e", "\\-", "\\(aq", "\\(ha", "\\(ti", "\\(ga", "\\&"}


def shown(page: str) -> str:
    """Return the text of a page without its markup."""
    lines = [re.sub(r"^\.\w+ ?", "", line) for line in page.splitlines()]
    text = " ".join(" ".join(lines).split())
    for escape, char in (
        ("\\-", "-"),
        ("\\(aq", "'"),
        ("\\(ha", "^"),
        ("\\(ti", "~"),
        ("\\(ga", "`"),
        ("\\&", ""),
    ):
        text = text.replace(escape, char)
    return text.replace("\\e", "\\")


def page_of(words: tuple[str, ...]) -> str:
    return PAGES["-".join(("eddy", *words[:1])) + ".1"]


def test_there_is_a_page_for_the_program_and_each_of_its_commands() -> None:
    assert PAGES.keys() == {"-".join(("eddy", *words)) + ".1" for words in COMMANDS if len(words) < 2}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_page_says_what_the_help_says(words: tuple[str, ...]) -> None:
    command, text = COMMANDS[words], shown(page_of(words))
    context = click.Context(command, info_name=" ".join(("eddy", *words)), **main.context_settings)
    assert " ".join(("eddy", *words, *command.collect_usage_pieces(context))) in text
    for part in (command.help, command.epilog):
        assert " ".join((part or "").replace("\b", "").split()) in text
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            assert " ".join(" ".join(record).split()) in text


@pytest.mark.parametrize("name", PAGES)
def test_no_text_is_taken_for_a_request(name: str) -> None:
    for line in PAGES[name].splitlines():
        assert not line.startswith("'")
        assert not line.startswith(".") or line.split()[0] in REQUESTS, line
        assert set(re.findall(r"\\(?:\(..|.)", line)) <= ESCAPES, line


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
@pytest.mark.parametrize("name", PAGES)
def test_groff_complains_of_nothing(name: str) -> None:
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8"], input=PAGES[name], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
