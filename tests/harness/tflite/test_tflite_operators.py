# SPDX-License-Identifier: Apache-2.0
"""Each of TFLite's operators, as NNAPI has it, gives what LiteRT gives of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import check, convert, operations, weights

IMAGE = (1, 4, 6, 4)


def _window(kind: str, options: str, **fields: Any) -> tuple[GraphFile, list[int]]:
    graph = GraphFile()
    image, output = graph.input(IMAGE), graph.tensor((1, 4, 3, 4))
    graph.add(
        kind,
        [image],
        [output],
        options,
        strideW=2,
        strideH=1,
        filterWidth=3,
        filterHeight=2,
        **fields,
    )
    return graph, [output]


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"])
def test_poolings_with_padding(kind: str, tmp_path: Path) -> None:
    check(*_window(kind, "Pool2DOptions", padding=0, fusedActivationFunction=3), tmp_path)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_strides_and_dilations_of_each_side(kind: str, dilation: int, tmp_path: Path) -> None:
    """TFLite has no strides where it dilates."""
    graph = GraphFile()
    stride = 2 if dilation == 1 else 1
    image = graph.input((1, 8, 8, 2))
    shape = (6, 3, 3, 2) if kind == "CONV_2D" else (1, 3, 3, 6)
    inputs = [image, graph.constant(weights(*shape)), graph.constant(weights(6))]
    output = graph.tensor((1, 8, 8 // stride, 6))
    name = "".join(word.capitalize() for word in kind.split("_")[:-1]) + "2DOptions"
    strides = {"strideH": 1, "strideW": stride}
    dilations = {"dilationHFactor": 1, "dilationWFactor": dilation}
    graph.add(kind, inputs, [output], name, **strides, **dilations)
    check(graph, [output], tmp_path)


@pytest.mark.parametrize("activation", range(4))
def test_fused_activations(activation: int, tmp_path: Path) -> None:
    """Of values from -20 to 20."""
    graph = GraphFile()
    source, output = graph.input((2, 32)), graph.tensor((2, 32))
    wide = graph.constant(np.linspace(-10, 10, 32))
    graph.add("MUL", [source, wide], [output], "MulOptions", fusedActivationFunction=activation)
    joined = graph.tensor((2, 64))
    graph.add(
        "CONCATENATION",
        [output, output],
        [joined],
        "ConcatenationOptions",
        axis=1,
    )
    check(graph, [joined], tmp_path)


UNARY = [
    "ABS",
    "EXP",
    "FLOOR",
    "HARD_SWISH",
    "LOG",
    "LOGISTIC",
    "LOG_SOFTMAX",
    "NEG",
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "RSQRT",
    "SIN",
    "SQRT",
    "SQUARE",
    "TANH",
    "ELU",
    "L2_NORMALIZATION",
]


@pytest.mark.parametrize("kind", UNARY)
def test_functions_of_one_tensor(kind: str, tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((2, 3, 8)), graph.tensor((2, 3, 8))
    graph.add(kind, [source], [output])
    check(graph, [output], tmp_path)


@pytest.mark.parametrize(
    ("kind", "options", "fields"),
    [
        ("ADD", "AddOptions", {"fusedActivationFunction": 3}),
        ("SUB", "SubOptions", {"fusedActivationFunction": 2}),
        ("MUL", "MulOptions", {"fusedActivationFunction": 1}),
        ("DIV", "DivOptions", {}),
        ("MAXIMUM", "", {}),
        ("MINIMUM", "", {}),
        ("POW", "", {}),
        ("SQUARED_DIFFERENCE", "", {}),
        ("PRELU", "", {}),
    ],
)
@pytest.mark.parametrize("other", [(4,), (3, 1), (1, 3, 4), ()])
def test_two_tensors_that_are_broadcast(
    kind: str, options: str, fields: dict[str, Any], other: tuple[int, ...], tmp_path: Path
) -> None:
    if kind == "PRELU" and len(other) != 3:
        other = (1, 1, 4)
    graph = GraphFile()
    source, output = graph.input((1, 3, 4)), graph.tensor((1, 3, 4))
    constant = graph.constant(np.random.default_rng(1).uniform(0.5, 2, other))
    graph.add(kind, [source, constant], [output], options, **fields)
    check(graph, [output], tmp_path)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_two_tensors_of_8_bits(kind: str, dtype: str, tmp_path: Path) -> None:
    graph = GraphFile()
    sources = [graph.input((1, 5, 5, 2), dtype, 0.05, 7) for _ in range(2)]
    output = graph.tensor((1, 5, 5, 2), dtype, 0.1, 11)
    options = f"{kind.capitalize()}Options"
    graph.add(kind, sources, [output], options, fusedActivationFunction=1)
    check(graph, [output], tmp_path)


@pytest.mark.parametrize(
    "kind", ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"]
)
def test_comparisons_choose_between_tensors(kind: str, tmp_path: Path) -> None:
    graph = GraphFile()
    first, second = graph.input((2, 5)), graph.input((2, 5))
    truth, chosen = graph.tensor((2, 5), "bool"), graph.tensor((2, 5))
    graph.add(kind, [first, second], [truth])
    graph.add("SELECT", [truth, first, second], [chosen])
    negated = graph.tensor((2, 5), "bool")
    graph.add("LOGICAL_NOT", [truth], [negated])
    check(graph, [chosen, negated], tmp_path)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_transposed_convolution_without_a_bias(padding: int, dtype: str, tmp_path: Path) -> None:
    graph = GraphFile()
    extent = 8 if padding == 0 else 9
    shape = graph.constant([1, extent, extent, 2], "int32")
    if dtype == "int8":
        data = graph.input((1, 4, 4, 3), dtype, 0.05, 2)
        filters = graph.constant(np.full((2, 3, 3, 3), 9), dtype, 0.02)
        output = graph.tensor((1, extent, extent, 2), dtype, 0.1, 0)
    else:
        data, filters = graph.input((1, 4, 4, 3)), graph.constant(weights(2, 3, 3, 3))
        output = graph.tensor((1, extent, extent, 2))
    graph.add(
        "TRANSPOSE_CONV",
        [shape, filters, data],
        [output],
        "TransposeConvOptions",
        padding=padding,
        strideW=2,
        strideH=2,
    )
    check(graph, [output], tmp_path)


def test_a_convolution_of_groups(tmp_path: Path) -> None:
    graph = GraphFile()
    data, output = graph.input((1, 5, 5, 6)), graph.tensor((1, 5, 5, 4))
    filters, bias = graph.constant(weights(4, 3, 3, 3)), graph.constant(weights(4))
    graph.add("CONV_2D", [data, filters, bias], [output], "Conv2DOptions", strideW=1, strideH=1)
    assert operations(check(graph, [output], tmp_path)) == ["GROUPED_CONV_2D"]


def test_a_layer_that_keeps_its_dimensions(tmp_path: Path) -> None:
    graph = GraphFile()
    data, output = graph.input((2, 3, 4)), graph.tensor((2, 3, 5))
    inputs = [data, graph.constant(weights(5, 4)), graph.constant(weights(5))]
    graph.add("FULLY_CONNECTED", inputs, [output], "FullyConnectedOptions", keepNumDims=True)
    assert operations(check(graph, [output], tmp_path)) == ["FULLY_CONNECTED", "RESHAPE"]


@pytest.mark.parametrize(
    ("kind", "shape", "options", "fields", "constant"),
    [
        ("TRANSPOSE", (1, 4, 4, 6), "", {}, np.int32([0, 3, 1, 2])),
        ("PAD", (1, 6, 9, 4), "", {}, np.int64([[0, 0], [1, 1], [3, 0], [0, 0]])),
        ("MIRROR_PAD", (1, 6, 9, 4), "MirrorPadOptions", {}, [[0, 0], [1, 1], [3, 0], [0, 0]]),
        ("TILE", (1, 8, 6, 4), "", {}, [1, 2, 1, 1]),
        ("REVERSE_V2", IMAGE, "", {}, [2]),
        ("SQUEEZE", (4, 6, 4), "SqueezeOptions", {"squeezeDims": [0]}, None),
        ("EXPAND_DIMS", (1, 1, 4, 6, 4), "", {}, [0]),
        ("MEAN", (1, 1, 1, 4), "ReducerOptions", {"keepDims": True}, [1, -2]),
        ("SUM", (1, 6, 4), "ReducerOptions", {}, [1]),
        ("REDUCE_MAX", (1, 4, 6), "ReducerOptions", {}, [-1]),
        ("REDUCE_MIN", (), "ReducerOptions", {}, [0, 1, 2, 3]),
        ("REDUCE_PROD", (1, 4, 6), "ReducerOptions", {}, [3]),
        ("GATHER", (1, 2, 6, 4), "GatherOptions", {"axis": 1}, [3, 0]),
        ("GATHER", (1, 6, 4), "GatherOptions", {"axis": 1}, np.int32(2)),
        ("RESIZE_BILINEAR", (1, 7, 5, 4), "ResizeBilinearOptions", {}, [7, 5]),
        (
            "RESIZE_BILINEAR",
            (1, 7, 5, 4),
            "ResizeBilinearOptions",
            {"halfPixelCenters": True},
            [7, 5],
        ),
        (
            "RESIZE_NEAREST_NEIGHBOR",
            (1, 8, 12, 4),
            "ResizeNearestNeighborOptions",
            {"alignCorners": True},
            [8, 12],
        ),
        ("DEPTH_TO_SPACE", (1, 8, 12, 1), "DepthToSpaceOptions", {"blockSize": 2}, None),
        ("SPACE_TO_DEPTH", (1, 2, 3, 16), "SpaceToDepthOptions", {"blockSize": 2}, None),
        ("LEAKY_RELU", IMAGE, "LeakyReluOptions", {"alpha": 0.3}, None),
        (
            "LOCAL_RESPONSE_NORMALIZATION",
            IMAGE,
            "LocalResponseNormalizationOptions",
            {"radius": 2, "bias": 1.0, "alpha": 0.2, "beta": 0.5},
            None,
        ),
    ],
)
def test_what_moves_elements(
    kind: str,
    shape: tuple[int, ...],
    options: str,
    fields: dict[str, Any],
    constant: Any,
    tmp_path: Path,
) -> None:
    graph = GraphFile()
    source, output = graph.input(IMAGE), graph.tensor(shape)
    inputs = [source]
    if constant is not None:
        array = np.asarray(constant)
        array = array if isinstance(constant, (np.ndarray, np.generic)) else array.astype("int32")
        inputs.append(graph.constant(array, str(array.dtype)))
    graph.add(kind, inputs, [output], options, **fields)
    check(graph, [output], tmp_path)


def test_elements_of_8_bits_are_moved_as_they_are(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input(IMAGE, "int8", 0.1, 5)
    moved = [graph.tensor(shape, "int8", 0.1, 5) for shape in ((1, 8, 6, 4), (1, 6, 8, 4))]
    graph.add("PAD", [source, graph.constant([[0, 0], [2, 2], [0, 0], [0, 0]], "int32")], moved[:1])
    graph.add("TRANSPOSE", [moved[0], graph.constant([0, 2, 1, 3], "int32")], moved[1:])
    leaky = graph.tensor((1, 6, 8, 4), "int8", 0.1, 5)
    graph.add("LEAKY_RELU", [moved[1]], [leaky], "LeakyReluOptions", alpha=0.25)
    other = graph.tensor((1, 6, 8, 4), "uint8", 0.1, 133)
    graph.add("QUANTIZE", [leaky], [other])
    real = graph.tensor((1, 6, 8, 4))
    graph.add("DEQUANTIZE", [moved[1]], [real])
    check(graph, [real, leaky, other], tmp_path)


def test_tensors_are_taken_apart_and_put_together(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((2, 6))
    halves = [graph.tensor((2, 3)) for _ in range(2)]
    graph.add("SPLIT", [graph.constant(1, "int32"), source], halves, "SplitOptions", numSplits=2)
    uneven = [graph.tensor((2, width)) for width in (1, 2)]
    sizes, axis = graph.constant([1, 2], "int32"), graph.constant(-1, "int32")
    graph.add("SPLIT_V", [halves[0], sizes, axis], uneven, "SplitVOptions", numSplits=2)
    rows = [graph.tensor((3,)) for _ in range(2)]
    graph.add("UNPACK", [halves[1]], rows, "UnpackOptions", num=2, axis=0)
    packed = graph.tensor((3, 2))
    graph.add("PACK", rows, [packed], "PackOptions", axis=1, valuesCount=2)
    joined = graph.tensor((2, 3))
    graph.add(
        "CONCATENATION",
        [uneven[1], uneven[0]],
        [joined],
        "ConcatenationOptions",
        axis=-1,
        fusedActivationFunction=0,
    )
    check(graph, [joined, packed], tmp_path)


@pytest.mark.parametrize(
    ("masks", "shape"),
    [
        ({"beginMask": 1, "endMask": 2}, (2, 2)),
        ({"shrinkAxisMask": 1}, (2,)),
        ({"shrinkAxisMask": 3}, ()),
    ],
)
def test_strided_slices(masks: dict[str, int], shape: tuple[int, ...], tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((3, 5)), graph.tensor(shape)
    bounds = [graph.constant(each, "int32") for each in ([0, 1], [2, 4], [1, 2])]
    graph.add("STRIDED_SLICE", [source, *bounds], [output], "StridedSliceOptions", **masks)
    check(graph, [output], tmp_path)


def test_a_shape_that_is_computed_is_known_beforehand(tmp_path: Path) -> None:
    """As Keras flattens: SHAPE, STRIDED_SLICE, PACK, RESHAPE."""
    graph = GraphFile()
    source, shape = graph.input((2, 3, 4)), graph.tensor((3,), "int32")
    graph.add("SHAPE", [source], [shape], "ShapeOptions", outType=2)
    bounds = [graph.constant([each], "int32") for each in (0, 1, 1)]
    batch, into, flat = (
        graph.tensor((), "int32"),
        graph.tensor((2,), "int32"),
        graph.tensor((2, 12)),
    )
    graph.add("STRIDED_SLICE", [shape, *bounds], [batch], "StridedSliceOptions", shrinkAxisMask=1)
    rest = graph.constant(-1, "int32")
    graph.add("PACK", [batch, rest], [into], "PackOptions", valuesCount=2)
    graph.add("RESHAPE", [source, into], [flat], "ReshapeOptions")
    assert operations(check(graph, [flat], tmp_path)) == ["RESHAPE"]


def test_what_is_computed_from_a_shape_is_known_beforehand(tmp_path: Path) -> None:
    graph = GraphFile()
    source, shape = graph.input((2, 3, 4)), graph.tensor((3,), "int64")
    graph.add("SHAPE", [source], [shape], "ShapeOptions", outType=4)
    first, rest = graph.tensor((2,), "int64"), graph.tensor((1,), "int64")
    for target, bounds, mask in ((first, (0, 2), 0), (rest, (2, 0), 1)):
        constants = [graph.constant([each], "int32") for each in (*bounds, 1)]
        graph.add(
            "STRIDED_SLICE", [shape, *constants], [target], "StridedSliceOptions", endMask=mask
        )
    rows, into = graph.tensor((1,), "int64"), graph.tensor((2,), "int64")
    axes = graph.constant([0], "int32")
    graph.add("REDUCE_PROD", [first, axes], [rows], "ReducerOptions", keepDims=True)
    graph.add("CONCATENATION", [rows, rest], [into], "ConcatenationOptions", axis=0)
    narrow, flat = graph.tensor((2,), "int32"), graph.tensor((6, 4))
    graph.add("CAST", [into], [narrow], "CastOptions")
    graph.add("RESHAPE", [source, narrow], [flat], "ReshapeOptions")
    assert operations(check(graph, [flat], tmp_path)) == ["RESHAPE"]


def test_largest_elements_and_their_places(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((2, 7))
    values, places = graph.tensor((2, 3)), graph.tensor((2, 3), "int32")
    graph.add("TOPK_V2", [source, graph.constant(3, "int32")], [values, places])
    best = graph.tensor((2,), "int32")
    axis = graph.constant(-1, "int32")
    graph.add("ARG_MAX", [source, axis], [best], "ArgMaxOptions", outputType=2)
    check(graph, [values, places, best], tmp_path)


@pytest.mark.parametrize("adjoint", [False, True])
def test_products_of_matrices(adjoint: bool, tmp_path: Path) -> None:
    graph = GraphFile()
    first, second = graph.input((2, 3, 4)), graph.input((2, 5, 4) if adjoint else (2, 4, 5))
    output = graph.tensor((2, 3, 5))
    graph.add("BATCH_MATMUL", [first, second], [output], "BatchMatMulOptions", adjY=adjoint)
    check(graph, [output], tmp_path)


def test_a_model_hands_on_what_it_is_given(tmp_path: Path) -> None:
    """An input, a constant and a tensor that is there twice are no outputs of NNAPI's."""
    graph = GraphFile()
    source, output = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("RELU", [source], [output])
    found = check(graph, [source, output, output, graph.constant([1.0, 2.0])], tmp_path)
    assert len({info.name for info in found.outputs}) == 4


