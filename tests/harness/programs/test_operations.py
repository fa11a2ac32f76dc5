# SPDX-License-Identifier: Apache-2.0
"""The operation table that the service prints."""

import json
import subprocess
from pathlib import Path

import pytest

from halyard.errors import HalyardError
from halyard.programs import native
from halyard.programs.operations import as_markdown, parse

TEXT = """{"operations": [
    {"name": "ADD", "code": 0, "since": "1.0",
     "forms": [{"since": "1.0", "inputs": [{"name": "a", "column": 0}, {"name": "b", "column": 0}],
                "outputs": [{"name": "output", "column": 0}]},
               {"since": "1.1", "inputs": [{"name": "a", "column": 0}], "outputs": []}],
     "rows": [{"since": "1.0", "types": ["TENSOR_FLOAT32"]},
              {"since": "1.2", "types": ["TENSOR_FLOAT16"]}]},
    {"name": "MEAN", "code": 1, "since": "1.1",
     "forms": [{"since": "1.1", "inputs": [{"name": "input", "column": 1}], "outputs": []}],
     "rows": [{"since": "1.0", "types": ["INT32", "TENSOR_FLOAT32"]}]},
    {"name": "IF", "code": 2, "since": "1.3",
     "forms": [{"since": "1.3", "inputs": [{"name": "condition", "type": "TENSOR_BOOL8"}],
                "outputs": []}],
     "rows": [{"since": "1.3", "types": []}]},
    {"name": "SELECT", "code": 3, "since": "1.2",
     "forms": [{"since": "1.2", "inputs": [{"name": "choose", "type": "TENSOR_BOOL8"},
                                           {"name": "a", "column": 0}], "outputs": []}],
     "rows": [{"since": "1.2", "types": ["TENSOR_INT32"]}]}
]}"""


def test_a_type_counts_with_its_lowest_version() -> None:
    assert parse(TEXT)[0].cells() == ("ADD", "1.0", "FLOAT32 1.0, FLOAT16 1.2")


def test_a_row_counts_from_the_version_of_its_form_on() -> None:
    assert parse(TEXT)[1].cells() == ("MEAN", "1.1", "FLOAT32 1.1")


def test_a_type_may_stand_in_the_form_itself() -> None:
    assert parse(TEXT)[2].cells() == ("IF", "1.3", "BOOL8 1.3")


def test_the_type_is_that_of_the_first_input_that_may_have_another() -> None:
    assert parse(TEXT)[3].cells() == ("SELECT", "1.2", "INT32 1.2")


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
        '{"operations": [{"name": "A", "since": "1.0", "forms": [{"inputs": []}], "rows": [{}]}]}',
    ],
)
def test_another_format_is_an_error(text: str) -> None:
    with pytest.raises(HalyardError, match="not understood"):
        parse(text)


def test_the_docs_show_what_the_service_prints() -> None:
    listed = subprocess.run(
        [native.program("service"), "--list-operations"],
        capture_output=True,
        text=True,
        check=True,
    )
    page = Path(__file__).parents[3] / "docs" / "operations.md"
    assert as_markdown(parse(listed.stdout)) in page.read_text()


def test_the_docs_have_the_extensions_that_the_service_lists() -> None:
    listed = subprocess.run(
        [native.program("service"), "--list-operations"],
        capture_output=True,
        text=True,
        check=True,
    )
    page = (Path(__file__).parents[3] / "docs" / "extensions.md").read_text()
    extensions = json.loads(listed.stdout)["extensions"]
    assert extensions
    for extension in extensions:
        assert f"## {extension['name']}\n" in page
        for number, name in enumerate(extension["operations"]):
            assert f"| {name} | {number} |" in page
