# SPDX-License-Identifier: Apache-2.0
"""Building models: where constants go, and what a finished model says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halyard.model import ModelBuilder, TensorType, constant
from halyard.model.builder import MAX_COPIED_BYTES
from halyard.proto import halyard_pb2 as pb

BYTES = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
FLOATS = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (2,))


def byte_tensor(size: int) -> TensorType:
    return TensorType(BYTES, (size,), scale=1.0)


def finish(builder: ModelBuilder) -> pb.Model:
    data = builder.input("data", FLOATS)
    return builder.build([builder.operation(pb.OPERATION_TYPE_RELU, [data], "relu", FLOATS)])


@given(
    sizes=st.lists(st.integers(1, 3 * MAX_COPIED_BYTES), min_size=1, max_size=12),
    alignment=st.sampled_from([4, 64]),
    seed=st.integers(0, 1 << 32),
)
def test_constants_come_back_as_they_were_given(
    sizes: list[int], alignment: int, seed: int
) -> None:
    builder = ModelBuilder("constants", pool_alignment=alignment)
    random = np.random.default_rng(seed)
    given_values = [random.integers(0, 256, size, np.uint8) for size in sizes]
    indexes = [
        builder.constant(f"c{number}", byte_tensor(values.size), values)
        for number, values in enumerate(given_values)
    ]
    model = finish(builder)
    end = {pb.OPERAND_LIFE_TIME_CONSTANT_COPY: 0, pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE: 0}
    places: dict[bytes, int] = {}
    for index, values in zip(indexes, given_values, strict=True):
        operand = model.main.operands[index]
        np.testing.assert_array_equal(constant(model, operand), values)
        copied = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY
        assert copied == (values.size <= MAX_COPIED_BYTES)
        assert operand.location.offset % (4 if copied else alignment) == 0
        if values.tobytes() in places:
            assert operand.location.offset == places[values.tobytes()]
            continue
        places[values.tobytes()] = operand.location.offset
        assert operand.location.offset >= end[operand.lifetime], "constants overlap"
        end[operand.lifetime] = operand.location.offset + operand.location.length


def test_equal_scalars_share_an_operand() -> None:
    builder = ModelBuilder("scalars")
    assert builder.int32(1) == builder.int32(1)
    assert builder.int32(1) != builder.int32(2)
    assert builder.int32(1) != builder.float32(1)
    assert builder.int32(1) != builder.boolean(True)


def test_equal_constants_lie_in_the_pool_once() -> None:
    builder = ModelBuilder("shared")
    values = np.arange(1000, dtype=np.uint8)
    first = builder.constant("w", byte_tensor(1000), values)
    assert builder.constant("w", byte_tensor(1000), values.copy()) == first
    # Another name, another scale, another shape: other operands of the same bytes.
    others = [
        builder.constant("v", byte_tensor(1000), values),
        builder.constant("w", TensorType(BYTES, (1000,), scale=2.0), values),
        builder.constant("w", TensorType(BYTES, (10, 100), scale=1.0), values.reshape(10, 100)),
    ]
    changed = values.copy()
    changed[-1] += 1
    different = builder.constant("w", byte_tensor(1000), changed)
    model = finish(builder)
    operands = model.main.operands
    assert len({first, different, *others}) == 5
    for index in others:
        assert operands[index].location == operands[first].location
        np.testing.assert_array_equal(constant(model, operands[index]).reshape(-1), values)
    np.testing.assert_array_equal(constant(model, operands[different]), changed)
    assert sum(map(len, model.pools)) < 2 * 1000 + 64


def test_a_constant_of_another_shape_or_type_is_refused() -> None:
    builder = ModelBuilder("refusals")
    with pytest.raises(ValueError, match=r"'w'.*uint8\[4\] given, uint8\[3\] declared"):
        builder.constant("w", byte_tensor(3), np.zeros(4, np.uint8))
    with pytest.raises(ValueError, match="float64"):
        builder.constant("w", FLOATS, np.zeros(2))


def test_an_operation_takes_only_operands_that_are_there() -> None:
    builder = ModelBuilder("order")
    with pytest.raises(ValueError, match="operand 3 is not there yet"):
        builder.operation(pb.OPERATION_TYPE_RELU, [3], "relu", FLOATS)


def test_only_a_written_operand_can_be_an_output() -> None:
    builder = ModelBuilder("outputs")
    data = builder.input("data", FLOATS)
    with pytest.raises(ValueError, match="not written"):
        builder.build([data])


def test_inputs_and_outputs_are_listed_with_their_lifetimes() -> None:
    builder = ModelBuilder("small", relaxed=True)
    a, b = builder.input("a", FLOATS), builder.input("b", FLOATS)
    total = builder.operation(pb.OPERATION_TYPE_ADD, [a, b, builder.int32(0)], "sum", FLOATS)
    model = builder.build([total])
    assert list(model.main.input_indexes) == [a, b]
    assert list(model.main.output_indexes) == [total]
    assert model.main.operands[a].lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
    assert model.main.operands[total].lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT
    assert model.relax_computation_float32_to_float16
    assert not model.pools
