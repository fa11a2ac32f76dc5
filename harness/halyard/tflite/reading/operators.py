# SPDX-License-Identifier: Apache-2.0
"""The table from TFLite's operators to what maps them."""

from __future__ import annotations

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator as Code

from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading import (
    control_flow,
    custom,
    elementwise,
    folding,
    recurrent,
    reductions,
    shaping,
    slicing,
    weights,
    windows,
)
from halyard.tflite.reading.elementwise import activated, kept, plain, real
from halyard.tflite.reading.folding import folded_or
from halyard.tflite.reading.mapper import Handler
from halyard.tflite.reading.reductions import extremum_place, reduction
from halyard.tflite.reading.shaping import with_numbers

HANDLERS: dict[int, Handler] = {
    Code.ABS: real(pb.OPERATION_TYPE_ABS),
    Code.ADD: folded_or(activated(pb.OPERATION_TYPE_ADD, schema.AddOptionsT), folding.total),
    Code.ARG_MAX: extremum_place(pb.OPERATION_TYPE_ARGMAX),
    Code.ARG_MIN: extremum_place(pb.OPERATION_TYPE_ARGMIN),
    Code.AVERAGE_POOL_2D: windows.pool(pb.OPERATION_TYPE_AVERAGE_POOL_2D),
    Code.BATCH_MATMUL: reductions.batch_matmul,
    Code.BATCH_TO_SPACE_ND: windows.batch_to_space,
    Code.BIDIRECTIONAL_SEQUENCE_LSTM: recurrent.bidirectional_lstm,
    Code.BIDIRECTIONAL_SEQUENCE_RNN: recurrent.bidirectional_rnn,
    Code.CAST: elementwise.cast,
    Code.CONCATENATION: folded_or(shaping.concatenation, folding.concatenation),
    Code.CONV_2D: weights.convolution,
    Code.CUSTOM: custom.custom,
    Code.DENSIFY: elementwise.densify,
    Code.DEPTHWISE_CONV_2D: weights.depthwise,
    Code.DEPTH_TO_SPACE: windows.depth(
        pb.OPERATION_TYPE_DEPTH_TO_SPACE, schema.DepthToSpaceOptionsT
    ),
    Code.DEQUANTIZE: elementwise.dequantize,
    Code.DIV: elementwise.divided,
    Code.ELU: elementwise.elu,
    Code.EMBEDDING_LOOKUP: reductions.embedding_lookup,
    Code.EQUAL: plain(pb.OPERATION_TYPE_EQUAL),
    Code.EXP: real(pb.OPERATION_TYPE_EXP),
    Code.EXPAND_DIMS: shaping.reshape,
    Code.FILL: shaping.fill,
    Code.FLOOR: plain(pb.OPERATION_TYPE_FLOOR),
    Code.FULLY_CONNECTED: weights.fully_connected,
    Code.GATHER: folded_or(shaping.gather, folding.gather),
    Code.GREATER: plain(pb.OPERATION_TYPE_GREATER),
    Code.GREATER_EQUAL: plain(pb.OPERATION_TYPE_GREATER_EQUAL),
    Code.HARD_SWISH: plain(pb.OPERATION_TYPE_HARD_SWISH),
    Code.IF: control_flow.if_,
    Code.L2_NORMALIZATION: windows.l2_normalization,
    Code.L2_POOL_2D: windows.pool(pb.OPERATION_TYPE_L2_POOL_2D),
    Code.LEAKY_RELU: elementwise.leaky_relu,
    Code.LESS: plain(pb.OPERATION_TYPE_LESS),
    Code.LESS_EQUAL: plain(pb.OPERATION_TYPE_LESS_EQUAL),
    Code.LOCAL_RESPONSE_NORMALIZATION: windows.local_response,
    Code.LOG: real(pb.OPERATION_TYPE_LOG),
    Code.LOGICAL_AND: plain(pb.OPERATION_TYPE_LOGICAL_AND),
    Code.LOGICAL_NOT: plain(pb.OPERATION_TYPE_LOGICAL_NOT),
    Code.LOGICAL_OR: plain(pb.OPERATION_TYPE_LOGICAL_OR),
    Code.LOGISTIC: plain(pb.OPERATION_TYPE_LOGISTIC),
    Code.LOG_SOFTMAX: elementwise.log_softmax,
    Code.LSTM: recurrent.lstm,
    Code.MAXIMUM: plain(pb.OPERATION_TYPE_MAXIMUM),
    Code.MAX_POOL_2D: windows.pool(pb.OPERATION_TYPE_MAX_POOL_2D),
    Code.MEAN: reduction(pb.OPERATION_TYPE_MEAN),
    Code.MINIMUM: plain(pb.OPERATION_TYPE_MINIMUM),
    Code.MIRROR_PAD: shaping.mirror_pad,
    Code.MUL: folded_or(activated(pb.OPERATION_TYPE_MUL, schema.MulOptionsT), folding.product),
    Code.NEG: plain(pb.OPERATION_TYPE_NEG),
    Code.NOT_EQUAL: plain(pb.OPERATION_TYPE_NOT_EQUAL),
    Code.PACK: folded_or(shaping.pack, folding.pack),
    Code.PAD: with_numbers(pb.OPERATION_TYPE_PAD, "paddings"),
    Code.PADV2: shaping.pad_with,
    Code.POW: plain(pb.OPERATION_TYPE_POW),
    Code.PRELU: plain(pb.OPERATION_TYPE_PRELU),
    Code.QUANTIZE: elementwise.quantize,
    Code.RANK: folding.rank,
    Code.REDUCE_ALL: reduction(pb.OPERATION_TYPE_REDUCE_ALL),
    Code.REDUCE_ANY: reduction(pb.OPERATION_TYPE_REDUCE_ANY),
    Code.REDUCE_MAX: reduction(pb.OPERATION_TYPE_REDUCE_MAX),
    Code.REDUCE_MIN: reduction(pb.OPERATION_TYPE_REDUCE_MIN),
    Code.REDUCE_PROD: folded_or(reduction(pb.OPERATION_TYPE_REDUCE_PROD), folding.product_along),
    Code.RELU: kept(pb.OPERATION_TYPE_RELU),
    Code.RELU6: kept(pb.OPERATION_TYPE_RELU6),
    Code.RELU_N1_TO_1: kept(pb.OPERATION_TYPE_RELU1),
    Code.RESHAPE: shaping.reshape,
    Code.RESIZE_BILINEAR: windows.resize(
        pb.OPERATION_TYPE_RESIZE_BILINEAR, schema.ResizeBilinearOptionsT
    ),
    Code.RESIZE_NEAREST_NEIGHBOR: windows.resize(
        pb.OPERATION_TYPE_RESIZE_NEAREST_NEIGHBOR, schema.ResizeNearestNeighborOptionsT
    ),
    Code.REVERSE_V2: shaping.reverse,
    Code.RNN: recurrent.rnn,
    Code.RSQRT: plain(pb.OPERATION_TYPE_RSQRT),
    Code.SELECT: elementwise.select,
    Code.SELECT_V2: elementwise.select,
    Code.SHAPE: folding.shape,
    Code.SIN: real(pb.OPERATION_TYPE_SIN),
    Code.SLICE: shaping.slice_,
    Code.SOFTMAX: elementwise.softmax,
    Code.SPACE_TO_BATCH_ND: windows.space_to_batch,
    Code.SPACE_TO_DEPTH: windows.depth(
        pb.OPERATION_TYPE_SPACE_TO_DEPTH, schema.SpaceToDepthOptionsT
    ),
    Code.SPLIT: shaping.split,
    Code.SPLIT_V: shaping.split_unevenly,
    Code.SQRT: real(pb.OPERATION_TYPE_SQRT),
    Code.SQUARE: elementwise.square,
    Code.SQUARED_DIFFERENCE: elementwise.squared_difference,
    Code.SQUEEZE: shaping.reshape,
    Code.STRIDED_SLICE: folded_or(slicing.strided_slice, folding.strided_slice),
    Code.SUB: activated(pb.OPERATION_TYPE_SUB, schema.SubOptionsT),
    Code.SUM: reduction(pb.OPERATION_TYPE_REDUCE_SUM),
    Code.SVDF: recurrent.svdf,
    Code.TANH: plain(pb.OPERATION_TYPE_TANH),
    Code.TILE: with_numbers(pb.OPERATION_TYPE_TILE, "multiples"),
    Code.TOPK_V2: reductions.top_k,
    Code.TRANSPOSE: with_numbers(pb.OPERATION_TYPE_TRANSPOSE, "order of axes"),
    Code.TRANSPOSE_CONV: weights.transposed,
    Code.UNIDIRECTIONAL_SEQUENCE_LSTM: recurrent.sequence_lstm,
    Code.UNIDIRECTIONAL_SEQUENCE_RNN: recurrent.sequence_rnn,
    Code.UNPACK: shaping.unpack,
    Code.WHILE: control_flow.while_,
    Code.ZEROS_LIKE: folding.zeros_like,
}
