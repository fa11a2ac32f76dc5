# SPDX-License-Identifier: Apache-2.0
"""TFLite's operators in forms that NNAPI's operations have not, which become several operations:
they give what LiteRT gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.model import NnapiPart
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import check, convert, operations, weights


@pytest.mark.parametrize("axes", [[1], [1, 2], [-3, -2, -1]])
def test_a_reversal_of_several_axes_is_one_of_each(axes: list[int], tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((2, 3, 4)), graph.tensor((2, 3, 4))
    graph.add("REVERSE_V2", [source, graph.constant(axes, "int32")], [output], "ReverseV2Options")
    found = check(graph, [output], tmp_path)
    assert operations(found) == ["REVERSE"] * len(axes)


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ((1, 2, 3, 4), (4, 5), (1, 2, 3, 5)),
        ((3, 4), (2, 4, 5), (2, 3, 5)),
        ((2, 1, 3, 4), (3, 4, 5), (2, 3, 3, 5)),
    ],
)
def test_factors_may_have_ranks_that_differ(
    first: tuple[int, ...], second: tuple[int, ...], result: tuple[int, ...], tmp_path: Path
) -> None:
    graph = GraphFile()
    source = graph.input(first)
    before, product, output = graph.tensor(first), graph.tensor(result), graph.tensor(result)
    graph.add("RELU", [source], [before])
    given = [before, graph.constant(weights(*second))]
    graph.add("BATCH_MATMUL", given, [product], "BatchMatMulOptions")
    graph.add("TANH", [product], [output])
    found = check(graph, [output], tmp_path)
    assert operations(found) == ["RELU", "RESHAPE", "BATCH_MATMUL", "TANH"]


def _of_constants(
    kind: str, first: Any, second: Any, options: str, tmp_path: Path, **fields: Any
) -> None:
    """The first is added to an input of zeros and ones."""
    graph = GraphFile()
    shape = np.shape(first)
    source = graph.input(shape, "int32")
    sum_, output = graph.tensor(shape, "int32"), graph.tensor(shape, "int32")
    graph.add("ADD", [source, graph.constant(first, "int32")], [sum_], "AddOptions")
    graph.add(kind, [sum_, graph.constant(second, "int32")], [output], options, **fields)
    check(graph, [output], tmp_path)


def test_quotients_of_whole_numbers_are_cut_off(tmp_path: Path) -> None:
    """-7 / 2 is -3, and NNAPI's is -4."""
    first, second = [-7, 7, -7, 7, -9, 0], [2, 2, -3, -3, 4, -5]
    _of_constants("DIV", first, second, "DivOptions", tmp_path)


@pytest.mark.parametrize("activation", [1, 2, 3])
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_whole_numbers_are_clamped_behind(kind: str, activation: int, tmp_path: Path) -> None:
    options = f"{kind.capitalize()}Options"
    first, second = [-9, -1, 0, 1, 5, 9], [1, 2, -3, 1, 2, 1]
    _of_constants(kind, first, second, options, tmp_path, fusedActivationFunction=activation)


def test_of_equal_numbers_the_first_is_first(tmp_path: Path) -> None:
    """NNAPI's TOPK_V2 has the last one first."""
    graph = GraphFile()
    source, few = graph.input((2, 9), "int32"), graph.tensor((2, 9), "int32")
    graph.add("MUL", [source, graph.constant([0], "int32")], [few], "MulOptions")
    given = graph.tensor((2, 9), "int32")
    numbers = graph.constant([[3, 1, 3, 2, 3, 1, 2, 3, 0]] * 2, "int32")
    graph.add("ADD", [few, numbers], [given], "AddOptions")
    values, places = graph.tensor((2, 6), "int32"), graph.tensor((2, 6), "int32")
    graph.add("TOPK_V2", [given, graph.constant(6, "int32")], [values, places], "TopKV2Options")
    check(graph, [places, values], tmp_path)


