# SPDX-License-Identifier: Apache-2.0
"""Which operator is mapped by what, and which versions, attributes and inputs of it are understood.

Versions are those that the operator's schemas have in operator set 6 and later.
"""

from __future__ import annotations

from collections.abc import Mapping

from halyard.onnx.reading import (
    activations,
    choosing,
    composed,
    convolution,
    dynamic_quantization,
    elementwise,
    gathering,
    gemm,
    local_response,
    logarithmic,
    matrices,
    normalizing,
    pooling,
    quantizing,
    recurrent,
    reductions,
    reshaping,
    resizing,
    running_sums,
    truth,
)
from halyard.onnx.reading.signatures import MANY, Operator, Signature, only, operator, since

_TRAINING = "it is in training mode"
# Versions of what reshapes, which differ in types alone.
_RESHAPING = (13, 21, 23, 24, 25)
_WINDOW = ("dilations", "kernel_shape", "pads", "strides")
_AUTOMATIC = only("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_POLICIES = only("stretch", "not_larger", "not_smaller")
_ROUNDINGS = only("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_BLOCKS = only(0, why="it has a scale for each block")
# Of cubic interpolation, and of cutting a region out, which are not mapped.
_OTHER_MODES = ("cubic_coeff_a", "exclude_outside", "extrapolation_value")
_SAMPLING = ("coordinate_transformation_mode",)
_MODES = only("nearest", "linear", why="it is of mode {value}")


def _pair(*versions: int) -> tuple[Signature, ...]:
    """Of two inputs that are broadcast against each other, from operator set 7 on as numpy does."""
    return (
        since(versions[0], inputs=2, reads=["axis", "broadcast"]),
        since(*versions[1:], inputs=2),
    )


def _reduction(*versions: int) -> tuple[Signature, ...]:
    """Whose axes are an attribute before version 18."""
    return (
        since(*(each for each in versions if each < 18), reads=["axes", "keepdims"]),
        since(
            *(each for each in versions if each >= 18),
            inputs=2,
            reads=["keepdims", "noop_with_empty_axes"],
        ),
    )


_BATCH_NORMALIZATION = (
    since(
        6,
        inputs=5,
        reads=["epsilon"],
        ignores=["momentum"],
        is_test=only(1, why=_TRAINING),
        spatial=only(1),
    ),
    since(7, inputs=5, reads=["epsilon"], ignores=["momentum"], spatial=only(1)),
    since(9, inputs=5, reads=["epsilon"], ignores=["momentum"]),
    since(
        14,
        15,
        inputs=5,
        reads=["epsilon"],
        ignores=["momentum"],
        training_mode=only(0, why=_TRAINING),
    ),
)
_RESIZE = (
    since(10, inputs=2, mode=_MODES),
    since(
        11,
        13,
        inputs=4,
        reads=_SAMPLING,
        ignores=_OTHER_MODES,
        mode=_MODES,
        nearest_mode=_ROUNDINGS,
    ),
    since(
        18,
        19,
        inputs=4,
        reads=[*_SAMPLING, "axes"],
        ignores=_OTHER_MODES,
        mode=_MODES,
        nearest_mode=_ROUNDINGS,
        keep_aspect_ratio_policy=_POLICIES,
        antialias=only(0, why="it smooths what it makes smaller, which NNAPI does not"),
    ),
)

_RECURRENT = ("activations", "clip", "direction", "hidden_size")
# Of activations that NNAPI's sequences have not.
_OF_ACTIVATIONS = ("activation_alpha", "activation_beta")

OPERATORS: Mapping[str, Operator] = {
    # Element by element.
    "Abs": operator(elementwise.unary, since(6, 13)),
    "Add": operator(elementwise.arithmetic, *_pair(6, 7, 13, 14)),
    "And": operator(elementwise.pair, *_pair(1, 7)),
    "Cast": operator(
        elementwise.conversion,
        since(6, 9, 13, reads=["to"]),
        # Of types that NNAPI has not.
        since(19, 21, 23, reads=["to"], ignores=["saturate"]),
        since(24, 25, 28, reads=["to"], ignores=["round_mode", "saturate"]),
    ),
    "CastLike": operator(
        elementwise.conversion,
        since(15, inputs=2),
        since(19, 21, 23, inputs=2, ignores=["saturate"]),
        since(24, 25, inputs=2, ignores=["round_mode", "saturate"]),
    ),
    "Ceil": operator(composed.ceil, since(6, 13)),
    "Celu": operator(activations.celu, since(12, 28, reads=["alpha"])),
    "Clip": operator(activations.clip, since(6, reads=["max", "min"]), since(11, 12, 13, inputs=3)),
    "Cos": operator(composed.cosine, since(7, 22)),
    "Div": operator(elementwise.arithmetic, *_pair(6, 7, 13, 14)),
    "Elu": operator(activations.elu, since(6, 22, reads=["alpha"])),
    "Equal": operator(elementwise.pair, *_pair(1, 7, 11, 13, 19)),
    "Erf": operator(activations.erf, since(9, 13)),
    "Exp": operator(elementwise.unary, since(6, 13)),
    "Floor": operator(elementwise.unary, since(6, 13)),
    "Gelu": operator(activations.gelu, since(20, approximate=only("none", "tanh"))),
    "Greater": operator(elementwise.pair, *_pair(1, 7, 9, 13)),
    "GreaterOrEqual": operator(elementwise.pair, since(12, 16, inputs=2)),
    "HardSigmoid": operator(activations.hard_sigmoid, since(6, 22, reads=["alpha", "beta"])),
    "HardSwish": operator(activations.hard_swish, since(14, 22)),
    "IsInf": operator(
        truth.is_infinite, since(10, 20, reads=["detect_negative", "detect_positive"])
    ),
    "IsNaN": operator(truth.is_nan, since(9, 13, 20)),
    "LeakyRelu": operator(activations.leaky_relu, since(6, 16, reads=["alpha"])),
    "Less": operator(elementwise.pair, *_pair(1, 7, 9, 13)),
    "LessOrEqual": operator(elementwise.pair, since(12, 16, inputs=2)),
    "Log": operator(elementwise.unary, since(6, 13)),
    "LogSoftmax": operator(activations.softmax, since(1, 11, 13, reads=["axis"])),
    "Max": operator(elementwise.chain, since(6, 8, 12, 13, inputs=MANY)),
    "Mean": operator(elementwise.chain, since(6, 8, 13, inputs=MANY)),
    "Min": operator(elementwise.chain, since(6, 8, 12, 13, inputs=MANY)),
    "Mish": operator(activations.mish, since(18, 22)),
    "Mul": operator(elementwise.arithmetic, *_pair(6, 7, 13, 14)),
    "Neg": operator(elementwise.unary, since(6, 13)),
    "Not": operator(elementwise.unary, since(1)),
    "Or": operator(elementwise.pair, *_pair(1, 7)),
    "Pow": operator(elementwise.power, *_pair(1, 7, 12, 13, 15)),
    # Before version 7 a slope is one for each channel.
    "PRelu": operator(activations.prelu, since(7, 9, 16, inputs=2)),
    "Reciprocal": operator(elementwise.reciprocal, since(6, 13)),
    "Relu": operator(activations.clip, since(6, 13, 14)),
    "Round": operator(composed.rounded, since(11, 22)),
    "Selu": operator(activations.selu, since(6, 22, reads=["alpha", "gamma"])),
    "Sigmoid": operator(activations.sigmoid, since(6, 13)),
    "Sign": operator(composed.sign, since(9, 13)),
    "Sin": operator(elementwise.unary, since(7, 22)),
    "Softmax": operator(activations.softmax, since(1, 11, 13, reads=["axis"])),
    "Softplus": operator(activations.softplus, since(1, 22)),
    "Softsign": operator(activations.softsign, since(1, 22)),
    "Sqrt": operator(elementwise.unary, since(6, 13)),
    "Sub": operator(elementwise.arithmetic, *_pair(6, 7, 13, 14)),
    "Sum": operator(elementwise.chain, since(6, 8, 13, inputs=MANY)),
    "Tanh": operator(activations.tanh, since(6, 13)),
    "ThresholdedRelu": operator(activations.thresholded_relu, since(10, 22, reads=["alpha"])),
    "Trilu": operator(composed.triangle, since(14, inputs=2, reads=["upper"])),
    "Where": operator(choosing.where, since(9, 16, inputs=3)),
    "Xor": operator(truth.exclusive_or, *_pair(1, 7)),
    # Convolutions, GEMMs, poolings, normalisations.
    "AveragePool": operator(
        pooling.pooling,
        since(1, reads=["kernel_shape", "pads", "strides"], auto_pad=_AUTOMATIC),
        since(
            7, reads=["count_include_pad", "kernel_shape", "pads", "strides"], auto_pad=_AUTOMATIC
        ),
        since(
            10,
            11,
            reads=["ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"],
            auto_pad=_AUTOMATIC,
        ),
        since(19, 22, reads=["ceil_mode", "count_include_pad", *_WINDOW], auto_pad=_AUTOMATIC),
    ),
    "BatchNormalization": operator(convolution.batch_normalization, *_BATCH_NORMALIZATION),
    "Conv": operator(
        convolution.convolution,
        since(1, 11, 22, inputs=3, reads=["group", *_WINDOW], auto_pad=_AUTOMATIC),
    ),
    "ConvTranspose": operator(
        convolution.transposed_convolution,
        since(
            1,
            11,
            22,
            inputs=3,
            reads=["group", "output_padding", "output_shape", *_WINDOW],
            auto_pad=_AUTOMATIC,
        ),
    ),
    "Gemm": operator(
        matrices.gemm,
        since(6, inputs=3, reads=["alpha", "beta", "transA", "transB"], ignores=["broadcast"]),
        since(7, 9, 11, 13, inputs=3, reads=["alpha", "beta", "transA", "transB"]),
    ),
    "GlobalAveragePool": operator(pooling.global_pooling, since(1, 22)),
    "GlobalMaxPool": operator(pooling.global_pooling, since(1, 22)),
    "InstanceNormalization": operator(
        normalizing.instance_normalization, since(6, 22, inputs=3, reads=["epsilon"])
    ),
    "LayerNormalization": operator(
        normalizing.layer_normalization,
        since(17, inputs=3, reads=["axis", "epsilon"], stash_type=only(1)),
    ),
    "LRN": operator(
        local_response.local_response, since(1, 13, reads=["alpha", "beta", "bias", "size"])
    ),
    "MatMul": operator(matrices.matmul, since(1, 9, 13, inputs=2)),
    "MaxPool": operator(
        pooling.pooling,
        since(1, reads=["kernel_shape", "pads", "strides"], auto_pad=_AUTOMATIC),
        # The storage order is that of indices, which are not computed.
        since(
            8,
            reads=["kernel_shape", "pads", "strides"],
            ignores=["storage_order"],
            auto_pad=_AUTOMATIC,
        ),
        since(
            10,
            11,
            12,
            22,
            reads=["ceil_mode", *_WINDOW],
            ignores=["storage_order"],
            auto_pad=_AUTOMATIC,
        ),
    ),
    "GRU": operator(
        recurrent.gru,
        since(
            3,
            inputs=6,
            outputs=2,
            reads=[*_RECURRENT, "linear_before_reset"],
            ignores=[*_OF_ACTIVATIONS, "output_sequence"],
        ),
        since(
            7,
            inputs=6,
            outputs=2,
            reads=[*_RECURRENT, "linear_before_reset"],
            ignores=_OF_ACTIVATIONS,
        ),
        since(
            14,
            22,
            inputs=6,
            outputs=2,
            reads=[*_RECURRENT, "layout", "linear_before_reset"],
            ignores=_OF_ACTIVATIONS,
        ),
    ),
    "LSTM": operator(
        recurrent.lstm,
        since(
            1,
            inputs=8,
            outputs=3,
            reads=[*_RECURRENT, "input_forget"],
            ignores=[*_OF_ACTIVATIONS, "output_sequence"],
        ),
        since(7, inputs=8, outputs=3, reads=[*_RECURRENT, "input_forget"], ignores=_OF_ACTIVATIONS),
        since(
            14,
            22,
            inputs=8,
            outputs=3,
            reads=[*_RECURRENT, "input_forget", "layout"],
            ignores=_OF_ACTIVATIONS,
        ),
    ),
    "RNN": operator(
        recurrent.rnn,
        since(
            1,
            inputs=6,
            outputs=2,
            reads=_RECURRENT,
            ignores=[*_OF_ACTIVATIONS, "output_sequence"],
        ),
        since(7, inputs=6, outputs=2, reads=_RECURRENT, ignores=_OF_ACTIVATIONS),
        since(14, 22, inputs=6, outputs=2, reads=[*_RECURRENT, "layout"], ignores=_OF_ACTIVATIONS),
    ),
    # 8 bits.
    "DequantizeLinear": operator(
        quantizing.dequantize,
        since(10, inputs=3),
        since(13, 19, inputs=3, reads=["axis"]),
        since(21, inputs=3, reads=["axis"], block_size=_BLOCKS),
        since(23, 24, 25, 28, inputs=3, reads=["axis", "output_dtype"], block_size=_BLOCKS),
    ),
    "DynamicQuantizeLinear": operator(dynamic_quantization.rounding, since(11, outputs=3)),
    "QuantizeLinear": operator(
        quantizing.quantize,
        since(10, inputs=3),
        since(13, inputs=3, reads=["axis"]),
        # Only types that NNAPI has not saturate or not.
        since(19, inputs=3, reads=["axis"], ignores=["saturate"]),
        since(
            21,
            inputs=3,
            reads=["axis", "output_dtype"],
            ignores=["saturate"],
            block_size=_BLOCKS,
        ),
        since(
            23,
            24,
            25,
            28,
            inputs=3,
            reads=["axis", "output_dtype"],
            ignores=["saturate"],
            block_size=_BLOCKS,
            precision=only(0, 1),
        ),
    ),
    # Reductions.
    "ArgMax": operator(
        reductions.largest_place,
        since(1, 11, reads=["axis", "keepdims"]),
        since(12, 13, reads=["axis", "keepdims", "select_last_index"]),
    ),
    "ArgMin": operator(
        reductions.largest_place,
        since(1, 11, reads=["axis", "keepdims"]),
        since(12, 13, reads=["axis", "keepdims", "select_last_index"]),
    ),
    "ReduceL1": operator(reductions.reduction, *_reduction(1, 11, 13, 18)),
    "ReduceL2": operator(reductions.reduction, *_reduction(1, 11, 13, 18)),
    "ReduceLogSum": operator(logarithmic.log_sum, *_reduction(1, 11, 13, 18, 28)),
    "ReduceLogSumExp": operator(logarithmic.log_sum, *_reduction(1, 11, 13, 18, 28)),
    "ReduceMax": operator(reductions.reduction, *_reduction(1, 11, 12, 13, 18, 20)),
    "ReduceMean": operator(reductions.reduction, *_reduction(1, 11, 13, 18)),
    "ReduceMin": operator(reductions.reduction, *_reduction(1, 11, 12, 13, 18, 20)),
    "ReduceProd": operator(reductions.reduction, *_reduction(1, 11, 13, 18)),
    "ReduceSum": operator(
        reductions.reduction,
        since(1, 11, reads=["axes", "keepdims"]),
        since(13, inputs=2, reads=["keepdims", "noop_with_empty_axes"]),
    ),
    "ReduceSumSquare": operator(reductions.reduction, *_reduction(1, 11, 13, 18)),
    "TopK": operator(
        reductions.largest,
        since(1, outputs=2, reads=["axis", "k"]),
        since(10, inputs=2, outputs=2, reads=["axis"]),
        # Where no order is asked for, that of size will do.
        since(11, 24, inputs=2, outputs=2, reads=["axis", "largest"], ignores=["sorted"]),
    ),
    # Operators that ONNX Runtime's optimiser writes.
    "com.microsoft::FusedMatMul": operator(
        gemm.fused_matmul,
        since(
            1,
            inputs=2,
            reads=["alpha", "transA", "transB"],
            transBatchA=only(0),
            transBatchB=only(0),
        ),
    ),
    "com.microsoft::Gelu": operator(activations.gelu, since(1)),
    "com.microsoft::QuickGelu": operator(activations.quick_gelu, since(1, reads=["alpha"])),
    # Operators that move elements.
    "Concat": operator(reshaping.concatenation, since(4, 11, 13, inputs=MANY, reads=["axis"])),
    "CumSum": operator(
        running_sums.cumulative_sum, since(11, 14, inputs=2, reads=["exclusive", "reverse"])
    ),
    "DepthToSpace": operator(
        reshaping.depth_to_space,
        since(1, reads=["blocksize"]),
        since(11, 13, 28, reads=["blocksize"], mode=only("DCR", "CRD")),
    ),
    "Dropout": operator(
        reshaping.identity,
        since(6, ignores=["ratio"], is_test=only(1, why=_TRAINING)),
        since(7, 10, ignores=["ratio"]),
        since(12, 13, 22, inputs=3, ignores=["seed"]),
    ),
    "Expand": operator(reshaping.tile, since(8, 13, inputs=2)),
    "Flatten": operator(reshaping.reshape, since(1, 9, 11, *_RESHAPING, reads=["axis"])),
    "Gather": operator(reshaping.gather, since(1, 11, 13, inputs=2, reads=["axis"])),
    "GatherND": operator(
        gathering.gather_nd, since(11, inputs=2), since(12, 13, inputs=2, reads=["batch_dims"])
    ),
    "Identity": operator(reshaping.identity, since(1, 14, 16, 19, *_RESHAPING)),
    "OneHot": operator(choosing.one_hot, since(9, 11, 28, inputs=3, reads=["axis"])),
    "Pad": operator(
        reshaping.pad,
        since(2, reads=["mode", "pads", "value"]),
        since(11, 13, inputs=3, reads=["mode"]),
        since(18, 19, 21, 23, 24, 25, inputs=4, reads=["mode"]),
    ),
    "Reshape": operator(
        reshaping.reshape,
        since(5, 13, inputs=2),
        since(14, 19, 21, 23, 24, 25, inputs=2, reads=["allowzero"]),
    ),
    "Resize": operator(resizing.resize, *_RESIZE),
    "Slice": operator(
        reshaping.slicing,
        since(1, reads=["axes", "ends", "starts"]),
        since(10, 11, 13, inputs=5),
    ),
    "SpaceToDepth": operator(
        reshaping.space_to_depth,
        since(1, 13, reads=["blocksize"]),
        since(28, reads=["blocksize"], mode=only("DCR", "CRD")),
    ),
    "Split": operator(
        reshaping.split,
        since(2, 11, outputs=MANY, reads=["axis", "split"]),
        since(13, inputs=2, outputs=MANY, reads=["axis"]),
        since(18, inputs=2, outputs=MANY, reads=["axis", "num_outputs"]),
    ),
    "Squeeze": operator(
        reshaping.reshape, since(1, 11, reads=["axes"]), since(*_RESHAPING, inputs=2)
    ),
    "Tile": operator(reshaping.tile, since(6, 13, inputs=2)),
    "Transpose": operator(reshaping.transpose, since(1, *_RESHAPING, reads=["perm"])),
    "Unsqueeze": operator(
        reshaping.reshape, since(1, 11, reads=["axes"]), since(*_RESHAPING, inputs=2)
    ),
    "Upsample": operator(
        resizing.resize, since(7, reads=["scales"], mode=_MODES), since(9, inputs=2, mode=_MODES)
    ),
}
