# SPDX-License-Identifier: Apache-2.0
"""A small .tflite file that names what it has over and over does not exhaust the host."""

import inspect
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert import schema_py_generated as schema

from halyard import tflite
from halyard.errors import HalyardError
from halyard.model import Conversion, HostPart
from halyard.model.budget import Budget, OverBudget, excerpt
from halyard.tflite.graph import OPTION_TEXTS
from tests.harness.tflite_file import GraphFile, packed

FILE = Path("small.tflite")
_MOST_MEMORY = 2**29


def _once(kind: type) -> type:
    """The schema's, but written once, however often it is named."""

    class Once(kind):  # type: ignore[misc]
        place: int | None = None

        def Pack(self, builder: Any) -> int:  # noqa: N802 (the schema's name)
            if self.place is None:
                self.place = super().Pack(builder)
            return self.place

    return Once


class _Builder(flatbuffers.Builder):  # type: ignore[misc]
    """Equal texts are written once."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.texts: dict[Any, int] = {}

    def CreateString(self, text: Any, *more: Any) -> int:  # noqa: N802 (flatbuffers' name)
        if text not in self.texts:
            self.texts[text] = super().CreateString(text, *more)
        return self.texts[text]


@pytest.fixture
def bounded() -> Iterator[None]:
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < _MOST_MEMORY


def _read(model: Any, megabytes: float = 1.5) -> Conversion:
    content = packed(model)
    assert len(content) < megabytes * 2**20
    return tflite.read_conversion(content, FILE)


def _packed_once(model: Any) -> bytes:
    builder = _Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _relu() -> Any:
    graph = GraphFile()
    source, output = graph.input((1,)), graph.tensor((1,))
    graph.add("RELU", [source], [output])
    return graph.model(output)


@pytest.mark.usefixtures("bounded")
def test_entries_that_name_one_buffer_are_one_copy() -> None:
    """1,500 of a megabyte: 1.5 GB, if each were copied."""
    graph = GraphFile()
    source, output = graph.input((1,)), graph.tensor((1,))
    graph.add("RELU", [source], [output])
    for _ in range(1_500):
        graph.tensor((2**20,), "uint8")
    model = graph.model(output)
    one = _once(schema.BufferT)()
    one.data = np.zeros(2**20, np.uint8)
    model.buffers += [one] * 1_500
    for number, tensor in enumerate(model.subgraphs[0].tensors[2:]):
        tensor.buffer = number + 1
    content = _packed_once(model)
    assert len(content) < 1.5 * 2**20
    assert not tflite.read_conversion(content, FILE).unmapped


@pytest.mark.usefixtures("bounded")
def test_constants_that_share_a_buffer_are_not_copied_without_end() -> None:
    graph = GraphFile()
    size = 2**18
    outputs = []
    source = graph.input((size,))
    constants = []
    for _ in range(200):
        constants.append(graph.tensor((size,)))
        outputs.append(graph.tensor((size,)))
        graph.add("ADD", [source, constants[-1]], outputs[-1:], "AddOptions")
    model = graph.model(*outputs)
    model.buffers.append(schema.BufferT())
    model.buffers[-1].data = np.zeros(4 * size, np.uint8)
    for index in constants:
        model.subgraphs[0].tensors[index].buffer = len(model.buffers) - 1
    with pytest.raises(HalyardError, match="its constants would come to"):
        _read(model)


@pytest.mark.usefixtures("bounded")
def test_scales_that_tensors_share_are_not_copied_without_end() -> None:
    model = _relu()
    one = _once(schema.QuantizationParametersT)()
    one.scale, one.zeroPoint, one.quantizedDimension = np.ones(2**13, "<f4"), None, 0
    for _ in range(400):
        tensor = schema.TensorT()
        tensor.shape, tensor.type = [2**13], schema.TensorType.INT8
        tensor.quantization = one
        model.subgraphs[0].tensors.append(tensor)
    with pytest.raises(HalyardError, match="the scales of its tensors would come to"):
        _read(model)


@pytest.mark.usefixtures("bounded")
def test_names_that_tensors_share_are_not_copied_without_end() -> None:
    model = _relu()
    for _ in range(2_000):
        tensor = schema.TensorT()
        tensor.shape, tensor.name = [1], "n" * 2**18
        model.subgraphs[0].tensors.append(tensor)
    content = _packed_once(model)
    assert len(content) < 2**20
    with pytest.raises(HalyardError, match="its texts would come to"):
        tflite.read_conversion(content, FILE)


def _in_turns(count: int, size: int) -> Any:
    """Of NNAPI, which adds a constant, and of the host."""
    graph = GraphFile()
    at = graph.input((size,))
    constant = graph.constant(np.zeros(size))
    for _ in range(count):
        sum_, after = graph.tensor((size,)), graph.tensor((size,))
        graph.add("ADD", [at, constant], [sum_], "AddOptions")
        graph.add("COS", [sum_], [after])
        at = after
    return graph.model(at)


@pytest.mark.usefixtures("bounded")
def test_parts_do_not_copy_a_constant_without_end() -> None:
    with pytest.raises(HalyardError, match="the constants of its parts would come to"):
        _read(_in_turns(200, 2**18))


@pytest.mark.usefixtures("bounded")
def test_a_part_has_no_more_than_its_own_tensors() -> None:
    found = _read(_in_turns(150, 1))
    host = [part.content for part in found.parts if isinstance(part, HostPart)]
    assert len(host) == 150
    assert max(map(len, host)) < 1_500


@pytest.mark.usefixtures("bounded")
def test_zeros_of_any_size_are_not_made() -> None:
    graph = GraphFile()
    source = graph.input((2**28,))
    zeros, output = graph.tensor((2**28,)), graph.tensor((2**28,))
    graph.add("ZEROS_LIKE", [source], [zeros])
    graph.add("ADD", [source, zeros], [output], "AddOptions")
    with pytest.raises(HalyardError, match="its zeros would come to 10737"):
        _read(graph.model(output))


def test_messages_are_as_long_as_they_say_something() -> None:
    graph = GraphFile()
    source, output = graph.input((2, 3)), graph.tensor((2, 3), name="n" * 2**18)
    graph.add("K" * 2**18, [source], [output])
    found = tflite.read_conversion(graph.content(output), FILE)
    assert all(len(each.text()) < 1_000 for each in found.unmapped)
    axes = graph.constant(np.zeros(2**16), "int64")
    moved = graph.tensor((2, 3))
    graph.add("TRANSPOSE", [source, axes], [moved])
    graph = GraphFile()
    source, moved = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("TRANSPOSE", [source, graph.constant(np.full(2**16, 2**40), "int64")], [moved])
    [unmapped] = tflite.read_conversion(graph.content(moved), FILE).unmapped
    assert "and 65528 more" in unmapped.reason
    assert len(unmapped.reason) < 400


@pytest.mark.parametrize(
    ("kind", "options", "field"),
    [
        ("CONV_2D", "Conv2DOptions", "strideW"),
        ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", "strideH"),
        ("TRANSPOSE_CONV", "TransposeConvOptions", "strideW"),
        ("MAX_POOL_2D", "Pool2DOptions", "strideH"),
        ("AVERAGE_POOL_2D", "Pool2DOptions", "filterWidth"),
        ("SPACE_TO_DEPTH", "SpaceToDepthOptions", "blockSize"),
    ],
)
def test_what_engines_divide_by_is_not_0(kind: str, options: str, field: str) -> None:
    """LiteRT would end the process with a division by zero, or never come to an end."""
    graph = GraphFile()
    source, output = graph.input((1, 4, 4, 1)), graph.tensor((1, 4, 4, 1))
    weights = graph.constant(np.ones((1, 1, 1, 1)))
    fields: dict[str, Any] = {
        name: 1 for name in vars(getattr(schema, f"{options}T")()) if name in _POSITIVE
    }
    graph.add(kind, [source, weights], [output], options, **{**fields, field: 0})
    wanted = rf"operator 0 \({kind}\) has a {field} of 0"
    with pytest.raises(HalyardError, match=wanted):
        tflite.read_conversion(graph.content(output), FILE)


_POSITIVE = ("strideW", "strideH", "filterWidth", "filterHeight", "blockSize")


def test_all_texts_of_options_are_counted() -> None:
    """Of any table that operators have as options, as the schema's classes read them."""
    unions = {**vars(schema.BuiltinOptions), **vars(schema.BuiltinOptions2)}
    found = {}
    for name in unions:
        kind = getattr(schema, name, None)
        if inspect.isclass(kind):
            texts = tuple(
                method
                for method, function in vars(kind).items()
                if inspect.isfunction(function) and "_tab.String(" in inspect.getsource(function)
            )
            if texts:
                found[name] = texts
    assert found == {name: tuple(texts) for name, texts in OPTION_TEXTS.items()}


# ---- the budget itself --------------------------------------------------------------------------


def test_a_budget_ends() -> None:
    budget = Budget(100)
    budget.take_bytes(budget.most_bytes, "all of it")
    with pytest.raises(OverBudget, match="one more would come to 134217729 bytes, and a file of"):
        budget.take_bytes(1, "one more")
    budget.take_nodes(200_000)
    with pytest.raises(OverBudget, match="the graph comes to 200001 nodes"):
        budget.take_nodes(1, "the graph")
    budget.take_objects(200_000)
    with pytest.raises(OverBudget, match="it has 200001 tables"):
        budget.take_objects(1)


def test_a_large_file_may_become_more() -> None:
    Budget(2**27).take_bytes(2**31, "its constants")


def test_excerpts_are_short() -> None:
    assert excerpt("boxes") == "boxes"
    assert excerpt([1, 2]) == "[1, 2]"
    assert len(excerpt("x" * 10_000)) < 300
    assert excerpt(list(range(1000))) == "[0, 1, 2, 3, 4, 5, 6, 7] and 992 more"
