# SPDX-License-Identifier: Apache-2.0
"""A .tflite file's contents, checked: flatbuffers checks nothing, and indexes may point
anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ai_edge_litert.schema_py_generated import BuiltinOperator, TensorType

from halyard.errors import HalyardError
from halyard.model import Array
from halyard.model.budget import Budget, OverBudget, excerpt
from halyard.tflite.graph import OMITTED, unpacked
from halyard.tflite.reading.sparsity import dense

_VERSION = 3
_MAX_RANK = 8
# More than any model's tensor has: a file may say anything.
_MAX_TENSOR_BYTES = 2**31
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
# The mark of an operator whose code does not fit the field of old.
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
    def byte_size(self) -> int:
        """0 for elements that numpy has not."""
        return math.prod(self.shape) * (self.dtype.itemsize if self.dtype is not None else 0)

    @property
    def shown(self) -> str:
        """Its name, for a message."""
        return excerpt(self.name)

    @property
    def is_empty(self) -> bool:
        """Whether it has no elements, which NNAPI can't say: 0 is an extent that is not known."""
        return 0 in self.shape

    @property
    def is_known(self) -> bool:
        """Whether its shape is, and has elements."""
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
        kind = f"{operator.number} {excerpt(operator.kind)}"
        return kind + (f" {excerpt(names[0])!r}" if names else "")


@dataclass(frozen=True)
class File:
    """`graphs[0]` is what runs. `content` is the schema's ModelT, to cut files from, and `buffers`
    are the bytes that its tensors name."""

    graphs: tuple[Graph, ...]
    buffers: tuple[bytes | None, ...]
    content: Any
    budget: Budget


def read(content: bytes) -> File:
    """HalyardError for what is no such file, one that says what can't be, or one that would come to
    far more than it is."""
    budget = Budget(len(content))
    try:
        model = unpacked(content, budget)
    except ValueError as error:
        raise HalyardError(f"this is no .tflite file: {error}") from error
    try:
        return _Reader(content, budget).file(model)
    except (_Wrong, OverBudget) as error:
        raise HalyardError(f"this .tflite file is damaged: {error}") from error
    # A field of another kind than the schema's, which flatbuffers takes as it comes.
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise HalyardError(f"this .tflite file is damaged ({error})") from error


class _Wrong(Exception):
    """A sentence on what is wrong with a file."""