def test_an_input_that_nothing_reads_is_one_all_the_same(tmp_path: Path) -> None:
    graph = GraphFile()
    graph.input((5,))
    source, output = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("TANH", [source], [output])
    assert len(check(graph, [output], tmp_path).whole.inputs) == 2


# ---- states -------------------------------------------------------------------------------------


def _lstm_parts(graph: GraphFile, units: int, depth: int) -> list[int]:
    parts = [graph.constant(weights(units, depth)) for _ in range(4)]
    parts += [graph.constant(weights(units, units)) for _ in range(4)]
    parts += [-1] * 3
    return parts + [graph.constant(weights(units)) for _ in range(4)] + [-1, -1]


def test_lstm_steps_that_share_their_states(tmp_path: Path) -> None:
    graph = GraphFile()
    parts = _lstm_parts(graph, 5, 4)
    states = [graph.tensor((2, 5), variable=True) for _ in range(2)]
    outputs = []
    for _ in range(2):
        outputs.append(graph.tensor((2, 5)))
        inputs = [graph.input((2, 4)), *parts, *states]
        graph.add("LSTM", inputs, outputs[-1:], "LSTMOptions", fusedActivationFunction=4)
    check(graph, outputs, tmp_path)


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("normalised", [False, True])
def test_lstms_with_all_that_they_may_have(coupled: bool, normalised: bool, tmp_path: Path) -> None:
    """Peepholes, a projection and clips; a forget gate that is the input gate's, too."""
    graph = GraphFile()
    source, output = graph.input((2, 4)), graph.tensor((2, 3))

    def part(*shape: int) -> int:
        return graph.constant(weights(*shape))

    first = 1 if coupled else 0
    parts = [-1] * first + [part(5, 4) for _ in range(first, 4)]
    parts += [-1] * first + [part(5, 3) for _ in range(first, 4)]
    parts += [-1] * first + [part(5) for _ in range(first, 3)]
    parts += [-1] * first + [part(5) for _ in range(first, 4)]
    parts += [part(3, 5), part(3)]
    states = [graph.tensor((2, units), variable=True) for units in (3, 5)]
    norms = [-1] * first + [part(5) for _ in range(first, 4)] if normalised else []
    graph.add(
        "LSTM",
        [source, *parts, *states, *norms],
        [output],
        "LSTMOptions",
        fusedActivationFunction=4,
        cellClip=0.4,
        projClip=0.2,
    )
    main = check(graph, [output], tmp_path).model.main
    scratch = main.operands[main.operations[0].outputs[0]]
    assert list(scratch.dimensions) == [2, (3 if coupled else 4) * 5]


