# SPDX-License-Identifier: Apache-2.0
"""Rare reasons to leave one operator to the host, of files as converters hardly write them."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert.schema_py_generated import TensorType
from flatbuffers import flexbuffers

from halyard.errors import HalyardError
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import convert

_IMAGE = ((1, 4, 4, 2),)
_ROW = ((2, 3),)
_BYTES = ((2, 3), "int8", 0.1, 0)


def _ints(*values: int) -> Any:
    return np.array(values, "int32")


def _number(value: int) -> Any:
    return np.array(value, "int32")


def _floats(*shape: int) -> Any:
    return np.ones(shape, "float32")


def _tensor(graph: GraphFile, given: Any) -> int:
    if given is None:
        return -1
    if isinstance(given, np.ndarray):
        return graph.constant(given, str(given.dtype))
    if isinstance(given[0], np.ndarray):
        return graph.constant(given[0], str(given[0].dtype), *given[1:])
    return graph.input(*given)


def _reason(graph: GraphFile, outputs: list[int], folder: Path) -> str:
    [unmapped] = convert(graph, outputs, folder).unmapped
    return unmapped.reason


# Of an input: its shape, type and quantisation; an array is a constant, None is left out.
# `custom`: numbers that a custom operator has for options.
_CASES: list[tuple[str, list[Any], list[Any], dict[str, Any], str]] = [
    (
        "STRIDED_SLICE",
        [_ints(1, 2, 3), _ints(0), _ints(2), _ints(1)],
        [((2,), "int32")],
        {"options": "StridedSliceOptions", "ellipsisMask": 1},
        "it has an ellipsis, a new axis or an offset",
    ),
    (
        "GATHER",
        [np.ones((2, 3), "int32"), np.zeros((2, 1), "int32")],
        [((2, 1), "int32")],
        {"options": "GatherOptions", "axis": 1, "batchDims": 1},
        "it has 1 batch dimensions",
    ),
    (
        "RANGE",
        [_number(0), _number(70000), _number(1)],
        [((70000,), "int32")],
        {"options": "RangeOptions"},
        "NNAPI has no such operation",
    ),
    (
        "PACK",
        [_ints(1, 2), _ints(1, 2, 3)],
        [((2, 2), "int32")],
        {"options": "PackOptions", "valuesCount": 2},
        "its constants do not go together: all input arrays must have the same shape",
    ),
    (
        "RESHAPE",
        [_ints(1, 2)],
        [((3,), "int32")],
        {"options": "ReshapeOptions"},
        "[2] is no [3]",
    ),
    (
        "SPLIT_V",
        [_ints(1, 2, 3), _ints(1, 1), _number(0)],
        [((1,), "int32"), ((1,), "int32")],
        {"options": "SplitVOptions", "numSplits": 2},
        "its constants do not go together",
    ),
    ("RESHAPE", [_ROW], [((4,),)], {"options": "ReshapeOptions"}, "[2, 3] is no [4]"),
    (
        "PACK",
        [_ROW, ((2, 2),)],
        [((2, 2, 3),)],
        {"options": "PackOptions", "valuesCount": 2},
        "[2, 2] is no [1, 2, 3]",
    ),
    (
        "UNPACK",
        [_ROW],
        [((3,),)],
        {"options": "UnpackOptions", "num": 1},
        "1 outputs of 2",
    ),
    ("ABS", [None], [_ROW], {}, "its input 0 is left out"),
    (
        "CONV_2D",
        [((1, 4, 4, 2), "uint8", 0.1), ((4, 1, 1, 2), "uint8", (0.1, 0.2, 0.3, 0.4))],
        [((1, 4, 4, 4), "uint8", 0.1)],
        {"options": "Conv2DOptions", "strideW": 1, "strideH": 1},
        "'t1' has scales per channel, which NNAPI has for INT8 without zero points only",
    ),
    (
        "MAX_POOL_2D",
        [_IMAGE],
        [_IMAGE],
        {
            "options": "Pool2DOptions",
            "padding": 7,
            "strideW": 1,
            "strideH": 1,
            "filterWidth": 1,
            "filterHeight": 1,
        },
        "its padding is 7, which is no scheme",
    ),
    (
        "DEPTHWISE_CONV_2D",
        [_IMAGE, _floats(1, 1, 1, 3), _floats(3)],
        [((1, 4, 4, 3),)],
        {"options": "DepthwiseConv2DOptions", "strideW": 1, "strideH": 1},
        "3 filters for 2 channels",
    ),
    (
        "CONV_2D",
        [((1, 4, 4, 2), "int8", 0.1), np.ones((4, 1, 1, 2), "int8"), ((4,), "int32", 0.01)],
        [((1, 4, 4, 4), "int8", 0.1)],
        {"options": "Conv2DOptions", "strideW": 1, "strideH": 1},
        "its bias is no constant with a number for each channel",
    ),
    (
        "FULLY_CONNECTED",
        [_BYTES, ((4, 3), "int8", (0.1, 0.2, 0.3, 0.4)), None],
        [((2, 4), "int8", 0.1)],
        {"options": "FullyConnectedOptions"},
        "its weights have scales per channel, and are no constant of units",
    ),
    ("LSTM", [_BYTES], [_BYTES], {"options": "LSTMOptions"}, "an 8-bit LSTM without the scales"),
    (
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [_ROW],
        [_ROW],
        {"options": "UnidirectionalSequenceLSTMOptions", "diagonalRecurrentTensors": True},
        "its recurrent weights are diagonals",
    ),
    (
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [_BYTES],
        [_BYTES],
        {"options": "UnidirectionalSequenceLSTMOptions"},
        "of INT8, and NNAPI's computes with floats",
    ),
    (
        "DEQUANTIZE",
        [np.ones((2, 3), "int8")],
        [_ROW],
        {"options": "DequantizeOptions"},
        "'t0' has no scale",
    ),
]

_CASES += [
    (
        "FULLY_CONNECTED",
        [((2, 4), "int8", 0.1), (np.ones((4, 4), "int8"), (0.1, 0.2, 0.3, 0.4)), None],
        [((2, 3), "int8", 0.1)],
        {"options": "FullyConnectedOptions"},
        "[2, 4] is no [2, 3]",
    ),
    (
        "MaxPoolingWithArgmax2D",
        [_ROW],
        [_ROW, _ROW],
        {"custom": (1, 2, 2, 2, 2)},
        "it makes [2, 3] of [2, 3]",
    ),
    (
        "Convolution2DTransposeBias",
        [_IMAGE, _floats(3, 2, 2, 5), _floats(3)],
        [((1, 8, 8, 3),)],
        {"custom": (1, 2, 2)},
        "it is of [1, 4, 4, 2], [3, 2, 2, 5], [3]",
    ),
    (
        "Convolution2DTransposeBias",
        [_IMAGE, _floats(3, 2, 2, 2), _floats(3)],
        [((1, 8, 8, 4),)],
        {"custom": (1, 2, 2)},
        "its output is [1, 8, 8, 4]",
    ),
]


@pytest.mark.parametrize(("kind", "inputs", "outputs", "options", "reason"), _CASES)
def test_rare_reasons(
    kind: str,
    inputs: list[Any],
    outputs: list[Any],
    options: dict[str, Any],
    reason: str,
    tmp_path: Path,
) -> None:
    graph = GraphFile()
    given = [_tensor(graph, each) for each in inputs]
    results = [graph.tensor(*each) for each in outputs]
    custom = options.get("custom")
    graph.add(kind, given, results, **{k: v for k, v in options.items() if k != "custom"})
    if custom is not None:
        packed = struct.pack(f"<{len(custom)}i", *custom)
        graph.operators[-1].customOptions = np.frombuffer(packed, np.uint8)
    assert _reason(graph, results, tmp_path).startswith(reason)


def _lstm(graph: GraphFile, *states: tuple[int, ...], shared: bool = False) -> int:
    """An LSTM of all weights and no more; its cell state may be its output state's."""
    x = graph.input((1, 2, 3))
    places = [-1] * 20
    places[0] = x
    for place in (1, 2, 3, 4):
        places[place] = graph.constant(np.ones((4, 3)))
    for place in (5, 6, 7, 8):
        places[place] = graph.constant(np.ones((4, 4)))
    for place in (12, 13, 14, 15):
        places[place] = graph.constant(np.ones(4))
    places[18] = graph.tensor(states[0], variable=True)
    places[19] = places[18] if shared else graph.tensor(states[1], variable=True)
    output = graph.tensor((1, 2, 4))
    graph.add(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        places,
        [output],
        "UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=4,
    )
    if not shared and len(states) == 3:
        again = graph.tensor((1, 2, 4))
        graph.add(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            places,
            [again],
            "UnidirectionalSequenceLSTMOptions",
            fusedActivationFunction=4,
        )
    return output


