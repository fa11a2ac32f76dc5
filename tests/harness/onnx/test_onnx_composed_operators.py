# SPDX-License-Identifier: Apache-2.0
"""ONNX operators that are composed of several operations, over attributes, versions, ranks and edge
values: the driver computes what ONNX Runtime computes."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from halyard import onnx
from halyard.model import Array, Conversion, RunnableModel
from tests.harness.on_parts import converted, inputs_for, original, problems
from tests.harness.onnx_models import Graph

onnxruntime = pytest.importorskip("onnxruntime")

Build = Callable[[Graph], str]
F, WHOLE, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def read(g: Graph, outputs: Sequence[str], folder: Path) -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(g.model(*outputs).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


def x(g: Graph, *shape: int, kind: int = F) -> str:
    return g.input("x", shape, kind)


def image(g: Graph) -> str:
    """One that is there with its channels last."""
    return g.op("Conv", x(g, 1, 6, 4, 5), g.weights(6, 6, 1, 1))


def one(kind: str, *shape: int, **attributes: object) -> Build:
    return lambda g: g.op(kind, x(g, *(shape or (2, 3, 5))), **attributes)


def truth(g: Graph, name: str = "x", *shape: int) -> str:
    return g.op("Greater", g.input(name, shape or (2, 3)), g.constant(0.1))


def counted(g: Graph, *shape: int) -> str:
    """Of INT64, as a mask is counted: its sums are known to go into 32 bits."""
    return g.op("Cast", truth(g, "x", *shape), to=WHOLE)


def real(g: Graph, name: str) -> str:
    return g.op("Cast", name, to=F)


def gemm(
    a: Sequence[int], b: Sequence[int], c: Sequence[int] | None, **attributes: object
) -> Build:
    def build(g: Graph) -> str:
        names = [g.input(*each) for each in (("a", a), ("b", b), ("c", c)) if each[1] is not None]
        return g.op("Gemm", *names, **attributes)

    return build


def where(condition: Sequence[int], a: Sequence[int], b: Sequence[int]) -> Build:
    return lambda g: g.op("Where", g.input("c", condition, B), g.input("a", a), g.input("b", b))


def one_hot(shape: Sequence[int], depth: int, **attributes: object) -> Build:
    return lambda g: g.op(
        "OneHot", g.input("x", shape, WHOLE), g.constant(depth, "i8"), g.constant([-1.5, 2]),
        **attributes,
    )  # fmt: skip


def moved(kind: str, *constants: object, shape: Sequence[int] = (2, 3), **more: object) -> Build:
    """Truth values that are moved."""
    return lambda g: real(
        g, g.op(kind, truth(g, "x", *shape), *(g.ints(*each) for each in constants), **more)
    )


CASES: dict[str, Build] = {
    "is_nan": lambda g: real(g, g.op("IsNaN", x(g, 2, 3))),
    "is_inf": lambda g: real(g, g.op("IsInf", x(g, 2, 3))),
    "xor": lambda g: real(g, g.op("Xor", truth(g), truth(g, "y", 3))),
    "cast_like": lambda g: g.op("CastLike", x(g, 2, 3, kind=WHOLE), g.input("y", (1,))),
    "cast_like_truth": lambda g: real(g, g.op("CastLike", x(g, 2, 3), g.input("y", (1,), B))),
    "selu": one("Selu"),
    "selu_of_attributes": one("Selu", alpha=0.5, gamma=2.0),
    "celu": one("Celu", alpha=0.7),
    "celu_of_an_image": lambda g: g.op("Celu", image(g), alpha=2.0),
    "softsign": one("Softsign"),
    "thresholded_relu": one("ThresholdedRelu", alpha=0.25),
    "thresholded_relu_of_an_image": lambda g: g.op("ThresholdedRelu", image(g), alpha=-0.1),
    "log_sum_all": lambda g: g.op("ReduceLogSum", g.op("Abs", x(g, 2, 3, 4))),
    "log_sum": lambda g: g.op("ReduceLogSum", g.op("Abs", x(g, 2, 3, 4)), axes=[-1], keepdims=0),
    "log_sum_exp": one("ReduceLogSumExp", 2, 3, 4, axes=[0, 2]),
    "log_sum_exp_dropped": one("ReduceLogSumExp", 2, 3, 4, axes=[1], keepdims=0),
    "log_sum_exp_of_an_image": lambda g: g.op("ReduceLogSumExp", image(g), axes=[1], keepdims=0),
    "cumsum": lambda g: g.op("CumSum", x(g, 2, 7, 3), g.constant(1, "i8")),
    "cumsum_reverse": lambda g: g.op("CumSum", x(g, 2, 7), g.constant(-1, "i8"), reverse=1),
    "cumsum_exclusive": lambda g: g.op("CumSum", x(g, 9), g.constant(0, "i4"), exclusive=1),
    "cumsum_both": lambda g: g.op(
        "CumSum", x(g, 3, 4), g.constant(0, "i8"), exclusive=1, reverse=1),
    "cumsum_whole": lambda g: g.op("CumSum", counted(g, 2, 11), g.constant(1, "i8")),
    "cumsum_whole_exclusive": lambda g: g.op(
        "CumSum", counted(g, 2, 6), g.constant(1, "i8"), exclusive=1, reverse=1),
    "cumsum_of_one": lambda g: g.op("CumSum", x(g, 2, 1), g.constant(1, "i8"), exclusive=1),
    "one_hot": one_hot((2, 3), 4),
    "one_hot_first": one_hot((3,), 2, axis=0),
    "one_hot_middle": one_hot((2, 3), 5, axis=1),
    "gather_nd": lambda g: g.op(
        "GatherND", x(g, 2, 3, 4), g.constant([[0, -1], [1, 2]], "i8")),
    "gather_nd_elements": lambda g: g.op(
        "GatherND", x(g, 2, 3), g.constant([[[0, 1]], [[-1, -3]]], "i8")),
    "gather_nd_rows": lambda g: g.op("GatherND", x(g, 2, 3, 4), g.constant([[1], [0]], "i8")),
    "pad_by_the_edge": lambda g: g.op("Pad", image(g), g.ints(0, 1, 2, 0, 0, 0, 1, 3), mode="edge"),
    "pad_by_the_edge_and_less": lambda g: g.op(
        "Pad", x(g, 4, 5), g.ints(-1, 2, 0, -3), mode="edge"),
    "pad_whole_numbers_by_the_edge": lambda g: g.op(
        "Pad", x(g, 4, 5, kind=TensorProto.INT32), g.ints(1, 0, 0, 2), mode="edge"),
    "pad_by_nothing": lambda g: g.op("Pad", x(g, 4, 5), g.ints(0, 0, 0, 0), mode="edge"),
    "concat_with_nothing": lambda g: g.op(
        "Concat", x(g, 2, 3), g.constant(np.zeros((0, 3))), axis=0),
    "gather_nd_one": lambda g: g.op("GatherND", x(g, 2, 3), g.ints(1, -1)),
    "gather_nd_of_five": lambda g: g.op("GatherND", g.op(
        "Reshape", x(g, 24), g.ints(2, 1, 3, 1, 4)), g.constant([[0, 0, -1], [1, 0, 0]], "i8")),
    "one_hot_of_four": one_hot((2, 1, 3, 2), 3, axis=2),
    "gather_nd_computed": lambda g: g.op("GatherND", x(g, 3, 3, 2), g.input("i", (4, 2), WHOLE)),
    "gather_nd_computed_from_the_end": lambda g: g.op(
        "GatherND", g.input("d", (3, 3)), g.op("Sub", counted(g, 4, 2), g.constant(2, "i8"))),
    "lrn": one("LRN", 1, 7, 3, 4, size=5, alpha=0.5, beta=0.6, bias=2.0),
    "lrn_of_an_image": lambda g: g.op("LRN", image(g), size=3),
    "gemm_of_two": gemm((2, 3), (3, 4), None),
    "gemm_of_three": gemm((2, 3), (3, 4), (4,), alpha=0.5, beta=2.0),
    "gemm_turned": gemm((3, 2), (4, 3), (2, 1), transA=1, transB=1),
    "gemm_with_a_number": gemm((2, 3), (3, 4), (), beta=0.25),
    "gemm_relu": lambda g: g.op("Relu", gemm((2, 3), (3, 4), (2, 4))(g)),
    "gemm_turned_with_weights": lambda g: g.op(
        "Gemm", x(g, 3, 2), g.weights(3, 5), g.weights(5), transA=1),
    "where_condition_by_row": where((3, 1), (2, 3, 4), (4,)),
    "where_of_numbers": where((2, 3, 4), (), (1,)),
    "where_all_broadcast": where((2, 1, 1), (3, 1), (4,)),
    "where_by_a_constant": lambda g: g.op(
        "Where", g.constant([[True], [False]], "?"), x(g, 2, 3), g.constant(-5)),
    "where_of_whole_numbers": lambda g: g.op(
        "Where", g.input("c", (3, 1), B), x(g, 3, 4, kind=WHOLE), g.constant(7, "i8")),
    "where_of_a_large_one": lambda g: g.op(
        "Where", g.input("c", (1, 60), B), x(g, 50, 60), g.constant(-5)),
    "truth_reshaped": moved("Reshape", (3, 2)),
    "truth_transposed": moved("Transpose", perm=[1, 0]),
    "truth_gathered": lambda g: real(g, g.op("Gather", truth(g), g.ints(1, 0), axis=1)),
    "truth_sliced": moved("Slice", (1,), (3,), (1,)),
    "truth_by_steps": moved("Slice", (0,), (3,), (1,), (2,)),
    "truth_tiled": moved("Tile", (2, 1)),
    "truth_expanded": moved("Expand", (2, 2, 3)),
    "truth_unsqueezed": moved("Unsqueeze", (0,)),
    "truth_flattened": moved("Flatten", shape=(2, 3, 2)),
    "truth_joined": lambda g: real(g, g.op("Concat", truth(g), truth(g, "y"), axis=0)),
    "truth_of_an_image": lambda g: g.op(
        "Where", g.op("Greater", g.op("Conv", x(g, 1, 3, 6, 6), g.weights(3, 3, 1, 1)),
                      g.constant(0)), g.constant(1), g.constant(2)),
    "truth_split": lambda g: real(g, g.ops("Split", truth(g, "x", 4, 3), outputs=2, axis=0)[1]),
    "constant_of_shape": lambda g: g.op("Add", x(g, 2, 3), g.op(
        "ConstantOfShape", g.ints(2, 3), value=onnx_tensor(1.5))),
    "constant_of_a_shape": lambda g: (lambda y: g.op("Add", y, g.op(
        "Cast", g.op("ConstantOfShape", g.op("Shape", y), value=onnx_tensor(3, "i8")), to=F)))(
            x(g, 2, 3)),
    "dropout_with_a_mask": lambda g: g.ops("Dropout", x(g, 2, 3), outputs=2)[0],
}  # fmt: skip


def onnx_tensor(value: float, dtype: str = "f4") -> TensorProto:
    return numpy_helper.from_array(np.array([value], dtype))


@pytest.mark.parametrize("name", CASES)
def test_operator_agrees_with_onnx_runtime(name: str, tmp_path: Path) -> None:
    g = Graph(len(name))
    conversion, path = read(g, [CASES[name](g)], tmp_path)
    assert [each.text() for each in conversion.unmapped] == []
    for seed in range(3):
        assert problems(conversion, path, seed) == []


VERSIONS: dict[str, tuple[int, Build]] = {
    "celu": (12, one("Celu")),
    "cumsum": (11, CASES["cumsum"]),
    "dropout": (7, CASES["dropout_with_a_mask"]),
    "dropout_of_10": (10, CASES["dropout_with_a_mask"]),
    "gather_nd": (11, CASES["gather_nd"]),
    "pad_by_wrapping": (
        19, lambda g: g.op("Pad", x(g, 3, 4), g.ints(1, 2, 2, 5), mode="wrap")),
    "pad_by_the_edge_of_axes": (
        18, lambda g: g.op("Pad", x(g, 3, 4), g.ints(2, 1), "", g.ints(-1), mode="edge")),
    "is_inf": (20, lambda g: real(g, g.op("IsInf", x(g, 2, 3), detect_negative=0))),
    "is_nan": (20, CASES["is_nan"]),
    "is_nan_of_9": (9, CASES["is_nan"]),
    "log_sum": (11, CASES["log_sum"]),
    "log_sum_by_input": (18, lambda g: g.op("ReduceLogSum", g.op("Abs", x(g, 2, 3)), g.ints(1))),
    "log_sum_exp": (12, CASES["log_sum_exp"]),
    "log_sum_exp_by_input": (18, lambda g: g.op("ReduceLogSumExp", x(g, 2, 3), g.ints(-1))),
    "log_sum_exp_of_nothing": (
        18, lambda g: g.op("ReduceLogSumExp", x(g, 2, 3), noop_with_empty_axes=1)),
    "lrn": (9, CASES["lrn"]),
    "one_hot": (9, CASES["one_hot"]),
    "selu": (6, CASES["selu"]),
    "softsign": (21, CASES["softsign"]),
    "thresholded_relu": (10, CASES["thresholded_relu"]),
    "xor": (7, CASES["xor"]),
    "where": (9, CASES["where_all_broadcast"]),
    "gemm": (9, CASES["gemm_of_three"]),
    "gemm_of_two": (11, CASES["gemm_of_two"]),
    "cast_like": (15, CASES["cast_like"]),
    "cast_like_of_19": (19, CASES["cast_like_truth"]),
}  # fmt: skip


@pytest.mark.parametrize("name", VERSIONS)
def test_operator_of_another_version_agrees(name: str, tmp_path: Path) -> None:
    opset, build = VERSIONS[name]
    g = Graph(len(name), opset)
    conversion, path = read(g, [build(g)], tmp_path)
    assert [each.text() for each in conversion.unmapped] == []
    assert problems(conversion, path) == []


LARGEST = float(np.finfo(np.float32).max)
INF, NAN = np.inf, np.nan
EDGES = [0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0, 88.8, -88.8, LARGEST, -LARGEST, INF, -INF, NAN]
EDGE_CASES: dict[str, Build] = {
    "is_nan": CASES["is_nan"],
    **{
        f"is_inf_{below}_{above}": lambda g, below=below, above=above: real(
            g, g.op("IsInf", x(g, 1), detect_negative=below, detect_positive=above)
        )
        for below in (0, 1)
        for above in (0, 1)
    },
    "selu": one("Selu"),
    "celu": one("Celu", alpha=0.5),
    "thresholded_relu": one("ThresholdedRelu", alpha=0.0),
    "where": CASES["where_by_a_constant"],
}


@pytest.mark.parametrize("name", EDGE_CASES)
def test_edges_are_those_of_onnx_runtime(name: str, tmp_path: Path) -> None:
    g = Graph()
    values = np.array(EDGES, np.float32)
    if name == "where":
        values = np.stack([values, values[::-1]])
        output = g.op(
            "Where", g.constant([[True], [False]], "?"), x(g, *values.shape), g.weights(1)
        )
    else:
        build = EDGE_CASES[name]
        g.input = lambda *_: Graph.input(g, "x", values.shape)  # type: ignore[method-assign]
        output = build(g)
    conversion, path = read(g, [output], tmp_path)
    assert not conversion.unmapped
    [wanted], [found] = original(path, [values]), converted(conversion, [values])
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


ROWS: dict[str, tuple[Build, list[list[float]]]] = {
    "log_sum_exp": (
        lambda g: g.op("ReduceLogSumExp", x(g, 5, 3), axes=[1]),
        [[1000, 1000, -1000], [INF, 0, 1], [-INF, 0, 1], [NAN, 0, 1], [-1e4, -1e4, -1e4]],
    ),
    "cumsum": (
        lambda g: g.op("CumSum", x(g, 4, 5), g.constant(1, "i8")),
        [[1, INF, 2, 3, 4], [1, NAN, 0, 0, 1], [1, INF, -INF, 0, 0], [1, 2, 3, 4, 5]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_with_infinite_numbers_are_those_of_onnx_runtime(name: str, tmp_path: Path) -> None:
    build, rows = ROWS[name]
    g = Graph()
    conversion, path = read(g, [build(g)], tmp_path)
    assert not conversion.unmapped
    values = [np.array(rows, np.float32).reshape(conversion.inputs[0].shape)]
    [wanted], [found] = original(path, values), converted(conversion, values)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_where_chooses_truth_values(tmp_path: Path) -> None:
    """Which ONNX Runtime does not."""
    g = Graph()
    names = [g.input(name, shape, B) for name, shape in (("c", (3, 1)), ("a", (3, 4)), ("b", (4,)))]
    conversion, _ = read(g, [real(g, g.op("Where", *names))], tmp_path)
    assert not conversion.unmapped
    inputs = inputs_for(conversion.inputs, 3)
    [found] = converted(conversion, inputs)
    np.testing.assert_array_equal(found, np.where(*inputs))


def test_lrn_of_three_dimensions_is_that_of_the_reference(tmp_path: Path) -> None:
    """ONNX Runtime takes images alone."""
    g = Graph()
    conversion, _ = read(g, [one("LRN", 2, 6, 5, size=3, alpha=1.0)(g)], tmp_path)
    assert not conversion.unmapped
    [values] = inputs_for(conversion.inputs)
    [found] = converted(conversion, [values])
    squares = np.pad(values**2, [(0, 0), (1, 1), (0, 0)])
    sums = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    np.testing.assert_allclose(found, values / (1 + sums / 3) ** 0.75, rtol=1e-5)


def test_lrn_of_an_even_size_says_why_it_is_not_mapped(tmp_path: Path) -> None:
    """ONNX Runtime does not run it either."""
    g = Graph()
    conversion, _ = read(g, [one("LRN", 1, 4, 2, 2, size=2)(g)], tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "it sums over 2 channels, more on one side than on the other, and "
        "LOCAL_RESPONSE_NORMALIZATION over as many on both"
    ]


def test_one_hot_of_places_outside_is_off(tmp_path: Path) -> None:
    g = Graph()
    conversion, path = read(g, [one_hot((8,), 3)(g)], tmp_path)
    places = [np.array([-4, -3, -1, 0, 2, 3, 100, -100])]
    [wanted], [found] = original(path, places), converted(conversion, places)
    np.testing.assert_array_equal(found, wanted)


def test_gather_nd_takes_computed_places_from_the_end(tmp_path: Path) -> None:
    g = Graph()
    build = g.op("GatherND", x(g, 3, 4), g.input("i", (5, 2), WHOLE))
    conversion, path = read(g, [build], tmp_path)
    values: list[Array] = [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.array([[-1, -1], [0, -4], [-3, 3], [2, 0], [1, -2]]),
    ]
    [wanted], [found] = original(path, values), converted(conversion, values)
    np.testing.assert_array_equal(found, wanted)


def test_what_is_spread_is_no_constant_of_its_size(tmp_path: Path) -> None:
    """Nor what is filled: a file of a few bytes may ask for any shape."""
    shape = (64, 256, 256)
    g = Graph()
    data = x(g, *shape)
    chosen = g.op("Where", g.op("Greater", data, g.constant(0)), data, g.constant(1))
    chosen = g.op("Where", g.input("c", (256, 1), B), chosen, g.constant(2))
    chosen = g.op("ThresholdedRelu", chosen)
    sound = g.op("Cast", g.op("Not", g.op("IsNaN", chosen)), to=F)
    conversion, _ = read(g, [chosen, sound], tmp_path)
    assert not conversion.unmapped
    assert RunnableModel.of(conversion.model).constant_bytes < 4096


REFUSED: dict[str, tuple[int, Build, str]] = {
    "celu_negative": (
        12, one("Celu", alpha=-1.0),
        "its alpha is -1.0, and an ELU with a positive one is known",
    ),
    "gather_nd_in_batches": (
        13, lambda g: g.op("GatherND", x(g, 2, 3), g.constant([[0], [1]], "i8"), batch_dims=1),
        "it takes other elements in each batch, and GATHER takes the same",
    ),
    "one_hot_computed": (
        11, lambda g: g.op("OneHot", g.input("x", (3,), WHOLE), g.constant(3, "i8"),
                           g.input("values", (2,))),
        "its values is computed, and NNAPI takes a constant",
    ),
    "cumsum_computed": (
        14, lambda g: g.op("CumSum", x(g, 2, 3), g.input("axis", (), WHOLE)),
        "its axis is computed, and NNAPI takes a constant",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_mapped_says_why_and_runs_on_the_host(name: str, tmp_path: Path) -> None:
    opset, build, reason = REFUSED[name]
    g = Graph(1, opset)
    conversion, path = read(g, [build(g)], tmp_path)
    assert [each.reason for each in conversion.unmapped] == [reason]
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def of_onnx_runtime(kind: str, *shapes: Sequence[int], **attributes: object) -> Graph:
    """A graph around an operator of its own, and what it gives."""
    g = Graph(5)
    names = [g.input(f"x_{number}", shape) for number, shape in enumerate(shapes)]
    g.nodes.append(helper.make_node(kind, names, ["y"], domain="com.microsoft", **attributes))
    return g


MICROSOFT = {
    "fused_matmul": of_onnx_runtime("FusedMatMul", (2, 3, 4), (2, 5, 4), transB=1, alpha=0.5),
    "fused_matmul_of_ranks": of_onnx_runtime("FusedMatMul", (2, 4, 3), (4, 5), transA=1),
    "fused_matmul_plain": of_onnx_runtime("FusedMatMul", (1, 2, 4, 3), (2, 3, 5)),
    "gelu": of_onnx_runtime("Gelu", (2, 3)),
    "quick_gelu": of_onnx_runtime("QuickGelu", (2, 3), alpha=1.5),
}


@pytest.mark.parametrize("says", ["nothing", "the shape", "another shape"])
@pytest.mark.parametrize("name", MICROSOFT)
def test_operators_of_onnx_runtime_agree(name: str, says: str, tmp_path: Path) -> None:
    """Whatever the file says of their shapes, of which onnx knows nothing."""
    g = MICROSOFT[name]
    end = helper.make_empty_tensor_value_info("y")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(g.nodes, "model", g.inputs, [end], g.constants)
    # Behind it, so that its own output is none of the graph's.
    graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    graph.output[0].name = "z"
    model = helper.make_model(graph, ir_version=8, opset_imports=opsets)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    [wanted] = session.get_outputs()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", F, wanted.shape))
    if says != "nothing":
        shape = wanted.shape if says == "the shape" else [7, *wanted.shape[1:]]
        model.graph.value_info.append(helper.make_tensor_value_info("y", F, shape))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert [each.text() for each in conversion.unmapped] == []
    assert problems(conversion, path) == []
