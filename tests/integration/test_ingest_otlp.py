"""`eddy ingest --otlp`: spans over HTTP, as an exporter sends them."""

import gzip
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from streams.formats.adapters.otlp.proto_requests import cut_requests

SAMPLES = Path(__file__).parents[1] / "samples"
JSON = SAMPLES / "otlp_json" / "pai-5.jsonl"
PROTO = SAMPLES / "otlp_proto" / "pai-5.otlp"


@contextmanager
def listening(tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "streams", "ingest", "--otlp", "127.0.0.1:0"),
            *("--out", str(tmp_path / "out.jsonl"), "--state", str(tmp_path / "state.sqlite")),
        ],
        stderr=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path)},
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline().decode()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield found[0], process
        finally:
            process.kill()


def post(url: str, body: bytes, kind: str, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(url, body, {"Content-Type": kind, **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def records(tmp_path: Path) -> list[Any]:
    return [orjson.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]


def expected(sample: Path) -> list[Any]:
    rows = sample.with_name(f"{sample.stem}.expected.jsonl").read_bytes()
    return [orjson.loads(line) for line in rows.splitlines()]


def ended(process: "subprocess.Popen[bytes]") -> str:
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


@pytest.mark.parametrize("sample", [JSON, PROTO], ids=["json", "proto"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_requests_give_the_records_of_their_spans_once_also_if_each_comes_twice(
    tmp_path: Path, sample: Path, packed: bool
) -> None:
    data = sample.read_bytes()
    requests = data.splitlines() if sample is JSON else list(cut_requests(BytesIO(data)))
    kind = "application/json" if sample is JSON else "application/x-protobuf"
    headers = {"Content-Encoding": "gzip"} if packed else {}
    with listening(tmp_path) as (url, process):
        for request in requests:
            for _ in range(2):
                status, answer = post(url, gzip.compress(request) if packed else request, kind, **headers)
                assert (status, answer) == (200, b"{}" if sample is JSON else b"")
        said = ended(process)
    assert sorted(records(tmp_path), key=orjson.dumps) == sorted(expected(sample), key=orjson.dumps)
    assert f"{len(expected(sample))} records" in said


def test_what_was_answered_is_kept_if_the_process_is_killed(tmp_path: Path) -> None:
    requests = JSON.read_bytes().splitlines()
    with listening(tmp_path) as (url, _):
        for request in requests[:2]:
            assert post(url, request, "application/json")[0] == 200
    with listening(tmp_path) as (url, process):
        for request in requests[2:]:
            assert post(url, request, "application/json")[0] == 200
        ended(process)
    assert {each["event_id"] for each in records(tmp_path)} == {each["event_id"] for each in expected(JSON)}


def test_what_is_no_request_is_refused_and_the_next_one_is_taken(tmp_path: Path) -> None:
    with listening(tmp_path) as (url, process):
        assert post(url, b"hello", "application/json")[0] == 400
        assert post(url, b"\xff\xff", "application/x-protobuf")[0] == 400
        assert post(url, b"{}", "text/plain")[0] == 415
        assert post(f"{url}/no", b"{}", "application/json")[0] == 404
        assert post(url, JSON.read_bytes().splitlines()[0], "application/json")[0] == 200
        ended(process)


def test_requests_that_a_page_of_another_site_makes_a_browser_send_are_refused(tmp_path: Path) -> None:
    with listening(tmp_path) as (url, _):
        foreign = [{"Origin": "https://evil.example"}, {"Host": "evil.example:4318"}, {"Host": ""}]
        line = JSON.read_bytes().splitlines()[0]
        assert [post(url, line, "application/json", **each)[0] for each in foreign] == [403] * 3
        assert post(url, line, "application/json", Origin=url.split("/v1")[0])[0] == 200