def test_states_of_other_dimensions(tmp_path: Path) -> None:
    graph = GraphFile()
    output = _lstm(graph, (4,), (4,))
    assert _reason(graph, [output], tmp_path) == "its states have other than two dimensions"


def test_states_of_two_operators(tmp_path: Path) -> None:
    graph = GraphFile()
    output = _lstm(graph, (1, 4), (1, 4), (1, 4))
    for each in convert(graph, [output], tmp_path).unmapped:
        assert each.reason.endswith("is another's, too")


def test_a_branch_of_other_inputs(tmp_path: Path) -> None:
    graph, branch = GraphFile(), GraphFile()
    inner = branch.tensor((2, 3))
    branch.add("NEG", [branch.input((2, 3))], [inner], "NegOptions")
    number = graph.subgraph(branch, inner)
    condition = graph.input((1,), "bool")
    first, second = graph.input((2, 3)), graph.input((2, 3))
    output = graph.tensor((2, 3))
    names = {"thenSubgraphIndex": number, "elseSubgraphIndex": number}
    graph.add("IF", [condition, first, second], [output], "IfOptions", **names)
    assert _reason(graph, [output], tmp_path) == (
        "its subgraph 1 has 1 inputs and 1 outputs, and it has 2 and 1"
    )


def test_an_operator_without_results(tmp_path: Path) -> None:
    graph = GraphFile()
    x, y = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("ABS", [x], [], "AbsOptions")
    graph.add("NEG", [x], [y], "NegOptions")
    assert _reason(graph, [y], tmp_path) == "its output 0 is left out"


