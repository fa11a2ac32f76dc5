# SPDX-License-Identifier: Apache-2.0
"""Why an operator has no mapping is said for each, and is true: the host computes it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, defs, helper

from halyard import onnx
from halyard.onnx.reading.operators import OPERATORS
from halyard.onnx.reading.unmapped import REASONS
from halyard.programs.operations import table
from tests.harness.on_parts import converted, inputs_for, original
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

COUNTED = "how much it gives depends on the values that it reads, and shapes are fixed here"


def test_operators_with_a_reason_are_those_of_onnx_and_have_no_mapping() -> None:
    names = {schema.name for schema in defs.get_all_schemas()}
    assert set(REASONS) <= names
    assert not set(REASONS) & set(OPERATORS)


def test_operations_that_reasons_name_are_nnapis() -> None:
    known = set(table())
    named = {word for reason in REASONS.values() for word in reason.replace(",", "").split()}
    spelled = {word for word in named if word.isupper() and len(word) > 1 and word != "NNAPI"}
    assert spelled
    assert spelled <= known


def choice(g: Graph) -> str:
    def branch(name: str, value: float) -> object:
        held = helper.make_tensor(f"{name}_value", TensorProto.FLOAT, [2], [value, value])
        node = helper.make_node("Constant", [], [name], value=held)
        end = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        return helper.make_graph([node], name, [], [end])

    condition = g.input("condition", (1,), TensorProto.BOOL)
    return g.op("If", condition, then_branch=branch("a", 1), else_branch=branch("b", 2))


def loop(g: Graph) -> str:
    infos = [
        helper.make_tensor_value_info(name, kind, [])
        for name, kind in (("i", TensorProto.INT64), ("go", TensorProto.BOOL))
    ]
    before = helper.make_tensor_value_info("before", TensorProto.FLOAT, [2])
    ends = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (("gone", TensorProto.BOOL, []), ("after", TensorProto.FLOAT, [2]))
    ]
    nodes = [
        helper.make_node("Identity", ["go"], ["gone"]),
        helper.make_node("Add", ["before", "before"], ["after"]),
    ]
    body = helper.make_graph(nodes, "body", [*infos, before], ends)
    x = g.input("x", (2,))
    return g.op("Loop", g.constant(3, "i8"), g.constant(True, "?"), x, body=body)


PROVOKED: dict[str, tuple[Callable[[Graph], str], str]] = {
    "if": (choice, "NNAPI has IF, and no mapping to it is written"),
    "loop": (loop, "NNAPI has WHILE, and no mapping to it is written"),
    "non_zero": (
        lambda g: g.op("Cast", g.op("NonZero", g.input("x", (2, 3))), to=TensorProto.FLOAT),
        COUNTED,
    ),
    "compress": (
        lambda g: g.op("Compress", g.input("x", (3,)), g.constant([True, False, True], "?")),
        COUNTED,
    ),
    "roi_align": (
        lambda g: g.op(
            "RoiAlign", g.input("x", (1, 2, 4, 4)), g.constant([[0, 0, 2, 2]]), g.ints(0),
            output_height=2, output_width=2,
        ),
        "NNAPI has ROI_ALIGN, and no mapping to it is written",
    ),
    "another": (
        lambda g: g.op("Atan", g.input("x", (3,))),
        "NNAPI has no operation for it, and none is composed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVOKED)
def test_operator_without_a_mapping_says_why_and_runs_on_the_host(
    name: str, tmp_path: Path
) -> None:
    build, reason = PROVOKED[name]
    g = Graph(3)
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(build(g)).SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert reason in [each.reason for each in conversion.unmapped]
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_follows_a_window_larger_than_its_image_says_what_it_would_have(
    tmp_path: Path,
) -> None:
    """Of which no engine runs the whole."""
    g = Graph(3)
    y = g.op("Conv", g.input("x", (1, 2, 2, 2)), g.weights(3, 2, 5, 5))
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(g.op("Relu", y)).SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert [each.reason for each in conversion.unmapped] == [
        "its window is larger than its image",
        f"{y!r} would have the dimensions [1, 3, -2, -2]",
    ]
