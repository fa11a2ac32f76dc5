# SPDX-License-Identifier: Apache-2.0
"""A TFLite graph before it is written: tensors and operators, and its flatbuffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np

from halyard.tflite import schema
from halyard.tflite.schema import BuiltinOperator, BuiltinOptions, Field, Kind, TensorType


@dataclass(frozen=True)
class Quantization:
    """One scale and zero point, or one per index of `dimension`."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    dimension: int = 0


@dataclass(frozen=True)
class Tensor:
    name: str
    type: TensorType
    shape: tuple[int, ...]
    quantization: Quantization | None = None
    data: bytes | None = None  # of a constant
    is_variable: bool = False  # a state, which is there from run to run


@dataclass(frozen=True)
class Options:
    """An operator's options table, with the fields that are not left at their default."""

    type: BuiltinOptions
    values: Mapping[Field, float]


@dataclass(frozen=True)
class CustomOptions:
    """Those of an operator that the schema does not know, in an encoding of its own."""

    name: str  # of the operator
    data: bytes


# An optional tensor that is left away.
OMITTED = -1


@dataclass(frozen=True)
class Operator:
    code: BuiltinOperator
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options | CustomOptions | None = None
    # Tensors that only tell how inner values are quantised.
    intermediates: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[BuiltinOperator, int, str]:
        """What operators that are the same kind have in common."""
        name = self.options.name if isinstance(self.options, CustomOptions) else ""
        return self.code, self.version, name


