# SPDX-License-Identifier: Apache-2.0
"""The table of operators that the importer reads by is TFLite's, each operator that it maps has
cases with each of its options, and the harness's reading of files takes the same operators."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert import schema_py_generated as schema

from halyard.tflite.reading.operators import HANDLERS
from tests.litert.operator_files import CASES, draft

_IMPORTER = Path(__file__).parents[2] / "importers" / "tflite"
_TABLE: dict[str, Any] = json.loads((_IMPORTER / "operators.json").read_text())
_OPERATORS: dict[str, dict[str, Any]] = {each["name"]: each for each in _TABLE["operators"]}
_MAPPED = re.findall(
    r"^HALYARD_TFLITE_HANDLER\((\w+),",
    (_IMPORTER / "operators" / "handlers.inc").read_text(),
    re.MULTILINE,
)
_CODES = {
    name: code for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)
}

# Options that no case changes, and why.
_UNCHANGED = {
    ("FULLY_CONNECTED", "quant_spec"): "schemas of packages lack it",
}
# Operators that no case is of, and why.
_WITHOUT_CASE = {
    "DENSIFY": "constants without their zeros have tests of their own (sparsity_test.cc)",
}

# What one of the two readings of files takes alone, and why.
_IMPORTER_ALONE = {
    "ADD_N": "NNAPI has none, and the harness makes no ADDs of it",
    "BROADCAST_TO": "NNAPI has none, and the harness makes no TILE of it",
    "GELU": "NNAPI has none",
    "HASHTABLE_LOOKUP": "the harness does not read it, though NNAPI has it",
    "LSH_PROJECTION": "the harness does not read it, though NNAPI has it",
    "RELU_0_TO_1": "NNAPI has none",
}
_HARNESS_ALONE: dict[str, str] = {}


class _Slots:
    """A builder of flatbuffers that notes where a value goes."""

    def __init__(self) -> None:
        self.found: list[tuple[int, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("Prepend"):
            raise AttributeError(name)
        return lambda slot, value, default: self.found.append((slot, default))


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)


def _slots(table: str) -> dict[str, tuple[int, Any]]:
    """The fields of a table of the schema: slot and default."""
    found = {}
    for field in vars(getattr(schema, f"{table}T")()):
        slots = _Slots()
        getattr(schema, f"{table}Add{field[0].upper()}{field[1:]}")(slots, 0)
        [found[field]] = slots.found
    return found


def test_operators_are_the_schemas() -> None:
    ours = {name: each["code"] for name, each in _OPERATORS.items()}
    # A package may be older or newer than the table: what both have is the same.
    assert {name: ours[name] for name in ours if name in _CODES} == {
        name: code for name, code in _CODES.items() if name in ours
    }
    assert set(_CODES) <= set(ours)


@pytest.mark.parametrize("name", _TABLE["options"])
def test_options_are_the_schemas(name: str) -> None:
    options: Mapping[str, Any] = _TABLE["options"][name]
    assert getattr(schema.BuiltinOptions, options["schema"]) == options["union"]
    theirs = _slots(options["schema"])
    ours = {_camel(each["name"]): each for each in options["fields"]}
    lacking = {_camel(option) for _, option in _UNCHANGED}
    for field, (slot, default) in theirs.items():
        assert field in ours, f"{field} is not in operators.json"
        assert ours[field]["slot"] == slot
        assert ours[field].get("default", 0) == default
    assert set(ours) - set(theirs) <= lacking


def test_what_has_no_options_here_has_none_in_the_schema() -> None:
    tables = {name.lower(): name for name in vars(schema) if name.endswith("OptionsT")}
    for kind in _MAPPED:
        table = tables.get(kind.replace("_", "").lower() + "optionst")
        if "options" not in _OPERATORS[kind] and table is not None:
            assert vars(getattr(schema, table)()) == {}, kind


def test_each_operator_has_a_case() -> None:
    kinds = {each.kind for each in CASES if not each.reason}
    custom = {kind for kind in kinds if kind not in _OPERATORS}
    assert custom == {
        "Convolution2DTransposeBias",
        "MaxPoolingWithArgmax2D",
        "MaxUnpooling2D",
        "TFLite_Detection_PostProcess",
    }
    wanted = set(_MAPPED) - {"CUSTOM"} - set(_WITHOUT_CASE)
    assert wanted - kinds == set(), "has no case that is taken"
    assert {each.name for each in CASES if CASES.count(each) > 1} == set()
    assert len({each.name for each in CASES}) == len(CASES)


@cache
def _changed() -> set[tuple[str, str]]:
    """The options that cases have at another value than the schema's default."""
    found = set()
    for case in CASES:
        of = draft(case)
        for graph in (of.graph, *of.graph.others):
            for operator in graph.operators:
                options = operator.builtinOptions
                if options is None:
                    continue
                plain = vars(type(options)())
                found |= {
                    (operator.opcodeIndex, field)
                    for field, value in vars(options).items()
                    if value is not None and value != plain[field]
                }
    return found


@pytest.mark.parametrize("kind", sorted({each for each in _MAPPED if each in _OPERATORS}))
def test_each_option_has_a_case(kind: str) -> None:
    options = _OPERATORS[kind].get("options")
    if options is None:
        return
    for field in _TABLE["options"][options]["fields"]:
        if (kind, field["name"]) not in _UNCHANGED:
            assert (kind, _camel(field["name"])) in _changed(), field["name"]


def test_the_harness_reads_the_same_operators() -> None:
    names = {code: name for name, code in _CODES.items()}
    theirs = {names[code] for code in HANDLERS}
    assert set(_MAPPED) - theirs == set(_IMPORTER_ALONE)
    assert theirs - set(_MAPPED) == set(_HARNESS_ALONE)
