# SPDX-License-Identifier: Apache-2.0
"""A .tflite file whose inputs have other shapes, or which does not know all shapes itself. What
those of all other tensors become then, LiteRT's own interpreter says: as operators prepare, and as
they run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import interpreter as litert
from ai_edge_litert import schema_py_generated as schema

from halyard.errors import HalyardError
from halyard.model.input_ranges import Range, drawn
from halyard.model.shapes import Declared, Shapes, closed
from halyard.tflite.graph import made, packed
from halyard.tflite.reading.file import File, Tensor
from halyard.tflite.reading.input_ranges import ranges_of

# Of an input: more than any model's.
_MAX_INPUT_BYTES = 2**30

# By graph and tensor.
_Found = Mapping[tuple[int, int], tuple[int, ...]]


def resized(content: bytes, file: File, said: Shapes) -> bytes:
    """The file with inputs of those shapes; an input that is not named keeps its own. HalyardError
    where the file does not go with them."""
    graph = file.graphs[0]
    inputs = [graph.tensors[index] for index in graph.inputs]
    shapes = closed([_declared(each) for each in inputs], said).shapes
    for each in inputs:
        size = math.prod(shapes[each.name]) * (each.dtype.itemsize if each.dtype else 1)
        if size > _MAX_INPUT_BYTES:
            raise HalyardError(f"{each.name!r} takes {size} bytes, which is too much")
    found = _found(content, file, [shapes[each.name] for each in inputs])
    return _with_shapes(file, found)


def settled(content: bytes, file: File) -> bytes | None:
    """The file with the shapes that come to be, where its own were not known when it was
    made: 1 stands in their places. None where it knows them, or LiteRT can't tell."""
    if not _has_placeholders(file):
        return None
    graph = file.graphs[0]
    if any(graph.tensors[index].byte_size > _MAX_INPUT_BYTES for index in graph.inputs):
        return None
    try:
        found = _found(content, file, [graph.tensors[index].shape for index in graph.inputs])
    except HalyardError:
        return None
    own = {key: file.graphs[key[0]].tensors[key[1]].shape for key in found}
    return None if own == found else _with_shapes(file, found)


def _has_placeholders(file: File) -> bool:
    """Whether an extent beyond the batch is open that no input leaves open."""
    tensors = file.content.subgraphs[0].tensors or ()
    inputs = set(file.graphs[0].inputs)
    open_axes = [
        (index in inputs, axis)
        for index, tensor in enumerate(tensors)
        if tensor.shapeSignature is not None
        for axis, extent in enumerate(tensor.shapeSignature)
        if axis and extent < 0
    ]
    return bool(open_axes) and not any(is_input for is_input, _ in open_axes)


def _with_shapes(file: File, found: _Found) -> bytes:
    model = file.content
    for number, subgraph in enumerate(model.subgraphs):
        for place, tensor in enumerate(subgraph.tensors or ()):
            if (number, place) in found:
                tensor.shape = np.asarray(found[number, place], np.int32)
                # It spoke of the shape that was.
                tensor.shapeSignature = None
    buffers = [
        made(schema.BufferT, data=None if data is None else np.frombuffer(data, np.uint8))
        for data in file.buffers
    ]
    return packed(made(schema.ModelT, **{**vars(model), "buffers": buffers}))


def _declared(tensor: Tensor) -> Declared:
    """Any extent may be another one."""
    own = dict(enumerate(tensor.shape))
    return Declared(tensor.name, ("",) * len(tensor.shape), own)


def _found(content: bytes, file: File, shapes: Sequence[tuple[int, ...]]) -> _Found:
    try:
        # Delegates would have tensors of their own.
        interpreter = litert.Interpreter(
            model_content=content,
            num_threads=1,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=True,
        )
        for index, shape in zip(file.graphs[0].inputs, shapes, strict=True):
            interpreter.resize_tensor_input(index, shape)
        interpreter.allocate_tensors()
        return _after_runs(interpreter, file)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise HalyardError(
            f"it can't have inputs of {_listed(shapes)}, LiteRT says: {reason}"
        ) from error


def _shapes(interpreter: Any, file: File) -> _Found:
    """Of what is no constant. Beyond the file's tensors lie LiteRT's own."""
    return {
        (number, int(detail["index"])): tuple(map(int, detail["shape"]))
        for number, graph in enumerate(file.graphs)
        for detail in interpreter.get_tensor_details(subgraph_index=number)
        if detail["index"] < len(graph.tensors) and graph.tensors[detail["index"]].data is None
    }


def _after_runs(interpreter: Any, file: File) -> _Found:
    """Some shapes are computed while the model runs. Those that are others when it runs on other
    values depend on these, and are not known: an extent of -1 says so."""
    legal = ranges_of(file.graphs[0])
    runs = []
    for first in (True, False):
        _fill(interpreter, file, legal, first=first)
        interpreter.invoke()
        runs.append(_shapes(interpreter, file))
    one, other = runs
    return {key: shape if other[key] == shape else (-1,) * len(shape) for key, shape in one.items()}


def _fill(interpreter: Any, file: File, legal: Mapping[str, Range], *, first: bool) -> None:
    """With two kinds of what inputs may be, neither of which has a real 0 to divide by."""
    random = np.random.default_rng(0)
    graph = file.graphs[0]
    for detail, index in zip(interpreter.get_input_details(), graph.inputs, strict=True):
        wanted = legal.get(graph.tensors[index].name)
        if wanted is None:
            ends = (0.01, 1.0) if first else (-100.0, -1.0)
            real = random.uniform(*ends, detail["shape"])
            values = (real if np.dtype(detail["dtype"]).kind == "f" else real > 0).astype(
                detail["dtype"]
            )
        else:
            some = wanted if first else Range(wanted.first, wanted.first)
            values = drawn(np.dtype(detail["dtype"]), detail["shape"], random, some)
        interpreter.set_tensor(detail["index"], values)


def _listed(shapes: Sequence[tuple[int, ...]]) -> str:
    return " and ".join(str(list(shape)) for shape in shapes)
