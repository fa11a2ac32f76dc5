# SPDX-License-Identifier: Apache-2.0
"""A .tflite file that says what can't be is told, and never believed."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halyard import tflite
from halyard.errors import HalyardError
from halyard.model import HostPart
from tests.harness.tflite_file import GraphFile, packed
from tests.harness.tflite_models import conv_net, half_weights, per_channel

FILE = Path("spoilt.tflite")


def _model() -> Any:
    graph, outputs = conv_net()
    return graph.model(*outputs)


def _main(model: Any) -> Any:
    return model.subgraphs[0]


def _spoil_quantization(model: Any, scales: list[float], zero_points: list[int]) -> None:
    from ai_edge_litert import schema_py_generated as schema

    found = schema.QuantizationParametersT()
    found.scale, found.zeroPoint, found.quantizedDimension = scales, zero_points, 0
    _main(model).tensors[0].quantization = found


def _set(path: str, value: Any) -> Callable[[Any], None]:
    """Assigns to "operators[0].inputs" of the main graph."""

    def spoil(model: Any) -> None:
        exec(f"graph.{path} = value", {"graph": _main(model), "value": value})

    return spoil


SPOILT: list[tuple[Callable[[Any], None], str]] = [
    (_set("operators[0].inputs", [0, 1, 99]), r"operator 0 \(CONV_2D\): input 2 is tensor 99"),
    (_set("operators[0].inputs", [0, -2, 2]), "input 1 is tensor -2, of which there are"),
    (_set("operators[0].outputs", [-1]), "output 0 is tensor -1"),
    (_set("operators[0].opcodeIndex", 77), "operator 0 has code 77, of which there are"),
    (_set("inputs", [0, 0]), "an input of the graph is there twice"),
    (_set("inputs", [4]), "an input of the graph is a constant|is not there yet"),
    (_set("outputs", [-5]), "the graph's output 0 is tensor -5"),
    (_set("outputs", [100]), "the graph's output 0 is tensor 100"),
    (_set("operators[0].inputs", [1, 1, 1]), "reads t1, which is not there yet"),
    (_set("operators[1].outputs", [1]), "writes t1, which is there already"),
    (_set("operators", []), "nothing computes the output"),
    (_set("tensors[4].buffer", 1000), "is in buffer 1000, of which there are"),
    (_set("tensors[4].shape", [9, 9]), "bytes, and its type and shape take 324"),
    (_set("tensors[0].shape", [2**30, 2**30]), "which is too much"),
    (_set("tensors[0].shape", [1] * 30), "has 30 dimensions"),
    (lambda model: _spoil_quantization(model, [0.1, 0.2], [0]), "2 scales and 1 zero points"),
    (lambda model: _spoil_quantization(model, [float("nan")], [0]), "no length of a step"),
    (lambda model: _spoil_quantization(model, [-1.0], [0]), "no length of a step"),
    (lambda model: _spoil_quantization(model, [0.1, 0.2], [0, 0]), "2 scales for axis 0 of"),
    (lambda model: setattr(model, "version", 9), "it is of version 9"),
    (lambda model: setattr(model, "subgraphs", []), "it has no subgraph"),
]


@pytest.mark.parametrize(("spoil", "reason"), SPOILT)
def test_what_can_not_be_is_told(spoil: Callable[[Any], None], reason: str) -> None:
    model = _model()
    spoil(model)
    with pytest.raises(HalyardError, match=reason) as refusal:
        tflite.read_conversion(packed(model), FILE)
    assert str(refusal.value).startswith("spoilt.tflite: this .tflite file is damaged: ")


def test_buffers_that_end_behind_the_file_are_told() -> None:
    model = _model()
    model.buffers[1].data = None
    model.buffers[1].offset, model.buffers[1].size = 64, 2**40
    with pytest.raises(HalyardError, match="buffer 1 ends at byte 1099511627840 of"):
        tflite.read_conversion(packed(model), FILE)


def test_buffers_behind_the_tables_are_read() -> None:
    """As files of more than 2 GiB have them."""
    model = _model()
    data = bytes(model.buffers[1].data)
    model.buffers[1].data = None
    model.buffers[1].offset, model.buffers[1].size = 2**20, len(data)
    content = packed(model)
    content += bytes(2**20 - len(content)) + data
    assert not tflite.read_conversion(content, FILE).unmapped


def test_a_file_that_names_one_graph_over_and_over_is_refused_at_once() -> None:
    """It is small, and would be millions of objects."""
    graph = GraphFile()
    source = graph.input((1,))
    for _ in range(2000):
        graph.tensor((1,))
    output = graph.tensor((1,))
    graph.add("TANH", [source], [output])
    model = graph.model(output)
    model.subgraphs = model.subgraphs * 2000
    content = _with_shared_subgraphs(model)
    assert len(content) < 2**20
    start = time.monotonic()
    with pytest.raises(HalyardError, match="no model has more than 200000"):
        tflite.read_conversion(content, FILE)
    assert time.monotonic() - start < 20


def _with_shared_subgraphs(model: Any) -> bytes:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    builder = flatbuffers.Builder(1024)
    one = model.subgraphs[0].Pack(builder)
    code = model.operatorCodes[0].Pack(builder)
    schema.ModelStartSubgraphsVector(builder, len(model.subgraphs))
    for _ in model.subgraphs:
        builder.PrependUOffsetTRelative(one)
    graphs = builder.EndVector()
    schema.ModelStartOperatorCodesVector(builder, 1)
    builder.PrependUOffsetTRelative(code)
    codes = builder.EndVector()
    schema.ModelStart(builder)
    schema.ModelAddVersion(builder, 3)
    schema.ModelAddSubgraphs(builder, graphs)
    schema.ModelAddOperatorCodes(builder, codes)
    builder.Finish(schema.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


def test_loops_inside_one_another_come_to_an_end() -> None:
    """Each graph has two branches of the next one: 2^30 of them, if they were all written out."""
    graphs = [GraphFile() for _ in range(30)]
    outputs = []
    for number, graph in enumerate(graphs):
        condition, value, output = graph.input((1,), "bool"), graph.input((2,)), graph.tensor((2,))
        between = graph.tensor((2,))
        if number == len(graphs) - 1:
            graph.add("TANH", [value], [output])
        else:
            both = {"thenSubgraphIndex": number + 1, "elseSubgraphIndex": number + 1}
            for source, target in ((value, between), (between, output)):
                inputs = [condition, condition, source]
                graph.add("IF", inputs, [target], "IfOptions", **both)
        outputs.append(output)
    for graph, output in zip(graphs[1:], outputs[1:], strict=True):
        graphs[0].subgraph(graph, output)
    start = time.monotonic()
    found = tflite.read_conversion(graphs[0].content(outputs[0]), FILE)
    assert time.monotonic() - start < 20
    assert found.unmapped[0].reason.endswith("it comes to more than 256 subgraphs")


# ---- anything at all ----------------------------------------------------------------------------

FILES = [graph.content(*outputs) for graph, outputs in (conv_net(), per_channel(), half_weights())]


def _survives(content: bytes) -> None:
    """It is read, or refused with a sentence: nothing else, and soon."""
    try:
        found = tflite.read_conversion(content, FILE)
    except HalyardError:
        return
    assert found.parts
    for part in found.parts:
        assert isinstance(part, HostPart) or part.model.main.operations


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.sampled_from(FILES), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_changed_words_end_nothing(content: bytes, seed: int, changes: int) -> None:
    """Words, as offsets and lengths are: of the tables, which lie before the weights or behind."""
    generator = random.Random(seed)
    spoilt = bytearray(content)
    for _ in range(changes):
        at = generator.randrange(4, len(spoilt) - 4)
        word = generator.choice([0, 1, 2, 4, 127, 255, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1])
        width = generator.choice([1, 2, 4])
        spoilt[at : at + width] = word.to_bytes(4, "little")[:width]
    _survives(bytes(spoilt))


@pytest.mark.parametrize("content", FILES)
def test_files_that_end_early_end_nothing(content: bytes) -> None:
    for length in np.linspace(0, len(content) - 1, 60, dtype=int):
        _survives(content[:length])