@dataclass
class Graph:
    name: str
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def add(self, tensor: Tensor) -> int:
        """Adds a tensor and returns its index."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def serialize(self) -> bytes:
        return _Serializer(self).run()


# A flatbuffer is written from the leaves up: what a table points at is there before the table.
class _Serializer:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        constants = sum(len(tensor.data or b"") for tensor in graph.tensors)
        self._builder = flatbuffers.Builder(constants + constants // 8 + 4096)
        # Fields that are given are written, also where they equal the schema's default.
        self._builder.ForceDefaults(True)

    def run(self) -> bytes:
        # Buffer 0 is the empty one of tensors without data.
        buffers = [self._table(schema.Buffer.FIELDS, {})]
        buffer_of: list[int] = []
        for tensor in self._graph.tensors:
            buffer_of.append(0 if tensor.data is None else len(buffers))
            if tensor.data is not None:
                buffers.append(self._buffer(tensor.data))
        codes = sorted({operator.key for operator in self._graph.operators})
        model = self._table(
            schema.Model.FIELDS,
            {
                schema.Model.VERSION: schema.VERSION,
                schema.Model.OPERATOR_CODES: self._offsets([self._code(*code) for code in codes]),
                schema.Model.SUBGRAPHS: self._offsets([self._subgraph(buffer_of, codes)]),
                schema.Model.DESCRIPTION: self._builder.CreateString("Halyard"),
                schema.Model.BUFFERS: self._offsets(buffers),
            },
        )
        self._builder.Finish(model, schema.FILE_IDENTIFIER)
        return bytes(self._builder.Output())

    # ---- the schema's tables --------------------------------------------------------------------

    def _buffer(self, data: bytes) -> int:
        self._builder.Prep(schema.BUFFER_ALIGNMENT, len(data))
        vector = self._builder.CreateByteVector(data)
        return self._table(schema.Buffer.FIELDS, {schema.Buffer.DATA: vector})

    def _code(self, code: BuiltinOperator, version: int, custom: str) -> int:
        # Codes above 127 do not fit the old field, which then says so with 127.
        fields: dict[Field, float] = {
            schema.OperatorCode.DEPRECATED_BUILTIN_CODE: min(code, 127),
            schema.OperatorCode.VERSION: version,
            schema.OperatorCode.BUILTIN_CODE: code,
        }
        if custom:
            fields[schema.OperatorCode.CUSTOM_CODE] = self._builder.CreateString(custom)
        return self._table(schema.OperatorCode.FIELDS, fields)

    def _subgraph(
        self, buffer_of: Sequence[int], codes: Sequence[tuple[BuiltinOperator, int, str]]
    ) -> int:
        graph = self._graph
        tensors = [
            self._tensor(tensor, buffer)
            for tensor, buffer in zip(graph.tensors, buffer_of, strict=True)
        ]
        operators = [
            self._operator(operator, codes.index(operator.key)) for operator in graph.operators
        ]
        fields = {
            schema.SubGraph.TENSORS: self._offsets(tensors),
            schema.SubGraph.INPUTS: self._numbers(graph.inputs, "<i4"),
            schema.SubGraph.OUTPUTS: self._numbers(graph.outputs, "<i4"),
            schema.SubGraph.OPERATORS: self._offsets(operators),
            schema.SubGraph.NAME: self._builder.CreateString(graph.name),
        }
        return self._table(schema.SubGraph.FIELDS, fields)

    def _tensor(self, tensor: Tensor, buffer: int) -> int:
        fields: dict[Field, float] = {
            schema.Tensor.SHAPE: self._numbers(tensor.shape, "<i4"),
            schema.Tensor.TYPE: tensor.type,
            schema.Tensor.BUFFER: buffer,
            schema.Tensor.NAME: self._builder.CreateString(tensor.name),
        }
        if tensor.quantization is not None:
            fields[schema.Tensor.QUANTIZATION] = self._quantization(tensor.quantization)
        if tensor.is_variable:
            fields[schema.Tensor.IS_VARIABLE] = True
        return self._table(schema.Tensor.FIELDS, fields)

    def _quantization(self, quantization: Quantization) -> int:
        table = schema.QuantizationParameters
        fields = {
            table.SCALE: self._numbers(quantization.scales, "<f4"),
            table.ZERO_POINT: self._numbers(quantization.zero_points, "<i8"),
            table.QUANTIZED_DIMENSION: quantization.dimension,
        }
        return self._table(table.FIELDS, fields)

    def _operator(self, operator: Operator, code: int) -> int:
        fields: dict[Field, float] = {
            schema.Operator.OPCODE_INDEX: code,
            schema.Operator.INPUTS: self._numbers(operator.inputs, "<i4"),
            schema.Operator.OUTPUTS: self._numbers(operator.outputs, "<i4"),
        }
        if isinstance(operator.options, CustomOptions):
            data = self._builder.CreateByteVector(operator.options.data)
            fields[schema.Operator.CUSTOM_OPTIONS] = data
        elif operator.options is not None:
            values = operator.options.values
            count = max((option.number + 1 for option in values), default=0)
            fields[schema.Operator.BUILTIN_OPTIONS_TYPE] = operator.options.type
            fields[schema.Operator.BUILTIN_OPTIONS] = self._table(count, values)
        if operator.intermediates:
            intermediates = self._numbers(operator.intermediates, "<i4")
            fields[schema.Operator.INTERMEDIATES] = intermediates
        return self._table(schema.Operator.FIELDS, fields)

    # ---- the flatbuffer's pieces ----------------------------------------------------------------

    def _table(self, count: int, values: Mapping[Field, float]) -> int:
        builder = self._builder
        prepend = {
            Kind.INT8: builder.PrependInt8Slot,
            Kind.UINT8: builder.PrependUint8Slot,
            Kind.INT32: builder.PrependInt32Slot,
            Kind.UINT32: builder.PrependUint32Slot,
            Kind.FLOAT32: builder.PrependFloat32Slot,
            Kind.BOOL: builder.PrependBoolSlot,
            Kind.OFFSET: builder.PrependUOffsetTRelativeSlot,
        }
        builder.StartObject(count)
        for entry, value in values.items():
            prepend[entry.kind](entry.number, value, 0)
        return int(builder.EndObject())

    def _offsets(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())

    def _numbers(self, values: Sequence[float], dtype: str) -> int:
        return int(self._builder.CreateNumpyVector(np.asarray(values, dtype)))