@pytest.mark.parametrize(
    ("condition", "first", "second", "result"),
    [
        ((3, 4), (3, 4), (3, 4), (3, 4)),
        ((3, 1), (2, 3, 4), (4,), (2, 3, 4)),
        ((2, 3, 4), (3, 1), (1,), (2, 3, 4)),
        ((1,), (2, 3), (2, 1), (2, 3)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_what_is_chosen_from_is_repeated(
    dtype: str, condition: Any, first: Any, second: Any, result: Any, tmp_path: Path
) -> None:
    graph = GraphFile()
    steps: tuple[Any, ...] = () if dtype == "float32" else (0.02, 3)
    given = graph.input(condition), graph.input(first, dtype, *steps)
    other = graph.input(second, dtype, *steps)
    chosen, output = graph.tensor(condition, "bool"), graph.tensor(result, dtype, *steps)
    graph.add("LESS", [given[0], graph.constant([1.0])], [chosen])
    graph.add("SELECT_V2", [chosen, given[1], other], [output], "SelectV2Options")
    check(graph, [output], tmp_path)


@pytest.mark.parametrize(
    ("bounds", "masks", "result"),
    [
        (([1], [3], [1]), {}, (2, 4, 5)),
        (([0, 0], [0, 0], [1, 1]), {"newAxisMask": 1, "endMask": 2, "beginMask": 2}, (1, 3, 4, 5)),
        (([0, 1], [0, 3], [1, 1]), {"ellipsisMask": 1}, (3, 4, 2)),
        (
            ([1, 0, 0, -1], [0, 0, 0, 0], [1, 1, 1, 1]),
            {"shrinkAxisMask": 9, "ellipsisMask": 2, "newAxisMask": 4},
            (4, 1),
        ),
        (([2, 3, 4], [-9, -9, -9], [-1, -2, -3]), {}, (3, 2, 2)),
    ],
)
def test_slices_of_fewer_axes_and_of_new_ones(
    bounds: Any, masks: dict[str, int], result: tuple[int, ...], tmp_path: Path
) -> None:
    graph = GraphFile()
    source, output = graph.input((3, 4, 5)), graph.tensor(result)
    given = [source, *(graph.constant(each, "int32") for each in bounds)]
    graph.add("STRIDED_SLICE", given, [output], "StridedSliceOptions", **masks)
    check(graph, [output], tmp_path)


def test_batches_that_are_cropped(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((6, 2, 2, 3)), graph.tensor((1, 3, 4, 3))
    given = [graph.constant(each, "int32") for each in ([2, 3], [[0, 1], [1, 1]])]
    graph.add("BATCH_TO_SPACE_ND", [source, *given], [output], "BatchToSpaceNDOptions")
    assert operations(check(graph, [output], tmp_path)) == ["BATCH_TO_SPACE_ND", "SLICE"]


# ---- what is left to the host, and why ----------------------------------------------------------


def _reason(graph: GraphFile, output: int, tmp_path: Path) -> str:
    [unmapped] = convert(graph, [output], tmp_path).unmapped
    return unmapped.reason


@pytest.mark.parametrize(
    ("kind", "inputs", "result", "options", "fields", "reason"),
    [
        ("REVERSE_V2", [[0, 0]], (3, 4), "ReverseV2Options", {}, "it reverses an axis twice: [0"),
        (
            "STRIDED_SLICE",
            [[0, 0], [1, 4], [1, 1]],
            (1, 4),
            "StridedSliceOptions",
            {"offset": True},
            "its ends are offsets from where it begins",
        ),
        (
            "STRIDED_SLICE",
            [[0, 0], [1, 4], [1]],
            (1, 4),
            "StridedSliceOptions",
            {},
            "its bounds are of different lengths",
        ),
        (
            "STRIDED_SLICE",
            [[0, 0], [1, 4], [1, 0]],
            (1, 4),
            "StridedSliceOptions",
            {},
            "one of its strides is 0",
        ),
        (
            "STRIDED_SLICE",
            [[0, 0], [1, 4], [-1, 1]],
            (4,),
            "StridedSliceOptions",
            {"shrinkAxisMask": 1},
            "an axis that goes has a stride of -1",
        ),
        (
            "STRIDED_SLICE",
            [[0, 0], [1, 4], [1, 1]],
            (1, 4),
            "StridedSliceOptions",
            {"ellipsisMask": 3},
            "it has several ellipses",
        ),
        (
            "STRIDED_SLICE",
            [[0, 0, 0], [1, 4, 1], [1, 1, 1]],
            (1, 4),
            "StridedSliceOptions",
            {},
            "its bounds are of more axes than the 2 of its input",
        ),
        (
            "CONCATENATION",
            [],
            (3, 4),
            "ConcatenationOptions",
            {"fusedActivationFunction": 1},
            "it has a fused activation, which TFLite's kernel leaves away",
        ),
    ],
)
def test_reasons(
    kind: str,
    inputs: list[Any],
    result: tuple[int, ...],
    options: str,
    fields: dict[str, Any],
    reason: str,
    tmp_path: Path,
) -> None:
    graph = GraphFile()
    source, output = graph.input((3, 4)), graph.tensor(result)
    given = [source, *(graph.constant(each, "int32") for each in inputs)]
    graph.add(kind, given, [output], options, **fields)
    assert _reason(graph, output, tmp_path).startswith(reason)


def test_a_quotient_of_whole_numbers_with_an_activation(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((3,), "int32"), graph.tensor((3,), "int32")
    given = [source, graph.constant([2], "int32")]
    graph.add("DIV", given, [output], "DivOptions", fusedActivationFunction=1)
    assert _reason(graph, output, tmp_path) == "of whole numbers, with an activation"


def test_a_condition_for_rows_that_is_computed(tmp_path: Path) -> None:
    graph = GraphFile()
    condition, source = graph.input((3,), "bool"), graph.input((3, 4))
    output = graph.tensor((3, 4))
    graph.add("SELECT", [condition, source, source], [output], "SelectOptions")
    reason = "its condition is for rows, and NNAPI's for elements"
    assert _reason(graph, output, tmp_path) == reason


def test_a_choice_of_other_scales(tmp_path: Path) -> None:
    graph = GraphFile()
    condition, source = graph.input((3,), "bool"), graph.input((3,), "int8", 0.1, 0)
    output = graph.tensor((3,), "int8", 0.2, 0)
    graph.add("SELECT_V2", [condition, source, source], [output], "SelectV2Options")
    reason = "what it chooses from has other scales than its output"
    assert _reason(graph, output, tmp_path) == reason


@pytest.mark.parametrize(
    ("kind", "shape", "result", "constant", "reason"),
    [
        ("RELU", (2, 3), (5, 3), None, "output 0: shape [5, 3] contradicts [2, 3]"),
        ("BATCH_MATMUL", (2, 3), (2, 3), np.ones((4, 3)), "the columns of a (3) and the rows of"),
        ("ADD", (2, 3), (2, 3), np.ones(4), "NNAPI's ADD: "),
    ],
)
def test_what_only_preparing_finds_is_for_the_host(
    kind: str, shape: Any, result: Any, constant: Any, reason: str, tmp_path: Path
) -> None:
    graph = GraphFile()
    source, output = graph.input(shape), graph.tensor(result)
    given = [source] if constant is None else [source, graph.constant(constant)]
    graph.add(kind, given, [output])
    found = convert(graph, [output], tmp_path)
    assert not any(isinstance(part, NnapiPart) for part in found.parts)
    assert reason in found.unmapped[0].reason


def test_what_has_no_elements_is_for_the_host(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((3, 4)), graph.tensor((0, 4))
    bounds = [graph.constant(each, "int32") for each in ([1, 0], [0, 4])]
    graph.add("SLICE", [source, *bounds], [output], "SliceOptions")
    found = convert(graph, [output], tmp_path)
    assert found.outputs[0].shape == (0, 4)
    assert found.unmapped[0].reason == "'t1', [0, 4], has no elements"