class _Reader:
    """Of one file. Whatever it makes it takes from the budget before."""

    def __init__(self, content: bytes, budget: Budget) -> None:
        self._content = content
        self._budget = budget
        self._codes: list[tuple[int, str]] = []
        self._buffers: list[bytes | None] = []
        # Data that several entries name are there once: by where it begins in memory, and its
        # length.
        self._copies: dict[tuple[int, int], bytes] = {}

    def file(self, model: Any) -> File:
        if model.version != _VERSION:
            raise _Wrong(f"it is of version {model.version}, and {_VERSION} is the one there is")
        if _sequence(model.externalBuffers):
            raise _Wrong("its weights lie in other files, which are not read")
        self._codes = [_code(each) for each in _sequence(model.operatorCodes)]
        self._buffers = [self._buffer(number, each) for number, each in _numbered(model.buffers)]
        graphs = _sequence(model.subgraphs)
        if not graphs:
            raise _Wrong("it has no subgraph")
        found = []
        for number, each in enumerate(graphs):
            try:
                found.append(self._graph(each))
            except _Wrong as error:
                raise _Wrong(f"subgraph {number}: {error}") from error
        return File(tuple(found), tuple(self._buffers), model, self._budget)

    def _buffer(self, number: int, buffer: Any) -> bytes | None:
        """None where it is empty, as those of tensors that are computed."""
        # 1 stands for an offset that is yet to be written.
        if buffer.offset > 1:
            end = buffer.offset + buffer.size
            if end > len(self._content):
                raise _Wrong(f"buffer {number} ends at byte {end} of {len(self._content)}")
            return self._copy(np.frombuffer(self._content, np.uint8)[buffer.offset : end])
        if buffer.data is None or np.ndim(buffer.data) != 1 or np.size(buffer.data) == 0:
            return None
        return self._copy(np.asarray(buffer.data, np.uint8))

    def _copy(self, values: Array) -> bytes | None:
        place = values.__array_interface__["data"][0], values.size
        if place not in self._copies:
            self._budget.take_bytes(values.size, "its buffers")
            self._copies[place] = values.tobytes()
        return self._copies[place] or None

    def _graph(self, graph: Any) -> Graph:
        names: set[str] = set()
        tensors = tuple(
            self._tensor(number, each, names) for number, each in _numbered(graph.tensors)
        )
        count = len(tensors)
        operators = tuple(
            self._operator(number, each, count) for number, each in _numbered(graph.operators)
        )
        inputs = self._indexes("the graph's input", graph.inputs, count)
        outputs = self._indexes("the graph's output", graph.outputs, count)
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

    def _tensor(self, number: int, tensor: Any, names: set[str]) -> Tensor:
        what = f"tensor {number}"
        rank = len(_sequence(tensor.shape))
        if rank > _MAX_RANK:
            raise _Wrong(f"{what} has {rank} dimensions")
        shape = tuple(int(extent) for extent in _sequence(tensor.shape))
        if not 0 <= tensor.buffer < len(self._buffers):
            raise _Wrong(
                f"{what} is in buffer {tensor.buffer}, of which there are {len(self._buffers)}"
            )
        name = _text(tensor.name) or f"tensor_{number}"
        name = f"{name}#{number}" if name in names else name
        names.add(name)
        data = self._buffers[tensor.buffer]
        scales, zero_points, axis = self._quantization(what, tensor, shape)
        dtype = _DTYPES.get(tensor.type)
        known = all(extent > 0 for extent in shape)
        size = math.prod(shape) * (dtype.itemsize if dtype else 1) if known else 0
        if size > _MAX_TENSOR_BYTES:
            raise _Wrong(f"{what} takes {size} bytes, which is too much")
        if data is not None and dtype is not None and tensor.sparsity is not None:
            data = self._dense(what, tensor.sparsity, shape, np.frombuffer(data, dtype))
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

    def _dense(self, what: str, sparsity: Any, shape: tuple[int, ...], values: Array) -> bytes:
        for each in (sparsity.blockMap, sparsity.traversalOrder):
            self._budget.take_numbers(np.size(each), f"{what}, which is sparse,")
        for level in _sequence(sparsity.dimMetadata):
            for vector in (level.arraySegments, level.arrayIndices):
                length = np.size(getattr(vector, "values", ()))
                self._budget.take_numbers(length, f"{what}, which is sparse,")
        room = math.prod(shape) * values.itemsize
        self._budget.take_bytes(room, f"{what}, filled up with zeros,")
        try:
            # Places are of 64 bits.
            return dense(sparsity, shape, values, self._budget.most_bytes // 8).tobytes()
        except ValueError as error:
            raise _Wrong(f"{what} is sparse: {error}") from error

    def _quantization(
        self, what: str, tensor: Any, shape: tuple[int, ...]
    ) -> tuple[tuple[float, ...], tuple[int, ...], int]:
        given = tensor.quantization
        if given is None or not len(_sequence(given.scale)):
            return (), (), 0
        axis = int(given.quantizedDimension)
        counts = len(_sequence(given.scale)), len(_sequence(given.zeroPoint))
        if counts[1] not in (counts[0], 0):
            raise _Wrong(f"{what} has {counts[0]} scales and {counts[1]} zero points")
        if counts[0] > 1 and not (0 <= axis < len(shape) and shape[axis] == counts[0]):
            raise _Wrong(f"{what} has {counts[0]} scales for axis {axis} of {list(shape)}")
        self._budget.take_numbers(2 * counts[0], "the scales of its tensors")
        scales = tuple(float(each) for each in _sequence(given.scale))
        zero_points = tuple(int(each) for each in _sequence(given.zeroPoint))
        if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
            raise _Wrong(f"{what} has a scale that is no length of a step")
        dtype = _DTYPES.get(tensor.type)
        if dtype is not None and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not all(limits.min <= point <= limits.max for point in zero_points):
                raise _Wrong(f"{what} has a zero point that its type can't hold")
        return scales, zero_points or (0,) * len(scales), axis

    def _operator(self, number: int, operator: Any, tensors: int) -> Operator:
        codes = self._codes
        if not 0 <= operator.opcodeIndex < len(codes):
            raise _Wrong(
                f"operator {number} has code {operator.opcodeIndex}, of which there are "
                f"{len(codes)}"
            )
        code, kind = codes[operator.opcodeIndex]
        what = f"operator {number} ({excerpt(kind)})"
        custom = operator.customOptions
        if operator.largeCustomOptionsOffset > 1:
            raise _Wrong(f"{what} has its options outside, which are not read")
        _check_options(what, operator.builtinOptions)
        if custom is not None and np.ndim(custom) == 1:
            self._budget.take_bytes(np.size(custom), "the options of its custom operators")
        return Operator(
            number,
            code,
            kind,
            self._indexes(f"{what}: input", operator.inputs, tensors, may_be_omitted=True),
            self._indexes(f"{what}: output", operator.outputs, tensors),
            self._indexes(
                f"{what}: intermediate", operator.intermediates, tensors, may_be_omitted=True
            ),
            operator.builtinOptions,
            b"" if custom is None or np.ndim(custom) != 1 else bytes(np.asarray(custom, np.uint8)),
        )

    def _indexes(
        self, what: str, given: Any, count: int, *, may_be_omitted: bool = False
    ) -> tuple[int, ...]:
        self._budget.take_numbers(np.size(given), f"{what}s")
        found = tuple(int(index) for index in _sequence(given))
        for place, index in enumerate(found):
            if not (0 <= index < count or (may_be_omitted and index == OMITTED)):
                raise _Wrong(f"{what} {place} is tensor {index}, of which there are {count}")
        return found


def _code(code: Any) -> tuple[int, str]:
    # The new field is 0 in files from before it was there.
    number = max(int(code.builtinCode), int(code.deprecatedBuiltinCode))
    if number == _GREATER:
        raise _Wrong("an operator's code is the placeholder for greater ones")
    if number == BuiltinOperator.CUSTOM:
        return number, _text(code.customCode) or "CUSTOM"
    return number, _KINDS.get(number, f"operator {number}")


# Fields of options that engines divide by, or step by: one of 0 ends a process.
_POSITIVE_FIELDS = ("strideW", "strideH", "filterWidth", "filterHeight", "blockSize")


def _check_options(what: str, given: Any) -> None:
    for field in _POSITIVE_FIELDS:
        value = getattr(given, field, 1)
        if value < 1:
            raise _Wrong(f"{what} has a {field} of {value}")


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
        what = f"operator {operator.number} ({excerpt(operator.kind)})"
        for index in operator.inputs:
            if index not in there:
                raise _Wrong(f"{what} reads {tensors[index].shown}, which is not there yet")
        for index in operator.outputs:
            if index in there:
                raise _Wrong(f"{what} writes {tensors[index].shown}, which is there already")
            there.add(index)
    for index in outputs:
        if index not in there:
            raise _Wrong(f"nothing computes the output {tensors[index].shown}")


def _sequence(given: Any) -> Sequence[Any]:
    """A vector, which comes as a number, or not at all, where it has no elements."""
    return () if given is None or np.ndim(given) == 0 else given


def _numbered(given: Any) -> Sequence[tuple[int, Any]]:
    return list(enumerate(_sequence(given)))


def _text(given: Any) -> str:
    return given.decode(errors="replace") if isinstance(given, bytes) else str(given or "")
