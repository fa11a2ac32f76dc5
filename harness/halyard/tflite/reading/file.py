# SPDX-License-Identifier: Apache-2.0
"""What a .tflite file says, checked: flatbuffers checks nothing, and indexes may point anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ai_edge_litert.schema_py_generated import BuiltinOperator, TensorType

from halyard.errors import HalyardError
from halyard.model import Array
from halyard.tflite.graph import OMITTED, unpacked
from halyard.tflite.reading.sparsity import dense

_VERSION = 3
_MAX_RANK = 8
# More than any model's tensor has: a file may say anything.
_MAX_TENSOR_BYTES = 2**31
# How many times the bytes of a file its constants may come to: tensors may share them, and they may
# be stored without zeros.
_MOST_SHARED = 64

_DTYPES: dict[int, np.dtype[Any]] = {
    TensorType.FLOAT32: np.dtype("<f4"),
    TensorType.FLOAT16: np.dtype("<f2"),
    TensorType.INT32: np.dtype("<i4"),
    TensorType.UINT8: np.dtype("u1"),
    TensorType.INT64: np.dtype("<i8"),
    TensorType.BOOL: np.dtype("?"),
    TensorType.INT16: np.dtype("<i2"),
    TensorType.INT8: np.dtype("i1"),
    TensorType.FLOAT64: np.dtype("<f8"),
    TensorType.UINT64: np.dtype("<u8"),
    TensorType.UINT32: np.dtype("<u4"),
    TensorType.UINT16: np.dtype("<u2"),
}
_TYPE_NAMES: dict[int, str] = {
    code: name for name, code in vars(TensorType).items() if isinstance(code, int)
}
_KINDS: dict[int, str] = {
    code: name for name, code in vars(BuiltinOperator).items() if isinstance(code, int)
}
# What a file says of an operator whose code does not fit the field of old.
_GREATER = int(BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES)


@dataclass(frozen=True)
class Tensor:
    """`data` are a constant's bytes, as many as its type and shape take. `scales` are none, one, or
    one for each index of `axis`."""

    name: str
    type: int
    shape: tuple[int, ...]
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis: int = 0
    data: bytes | None = None
    is_variable: bool = False

    @property
    def type_name(self) -> str:
        return _TYPE_NAMES.get(self.type, str(self.type))

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """None for elements that numpy has not: strings, resources, numbers of four bits."""
        return _DTYPES.get(self.type)

    @property
    def is_known(self) -> bool:
        """Whether its shape is."""
        return all(extent > 0 for extent in self.shape)

    @property
    def values(self) -> Array | None:
        """Of a constant, in its shape."""
        if self.data is None or self.dtype is None:
            return None
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Operator:
    """Inputs and outputs are tensors of its graph; OMITTED for what is left away."""

    number: int
    code: int
    kind: str  # of a custom one: the name that it goes by
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Any  # of the schema, or None
    custom_options: bytes = b""

    @property
    def is_custom(self) -> bool:
        return self.code == int(BuiltinOperator.CUSTOM)


@dataclass(frozen=True)
class Graph:
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def label(self, operator: Operator) -> str:
        """ "12 GATHER_ND 'boxes'": what reports call it, by what it computes first."""
        names = [self.tensors[index].name for index in operator.outputs if index != OMITTED]
        return f"{operator.number} {operator.kind}" + (f" {names[0]!r}" if names else "")


@dataclass(frozen=True)
class File:
    """`graphs[0]` is what runs. `content` is the schema's ModelT, to cut files from, and `buffers`
    are the bytes that its tensors name."""

    graphs: tuple[Graph, ...]
    buffers: tuple[bytes | None, ...]
    content: Any


def read(content: bytes) -> File:
    """HalyardError for what is no such file, or one that says what can't be."""
    try:
        model = unpacked(content)
    except ValueError as error:
        raise HalyardError(f"this is no .tflite file: {error}") from error
    try:
        return _file(model, content)
    except _Wrong as error:
        raise HalyardError(f"this .tflite file is damaged: {error}") from error
    # A field of another kind than the schema's, which flatbuffers takes as it comes.
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise HalyardError(f"this .tflite file is damaged ({error})") from error


class _Wrong(Exception):
    """A sentence on what is wrong with a file."""


