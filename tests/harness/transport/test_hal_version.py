# SPDX-License-Identifier: Apache-2.0
"""Which HAL version a model needs."""

import pytest

from halyard.devices import Wire
from halyard.errors import ConfigError, HalyardError
from halyard.model import ModelBuilder, TensorType
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version

FLOATS = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4))


def unary(operation: int, data: TensorType, result: TensorType, **options: bool) -> pb.Model:
    builder = ModelBuilder("unary", **options)
    operand = builder.input("data", data)
    return builder.build([builder.operation(operation, [operand], "result", result)])


@pytest.mark.parametrize("version", hal_version.ALL + hal_version.AIDL)
def test_names_and_versions_convert_both_ways(version: pb.HalVersion) -> None:
    assert hal_version.parse(hal_version.format(version)) == version


@pytest.mark.parametrize("text", ["1.4", "1", "", "newest", "01.2", "AIDL-5", "AIDL"])
def test_other_names_are_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ConfigError, match=r"one of 1\.0, 1\.1, 1\.2, 1\.3, AIDL-1, .*AIDL-4"):
        hal_version.parse(text)


def test_names_of_aidl_versions_are_read_in_any_case() -> None:
    assert hal_version.format(pb.HAL_VERSION_AIDL_2) == "AIDL-2"
    for text in ("aidl-2", "aidl2", "AIDL2"):
        assert hal_version.parse(text) == pb.HAL_VERSION_AIDL_2


def test_a_choice_names_the_wires_that_carry_it() -> None:
    def wires(text: str | None) -> list[Wire]:
        return list(hal_version.choose(text).wires)

    assert wires(None) == wires("1.2") == wires("1.0..1.3") == wires("all") == [Wire.HIDL]
    assert wires("aidl") == wires("AIDL") == wires("aidl3") == wires("aidl1..aidl4") == [Wire.AIDL]
    assert wires("1.3..aidl1") == [Wire.HIDL, Wire.AIDL]


def test_the_newest_of_aidl_is_no_version_of_its_own() -> None:
    chosen = hal_version.choose("aidl")
    assert (chosen.versions, chosen.newest_of) == ((), Wire.AIDL)
    assert hal_version.choose("aidl2..aidl4").versions == hal_version.AIDL[1:]
    assert hal_version.newest_of([Wire.HIDL, Wire.AIDL]) == pb.HAL_VERSION_AIDL_4
    assert hal_version.newest_of([Wire.HIDL]) == pb.HAL_VERSION_1_3


def test_later_versions_are_larger_numbers() -> None:
    numbers = [int(version) for version in hal_version.ALL + hal_version.AIDL]
    assert numbers == sorted(numbers)


def test_the_driver_tells_the_lowest_version_of_each_model() -> None:
    signed = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED, (1, 4), 0.5)
    halves = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT16, (1, 4))
    models = [
        unary(pb.OPERATION_TYPE_RELU, FLOATS, FLOATS),
        unary(pb.OPERATION_TYPE_RELU, FLOATS, FLOATS, relaxed=True),
        unary(pb.OPERATION_TYPE_RELU, halves, halves),
        unary(pb.OPERATION_TYPE_RELU, signed, signed),
    ]
    assert hal_version.lowest_versions(models) == list(hal_version.ALL)
    assert [hal_version.lowest_version(model) for model in models] == list(hal_version.ALL)


def test_of_no_models_there_are_no_versions() -> None:
    assert hal_version.lowest_versions([]) == []


def test_an_operation_that_the_driver_lacks_counts_with_its_own_version() -> None:
    model = unary(pb.OPERATION_TYPE_OEM_OPERATION, FLOATS, FLOATS)
    assert hal_version.lowest_version(model) == pb.HAL_VERSION_1_0


def test_a_model_that_is_never_valid_has_none_and_the_driver_says_why() -> None:
    integers = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (1, 4))
    never = unary(pb.OPERATION_TYPE_RELU, integers, integers)
    valid = unary(pb.OPERATION_TYPE_RELU, FLOATS, FLOATS)
    assert hal_version.lowest_versions([never, valid]) == [
        pb.HAL_VERSION_UNSPECIFIED,
        pb.HAL_VERSION_1_0,
    ]
    with pytest.raises(HalyardError, match=r"carry unary: .*the input .* is TENSOR_INT32"):
        hal_version.lowest_version(never)
