"""The tables that documents have of topics.yaml."""

from __future__ import annotations

import pytest

from topics.catalogue import Catalogue
from topics.documents import DOCUMENTS, RIGHTS_DOCUMENT, renewed, rights, topic_table

TOPICS = Catalogue.load().topics
MARK = "<!-- rights of a worker: `python -m topics` -->"


def test_a_worker_writes_what_a_run_publishes_and_reads_its_input_and_settings() -> None:
    read, written = (line for line in rights(TOPICS) if line.startswith("| topic |"))
    assert read == "| topic | `decision-logs`, `detector-config`, `shadow-config` | Read |"
    assert "`decision-logs-redriven`" not in written
    assert "`decision-logs-dlq`" in written


def test_the_table_of_topics_leaves_out_those_of_a_job() -> None:
    rows = topic_table(TOPICS)
    assert len(rows) - 2 == len([topic for topic in TOPICS if not topic.internal])
    assert not any("changelog" in row or "repartition" in row for row in rows)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("decision-logs", "7 days"),
        ("topology", "the newest of each key, for 7 days"),
        ("agent-health", "the newest of each key"),
        ("detector-config", "every record for 365 days, then the newest of each key"),
    ],
)
def test_the_table_of_topics_says_how_long_records_stay(name: str, kept: str) -> None:
    [row] = [row for row in topic_table(TOPICS) if row.startswith(f"| `{name}` |")]
    assert row.split(" | ")[4] == kept


def test_a_table_keeps_its_indent_and_what_surrounds_it() -> None:
    found = renewed(RIGHTS_DOCUMENT, f"before\n  {MARK}\n  old\n  <!-- end -->\nafter\n", TOPICS)
    before, mark, *table, end, after = found.splitlines()
    assert (before, mark, end, after) == ("before", f"  {MARK}", "  <!-- end -->", "after")
    assert table == [f"  {line}" for line in rights(TOPICS)]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_without_its_marks_is_an_error(path: str) -> None:
    with pytest.raises(ValueError, match=f"{path} has the marks .* 0 times"):
        renewed(path, "no table", TOPICS)
