# SPDX-License-Identifier: Apache-2.0
"""What Halyard needs of the TFLite flatbuffer schema, version 3: codes, and fields of tables."""

from __future__ import annotations

import enum
from dataclasses import dataclass

VERSION = 3
FILE_IDENTIFIER = b"TFL3"
# Buffers start at multiples of this in the file, so that a runtime can use them where they are.
BUFFER_ALIGNMENT = 16


class TensorType(enum.IntEnum):
    FLOAT32 = 0
    INT32 = 2
    UINT8 = 3
    INT16 = 7
    INT8 = 9


class BuiltinOperator(enum.IntEnum):
    ADD = 0
    AVERAGE_POOL_2D = 1
    CONCATENATION = 2
    CONV_2D = 3
    DEPTHWISE_CONV_2D = 4
    DEQUANTIZE = 6
    FULLY_CONNECTED = 9
    LOGISTIC = 14
    LSTM = 16
    MAX_POOL_2D = 17
    MUL = 18
    RELU = 19
    RELU_N1_TO_1 = 20
    RELU6 = 21
    RESHAPE = 22
    RESIZE_BILINEAR = 23
    SOFTMAX = 25
    CUSTOM = 32
    PAD = 34
    TRANSPOSE = 39
    MEAN = 40
    SUB = 41
    UNIDIRECTIONAL_SEQUENCE_LSTM = 44
    SPLIT = 49
    CAST = 53
    RSQRT = 76
    QUANTIZE = 114
    HARD_SWISH = 117
    BATCH_MATMUL = 126


class BuiltinOptions(enum.IntEnum):
    NONE = 0
    CONV_2D = 1
    DEPTHWISE_CONV_2D = 2
    POOL_2D = 5
    FULLY_CONNECTED = 8
    SOFTMAX = 9
    CONCATENATION = 10
    ADD = 11
    LSTM = 14
    RESIZE_BILINEAR = 15
    RESHAPE = 17
    MUL = 21
    PAD = 22
    TRANSPOSE = 26
    REDUCER = 27
    SUB = 28
    SPLIT = 35
    CAST = 37
    DEQUANTIZE = 38
    UNIDIRECTIONAL_SEQUENCE_LSTM = 71
    QUANTIZE = 89
    HARD_SWISH = 91
    BATCH_MAT_MUL = 101


class Padding(enum.IntEnum):
    SAME = 0
    VALID = 1


class Kind(enum.Enum):
    """The type of a table's field."""

    INT8 = "int8"  # also the one-byte enumerations
    UINT8 = "uint8"
    INT32 = "int32"
    UINT32 = "uint32"
    FLOAT32 = "float32"
    BOOL = "bool"
    OFFSET = "offset"  # to a table, vector or string


@dataclass(frozen=True)
class Field:
    """A field of a table: its number in the schema, and its type."""

    number: int
    kind: Kind


# One class per table; the attributes are named as the schema names the fields.


class Model:
    FIELDS = 5
    VERSION = Field(0, Kind.UINT32)
    OPERATOR_CODES = Field(1, Kind.OFFSET)
    SUBGRAPHS = Field(2, Kind.OFFSET)
    DESCRIPTION = Field(3, Kind.OFFSET)
    BUFFERS = Field(4, Kind.OFFSET)


class OperatorCode:
    FIELDS = 4
    DEPRECATED_BUILTIN_CODE = Field(0, Kind.INT8)
    CUSTOM_CODE = Field(1, Kind.OFFSET)
    VERSION = Field(2, Kind.INT32)
    BUILTIN_CODE = Field(3, Kind.INT32)


class SubGraph:
    FIELDS = 5
    TENSORS = Field(0, Kind.OFFSET)
    INPUTS = Field(1, Kind.OFFSET)
    OUTPUTS = Field(2, Kind.OFFSET)
    OPERATORS = Field(3, Kind.OFFSET)
    NAME = Field(4, Kind.OFFSET)


class Tensor:
    FIELDS = 6
    SHAPE = Field(0, Kind.OFFSET)
    TYPE = Field(1, Kind.INT8)
    BUFFER = Field(2, Kind.UINT32)
    NAME = Field(3, Kind.OFFSET)
    QUANTIZATION = Field(4, Kind.OFFSET)
    IS_VARIABLE = Field(5, Kind.BOOL)


