# SPDX-License-Identifier: Apache-2.0
"""Small .tflite models with seeded weights, and what they are checked with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from halyard import conversion
from halyard.comparison.difference import compare_all
from halyard.engines.halyard import HalyardProcess
from halyard.engines.litert import LiteRt
from halyard.engines.original import original_inputs, run_file
from halyard.engines.workload import Workload
from halyard.model import Array, Conversion, RunnableModel, operation_name
from halyard.model.fitting import fitted
from halyard.programs.driver_options import DriverOptions
from halyard.transport.hal_version import lowest_version
from tests.harness.agreement import disagreements
from tests.harness.tflite_file import GraphFile

RANDOM = np.random.default_rng(7)


def convert(graph: GraphFile, outputs: list[int], folder: Path) -> Conversion:
    path = folder / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    return conversion.convert(path)


def inputs_of(model: RunnableModel) -> list[Array]:
    """Between 0.1 and 2, so that roots and logarithms are numbers; all of what has 8 bits."""
    random = np.random.default_rng(5)
    return [
        random.uniform(0.1, 2, info.shape).astype(np.float32)
        if info.dtype == np.float32
        else values
        for info, values in zip(model.inputs, model.input_arrays(3), strict=True)
    ]


def check(graph: GraphFile, outputs: list[int], folder: Path) -> Conversion:
    """Runs the file in LiteRT and what it becomes on the host driver: the same within a step of 8
    bits, and within what the order of float sums decides."""
    found = convert(graph, outputs, folder)
    assert [each.text() for each in found.unmapped] == []
    model = RunnableModel.of(found.whole.model)
    lowest_version(model.model)
    inputs = inputs_of(model)
    given = original_inputs(found, inputs)
    expected, _ = run_file(LiteRt(), found.source.path, given, 1, 0)
    with Workload(model, inputs) as work, HalyardProcess(DriverOptions()).prepare(work) as ours:
        actual = ours.run()
    fitting = [fitted(values, info) for values, info in zip(expected, model.outputs, strict=True)]
    differences = compare_all(model, fitting, actual)
    assert disagreements(differences, 4) == [], differences
    assert any(each.nonzero for each in differences), "zeros agree with anything"
    return found


def operations(found: Conversion) -> list[str]:
    return [operation_name(each.type) for each in found.model.main.operations]


def weights(*shape: int, scale: float = 0.3) -> Array:
    return RANDOM.normal(0, scale, shape).astype(np.float32)


# ---- three small models -------------------------------------------------------------------------


def conv_net() -> tuple[GraphFile, list[int]]:
    """Convolutions of every padding, a residual, a pooling and a classifier."""
    graph = GraphFile()
    image = graph.input((1, 12, 12, 3))
    first, padded, residual = (
        graph.tensor((1, *size)) for size in ((6, 6, 8), (8, 8, 8), (6, 6, 8))
    )
    graph.add(
        "CONV_2D",
        [image, graph.constant(weights(8, 3, 3, 3)), graph.constant(weights(8))],
        [first],
        "Conv2DOptions",
        strideW=2,
        strideH=2,
        fusedActivationFunction=3,
    )
    around = graph.constant([[0, 0], [1, 1], [1, 1], [0, 0]], "int32")
    graph.add("PAD", [first, around], [padded], "PadOptions")
    deep = graph.tensor((1, 6, 6, 8))
    graph.add(
        "DEPTHWISE_CONV_2D",
        [padded, graph.constant(weights(1, 3, 3, 8)), graph.constant(weights(8))],
        [deep],
        "DepthwiseConv2DOptions",
        padding=1,
        strideW=1,
        strideH=1,
        depthMultiplier=1,
    )
    graph.add("ADD", [first, deep], [residual], "AddOptions", fusedActivationFunction=1)
    pooled, flat, logits = graph.tensor((1, 3, 3, 8)), graph.tensor((1, 72)), graph.tensor((1, 10))
    graph.add(
        "MAX_POOL_2D",
        [residual],
        [pooled],
        "Pool2DOptions",
        strideW=2,
        strideH=2,
        filterWidth=2,
        filterHeight=2,
    )
    graph.add("RESHAPE", [pooled, graph.constant([-1, 72], "int32")], [flat], "ReshapeOptions")
    graph.add(
        "FULLY_CONNECTED",
        [flat, graph.constant(weights(10, 72)), -1],
        [logits],
        "FullyConnectedOptions",
    )
    probabilities = graph.tensor((1, 10))
    graph.add("SOFTMAX", [logits], [probabilities], "SoftmaxOptions", beta=1.0)
    return graph, [probabilities, logits]


def per_channel() -> tuple[GraphFile, list[int]]:
    """INT8 with a scale per filter, and a classifier of one scale."""
    graph = GraphFile()
    image = graph.input((1, 8, 8, 4), "int8", 0.02, -3)
    scales = [0.01 + 0.002 * channel for channel in range(8)]
    filters = graph.constant(RANDOM.integers(-127, 128, (8, 3, 3, 4)), "int8", scales)
    bias = graph.constant(RANDOM.integers(-500, 500, 8), "int32", [0.02 * each for each in scales])
    hidden = graph.tensor((1, 8, 8, 8), "int8", 0.05, 4)
    graph.add(
        "CONV_2D",
        [image, filters, bias],
        [hidden],
        "Conv2DOptions",
        strideW=1,
        strideH=1,
        fusedActivationFunction=1,
    )
    mean = graph.tensor((1, 8), "int8", 0.05, 4)
    graph.add("MEAN", [hidden, graph.constant([1, 2], "int32")], [mean], "ReducerOptions")
    logits = graph.tensor((1, 5), "int8", 0.04, 10)
    classes = graph.constant(RANDOM.integers(-127, 128, (5, 8)), "int8", 0.01)
    last = graph.constant(RANDOM.integers(-99, 99, 5), "int32", 0.05 * 0.01)
    graph.add("FULLY_CONNECTED", [mean, classes, last], [logits], "FullyConnectedOptions")
    return graph, [logits, hidden]


def half_weights() -> tuple[GraphFile, list[int]]:
    """FLOAT16 weights that operators widen before they are used."""
    graph = GraphFile()
    image = graph.input((1, 6, 6, 2))
    wide = []
    for values in (weights(4, 3, 3, 2), weights(4)):
        half = graph.constant(values, "float16")
        wide.append(graph.tensor(values.shape))
        graph.add("DEQUANTIZE", [half], [wide[-1]], "DequantizeOptions")
    output = graph.tensor((1, 6, 6, 4))
    graph.add(
        "CONV_2D",
        [image, *wide],
        [output],
        "Conv2DOptions",
        strideW=1,
        strideH=1,
        dilationWFactor=2,
        dilationHFactor=2,
    )
    return graph, [output]