def _file(model: Any, content: bytes) -> File:
    if model.version != _VERSION:
        raise _Wrong(f"it is of version {model.version}, and {_VERSION} is the one that there is")
    if _sequence(model.externalBuffers):
        raise _Wrong("its weights lie in other files, which are not read")
    codes = [_code(each) for each in _sequence(model.operatorCodes)]
    buffers = [_buffer(number, each, content) for number, each in _numbered(model.buffers)]
    graphs = _sequence(model.subgraphs)
    if not graphs:
        raise _Wrong("it has no subgraph")
    found = []
    for number, each in enumerate(graphs):
        try:
            found.append(_graph(each, codes, buffers, content))
        except _Wrong as error:
            raise _Wrong(f"subgraph {number}: {error}") from error
    constant = sum(len(each.data or b"") for graph in found for each in graph.tensors)
    if constant > _MOST_SHARED * len(content):
        raise _Wrong(f"its tensors share so many buffers that they come to {constant} bytes")
    return File(tuple(found), tuple(buffers), model)


def _code(code: Any) -> tuple[int, str]:
    # The new field is 0 in files from before it was there.
    number = max(int(code.builtinCode), int(code.deprecatedBuiltinCode))
    if number == _GREATER:
        raise _Wrong("an operator's code is the placeholder for greater ones")
    if number == BuiltinOperator.CUSTOM:
        return number, _text(code.customCode) or "CUSTOM"
    return number, _KINDS.get(number, f"operator {number}")


def _buffer(number: int, buffer: Any, content: bytes) -> bytes | None:
    """None where it is empty, as those of tensors that are computed."""
    # 1 stands for an offset that is yet to be written.
    if buffer.offset > 1:
        end = buffer.offset + buffer.size
        if end > len(content):
            raise _Wrong(f"buffer {number} ends at byte {end} of {len(content)}")
        return content[buffer.offset : end] or None
    if buffer.data is None or np.ndim(buffer.data) != 1 or np.size(buffer.data) == 0:
        return None
    return np.asarray(buffer.data, np.uint8).tobytes()


def _graph(
    graph: Any,
    codes: Sequence[tuple[int, str]],
    buffers: Sequence[bytes | None],
    content: bytes,
) -> Graph:
    names: set[str] = set()
    tensors = tuple(
        _tensor(number, each, buffers, names, content) for number, each in _numbered(graph.tensors)
    )
    count = len(tensors)
    operators = tuple(
        _operator(number, each, codes, count) for number, each in _numbered(graph.operators)
    )
    inputs = _indexes("the graph's input", graph.inputs, count)
    outputs = _indexes("the graph's output", graph.outputs, count)
    if len(set(inputs)) != len(inputs):
        raise _Wrong("an input of the graph is there twice")
    if any(tensors[index].data is not None for index in inputs):
        raise _Wrong("an input of the graph is a constant")
    computed = {index for each in operators for index in each.outputs} | set(inputs)
    # A constant of no elements has the empty buffer, as what is computed has.
    tensors = tuple(
        replace(tensor, data=b"") if 0 in tensor.shape and number not in computed else tensor
        for number, tensor in enumerate(tensors)
    )
    _check_order(tensors, operators, inputs, outputs)
    return Graph(tensors, operators, inputs, outputs)


def _tensor(
    number: int, tensor: Any, buffers: Sequence[bytes | None], names: set[str], content: bytes
) -> Tensor:
    what = f"tensor {number}"
    shape = tuple(int(extent) for extent in _sequence(tensor.shape))
    if len(shape) > _MAX_RANK:
        raise _Wrong(f"{what} has {len(shape)} dimensions")
    if not 0 <= tensor.buffer < len(buffers):
        raise _Wrong(f"{what} is in buffer {tensor.buffer}, of which there are {len(buffers)}")
    name = _text(tensor.name) or f"tensor_{number}"
    name = f"{name}#{number}" if name in names else name
    names.add(name)
    data = buffers[tensor.buffer]
    scales, zero_points, axis = _quantization(what, tensor, shape)
    dtype = _DTYPES.get(tensor.type)
    known = all(extent > 0 for extent in shape)
    size = math.prod(shape) * (dtype.itemsize if dtype else 1) if known else 0
    if size > _MAX_TENSOR_BYTES:
        raise _Wrong(f"{what} takes {size} bytes, which is too much")
    if data is not None and dtype is not None and tensor.sparsity is not None:
        data = _dense(what, tensor.sparsity, shape, np.frombuffer(data, dtype), len(content))
    if data is not None and dtype is not None and len(data) != size:
        raise _Wrong(f"{what} has {len(data)} bytes, and its type and shape take {size}")
    return Tensor(
        name,
        int(tensor.type),
        shape,
        scales,
        zero_points,
        axis,
        data,
        is_variable=bool(tensor.isVariable),
    )