def test_a_sequence_through_an_lstm(tmp_path: Path) -> None:
    graph = GraphFile()
    inputs = [graph.input((2, 6, 4)), *_lstm_parts(graph, 5, 4)]
    inputs += [graph.tensor((2, 5), variable=True) for _ in range(2)]
    output = graph.tensor((2, 6, 5))
    graph.add(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        inputs,
        [output],
        "UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=4,
        cellClip=3.0,
    )
    check(graph, [output], tmp_path)


def test_a_sequence_through_an_lstm_both_ways(tmp_path: Path) -> None:
    graph = GraphFile()
    # LiteRT itself merges the directions of batches in an order that changes from run to run.
    inputs = [graph.input((6, 2, 4))]
    inputs += _lstm_parts(graph, 5, 4) + _lstm_parts(graph, 5, 4)
    inputs += [graph.tensor((2, 5), variable=True) for _ in range(4)] + [-1] * 9
    output = graph.tensor((6, 2, 10))
    graph.add(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        inputs,
        [output],
        "BidirectionalSequenceLSTMOptions",
        fusedActivationFunction=4,
        mergeOutputs=True,
        timeMajor=True,
    )
    check(graph, [output], tmp_path)


@pytest.mark.parametrize("activation", [0, 1])
def test_sequences_through_simple_networks(activation: int, tmp_path: Path) -> None:
    graph = GraphFile()
    source, between = graph.input((2, 6, 4)), graph.tensor((2, 6, 5))
    parts = [graph.constant(weights(*shape)) for shape in ((5, 4), (5, 5), (5,))]
    state = graph.tensor((2, 5), variable=True)
    options = "SequenceRNNOptions"
    graph.add(
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        [source, *parts, state],
        [between],
        options,
        fusedActivationFunction=activation,
    )
    both = []
    for _ in range(2):
        both += [graph.constant(weights(*shape)) for shape in ((3, 5), (3, 3), (3,))]
        both.append(graph.tensor((2, 3), variable=True))
    outputs = [graph.tensor((2, 6, 3)) for _ in range(2)]
    graph.add(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        [between, *both, -1, -1, -1],
        outputs,
        "BidirectionalSequenceRNNOptions",
        fusedActivationFunction=activation,
    )
    check(graph, outputs, tmp_path)


