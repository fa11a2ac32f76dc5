# SPDX-License-Identifier: Apache-2.0
"""Builds a pb.Model operand by operand, in execution order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from halyard.model.operands import Array, TensorType, byte_size, constants, dtype_of
from halyard.proto import halyard_pb2 as pb

# NNAPI's runtime copies constants of up to this many bytes into the model and keeps references to
# larger ones.
MAX_COPIED_BYTES = 128

# Constants of the model's value block start at multiples of a word, as the runtime places them.
_COPY_ALIGNMENT = 4


class ModelBuilder:
    """One model under construction.

    Every method that adds an operand returns its index in the main subgraph. Constants of up to
    MAX_COPIED_BYTES become CONSTANT_COPY; larger ones go to one pool (CONSTANT_REFERENCE) at
    multiples of `pool_alignment`. Equal bytes lie there once. Equal scalars share an operand, as do
    constants of the same name, type and bytes.
    """

    def __init__(self, name: str, *, pool_alignment: int = 64, relaxed: bool = False) -> None:
        self._model = pb.Model(name=name, relax_computation_float32_to_float16=relaxed)
        self._values = bytearray()
        self._pool = bytearray()
        self._pool_alignment = pool_alignment
        self._scalars: dict[tuple[int, bytes], int] = {}
        # Contents that are there already: by bytes, and by name and type too.
        self._placed: dict[_Content, int] = {}
        self._constants: dict[tuple[str, TensorType, _Content], int] = {}

    # ---- operands -------------------------------------------------------------------------------

    def input(self, name: str, tensor: TensorType) -> int:
        """The next model input."""
        index = self._add(name, tensor, pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT)
        self._model.main.input_indexes.append(index)
        return index

    def constant(self, name: str, tensor: TensorType, values: Array) -> int:
        """A constant tensor; the same operand for the same name, type and values. ValueError unless
        `values` has the type's elements and shape."""
        if values.dtype != dtype_of(tensor.type) or values.shape != tensor.dimensions:
            raise ValueError(
                f"constant {name!r}: {values.dtype}{list(values.shape)} given, "
                f"{dtype_of(tensor.type)}{list(tensor.dimensions)} declared"
            )
        # As bytes, and without a copy where the values lie in order.
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
        content = _content(data)
        known = self._constants.get((name, tensor, content))
        if known is not None:
            return known
        index = self._add(name, tensor, pb.OPERAND_LIFE_TIME_CONSTANT_COPY)
        self._place(self.operand(index), data, content)
        self._constants[name, tensor, content] = index
        return index

    def vector(self, name: str, values: Sequence[int]) -> int:
        """A constant TENSOR_INT32 of one dimension: a shape, axes."""
        array = np.asarray(values, "<i4")
        return self.constant(name, TensorType(pb.OPERAND_TYPE_TENSOR_INT32, array.shape), array)

    def int32(self, value: int) -> int:
        return self.scalar(pb.OPERAND_TYPE_INT32, value)

    def float32(self, value: float) -> int:
        return self.scalar(pb.OPERAND_TYPE_FLOAT32, value)

    def numbers(self, name: str, values: Array) -> int:
        """A constant TENSOR_FLOAT32."""
        return self.constant(name, TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, values.shape), values)

    def boolean(self, value: bool) -> int:
        return self.scalar(pb.OPERAND_TYPE_BOOL, value)

    def scalar(self, scalar_type: int, value: float) -> int:
        """A constant scalar; the same operand for the same type and value."""
        data = np.asarray(value, dtype_of(scalar_type)).tobytes()
        known = self._scalars.get((scalar_type, data))
        if known is not None:
            return known
        index = self._add("", TensorType(scalar_type, ()), pb.OPERAND_LIFE_TIME_CONSTANT_COPY)
        self._place(self.operand(index), data, _content(data))
        self._scalars[scalar_type, data] = index
        return index

    def omitted(self, tensor: TensorType) -> int:
        """An optional operand that is left away (NO_VALUE)."""
        return self._add("", tensor, pb.OPERAND_LIFE_TIME_NO_VALUE)

    def operand(self, index: int) -> pb.Operand:
        return self._model.main.operands[index]

    @property
    def unfinished(self) -> pb.Model:
        """The model so far, to read from: small constants too, but not those of the pool."""
        self._model.operand_values = bytes(self._values)
        return self._model

    # ---- operations -----------------------------------------------------------------------------

    def operation(
        self, operation: int, inputs: Sequence[int], name: str, output: TensorType
    ) -> int:
        """The next operation, with one output, whose operand it returns."""
        return self.operation_n(operation, inputs, [(name, output)])[0]

    def operation_n(
        self,
        operation: int,
        inputs: Sequence[int],
        outputs: Sequence[tuple[str, TensorType]],
    ) -> list[int]:
        """The next operation, with any number of outputs."""
        for index in inputs:
            if not 0 <= index < len(self._model.main.operands):
                raise ValueError(f"operand {index} is not there yet")
        results = [
            self._add(name, tensor, pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE)
            for name, tensor in outputs
        ]
        self._model.main.operations.add(type=operation, inputs=inputs, outputs=results)
        return results

    @property
    def main(self) -> pb.Subgraph:
        """The graph so far, to read from, without constants."""
        return self._model.main

    @property
    def referenced(self) -> Sequence[pb.Subgraph]:
        return self._model.referenced

    def rewind(self, count: int) -> None:
        """Forgets all operations but the first so many. Their operands stay, unused."""
        del self._model.main.operations[count:]

    def subgraph(self, model: pb.Model) -> int:
        """The operand of a subgraph, which is the main one of a model that is taken in whole."""
        first = len(self._model.referenced)
        for graph in (model.main, *model.referenced):
            values = constants(model, graph)
            copy = self._model.referenced.add()
            copy.CopyFrom(graph)
            for index, operand in enumerate(copy.operands):
                if index in values:
                    operand.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_COPY
                    data = values[index].tobytes()
                    self._place(operand, data, _content(data))
                elif operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
                    operand.location.offset += first + 1
        operand = self._model.main.operands.add(
            type=pb.OPERAND_TYPE_SUBGRAPH, lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH
        )
        operand.location.offset = first
        return len(self._model.main.operands) - 1

    def build(self, outputs: Sequence[int]) -> pb.Model:
        """The finished model. `outputs` become the model outputs, in that order."""
        for index in outputs:
            operand = self.operand(index)
            if operand.lifetime != pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE:
                raise ValueError(f"operand {index} is not written by an operation")
            operand.lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT
        model = pb.Model()
        model.CopyFrom(self._model)
        model.main.output_indexes.extend(outputs)
        model.operand_values = bytes(self._values)
        if self._pool:
            model.pools.append(bytes(self._pool))
        return model

    # ---- placement ------------------------------------------------------------------------------

    def _add(self, name: str, tensor: TensorType, lifetime: pb.OperandLifeTime) -> int:
        operand = self._model.main.operands.add(
            type=tensor.type,
            dimensions=tensor.dimensions,
            scale=tensor.scale,
            zero_point=tensor.zero_point,
            lifetime=lifetime,
            name=name,
        )
        if tensor.channel_scales:
            operand.channel_quant.scales.extend(tensor.channel_scales)
            operand.channel_quant.channel_dim = tensor.channel_dim
        return len(self._model.main.operands) - 1

    def _place(self, operand: pb.Operand, data: bytes | memoryview, content: _Content) -> None:
        if len(data) != byte_size(operand):
            raise ValueError(f"constant {operand.name!r}: {len(data)} bytes")
        if len(data) <= MAX_COPIED_BYTES:
            block, alignment = self._values, _COPY_ALIGNMENT
        else:
            block, alignment = self._pool, self._pool_alignment
            operand.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        if content not in self._placed:
            block.extend(bytes(-len(block) % alignment))
            self._placed[content] = len(block)
            block.extend(data)
        operand.location.pool_index = 0
        operand.location.offset = self._placed[content]
        operand.location.length = len(data)


# How many bytes, and their digest.
_Content = tuple[int, bytes]


def _content(data: bytes | memoryview) -> _Content:
    return len(data), hashlib.sha256(data).digest()
