# SPDX-License-Identifier: Apache-2.0
"""Which operator is mapped by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from halyard.onnx.reading import (
    activations,
    composed,
    convolution,
    elementwise,
    matrices,
    normalizing,
    pooling,
    quantizing,
    reductions,
    reshaping,
    resizing,
)
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node

# NotExpressible says what it is that NNAPI has no word for.
Handler = Callable[[Mapper, Node], None]

HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), elementwise.arithmetic),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), elementwise.chain),
    **dict.fromkeys(
        ("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Or"),
        elementwise.pair,
    ),
    **dict.fromkeys(("Abs", "Exp", "Floor", "Log", "Neg", "Not", "Sin", "Sqrt"), elementwise.unary),
    "Cast": elementwise.conversion,
    "Pow": elementwise.power,
    "Reciprocal": elementwise.reciprocal,
    "Where": elementwise.where,
    "Ceil": composed.ceil,
    "Cos": composed.cosine,
    "Round": composed.rounded,
    "Sign": composed.sign,
    "Trilu": composed.triangle,
    **dict.fromkeys(("Clip", "Relu"), activations.clip),
    "Elu": activations.elu,
    "Erf": activations.erf,
    "Gelu": activations.gelu,
    "HardSigmoid": activations.hard_sigmoid,
    "HardSwish": activations.hard_swish,
    "LeakyRelu": activations.leaky_relu,
    **dict.fromkeys(("LogSoftmax", "Softmax"), activations.softmax),
    "Mish": activations.mish,
    "PRelu": activations.prelu,
    "Sigmoid": activations.sigmoid,
    "Softplus": activations.softplus,
    "Tanh": activations.tanh,
    "BatchNormalization": convolution.batch_normalization,
    "Conv": convolution.convolution,
    "ConvTranspose": convolution.transposed_convolution,
    "Gemm": matrices.gemm,
    "MatMul": matrices.matmul,
    "InstanceNormalization": normalizing.instance_normalization,
    "LayerNormalization": normalizing.layer_normalization,
    **dict.fromkeys(("AveragePool", "MaxPool"), pooling.pooling),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), pooling.global_pooling),
    "DequantizeLinear": quantizing.dequantize,
    "QuantizeLinear": quantizing.quantize,
    **dict.fromkeys(
        (
            "ReduceL1",
            "ReduceL2",
            "ReduceMax",
            "ReduceMean",
            "ReduceMin",
            "ReduceProd",
            "ReduceSum",
            "ReduceSumSquare",
        ),
        reductions.reduction,
    ),
    **dict.fromkeys(("ArgMax", "ArgMin"), reductions.largest_place),
    "TopK": reductions.largest,
    "Concat": reshaping.concatenation,
    "DepthToSpace": reshaping.depth_to_space,
    **dict.fromkeys(("Dropout", "Identity"), reshaping.identity),
    **dict.fromkeys(("Expand", "Tile"), reshaping.tile),
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), reshaping.reshape),
    "Gather": reshaping.gather,
    "Pad": reshaping.pad,
    "Slice": reshaping.slicing,
    "SpaceToDepth": reshaping.space_to_depth,
    "Split": reshaping.split,
    "Transpose": reshaping.transpose,
    **dict.fromkeys(("Resize", "Upsample"), resizing.resize),
}
