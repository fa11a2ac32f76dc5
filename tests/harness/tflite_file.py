# SPDX-License-Identifier: Apache-2.0
"""Builds .tflite files from the schema's own objects, with nothing of the harness between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator, TensorType

Values = npt.NDArray[Any]

_TYPES = {
    "float32": TensorType.FLOAT32,
    "float16": TensorType.FLOAT16,
    "int32": TensorType.INT32,
    "uint8": TensorType.UINT8,
    "int8": TensorType.INT8,
    "int16": TensorType.INT16,
    "int64": TensorType.INT64,
    "bool": TensorType.BOOL,
}


class GraphFile:
    """One graph. Tensors are called by the numbers that the methods give back."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.operators: list[Any] = []
        self.inputs: list[int] = []
        self.others: list[GraphFile] = []

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "float32",
        scale: float | Sequence[float] = (),
        zero_point: int = 0,
        *,
        values: Values | None = None,
        axis: int = 0,
        variable: bool = False,
        signature: Sequence[int] = (),
        name: str = "",
    ) -> int:
        """`signature`: the shape with -1 where an extent was not known when the file was made."""
        tensor = schema.TensorT()
        tensor.name = name or f"t{len(self.tensors)}"
        tensor.shape = list(shape)
        tensor.type = _TYPES[dtype]
        tensor.isVariable = variable
        tensor.shapeSignature = list(signature) or None
        tensor.buffer = values  # replaced by its number when the file is written
        scales = [scale] if isinstance(scale, float) else list(scale)
        if scales:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = scales
            tensor.quantization.zeroPoint = [zero_point] * len(scales)
            tensor.quantization.quantizedDimension = axis
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def input(self, shape: Sequence[int], dtype: str = "float32", *quantization: Any) -> int:
        self.inputs.append(self.tensor(shape, dtype, *quantization))
        return self.inputs[-1]

    def constant(self, values: Any, dtype: str = "float32", *more: Any, **options: Any) -> int:
        array = np.asarray(values, dtype)
        return self.tensor(array.shape, dtype, *more, values=array, **options)

    def add(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str = "",
        *,
        intermediates: Sequence[int] = (),
        **fields: Any,
    ) -> None:
        """An operator, whose options are those of the schema's table of that name."""
        operator = schema.OperatorT()
        operator.opcodeIndex = kind  # replaced, too
        operator.inputs, operator.outputs = list(inputs), list(outputs)
        if intermediates:
            operator.intermediates = list(intermediates)
        if options:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            operator.builtinOptions = getattr(schema, f"{options}T")()
            for field, value in fields.items():
                assert hasattr(operator.builtinOptions, field), field
                setattr(operator.builtinOptions, field, value)
        self.operators.append(operator)

    def model(self, *outputs: int) -> Any:
        """The schema's ModelT, to spoil."""
        self._outputs = list(outputs)
        model = schema.ModelT()
        model.version = 3
        model.buffers = [schema.BufferT()]
        model.operatorCodes = []
        model.subgraphs = []
        codes: dict[str, int] = {}
        for graph in (self, *self.others):
            subgraph = schema.SubGraphT()
            subgraph.tensors, subgraph.operators = graph.tensors, graph.operators
            subgraph.inputs, subgraph.outputs = graph.inputs, graph._outputs
            for tensor in graph.tensors:
                values, tensor.buffer = tensor.buffer, 0
                if values is not None:
                    buffer = schema.BufferT()
                    buffer.data = np.frombuffer(values.tobytes(), np.uint8)
                    tensor.buffer = len(model.buffers)
                    model.buffers.append(buffer)
            for operator in graph.operators:
                kind = operator.opcodeIndex
                if kind not in codes:
                    codes[kind] = len(codes)
                    model.operatorCodes.append(_code(kind))
                operator.opcodeIndex = codes[kind]
            model.subgraphs.append(subgraph)
        return model

    def subgraph(self, other: GraphFile, *outputs: int) -> int:
        """The number of another graph in this one's file."""
        other._outputs = list(outputs)
        self.others.append(other)
        return len(self.others)

    def content(self, *outputs: int) -> bytes:
        return packed(self.model(*outputs))


def packed(model: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _code(kind: str) -> Any:
    code = schema.OperatorCodeT()
    number = getattr(BuiltinOperator, kind, None)
    if number is None:
        number, code.customCode = int(BuiltinOperator.CUSTOM), kind
    code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
    # New enough for any type.
    code.version = _VERSIONS.get(kind, 1)
    return code


_VERSIONS = {
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 5,
    "TRANSPOSE_CONV": 3,
    "AVERAGE_POOL_2D": 2,
    "MAX_POOL_2D": 2,
    "SOFTMAX": 2,
    "ADD": 2,
    "MUL": 2,
    "SUB": 2,
    "DEQUANTIZE": 3,
    "QUANTIZE": 2,
    "LOGISTIC": 2,
    "TANH": 2,
    "MEAN": 2,
    "PAD": 2,
    "CONCATENATION": 2,
    "RELU6": 2,
    "LEAKY_RELU": 2,
    "RESIZE_BILINEAR": 3,
    "RESIZE_NEAREST_NEIGHBOR": 3,
    "BATCH_MATMUL": 2,
    "GATHER": 2,
    "ARG_MAX": 2,
    "PACK": 2,
    "UNPACK": 2,
    "SPLIT": 2,
    "SPLIT_V": 2,
    "STRIDED_SLICE": 2,
    "SLICE": 2,
    "TRANSPOSE": 2,
}
