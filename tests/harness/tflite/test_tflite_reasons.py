# SPDX-License-Identifier: Apache-2.0
"""Reasons to leave one operator to the host, in the words that a user reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import convert

# Of an input: its shape, type and quantisation; an array is a constant.
_IMAGE = ((1, 4, 4, 2),)
_ROW = ((2, 3),)
_BYTES = ((2, 3), "int8", 0.1, 0)


def _ints(*values: int) -> Any:
    return np.array(values, "int32")


def _floats(*shape: int) -> Any:
    return np.ones(shape, "float32")


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "options", "reason"),
    [
        (
            "TRANSPOSE",
            [_ROW, ((2,), "int32")],
            _ROW,
            {},
            "its order of axes is computed, and",
        ),
        ("TRANSPOSE", [_ROW, _floats(2)], _ROW, {}, "its order of axes is of type FLOAT32"),
        (
            "ARG_MAX",
            [_ROW, _ints(0, 1)],
            ((3,), "int32"),
            {"options": "ArgMaxOptions"},
            "its axis has 2 values, and one is wanted",
        ),
        ("NEG", [((2,), "int64")], ((2,), "int64"), {}, "'t0' is INT64, which NNAPI has not"),
        (
            "ABS",
            [((2,), "int16")],
            ((2,), "int16"),
            {},
            "'t0' is INT16, which NNAPI has with",
        ),
        (
            "RESIZE_BILINEAR",
            [_IMAGE, _ints(4)],
            _IMAGE,
            {"options": "ResizeBilinearOptions"},
            "its size is [4]",
        ),
        (
            "BATCH_TO_SPACE_ND",
            [_IMAGE, _ints(2), _ints(1, 1)],
            _IMAGE,
            {"options": "BatchToSpaceNDOptions"},
            "of [1, 4, 4, 2], with blocks [2] and crops [1, 1]",
        ),
        (
            "L2_NORMALIZATION",
            [_ROW],
            _ROW,
            {"options": "L2NormOptions", "fusedActivationFunction": 1},
            "it has a fused activation, which NNAPI's has not",
        ),
        (
            "CONCATENATION",
            [_ROW],
            _ROW,
            {"options": "ConcatenationOptions", "axis": 5},
            "its axis is 5 of 2",
        ),
        (
            "SPLIT_V",
            [_ROW, _ints(2), _ints(1)],
            ((2, 2),),
            {"options": "SplitVOptions", "numSplits": 1},
            "its outputs have 2 of 3 along axis 1",
        ),
        ("PADV2", [_ROW, _ints(0, 0, 0, 0), ((1,),)], _ROW, {}, "its value is computed, and NNAPI"),
        ("FILL", [_ints(2, 3), ((1,),)], _ROW, {}, "its value is computed, and NNAPI wants a"),
        (
            "FILL",
            [_ints(2), np.array(True)],
            ((2,), "bool"),
            {},
            "its value is bool, and NNAPI",
        ),
        (
            "SLICE",
            [_ROW, _ints(1, 1), _ints(2, 3)],
            _ROW,
            {"options": "SliceOptions"},
            "[2, 3] from [1, 1] on is not in [2, 3]",
        ),
        (
            "SUM",
            [((),), _ints(0)],
            ((),),
            {"options": "ReducerOptions"},
            "it reduces a number, which has no axes in NNAPI either",
        ),
        (
            "SUM",
            [_ROW, np.zeros(0, "int32")],
            _ROW,
            {"options": "ReducerOptions"},
            "it reduces no axis",
        ),
        ("ZEROS_LIKE", [_BYTES], _BYTES, {}, "of quantised numbers"),
        (
            "CONV_2D",
            [_IMAGE, _floats(4, 1, 1, 3), _floats(4)],
            ((1, 4, 4, 4),),
            {"options": "Conv2DOptions", "strideW": 1, "strideH": 1},
            "2 channels by filters of 3",
        ),
        (
            "CONV_2D",
            [_ROW, _floats(4, 1, 1, 3), _floats(4)],
            ((1, 4, 4, 4),),
            {"options": "Conv2DOptions", "strideW": 1, "strideH": 1},
            "'t0' has 2 dimensions, not 4",
        ),
        (
            "FULLY_CONNECTED",
            [_ROW, _floats(4, 3), _floats(4)],
            ((2, 4),),
            {"options": "FullyConnectedOptions", "weightsFormat": 1},
            "its weights are shuffled, which NNAPI has not",
        ),
        (
            "FULLY_CONNECTED",
            [_ROW, _floats(4, 5), _floats(4)],
            ((2, 4),),
            {"options": "FullyConnectedOptions"},
            "[2, 3] by weights of 5",
        ),
        (
            "LEAKY_RELU",
            [_BYTES],
            _BYTES,
            {"options": "LeakyReluOptions", "alpha": -0.5},
            "its slope is -0.5, which is no scale for 8 bits",
        ),
        (
            "SOFTMAX",
            [_ROW],
            _ROW,
            {"options": "SoftmaxOptions", "beta": 0.0},
            "its beta is 0",
        ),
        (
            "SELECT_V2",
            [((2, 3), "bool"), ((4, 2, 3),), _ROW],
            _ROW,
            {"options": "SelectV2Options"},
            "[4, 2, 3] does not go into [2, 3]",
        ),
        ("DENSIFY", [_ROW], _ROW, {"options": "DensifyOptions"}, "of what is computed"),
        ("ADD", [_ROW, _ROW], _ROW, {"options": "MulOptions"}, "its options are MulOptions"),
        (
            "LSTM",
            [_ROW],
            _ROW,
            {"options": "LSTMOptions", "kernelType": 1},
            "an LSTM of the basic kind",
        ),
        ("TFLite_Detection_PostProcess", [_ROW], _ROW, {}, "its options are no flexbuffer"),
    ],
)
def test_reasons(
    kind: str, inputs: list[Any], output: Any, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    graph = GraphFile()
    given = [
        graph.constant(each, str(each.dtype))
        if isinstance(each, np.ndarray)
        else graph.input(*each)
        for each in inputs
    ]
    result = graph.tensor(*output)
    graph.add(kind, given, [result], **options)
    [unmapped] = convert(graph, [result], tmp_path).unmapped
    assert unmapped.reason.startswith(reason)