def test_an_input_of_16_bits_as_an_output(tmp_path: Path) -> None:
    graph = GraphFile()
    x, given, y = graph.input((2, 3)), graph.input((2,), "int16", 0.1), graph.tensor((2, 3))
    graph.add("NEG", [x], [y], "NegOptions")
    assert _reason(graph, [y, given], tmp_path).endswith("which NNAPI can't do with its type")


def test_a_shape_of_what_is_no_number(tmp_path: Path) -> None:
    graph = GraphFile()
    x, words, y = graph.input((2, 3)), graph.tensor((2,)), graph.tensor((2, 3))
    graph.tensors[words].type = TensorType.COMPLEX64
    graph.add("SHAPE", [x], [words], "ShapeOptions")
    graph.add("NEG", [x], [y], "NegOptions")
    assert _reason(graph, [y], tmp_path) == "its result is COMPLEX64"


def test_an_input_of_words(tmp_path: Path) -> None:
    graph = GraphFile()
    x, words, y = graph.input((2, 3)), graph.input((2,)), graph.tensor((2, 3))
    graph.tensors[words].type = TensorType.STRING
    graph.add("NEG", [x], [y], "NegOptions")
    with pytest.raises(HalyardError, match="'t1' is STRING, and can't be given here"):
        convert(graph, [y], tmp_path)


def test_an_8_bit_lstm_whose_weights_are_computed(tmp_path: Path) -> None:
    graph = GraphFile()
    x = graph.input((1, 3), "int8", 0.1)
    weights = [graph.input((4, 3), "int8", 0.1) for _ in range(4)]
    states = [
        graph.tensor((1, 4), "int8", 0.1, variable=True),
        graph.tensor((1, 4), "int16", 0.1, variable=True),
    ]
    y = graph.tensor((1, 4), "int8", 0.1)
    scales = [graph.tensor((1,), "int8", 0.1) for _ in range(5)]
    places = [x, *weights, *([-1] * 13), *states]
    graph.add("LSTM", places, [y], "LSTMOptions", intermediates=scales)
    assert _reason(graph, [y], tmp_path) == (
        "'t1' is no symmetric constant of the type that it has"
    )


def test_a_detection_without_an_option(tmp_path: Path) -> None:
    graph = GraphFile()
    boxes, scores = graph.input((1, 4, 4)), graph.input((1, 4, 2))
    anchors = graph.constant(np.ones((4, 4)))
    shapes: list[tuple[int, ...]] = [(1, 2, 4), (1, 2), (1, 2), (1,)]
    outputs = [graph.tensor(shape) for shape in shapes]
    graph.add("TFLite_Detection_PostProcess", [boxes, scores, anchors], outputs)
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("num_classes")
        builder.Int(2)
    options = np.frombuffer(bytes(builder.Finish()), np.uint8)
    graph.operators[-1].customOptions = options
    assert _reason(graph, outputs, tmp_path).startswith("it has no option ")


def test_a_variable_without_a_name(tmp_path: Path) -> None:
    graph = GraphFile()
    x, handle = graph.input((2, 3)), graph.input((1,), "int32")
    value, y = graph.tensor((2, 3)), graph.tensor((2, 3))
    graph.add("READ_VARIABLE", [handle], [value], "ReadVariableOptions")
    graph.add("ADD", [x, value], [y], "AddOptions")
    [note] = convert(graph, [y], tmp_path).notes
    assert note.endswith("READ_VARIABLE is of no variable that is known")


@pytest.mark.parametrize("kind", [TypeError, ValueError, AttributeError, OverflowError])
def test_what_the_schema_has_no_place_for(
    kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the schema's own code makes of such a field, a user reads one sentence."""
    graph = GraphFile()
    x, y = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("NEG", [x], [y], "NegOptions")

    def refuse(*_: object) -> None:
        raise kind("no such field")

    monkeypatch.setattr("halyard.tflite.reading.file._Reader.file", refuse)
    with pytest.raises(HalyardError, match=r"this \.tflite file is damaged \(no such field\)"):
        convert(graph, [y], tmp_path)
