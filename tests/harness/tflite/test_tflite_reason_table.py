# SPDX-License-Identifier: Apache-2.0
"""Each reason why something of a .tflite file is refused, or left to the host, is named with a test
that provokes it, in tflite_reasons.json."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.tflite import reading

_HERE = Path(__file__).parents[1]
_TABLE: dict[str, str] = json.loads((_HERE / "tflite_reasons.json").read_text())
_RAISED = ("HalyardError", "NotExpressible")


def _texts() -> Iterator[str]:
    """In the source, with `…` for what a file fills in. What is handed on as it came is none."""
    for path in sorted(Path(reading.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _RAISED:
                text = _text(node.args[0])
                if text.strip("… ;:"):
                    yield f"{path.stem}: {text}"


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_text(each) for each in parts)
        case _:
            return "…"


def _tests(file: str) -> set[str]:
    tree = ast.parse((_HERE / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_reason_is_in_the_table() -> None:
    found = set(_texts())
    assert found - _TABLE.keys() == set(), "a reason that no test is named for"
    assert _TABLE.keys() - found == set(), "a reason that is no longer there"


def test_the_tests_that_the_table_names_are_there() -> None:
    missing = {
        where
        for where in _TABLE.values()
        if where.partition("::")[2].partition("[")[0] not in _tests(where.partition("::")[0])
    }
    assert missing == set()
