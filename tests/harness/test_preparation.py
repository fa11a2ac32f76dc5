# SPDX-License-Identifier: Apache-2.0
"""What the driver does not prepare is found with the reason, operation by operation."""

from halyard.model import ModelBuilder, TensorType
from halyard.preparation import WHOLE, troubles
from halyard.proto import halyard_pb2 as pb

FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32
ROW, COLUMN = TensorType(FLOAT, (1, 4)), TensorType(FLOAT, (4,))


def product(builder: ModelBuilder, source: int, output: TensorType) -> int:
    """Of a [4] with itself."""
    inputs = [source, source, builder.int32(0)]
    return builder.operation(pb.OPERATION_TYPE_MUL, inputs, "product", output)


def mixed() -> pb.Model:
    """Of five operations two have outputs of other shapes than they say."""
    builder = ModelBuilder("mixed")
    source = builder.input("source", COLUMN)
    outputs = [product(builder, source, shape) for shape in (COLUMN, ROW, COLUMN, ROW, COLUMN)]
    return builder.build(outputs)


def invalid() -> pb.Model:
    """Two of three are no operations: TANH of whole numbers."""
    builder = ModelBuilder("invalid")
    whole = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (4,))
    source, numbers = builder.input("source", COLUMN), builder.input("numbers", whole)
    outputs = [
        builder.operation(pb.OPERATION_TYPE_TANH, [each], "tanh", tensor)
        for each, tensor in ((numbers, whole), (source, COLUMN), (numbers, whole))
    ]
    return builder.build(outputs)


def good() -> pb.Model:
    builder = ModelBuilder("good")
    return builder.build([product(builder, builder.input("source", COLUMN), COLUMN)])


def test_finds_each_operation_that_does_not_prepare() -> None:
    reason = "NNAPI's MUL: output 0: shape [1, 4] contradicts [4]"
    assert troubles([good(), mixed(), good()]) == [{}, {1: reason, 3: reason}, {}]


def test_finds_each_operation_that_is_not_valid() -> None:
    [found] = troubles([invalid()])
    assert sorted(found) == [0, 2]
    assert all(reason.startswith("NNAPI's TANH: ") for reason in found.values())


def test_finds_the_later_of_two_that_contradict_each_other() -> None:
    """Each prepares alone: what goes between them has no shape of its own."""
    builder = ModelBuilder("contradiction")
    between = TensorType(FLOAT, (0,))
    source = builder.input("source", COLUMN)
    first = product(builder, source, between)
    inputs = [first, builder.input("other", TensorType(FLOAT, (3,))), builder.int32(0)]
    second = builder.operation(pb.OPERATION_TYPE_ADD, inputs, "sum", TensorType(FLOAT, (3,)))
    [found] = troubles([builder.build([second])])
    assert list(found) == [1]
    assert found[1].startswith("NNAPI's ADD: ")


def test_blames_the_whole_where_no_operation_is_to_blame() -> None:
    model = good()
    model.main.output_indexes.append(0)
    [found] = troubles([model])
    assert list(found) == [WHOLE]


def test_asks_nobody_about_nothing() -> None:
    assert troubles([]) == []