def _dense(what: str, sparsity: Any, shape: tuple[int, ...], values: Array, room: int) -> bytes:
    if math.prod(shape) * values.itemsize > _MOST_SHARED * room:
        raise _Wrong(f"{what} would take many times the file without its gaps")
    try:
        return dense(sparsity, shape, values).tobytes()
    except ValueError as error:
        raise _Wrong(f"{what} is sparse: {error}") from error


def _quantization(
    what: str, tensor: Any, shape: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[int, ...], int]:
    given = tensor.quantization
    scales = tuple(float(each) for each in _sequence(given.scale)) if given is not None else ()
    if not scales:
        return (), (), 0
    zero_points = tuple(int(each) for each in _sequence(given.zeroPoint))
    axis = int(given.quantizedDimension)
    if len(zero_points) not in (len(scales), 0):
        raise _Wrong(f"{what} has {len(scales)} scales and {len(zero_points)} zero points")
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise _Wrong(f"{what} has a scale that is no length of a step")
    dtype = _DTYPES.get(tensor.type)
    if dtype is not None and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not all(limits.min <= point <= limits.max for point in zero_points):
            raise _Wrong(f"{what} has a zero point that its type can't hold")
    if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
        raise _Wrong(f"{what} has {len(scales)} scales for axis {axis} of {list(shape)}")
    return scales, zero_points or (0,) * len(scales), axis


def _operator(
    number: int, operator: Any, codes: Sequence[tuple[int, str]], tensors: int
) -> Operator:
    if not 0 <= operator.opcodeIndex < len(codes):
        raise _Wrong(
            f"operator {number} has code {operator.opcodeIndex}, of which there are {len(codes)}"
        )
    code, kind = codes[operator.opcodeIndex]
    what = f"operator {number} ({kind})"
    custom = operator.customOptions
    if operator.largeCustomOptionsOffset > 1:
        raise _Wrong(f"{what} has its options outside, which are not read")
    return Operator(
        number,
        code,
        kind,
        _indexes(f"{what}: input", operator.inputs, tensors, may_be_omitted=True),
        _indexes(f"{what}: output", operator.outputs, tensors),
        _indexes(f"{what}: intermediate", operator.intermediates, tensors, may_be_omitted=True),
        operator.builtinOptions,
        b"" if custom is None or np.ndim(custom) != 1 else bytes(np.asarray(custom, np.uint8)),
    )


def _indexes(what: str, given: Any, count: int, *, may_be_omitted: bool = False) -> tuple[int, ...]:
    found = tuple(int(index) for index in _sequence(given))
    for place, index in enumerate(found):
        if not (0 <= index < count or (may_be_omitted and index == OMITTED)):
            raise _Wrong(f"{what} {place} is tensor {index}, of which there are {count}")
    return found


def _check_order(
    tensors: Sequence[Tensor],
    operators: Sequence[Operator],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> None:
    """Every tensor is there before it is read, and is written once."""
    there = {OMITTED, *inputs}
    there |= {
        index
        for index, tensor in enumerate(tensors)
        if tensor.data is not None or tensor.is_variable
    }
    for operator in operators:
        what = f"operator {operator.number} ({operator.kind})"
        for index in operator.inputs:
            if index not in there:
                raise _Wrong(f"{what} reads {tensors[index].name}, which is not there yet")
        for index in operator.outputs:
            if index in there:
                raise _Wrong(f"{what} writes {tensors[index].name}, which is there already")
            there.add(index)
    for index in outputs:
        if index not in there:
            raise _Wrong(f"nothing computes the output {tensors[index].name}")


def _sequence(given: Any) -> Sequence[Any]:
    """A vector, which comes as a number, or not at all, where it has no elements."""
    return () if given is None or np.ndim(given) == 0 else given


def _numbered(given: Any) -> Sequence[tuple[int, Any]]:
    return list(enumerate(_sequence(given)))


def _text(given: Any) -> str:
    return given.decode(errors="replace") if isinstance(given, bytes) else str(given or "")
