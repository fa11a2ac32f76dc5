# SPDX-License-Identifier: Apache-2.0
"""ONNX models with seeded weights, as exporters write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import (
    ModelProto,
    TensorProto,
    external_data_helper,
    helper,
    numpy_helper,
    shape_inference,
)

Array = npt.NDArray[Any]
OPSET = 17


_LIMITS = {"i1": (-128, 127), "u1": (0, 255), "i4": (-(2**31), 2**31 - 1)}


class Graph:
    """Values are known by their names. `op` gives its first output's."""

    def __init__(self, seed: int = 0, opset: int = OPSET) -> None:
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.domains: dict[str, int] = {}  # others than ONNX's, with their versions
        self.nodes: list[Any] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[Any] = []
        self._count = 0

    def input(self, name: str, shape: Sequence[int | str], kind: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def constant(self, values: Any, dtype: str = "f4") -> str:
        name = self._name("constant")
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values, "i8")

    def weights(self, *shape: int, scale: float | None = None) -> str:
        """Of a size that keeps the size of what goes through."""
        size = scale or float(np.sqrt(2 / max(np.prod(shape[1:]), 1)))
        return self.constant(self.random.normal(0, size, shape))

    def factors(self, *shape: int) -> str:
        return self.constant(self.random.uniform(0.5, 1.5, shape))

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        return self.ops(kind, *inputs, outputs=outputs, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        names = [self._name(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"

    def model(self, *outputs: str) -> ModelProto:
        unknown = [helper.make_tensor_value_info(name, 1, None) for name in outputs]
        for info in unknown:
            info.ClearField("type")
        graph = helper.make_graph(self.nodes, "model", self.inputs, unknown, self.constants)
        opsets = {"": self.opset, **self.domains}
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        model = helper.make_model(graph, ir_version=8, opset_imports=imports)
        inferred = shape_inference.infer_shapes(model, data_prop=True)
        for info, found in zip(model.graph.output, inferred.graph.output, strict=True):
            info.CopyFrom(found)
        return model

    # ---- 8 bits, by QuantizeLinear and DequantizeLinear ------------------------------------------

    def requantized(self, name: str, scale: float, zero_point: int, dtype: str) -> str:
        parameters = self.constant(scale), self.constant(zero_point, dtype)
        whole = self.op("QuantizeLinear", name, *parameters)
        return self.op("DequantizeLinear", whole, *parameters)

    def quantized_weights(
        self,
        *shape: int,
        axis: int = 0,
        per_channel: bool = True,
        dtype: str = "i1",
        zero_point: int = 0,
    ) -> tuple[str, Array]:
        """With their scales."""
        values = self.random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        others = tuple(each for each in range(len(shape)) if each != axis)
        scales = np.abs(values).max(axis=others if per_channel else None).astype("f4") / 127
        places = [-1 if each == axis and per_channel else 1 for each in range(len(shape))]
        whole = np.rint(values / np.reshape(scales, places))
        return self._dequantized(whole + zero_point, dtype, scales, axis, zero_point), scales

    def quantized_bias(self, count: int, scale: float, scales: Array) -> str:
        steps = np.float32(scale) * scales
        return self._dequantized(np.rint(self.random.normal(0, 0.2, count) / steps), "i4", steps, 0)

    def _dequantized(
        self, whole: Array, dtype: str, scales: Array, axis: int, zero_point: int = 0
    ) -> str:
        scales = np.asarray(scales, "f4")
        attributes = {"axis": axis} if scales.ndim else {}
        zeros = self.constant(np.full(scales.shape, zero_point), dtype)
        held = self.constant(np.clip(whole, *_LIMITS[dtype]), dtype)
        return self.op("DequantizeLinear", held, self.constant(scales), zeros, **attributes)


def mobilenet_block() -> ModelProto:
    """A stem with a batch normalisation, an inverted residual with squeeze and excitation, a
    classifier; the batch is open."""
    g = Graph(1)
    x = g.op("Conv", g.input("image", ("batch", 3, 32, 32)), g.weights(8, 3, 3, 3), strides=[2, 2],
             pads=[1, 1, 1, 1])  # fmt: skip
    x = g.op("BatchNormalization", x, g.factors(8), g.weights(8), g.weights(8), g.factors(8))
    x = g.op("HardSwish", x)
    y = g.op("Conv", x, g.weights(24, 8, 1, 1), g.weights(24))
    y = g.op("Clip", y, g.constant(0), g.constant(6))
    y = g.op("Conv", y, g.weights(24, 1, 3, 3), g.weights(24), group=24, pads=[1, 1, 1, 1])
    y = g.op("Relu", y)
    s = g.op("GlobalAveragePool", y)
    s = g.op("Relu", g.op("Conv", s, g.weights(6, 24, 1, 1), g.weights(6)))
    s = g.op("HardSigmoid", g.op("Conv", s, g.weights(24, 6, 1, 1), g.weights(24)), alpha=1 / 6)
    y = g.op("Conv", g.op("Mul", y, s), g.weights(8, 24, 1, 1), g.weights(8))
    x = g.op("GlobalAveragePool", g.op("Add", x, y))
    x = g.op("Gemm", g.op("Flatten", x), g.weights(10, 8), g.weights(10), transB=1)
    return g.model(g.op("Softmax", x, axis=-1))


def resnet_block_qdq(dtype: str = "i1", *, per_channel: bool = True) -> ModelProto:
    """Two convolutions, a sum, poolings and a classifier, in 8 bits."""
    g = Graph(2)
    low = -128 if dtype == "i1" else 0

    def conv(x: str, scale: float, channels: int, depth: int, **attributes: Any) -> str:
        w, scales = g.quantized_weights(channels, depth, 3, 3, per_channel=per_channel)
        b = g.quantized_bias(channels, scale, scales)
        return g.op("Conv", x, w, b, pads=[1, 1, 1, 1], **attributes)

    x = g.requantized(g.input("image", (1, 3, 16, 16)), 2 / 255, low + 128, dtype)
    x = g.requantized(g.op("Relu", conv(x, 2 / 255, 8, 3)), 0.02, low, dtype)
    y = g.requantized(g.op("Relu", conv(x, 0.02, 8, 8)), 0.025, low, dtype)
    y = g.requantized(conv(y, 0.025, 8, 1, group=8), 0.03, low + 100, dtype)
    y = g.requantized(g.op("Relu", g.op("Add", x, y)), 0.03, low, dtype)
    y = g.requantized(g.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), 0.03, low, dtype)
    y = g.requantized(g.op("GlobalAveragePool", y), 0.03, low, dtype)
    y = g.requantized(g.op("Flatten", y), 0.03, low, dtype)
    w, scales = g.quantized_weights(10, 8, per_channel=per_channel)
    y = g.op("Gemm", y, w, g.quantized_bias(10, 0.03, scales), transB=1)
    return g.model(g.op("QuantizeLinear", y, g.constant(0.02), g.constant(low + 128, dtype)))


def transformer_encoder() -> ModelProto:
    """A block of BERT's kind, as PyTorch exports it: shapes are computed, GELU is by Erf."""
    g, length, width, heads = Graph(3), 6, 16, 2

    def norm(x: str) -> str:
        return g.op("LayerNormalization", x, g.factors(width), g.weights(width), axis=-1)

    def linear(x: str, before: int, after: int) -> str:
        product = g.op("MatMul", x, g.weights(before, after, scale=before**-0.5))
        return g.op("Add", g.weights(after), product)

    def split(x: str, permutation: list[int]) -> str:
        batch = g.op("Gather", g.op("Shape", x), g.constant(0, "i8"), axis=0)
        batch = g.op("Unsqueeze", batch, g.ints(0))
        shape = g.op("Concat", batch, g.ints(-1, heads, width // heads), axis=0)
        return g.op("Transpose", g.op("Reshape", x, shape), perm=permutation)

    ids = g.input("ids", ("batch", length), TensorProto.INT64)
    x = g.op("Gather", g.weights(30, width, scale=1), ids)
    x = g.op("Add", x, g.weights(length, width, scale=0.3))
    n = norm(x)
    q, v = (split(linear(n, width, width), [0, 2, 1, 3]) for _ in range(2))
    k = split(linear(n, width, width), [0, 2, 3, 1])
    scores = g.op("Div", g.op("MatMul", q, k), g.constant(np.sqrt(width / heads)))
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), g.ints(0, 0, -1))
    x = g.op("Add", x, linear(mixed, width, width))
    m = linear(norm(x), width, 32)
    bend = g.op("Erf", g.op("Div", m, g.constant(np.sqrt(2))))
    m = g.op("Mul", g.op("Mul", m, g.op("Add", bend, g.constant(1))), g.constant(0.5))
    x = g.op("Add", x, linear(m, 32, width))
    return g.model(x, g.op("ReduceMean", x, axes=[1], keepdims=0))


def with_data_beside(folder: Path) -> ModelProto:
    """All weights of a block in "weights.bin" of the folder, one after the other."""
    model = mobilenet_block()
    content = bytearray()
    for tensor in model.graph.initializer:
        data = tensor.raw_data
        external_data_helper.set_external_data(
            tensor, "weights.bin", offset=len(content), length=len(data)
        )
        tensor.ClearField("raw_data")
        content += data
    (folder / "weights.bin").write_bytes(content)
    return model


def halved(model: ModelProto) -> ModelProto:
    """In float16 throughout."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(tensor).astype("f2")
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    for info in (*model.graph.input, *model.graph.output):
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = TensorProto.FLOAT16
    return model