class QuantizationParameters:
    FIELDS = 7
    SCALE = Field(2, Kind.OFFSET)
    ZERO_POINT = Field(3, Kind.OFFSET)
    QUANTIZED_DIMENSION = Field(6, Kind.INT32)


class Operator:
    FIELDS = 9
    OPCODE_INDEX = Field(0, Kind.UINT32)
    INPUTS = Field(1, Kind.OFFSET)
    OUTPUTS = Field(2, Kind.OFFSET)
    BUILTIN_OPTIONS_TYPE = Field(3, Kind.UINT8)
    BUILTIN_OPTIONS = Field(4, Kind.OFFSET)
    CUSTOM_OPTIONS = Field(5, Kind.OFFSET)
    INTERMEDIATES = Field(8, Kind.OFFSET)


class Buffer:
    FIELDS = 1
    DATA = Field(0, Kind.OFFSET)


class Conv2DOptions:
    PADDING = Field(0, Kind.INT8)
    STRIDE_W = Field(1, Kind.INT32)
    STRIDE_H = Field(2, Kind.INT32)
    FUSED_ACTIVATION_FUNCTION = Field(3, Kind.INT8)
    DILATION_W_FACTOR = Field(4, Kind.INT32)
    DILATION_H_FACTOR = Field(5, Kind.INT32)


class DepthwiseConv2DOptions:
    PADDING = Field(0, Kind.INT8)
    STRIDE_W = Field(1, Kind.INT32)
    STRIDE_H = Field(2, Kind.INT32)
    DEPTH_MULTIPLIER = Field(3, Kind.INT32)
    FUSED_ACTIVATION_FUNCTION = Field(4, Kind.INT8)
    DILATION_W_FACTOR = Field(5, Kind.INT32)
    DILATION_H_FACTOR = Field(6, Kind.INT32)


class Pool2DOptions:
    PADDING = Field(0, Kind.INT8)
    STRIDE_W = Field(1, Kind.INT32)
    STRIDE_H = Field(2, Kind.INT32)
    FILTER_WIDTH = Field(3, Kind.INT32)
    FILTER_HEIGHT = Field(4, Kind.INT32)
    FUSED_ACTIVATION_FUNCTION = Field(5, Kind.INT8)


class FullyConnectedOptions:
    FUSED_ACTIVATION_FUNCTION = Field(0, Kind.INT8)


class SoftmaxOptions:
    BETA = Field(0, Kind.FLOAT32)


class ConcatenationOptions:
    AXIS = Field(0, Kind.INT32)


class AddOptions:
    FUSED_ACTIVATION_FUNCTION = Field(0, Kind.INT8)


class MulOptions:
    FUSED_ACTIVATION_FUNCTION = Field(0, Kind.INT8)


class ReducerOptions:
    KEEP_DIMS = Field(0, Kind.BOOL)


class SubOptions:
    FUSED_ACTIVATION_FUNCTION = Field(0, Kind.INT8)


class SplitOptions:
    NUM_SPLITS = Field(0, Kind.INT32)


class CastOptions:
    IN_DATA_TYPE = Field(0, Kind.INT8)
    OUT_DATA_TYPE = Field(1, Kind.INT8)


class ResizeBilinearOptions:
    ALIGN_CORNERS = Field(2, Kind.BOOL)
    HALF_PIXEL_CENTERS = Field(3, Kind.BOOL)


class BatchMatMulOptions:
    ADJ_X = Field(0, Kind.BOOL)
    ADJ_Y = Field(1, Kind.BOOL)


class LSTMOptions:
    FUSED_ACTIVATION_FUNCTION = Field(0, Kind.INT8)
    CELL_CLIP = Field(1, Kind.FLOAT32)
    PROJ_CLIP = Field(2, Kind.FLOAT32)


class UnidirectionalSequenceLSTMOptions:
    FUSED_ACTIVATION_FUNCTION = Field(0, Kind.INT8)
    CELL_CLIP = Field(1, Kind.FLOAT32)
    PROJ_CLIP = Field(2, Kind.FLOAT32)
    TIME_MAJOR = Field(3, Kind.BOOL)
