# SPDX-License-Identifier: Apache-2.0
"""The operation table that the service prints."""

import subprocess
from pathlib import Path

import pytest

from halyard import native
from halyard.errors import HalyardError
from halyard.operations import as_markdown, parse

TEXT = """{"operations": [
    {"name": "ADD", "code": 0, "since": "1.0", "signatures": [
        {"since": "1.0", "inputs": ["TENSOR_FLOAT32", "TENSOR_FLOAT32", "INT32"],
         "first_repeats": false, "outputs": ["TENSOR_FLOAT32"]},
        {"since": "1.2", "inputs": ["TENSOR_FLOAT16"], "first_repeats": false, "outputs": []},
        {"since": "1.1", "inputs": ["TENSOR_FLOAT32"], "first_repeats": false, "outputs": []}]}
]}"""


def test_a_type_counts_with_its_lowest_version() -> None:
    [row] = parse(TEXT)
    assert row.cells() == ("ADD", "1.0", "FLOAT32 1.0, FLOAT16 1.2")


def test_markdown_is_a_table() -> None:
    lines = as_markdown(parse(TEXT)).splitlines()
    assert lines[1] == "|---|---|---|"
    assert lines[2] == "| ADD | 1.0 | FLOAT32 1.0, FLOAT16 1.2 |"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"operations": [{"name": "ADD"}]}',
        '{"operations": [{"name": "A", "since": "1.0", "signatures": [{"inputs": []}]}]}',
    ],
)
def test_another_format_is_an_error(text: str) -> None:
    with pytest.raises(HalyardError, match="not understood"):
        parse(text)


def test_the_readme_shows_what_the_service_prints() -> None:
    listed = subprocess.run(
        [native.program("service"), "--list-operations"],
        capture_output=True,
        text=True,
        check=True,
    )
    readme = Path(__file__).parents[2] / "README.md"
    assert as_markdown(parse(listed.stdout)) in readme.read_text()
