# SPDX-License-Identifier: Apache-2.0
"""An NNAPI model in the making, with the values of an ONNX graph by their names.

ONNX has images with their channels first, and NNAPI has them last: a value of four dimensions may
be there in either layout, and is transposed where it is wanted in the other. So may a value of
three, as an image of one row. A real value that is dequantised bytes is not computed before an
operator asks for it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import TensorProto

from halyard.errors import NotExpressible
from halyard.model import (
    Array,
    ModelBuilder,
    TensorType,
    dtype_of,
    is_constant,
    operation_name,
    type_name,
)
from halyard.model.arguments import Activation
from halyard.onnx.reading import quantities
from halyard.onnx.reading.clipping import fused
from halyard.onnx.reading.legality import moves_truth_as_bytes, takes
from halyard.onnx.reading.network import MAX_VALUE_BYTES, Network, Node
from halyard.onnx.reading.quantities import Quantization
from halyard.onnx.reading.ranges import Ranges
from halyard.onnx.reading.spreading import moved_as_bytes
from halyard.proto import halyard_pb2 as pb

MAX_RANK = 4
SIGNAL_RANK = 3

_TO_NHWC = (0, 2, 3, 1)
_TO_PLAIN = (0, 3, 1, 2)
# Signals have the row of an image to themselves where their channels are last: (N, 1, L, C).
_SIGNAL_TO_NHWC = (0, 3, 2)
_SIGNAL_TURNED = (0, 2, 1)

_TYPES: dict[int, pb.OperandType] = {
    TensorProto.FLOAT: pb.OPERAND_TYPE_TENSOR_FLOAT32,
    TensorProto.FLOAT16: pb.OPERAND_TYPE_TENSOR_FLOAT16,
    TensorProto.INT32: pb.OPERAND_TYPE_TENSOR_INT32,
    TensorProto.INT64: pb.OPERAND_TYPE_TENSOR_INT32,
    TensorProto.BOOL: pb.OPERAND_TYPE_TENSOR_BOOL8,
}
_BYTES = (TensorProto.UINT8, TensorProto.INT8)
FLOATS = (pb.OPERAND_TYPE_TENSOR_FLOAT32, pb.OPERAND_TYPE_TENSOR_FLOAT16)

# Whether an operation takes 8-bit inputs of such quantities to such an output.
Fits = Callable[[Sequence[Quantization], Quantization], bool]


class Layout(enum.Enum):
    PLAIN = enum.auto()  # as ONNX has it
    NHWC = enum.auto()


PLAIN, NHWC = Layout.PLAIN, Layout.NHWC


@dataclass(frozen=True)
class Plan:
    """How an operator is mapped: what it reads and writes, after those behind it that it takes in.
    `inputs` and `output` are of 8 bits where it computes with those."""

    inputs: Sequence[str]
    output: str
    activation: Activation = Activation.NONE
    quantized: bool = False
    absorbed: Sequence[Node] = ()


@dataclass
class Mapper:
    network: Network
    builder: ModelBuilder = field(init=False)
    ranges: Ranges = field(init=False)
    # Values that it was handed, by the order in which they became inputs of the model.
    inputs: list[str] = field(default_factory=list)
    tensor_names: dict[int, str] = field(default_factory=dict)
    permutations: dict[int, tuple[int, ...]] = field(default_factory=dict)
    absorbed: dict[int, int] = field(default_factory=dict)  # into which node, by number
    _held: dict[tuple[str, Layout], int] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)
    _temporaries: int = 0

    def __post_init__(self) -> None:
        self.builder = ModelBuilder(self.network.name)
        self.ranges = Ranges(self.network)

    # ---- what the graph says --------------------------------------------------------------------

    def shape(self, name: str) -> tuple[int, ...]:
        return self.network.type(name).shape

    def kept(self, name: str) -> list[int]:
        """The dimensions that the operand has: no more than four, so that those of one are left
        away from the first on."""
        shape = self.shape(name)
        ones = [axis for axis, extent in enumerate(shape) if extent == 1]
        left_away = ones[: max(len(shape) - MAX_RANK, 0)]
        if len(shape) - len(left_away) > MAX_RANK:
            raise NotExpressible(
                f"{name!r} has {len(shape)} dimensions, and NNAPI takes {MAX_RANK}"
            )
        return [axis for axis in range(len(shape)) if axis not in left_away]

    def dims(self, name: str) -> tuple[int, ...]:
        """The operand's dimensions. NNAPI has no scalar tensors."""
        return tuple(self.shape(name)[axis] for axis in self.kept(name)) or (1,)

    def axis(self, name: str, axis: int, layout: Layout = PLAIN) -> int:
        """Of the operand."""
        rank, kept = len(self.shape(name)), self.kept(name)
        if axis % max(rank, 1) not in kept:
            raise NotExpressible(
                f"it works along dimension {axis} of {rank}, which is of one and left away: NNAPI "
                f"takes {MAX_RANK}"
            )
        place = kept.index(axis % rank)
        if layout is PLAIN:
            return place
        return _SIGNAL_TO_NHWC[place] if rank == SIGNAL_RANK else _TO_NHWC.index(place)

    def image_dims(self, name: str) -> tuple[int, ...]:
        """Batch, channels, height and width; of a signal, which has one row, too."""
        dims = self.dims(name)
        return (*dims[:2], 1, dims[2]) if len(dims) == SIGNAL_RANK else dims

    def aligned(self, name: str, kept: Sequence[int], rank: int) -> int:
        """The operand with those of so many dimensions: with others, it has lost others."""
        shape = (1,) * (rank - len(self.shape(name))) + self.shape(name)
        dims = [shape[axis] for axis in kept]
        return self.reshaped(self.operand(name), dims, f"{name}/aligned")

    def constant(self, name: str) -> Array | None:
        return self.network.constants.get(name)

    def known(self, name: str, what: str) -> Array:
        values = self.constant(name)
        if values is None:
            raise NotExpressible(f"its {what} is computed, and NNAPI takes a constant")
        return values

    def quantization(self, name: str) -> Quantization:
        return quantities.quantization_of(self.network, self.root(name))

    def root(self, name: str) -> str:
        while name in self._aliases:
            name = self._aliases[name]
        return name

    def tensor_type(self, name: str, layout: Layout = PLAIN) -> TensorType:
        element = self.network.type(name).element
        dims = self.dims(name)
        if min(dims) < 0:
            raise NotExpressible(f"{name!r} would have the dimensions {list(dims)}")
        if 0 in dims:
            raise NotExpressible(f"{name!r} has no elements")
        if math.prod(dims) * 4 > MAX_VALUE_BYTES:
            raise NotExpressible(f"{name!r} takes more than {MAX_VALUE_BYTES} bytes")
        if layout is NHWC:
            dims = tuple(self.image_dims(name)[axis] for axis in _TO_NHWC)
        if element in _BYTES:
            found = self.quantization(name)
            return TensorType(found.type, dims, found.scale, found.zero_point)
        if element not in _TYPES:
            raise NotExpressible(
                f"{name!r} is of {TensorProto.DataType.Name(element)}, which NNAPI has not"
            )
        return TensorType(_TYPES[element], dims)

    # ---- how an operator is mapped --------------------------------------------------------------

    def plan(
        self,
        node: Node,
        inputs: Sequence[str],
        *,
        after: Sequence[Node] = (),
        activates: bool = False,
        quantizes: bool = False,
        fits: Fits | None = None,
    ) -> Plan:
        """`inputs` are those with data, and `after` what it takes in already. It takes in an
        activation where it `activates`, and computes in 8 bits where it `quantizes`, all inputs are
        dequantised for it, its output is quantised behind it, and the quantities fit."""
        last = after[-1] if after else node
        output, absorbed = last.outputs[0], list(after)
        activation = Activation.NONE
        following = self.network.sole_use(output)
        if activates and following is not None:
            found = fused(self.network, following)
            if found is not None:
                activation, output = found, following.outputs[0]
                absorbed.append(following)
                following = self.network.sole_use(output)
        if quantizes and following is not None and following.operator == "QuantizeLinear":
            sources = [quantities.source_of(self.network, self.root(name)) for name in inputs]
            known = [each for each in sources if each is not None]
            written = following.outputs[0]
            if len(known) == len(sources) and self._fit(known, written, fits):
                return Plan(known, written, activation, True, [*absorbed, following])
        return Plan(inputs, output, activation, False, absorbed)

    def _fit(self, sources: Sequence[str], output: str, fits: Fits | None) -> bool:
        try:
            given = [self.quantization(name) for name in sources]
            made = self.quantization(output)
        except NotExpressible:
            return False
        return all(each.type == made.type for each in given) and (fits is None or fits(given, made))

    def absorb(self, node: Node, plan: Plan) -> None:
        for each in plan.absorbed:
            self.absorbed[each.number] = node.number

    # ---- values ---------------------------------------------------------------------------------

    def has(self, name: str, layout: Layout) -> bool:
        """Whether the value is there in that layout without more ado."""
        return (self._place_of(name), layout) in self._held

    def _place_of(self, name: str) -> str:
        """Where the value is, or what it is to be dequantised from."""
        name = self.root(name)
        if any((name, layout) in self._held for layout in Layout):
            return name
        source = quantities.source_of(self.network, name)
        return name if source is None or self.constant(name) is not None else self.root(source)

    def layout_of(self, names: Sequence[str]) -> Layout:
        """The one to compute in where any will do: NHWC where one of the values is there in no
        other, and all can be."""
        computed = [name for name in names if self.constant(name) is None]
        if {len(self.shape(name)) for name in computed} not in ({MAX_RANK}, {SIGNAL_RANK}):
            return PLAIN
        lonely = any(self.has(name, NHWC) and not self.has(name, PLAIN) for name in computed)
        return NHWC if lonely else PLAIN

    def operand(self, name: str, layout: Layout = PLAIN) -> int:
        """The operand that holds the value."""
        name = self.root(name)
        if (name, layout) in self._held:
            return self._held[name, layout]
        other = NHWC if layout is PLAIN else PLAIN
        if self.constant(name) is not None:
            index = self._constant(name, layout)
        elif (name, other) in self._held:
            index = self._moved(name, layout, self._held[name, other])
        elif (source := quantities.source_of(self.network, name)) is not None:
            held = layout if self.has(source, layout) or not self.has(source, other) else other
            self.define(name, pb.OPERATION_TYPE_DEQUANTIZE, [self.operand(source, held)], held)
            return self.operand(name, layout)
        else:
            self.receive(name)
            return self.operand(name, layout)
        self.hold(name, layout, index)
        return index

    def receive(self, name: str) -> None:
        """A value from outside becomes an input of the model."""
        if len(self.shape(name)) > MAX_RANK:
            raise NotExpressible(f"{name!r} comes in with more dimensions than NNAPI takes")
        self.hold(name, PLAIN, self.builder.input(name, self.tensor_type(name)))
        self.inputs.append(name)

    def _constant(self, name: str, layout: Layout) -> int:
        tensor = self.tensor_type(name, layout)
        values = self.network.constants[name].reshape(self.dims(name))
        if layout is NHWC:
            values = values.reshape(self.image_dims(name)).transpose(_TO_NHWC)
        return self.builder.constant(name, tensor, cast(values, dtype_of(tensor.type)))

    def broadcast(self, name: str, rank: int, layout: Layout) -> int:
        """The operand of a constant that may have fewer dimensions than what it meets."""
        values = self.constant(name)
        dims = self.dims(name)
        if values is None or layout is PLAIN or len(dims) == rank or math.prod(dims) == 1:
            return self.operand(name, layout if len(dims) == rank else PLAIN)
        tensor = self.tensor_type(name)
        whole = (1,) * (rank - len(dims)) + dims
        if rank == SIGNAL_RANK:
            whole = (*whole[:2], 1, whole[2])
        full = values.reshape(whole).transpose(_TO_NHWC)
        channels = TensorType(tensor.type, full.shape, tensor.scale, tensor.zero_point)
        return self.builder.constant(name, channels, cast(full, dtype_of(tensor.type)))

    def _moved(self, name: str, layout: Layout, index: int) -> int:
        suffix = "nhwc" if layout is NHWC else "nchw"
        if len(self.dims(name)) == SIGNAL_RANK:
            batch, channels, length = self.dims(name)
            if layout is NHWC:
                turned = self.transposed(index, _SIGNAL_TURNED, f"{name}/nlc")
                return self.reshaped(turned, (batch, 1, length, channels), f"{name}/{suffix}")
            turned = self.reshaped(index, (batch, length, channels), f"{name}/nlc")
            return self.transposed(turned, _SIGNAL_TURNED, f"{name}/ncl")
        permutation = _TO_NHWC if layout is NHWC else _TO_PLAIN
        return self.transposed(index, permutation, f"{name}/{suffix}")

    def hold(self, name: str, layout: Layout, index: int) -> None:
        self._held[name, layout] = index
        # No permutation makes a signal's row.
        if layout is NHWC and len(self.shape(name)) == SIGNAL_RANK:
            return
        # An operand may hold several values that are the same: it is known by the first.
        if index not in self.tensor_names and not is_constant(self.builder.operand(index)):
            self.tensor_names[index] = name
            if layout is NHWC:
                self.permutations[index] = _TO_NHWC

    def alias(self, name: str, other: str) -> None:
        """The value is the other one, which is there or can come in."""
        other = self.root(other)
        made = any((other, layout) in self._held for layout in Layout)
        lazy = self.constant(other) is not None or quantities.source_of(self.network, other)
        if not made and not lazy:
            self.receive(other)
        self._aliases[name] = other

    # ---- operations -----------------------------------------------------------------------------

    def define(
        self,
        name: str,
        operation: int,
        inputs: Sequence[int],
        layout: Layout = PLAIN,
        dims: Sequence[int] | None = None,
    ) -> None:
        """The operation whose output is the value, of other dimensions where those are given."""
        tensor = self.tensor_type(name, layout)
        made = tensor if dims is None else replace(tensor, dimensions=tuple(dims))
        index = self.emit(operation, inputs, name, made)
        self.hold(name, layout, self.reshaped(index, tensor.dimensions, name))

    def define_as(self, name: str, index: int, layout: Layout = PLAIN) -> None:
        """The value is what the operand holds, in its own dimensions."""
        dims = self.tensor_type(name, layout).dimensions
        self.hold(name, layout, self.reshaped(index, dims, name))

    def emit(self, operation: int, inputs: Sequence[int], name: str, output: TensorType) -> int:
        """An operation with one output. NotExpressible where it does not take the types."""
        return self.emit_n(operation, inputs, [(name, output)])[0]

    def emit_n(
        self, operation: int, inputs: Sequence[int], outputs: Sequence[tuple[str, TensorType]]
    ) -> list[int]:
        first = self.builder.operand(inputs[0]).type
        if moves_truth_as_bytes(operation, first):
            return moved_as_bytes(self, operation, inputs, outputs)
        if not takes(operation, first):
            raise NotExpressible(f"{operation_name(operation)} does not take {type_name(first)}")
        return self.builder.operation_n(operation, inputs, outputs)

    def like(self, index: int, dims: Sequence[int] | None = None) -> TensorType:
        """The type of an operand, of other dimensions."""
        operand = self.builder.operand(index)
        return TensorType(
            operand.type,
            tuple(operand.dimensions if dims is None else dims),
            operand.scale,
            operand.zero_point,
        )

    def step(
        self,
        operation: int,
        inputs: Sequence[int],
        dims: Sequence[int] | None = None,
        kind: int | None = None,
    ) -> int:
        """An operation between, whose output is of the first input's type, and has its dimensions
        unless told; `kind`: the type of another one, which has no scale."""
        self._temporaries += 1
        tensor = self.like(inputs[0], dims)
        if kind is not None:
            tensor = TensorType(kind, tensor.dimensions)
        return self.emit(operation, inputs, f"step_{self._temporaries}", tensor)

    def number(self, value: float, like: int) -> int:
        """A constant tensor of one real number, of an operand's type."""
        operand = self.builder.operand(like)
        tensor = TensorType(operand.type, (1,))
        return self.builder.constant("", tensor, np.full(1, value, dtype_of(operand.type)))

    def real(self, value: float, like: int) -> int:
        """A scalar argument of the type that goes with an operand's."""
        half = self.builder.operand(like).type == pb.OPERAND_TYPE_TENSOR_FLOAT16
        scalar = pb.OPERAND_TYPE_FLOAT16 if half else pb.OPERAND_TYPE_FLOAT32
        return self.builder.scalar(scalar, value)

    def require_real(self, *names: str) -> None:
        for name in names:
            if self.tensor_type(name).type not in FLOATS:
                raise NotExpressible(f"{name!r} is not of FLOAT or FLOAT16")

    def reshaped(self, index: int, dims: Sequence[int], name: str) -> int:
        if tuple(self.builder.operand(index).dimensions) == tuple(dims):
            return index
        shape = self.builder.vector("", dims)
        return self.emit(pb.OPERATION_TYPE_RESHAPE, [index, shape], name, self.like(index, dims))

    def transposed(self, index: int, permutation: Sequence[int], name: str) -> int:
        """By a reshape where only dimensions of one move."""
        dims = list(self.builder.operand(index).dimensions)
        result = [dims[axis] for axis in permutation]
        if [axis for axis in permutation if dims[axis] > 1] == [
            axis for axis, extent in enumerate(dims) if extent > 1
        ]:
            return self.reshaped(index, result, name)
        order = self.builder.vector("", permutation)
        return self.emit(
            pb.OPERATION_TYPE_TRANSPOSE, [index, order], name, self.like(index, result)
        )

    # ---- the end --------------------------------------------------------------------------------

    def result(self, name: str, taken: set[int]) -> int:
        """The operand of an output, in the graph's own shape, that is no other output's."""
        index = self.operand(name)
        shape = self.shape(name) or (1,)
        operand = self.builder.operand(index)
        if tuple(operand.dimensions) != shape:
            index = self.reshaped(index, shape, name)
        elif operand.lifetime != pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE or index in taken:
            index = self._copied(index, name)
        taken.add(index)
        self.builder.operand(index).name = name
        self.tensor_names[index] = name
        return index

    def _copied(self, index: int, name: str) -> int:
        tensor = self.like(index)
        if tensor.type == pb.OPERAND_TYPE_TENSOR_BOOL8:
            return self.emit(pb.OPERATION_TYPE_LOGICAL_OR, [index, index], name, tensor)
        shape = self.builder.vector("", tensor.dimensions)
        return self.emit(pb.OPERATION_TYPE_RESHAPE, [index, shape], name, tensor)


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Into the type of an operand. NotExpressible where whole numbers do not go into it."""
    if np.issubdtype(values.dtype, np.integer) and np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        if values.size and (values.min() < limits.min or values.max() > limits.max):
            raise NotExpressible(f"a constant does not go into {dtype}")
    return np.ascontiguousarray(values.astype(dtype))
