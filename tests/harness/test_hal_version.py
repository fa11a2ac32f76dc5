# SPDX-License-Identifier: Apache-2.0
"""Which HAL version a model needs."""

import pytest

from halyard import hal_version
from halyard.errors import ConfigError
from halyard.model import ModelBuilder, TensorType
from halyard.proto import halyard_pb2 as pb

FLOATS = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4))


def unary(operation: int, data: TensorType, result: TensorType, **options: bool) -> pb.Model:
    builder = ModelBuilder("unary", **options)
    operand = builder.input("data", data)
    return builder.build([builder.operation(operation, [operand], "result", result)])


@pytest.mark.parametrize("version", hal_version.ALL)
def test_names_and_versions_convert_both_ways(version: pb.HalVersion) -> None:
    assert hal_version.parse(hal_version.format(version)) == version


@pytest.mark.parametrize("text", ["1.4", "1", "", "newest", "01.2"])
def test_other_names_are_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ConfigError, match=r"one of 1\.0, 1\.1, 1\.2, 1\.3"):
        hal_version.parse(text)


def test_a_float_model_of_old_operations_needs_1_0() -> None:
    model = unary(pb.OPERATION_TYPE_RELU, FLOATS, FLOATS)
    assert hal_version.required(model) == pb.HAL_VERSION_1_0


def test_a_relaxed_model_needs_1_1() -> None:
    model = unary(pb.OPERATION_TYPE_RELU, FLOATS, FLOATS, relaxed=True)
    assert hal_version.required(model) == pb.HAL_VERSION_1_1


@pytest.mark.parametrize(
    ("operand_type", "scale", "version"),
    [
        (pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, 0.5, pb.HAL_VERSION_1_0),
        (pb.OPERAND_TYPE_TENSOR_FLOAT16, 0.0, pb.HAL_VERSION_1_2),
        (pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED, 0.5, pb.HAL_VERSION_1_3),
    ],
)
def test_operand_types_need_the_version_that_brought_them(
    operand_type: int, scale: float, version: pb.HalVersion
) -> None:
    tensor = TensorType(operand_type, (1, 4), scale)
    assert hal_version.required(unary(pb.OPERATION_TYPE_RELU, tensor, tensor)) == version


@pytest.mark.parametrize(
    ("operation", "version"),
    [
        (pb.OPERATION_TYPE_TANH, pb.HAL_VERSION_1_0),
        (pb.OPERATION_TYPE_BATCH_TO_SPACE_ND, pb.HAL_VERSION_1_1),
        (pb.OPERATION_TYPE_TRANSPOSE, pb.HAL_VERSION_1_1),
        (pb.OPERATION_TYPE_ABS, pb.HAL_VERSION_1_2),
        (pb.OPERATION_TYPE_RESIZE_NEAREST_NEIGHBOR, pb.HAL_VERSION_1_2),
        (pb.OPERATION_TYPE_QUANTIZED_LSTM, pb.HAL_VERSION_1_3),
        (pb.OPERATION_TYPE_HARD_SWISH, pb.HAL_VERSION_1_3),
    ],
)
def test_operations_need_the_version_that_brought_them(
    operation: int, version: pb.HalVersion
) -> None:
    assert hal_version.required(unary(operation, FLOATS, FLOATS)) == version


@pytest.mark.parametrize(
    ("output_scale", "version"),
    [(0.26, pb.HAL_VERSION_1_0), (0.25, pb.HAL_VERSION_1_2), (0.1, pb.HAL_VERSION_1_2)],
)
def test_an_output_as_fine_as_its_sums_needs_1_2(
    output_scale: float, version: pb.HalVersion
) -> None:
    quantized = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
    builder = ModelBuilder("dense")
    inputs = [
        builder.input("data", TensorType(quantized, (1, 4), 0.5)),
        builder.input("weights", TensorType(quantized, (2, 4), 0.5)),
        builder.input("bias", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (2,), 0.25)),
        builder.int32(0),
    ]
    output = TensorType(quantized, (1, 2), output_scale)
    result = builder.operation(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, "result", output)
    assert hal_version.required(builder.build([result])) == version


def test_a_tensor_of_unknown_rank_needs_1_2() -> None:
    unknown = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, ())
    model = unary(pb.OPERATION_TYPE_RELU, unknown, FLOATS)
    assert hal_version.required(model) == pb.HAL_VERSION_1_2


def test_control_flow_needs_1_3() -> None:
    model = unary(pb.OPERATION_TYPE_RELU, FLOATS, FLOATS)
    model.referenced.add()
    assert hal_version.required(model) == pb.HAL_VERSION_1_3