def test_one_step_of_a_simple_network_and_of_a_filter_of_rank_one(tmp_path: Path) -> None:
    graph = GraphFile()
    source, between, output = graph.input((2, 4)), graph.tensor((2, 5)), graph.tensor((2, 3))
    parts = [graph.constant(weights(*shape)) for shape in ((5, 4), (5, 5), (5,))]
    inputs = [source, *parts, graph.tensor((2, 5), variable=True)]
    graph.add("RNN", inputs, [between], "RNNOptions", fusedActivationFunction=1)
    parts = [graph.constant(weights(*shape)) for shape in ((3, 5), (3, 4))]
    inputs = [between, *parts, -1, graph.tensor((2, 12), variable=True)]
    graph.add("SVDF", inputs, [output], "SVDFOptions", rank=1)
    check(graph, [output], tmp_path)


# ---- subgraphs ----------------------------------------------------------------------------------


def _branch(kind: str) -> tuple[GraphFile, int]:
    graph = GraphFile()
    source, output = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add(kind, [source], [output])
    return graph, output


@pytest.mark.parametrize("bound", [-100.0, 100.0])
def test_a_branch_is_taken_as_the_condition_says(bound: float, tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((2, 3)), graph.tensor((2, 3))
    first, condition = graph.input((1,)), graph.tensor((1,), "bool")
    graph.add("LESS", [first, graph.constant([bound])], [condition])
    then, otherwise = (graph.subgraph(*_branch(kind)) for kind in ("EXP", "NEG"))
    graph.add(
        "IF",
        [condition, source],
        [output],
        "IfOptions",
        thenSubgraphIndex=then,
        elseSubgraphIndex=otherwise,
    )
    found = check(graph, [output], tmp_path)
    assert len(found.model.referenced) == 2


def test_a_loop_runs_until_its_condition_fails(tmp_path: Path) -> None:
    """It counts to five and doubles a tensor; what it is added, it hands on from turn to turn."""
    condition = GraphFile()
    inputs = [condition.input((), "int32"), condition.input((4,)), condition.input((4,))]
    goes_on = condition.tensor((), "bool")
    condition.add("LESS", [inputs[0], condition.constant(5, "int32")], [goes_on])
    body = GraphFile()
    count, value, step = body.input((), "int32"), body.input((4,)), body.input((4,))
    counted, doubled, added = body.tensor((), "int32"), body.tensor((4,)), body.tensor((4,))
    body.add("ADD", [count, body.constant(1, "int32")], [counted], "AddOptions")
    body.add("MUL", [value, body.constant(2.0)], [doubled], "MulOptions")
    body.add("ADD", [doubled, step], [added], "AddOptions")
    graph = GraphFile()
    given = [graph.constant(0, "int32"), graph.input((4,)), graph.input((4,))]
    outputs = [graph.tensor((), "int32"), graph.tensor((4,)), graph.tensor((4,))]
    numbers = graph.subgraph(condition, goes_on), graph.subgraph(body, counted, added, step)
    graph.add(
        "WHILE",
        given,
        outputs,
        "WhileOptions",
        condSubgraphIndex=numbers[0],
        bodySubgraphIndex=numbers[1],
    )
    check(graph, outputs, tmp_path)


@pytest.mark.parametrize("index", [0, 1, 99, -1])
def test_a_branch_that_can_not_be_mapped_says_why(index: int, tmp_path: Path) -> None:
    graph = GraphFile()
    condition, source, output = graph.input((1,), "bool"), graph.input((2, 3)), graph.tensor((2, 3))
    graph.subgraph(*_branch("COS"))
    both = {"thenSubgraphIndex": index, "elseSubgraphIndex": index}
    graph.add("IF", [condition, source], [output], "IfOptions", **both)
    [unmapped] = convert(graph, [output], tmp_path).unmapped
    wanted = {
        0: "its subgraph 0 has it inside",
        1: "its subgraph 1: 0 COS 't1': NNAPI has no such operation",
    }
    assert unmapped.reason == wanted.get(index, f"it names subgraph {index}, of which there are 2")
