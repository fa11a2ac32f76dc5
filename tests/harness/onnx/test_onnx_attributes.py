# SPDX-License-Identifier: Apache-2.0
"""Attributes of ONNX operators that change what is computed: right values are numpy's, written from
the operators' texts, or ONNX Runtime's with its optimiser off."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from halyard import onnx
from halyard.model import Array
from tests.harness.on_parts import converted, operations
from tests.harness.onnx_cases import Case, check, conversion_of, floats, image
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


# ---- the third matrix of a Gemm -----------------------------------------------------------------

A, B = floats(4, 3), floats(3, 4, seed=1)
SUMMANDS: dict[str, Array] = {
    "scalar": np.array(2.5, "f4"),
    "one": np.array([2.5], "f4"),
    "one_by_one": np.array([[2.5]], "f4"),
    "per_column": floats(4, seed=2),
    "one_row": floats(1, 4, seed=2),
    "per_row": np.array([[0], [100], [200], [300]], "f4"),
    "of_all": floats(4, 4, seed=2),
    "of_equal_rows": np.tile(floats(1, 4, seed=2), (4, 1)),
}


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", SUMMANDS)
@pytest.mark.parametrize("opset", [6, 13])
def test_gemm_adds_what_its_third_matrix_is_broadcast_to(
    name: str, opset: int, computed: bool, tmp_path: Path
) -> None:
    c = SUMMANDS[name]

    def build(g: Graph) -> str:
        third = g.input("c", c.shape) if computed else g.constant(c)
        inputs = [g.input("a", A.shape), g.constant(B.T), third]
        attributes = {"broadcast": 1} if opset == 6 else {}
        return g.op("Gemm", *inputs, transB=1, alpha=0.5, beta=2.0, **attributes)

    # In the order of the graph's inputs.
    inputs = [c, A] if computed else [A]
    check(Case(opset, build, inputs, 0.5 * (A @ B) + 2 * c), tmp_path)


# ---- axes of operator set 6 ---------------------------------------------------------------------

LEFT = floats(2, 3, 4, 5)
OLD = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Greater": np.greater,
    "Less": np.less, "Pow": np.power,
}  # fmt: skip


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3,), 1), ((3, 4), 1), ((2,), 0), ((4, 5), None), ((5,), None), ((1, 1), None), ((), None)],
)
@pytest.mark.parametrize("kind", OLD)
def test_second_input_stands_at_its_axis_in_operator_set_6(
    kind: str, shape: tuple[int, ...], axis: int | None, computed: bool, tmp_path: Path
) -> None:
    left = np.abs(LEFT) if kind == "Pow" else LEFT
    right = np.asarray(floats(*shape, seed=3), "f4")
    at = 4 - len(shape) if axis is None else axis
    placed = right.reshape((1,) * at + shape + (1,) * (4 - at - len(shape)))

    def build(g: Graph) -> str:
        names = [g.input("x", left.shape), g.input("y", shape) if computed else g.constant(right)]
        attributes = {} if axis is None else {"axis": axis}
        return g.op(kind, *names, broadcast=1, **attributes)

    inputs = [left, right] if computed else [left]
    check(Case(6, build, inputs, OLD[kind](left, placed)), tmp_path)


@pytest.mark.parametrize("kind", ["And", "Or"])
def test_truth_values_stand_at_their_axis_too(kind: str, tmp_path: Path) -> None:
    left, right = LEFT > 0, np.array([True, False, True])

    def build(g: Graph) -> str:
        x = g.input("x", left.shape, TensorProto.BOOL)
        return g.op(kind, x, g.constant(right, "?"), broadcast=1, axis=1)

    function = np.logical_and if kind == "And" else np.logical_or
    check(Case(6, build, [left], function(left, right.reshape(1, 3, 1, 1))), tmp_path)


def test_constants_of_operator_set_6_are_placed_as_well(tmp_path: Path) -> None:
    """Values that depend on no input are computed when the file is read."""
    left, right = floats(3, 3), floats(3, seed=1)

    def build(g: Graph) -> str:
        whole = g.op("Add", g.constant(left), g.constant(right), broadcast=1, axis=0)
        return g.op("Mul", g.input("x", (3, 3)), whole)

    x = floats(3, 3, seed=2)
    check(Case(6, build, [x], x * (left + right[:, None])), tmp_path)


# ---- softmax of several dimensions as one -------------------------------------------------------


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
def test_softmax_before_operator_set_13_is_of_two_dimensions(
    kind: str, axis: int, tmp_path: Path
) -> None:
    x = floats(2, 3, 4, 5)
    first = axis % 4
    rows = np.exp(x.reshape(int(np.prod(x.shape[:first])), -1).astype("f8"))
    shares = rows / rows.sum(axis=1, keepdims=True)
    expected = (np.log(shares) if kind == "LogSoftmax" else shares).reshape(x.shape)
    check(Case(11, lambda g: g.op(kind, image(g, x), axis=axis), [x], expected), tmp_path)


def test_softmax_of_constants_before_operator_set_13_is_as_well(tmp_path: Path) -> None:
    held, x = floats(2, 3, 4), floats(2, 3, 4, seed=1)
    rows = np.exp(held.reshape(2, 12))
    expected = x * (rows / rows.sum(axis=1, keepdims=True)).reshape(2, 3, 4)

    def build(g: Graph) -> str:
        return g.op("Mul", image(g, x), g.op("Softmax", g.constant(held), axis=1))

    check(Case(11, build, [x], expected), tmp_path)


def test_constants_lose_the_dimensions_that_an_old_squeeze_names(tmp_path: Path) -> None:
    held, x = floats(1, 3, 1), floats(2, 1, 3, seed=1)

    def build(g: Graph) -> str:
        return g.op("Add", image(g, x), g.op("Squeeze", g.constant(held), axes=[2]))

    check(Case(11, build, [x], x + held[:, :, 0]), tmp_path)


# ---- reductions of nothing ----------------------------------------------------------------------

REDUCED: dict[str, Callable[[Array], Array]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.abs,
    "ReduceMax": np.asarray,
    "ReduceMean": np.asarray,
    "ReduceMin": np.asarray,
    "ReduceProd": np.asarray,
    "ReduceSum": np.asarray,
    "ReduceSumSquare": np.square,
}


@pytest.mark.parametrize("given", ["empty", "absent"])
@pytest.mark.parametrize("kind", REDUCED)
def test_reduction_of_no_axes_does_the_rest(kind: str, given: str, tmp_path: Path) -> None:
    x = floats(2, 3)

    def build(g: Graph) -> str:
        axes = [g.constant(np.zeros(0), "i8")] if given == "empty" else []
        return g.op(kind, image(g, x), *axes, noop_with_empty_axes=1)

    check(Case(18, build, [x], REDUCED[kind](x)), tmp_path)


@pytest.mark.parametrize("kind", REDUCED)
@pytest.mark.parametrize("keep", [0, 1])
def test_reduction_of_five_dimensions_along_one_of_one(
    kind: str, keep: int, tmp_path: Path
) -> None:
    x = floats(1, 2, 3, 4, 5)
    expected = REDUCED[kind](x) if keep else REDUCED[kind](x)[0]

    def build(g: Graph) -> str:
        five = g.op("Reshape", image(g, x.reshape(2, 3, 4, 5)), g.ints(1, 2, 3, 4, 5))
        return g.op("Identity", g.op(kind, five, g.ints(0), keepdims=keep))

    case = Case(18, build, [x.reshape(2, 3, 4, 5)], expected)
    check(case, tmp_path)


# ---- what has no mapping because of an attribute ------------------------------------------------


def test_dropout_in_training_mode_is_left_to_the_host(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        training = g.constant(True, "?")
        return g.op("Dropout", g.input("x", (2, 3)), g.constant(0.5), training, seed=1)

    conversion, _ = conversion_of(Case(13, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == ["it is in training mode"]


def test_dropout_with_its_mode_given_as_false_is_nothing(tmp_path: Path) -> None:
    x = floats(2, 3)

    def build(g: Graph) -> str:
        return g.op("Dropout", image(g, x), g.constant(0.5), g.constant(False, "?"))

    check(Case(13, build, [x], x), tmp_path)


def test_training_normalization_leaves_the_convolution_before_it_on_nnapi(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        x = g.op("Conv", g.input("x", (1, 2, 3, 3)), g.weights(2, 2, 1, 1))
        statistics = [g.factors(2), g.weights(2), g.weights(2), g.factors(2)]
        return g.op("BatchNormalization", x, *statistics, outputs=3, training_mode=1)

    conversion, _ = conversion_of(Case(15, build, []), tmp_path)
    assert [(each.operator.split()[1], each.reason) for each in conversion.unmapped] == [
        ("BatchNormalization", "it is in training mode")
    ]


# ---- more than four dimensions ------------------------------------------------------------------


def of_five(shape: Sequence[int], build: Callable[[Graph, str], str], expected: Array) -> Case:
    """On numbers from 0 on, in that shape, and flat behind."""
    numbers = np.arange(int(np.prod(shape)), dtype="f4")

    def whole(g: Graph) -> str:
        five = g.op("Reshape", g.input("x", numbers.shape), g.ints(*shape))
        return g.op("Reshape", build(g, five), g.ints(-1))

    return Case(17, whole, [numbers], expected.reshape(-1))


def grid(*shape: int) -> Array:
    return np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)


FIVE = {
    "expand_along_the_first": of_five(
        (1, 2, 1, 1, 3), lambda g, x: g.op("Expand", x, g.ints(2, 2, 1, 1, 3)),
        np.broadcast_to(grid(1, 2, 1, 1, 3), (2, 2, 1, 1, 3)),
    ),
    "tile_along_one_of_one": of_five(
        (1, 2, 1, 1, 3), lambda g, x: g.op("Tile", x, g.ints(1, 1, 4, 1, 1)),
        np.tile(grid(1, 2, 1, 1, 3), (1, 1, 4, 1, 1)),
    ),
    "expand_to_more": of_five(
        (2, 1, 3), lambda g, x: g.op("Expand", x, g.ints(1, 1, 2, 4, 3)),
        np.broadcast_to(grid(2, 1, 3), (1, 1, 2, 4, 3)),
    ),
    "matmul": of_five(
        (1, 2, 1, 3, 4),
        lambda g, x: g.op("MatMul", x, g.constant(grid(2, 1, 1, 4, 5))),
        grid(1, 2, 1, 3, 4) @ grid(2, 1, 1, 4, 5),
    ),
    "gather_of_places": of_five(
        (1, 2, 1, 1, 3), lambda g, x: g.op("Gather", x, g.constant([[1, 0], [0, 1]], "i8"), axis=1),
        np.take(grid(1, 2, 1, 1, 3), [[1, 0], [0, 1]], axis=1),
    ),
    "add_of_fewer": of_five(
        (2, 1, 3, 1, 2), lambda g, x: g.op("Add", x, g.constant(grid(3, 1, 1))),
        grid(2, 1, 3, 1, 2) + grid(3, 1, 1),
    ),
    "transpose": of_five(
        (2, 1, 3, 1, 2), lambda g, x: g.op("Transpose", x, perm=[4, 1, 0, 3, 2]),
        grid(2, 1, 3, 1, 2).transpose(4, 1, 0, 3, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIVE)
def test_value_of_five_dimensions_keeps_its_elements_in_their_places(
    name: str, tmp_path: Path
) -> None:
    check(FIVE[name], tmp_path)


def test_layer_normalization_of_five_dimensions_weighs_each_element(tmp_path: Path) -> None:
    x, gamma, beta = floats(2, 3, 1, 2, 2), floats(3, 1, 2, 2, seed=1), floats(3, 1, 2, 2, seed=2)

    def build(g: Graph) -> str:
        five = g.op("Reshape", g.input("x", (2, 12)), g.ints(2, 3, 1, 2, 2))
        y = g.op("LayerNormalization", five, g.constant(gamma), g.constant(beta), axis=1)
        return g.op("Reshape", y, g.ints(2, 12))

    centred = x - x.mean(axis=(1, 2, 3, 4), keepdims=True)
    spread_of = np.sqrt((centred**2).mean(axis=(1, 2, 3, 4), keepdims=True) + 1e-5)
    expected = centred / spread_of * gamma + beta
    check(Case(17, build, [x.reshape(2, 12)], expected.reshape(2, 12)), tmp_path)


def test_dimension_that_is_left_away_is_the_reason(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        five = g.op("Reshape", g.input("x", (2, 12)), g.ints(1, 2, 3, 2, 2))
        return g.op("Reshape", g.op("Softmax", five, axis=0), g.ints(2, 12))

    x = floats(2, 12)
    conversion = check(Case(17, build, [x], np.ones((2, 12), "f4"), mapped=False), tmp_path)
    assert "it works along dimension 0 of 5, which is of one and left away: NNAPI takes 4" in [
        each.reason for each in conversion.unmapped
    ]


@pytest.mark.parametrize("value", [2.0, 0.5, 3.0])
def test_exponent_of_one_element_may_have_more_dimensions(value: float, tmp_path: Path) -> None:
    x = np.array([0.5, 2, 3, 0.25], "f4")
    build = lambda g: g.op("Pow", g.input("x", (4,)), g.constant([[value]]))  # noqa: E731
    check(Case(13, build, [x], np.power(x, [[value]])), tmp_path)


def test_exponent_may_give_an_image_a_fifth_dimension(tmp_path: Path) -> None:
    x = np.abs(floats(1, 2, 3, 3)) + 0.5

    def build(g: Graph) -> str:
        identity = g.constant(np.eye(2)[:, :, None, None])
        y = g.op("Pow", g.op("Conv", image(g, x), identity), g.constant(np.full((1,) * 5, 3.0)))
        return g.op("Reshape", y, g.ints(-1))

    check(Case(13, build, [x], (x**3).reshape(-1)), tmp_path)


def test_operator_that_is_not_understood_is_not_taken_in_by_others(tmp_path: Path) -> None:
    """A sum of bytes would quantise its result in a way that the file does not say."""

    def build(g: Graph) -> str:
        x = g.requantized(g.input("x", (2, 3)), 0.02, 3, "i1")
        scale, zero_point = g.constant(0.05), g.constant(3, "i1")
        total = g.op("Add", x, x)
        half = TensorProto.FLOAT16
        whole = g.op("QuantizeLinear", total, scale, zero_point, precision=half)
        return g.op("DequantizeLinear", whole, scale, zero_point)

    conversion, _ = conversion_of(Case(23, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its precision is 10, and 0 or 1 is understood"
    ]


# ---- what is equal ------------------------------------------------------------------------------

TIES = np.array([[1, 3, 3, 2, 3], [0, 0, 0, 0, 0]], "f4")


def test_of_equal_ones_the_first_comes_first(tmp_path: Path) -> None:
    """TOPK_V2 has the last one first."""

    def build(g: Graph) -> str:
        return g.ops("TopK", g.input("x", TIES.shape), g.ints(4), outputs=2)[1]

    expected = np.argsort(-TIES, axis=1, kind="stable")[:, :4]
    check(Case(13, build, [TIES], expected), tmp_path)


def test_values_of_equal_ones_need_no_places(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.ops("TopK", g.input("x", TIES.shape), g.ints(4), outputs=2)[0]

    conversion = check(Case(13, build, [TIES], -np.sort(-TIES, axis=1)[:, :4]), tmp_path)
    assert operations(conversion) == ["TOPK_V2"]


def test_transposed_scalar_is_the_scalar(tmp_path: Path) -> None:
    x = np.array(1.5, "f4")

    def build(g: Graph) -> str:
        return g.op("Neg", g.op("Transpose", g.input("x", ())))

    check(Case(13, build, [x], -x), tmp_path)


@pytest.mark.parametrize("kind", ["GreaterOrEqual", "LessOrEqual"])
@pytest.mark.parametrize("opset", [12, 15, 16])
def test_comparison_has_a_shape_where_its_schema_says_none(
    kind: str, opset: int, tmp_path: Path
) -> None:
    x = floats(2, 3)

    def build(g: Graph) -> str:
        return g.op("Where", g.op(kind, g.input("x", (2, 3)), g.constant(0)), g.constant(1),
                    g.constant(2))  # fmt: skip

    chosen = x >= 0 if kind == "GreaterOrEqual" else x <= 0
    g = Graph(0, opset)
    path = tmp_path / "model.onnx"
    model = g.model(build(g))
    model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(1, [2, 3]))
    path.write_bytes(model.SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert conversion.unmapped == ()
    np.testing.assert_array_equal(converted(conversion, [x])[0], np.where(chosen, 1, 2))
