# SPDX-License-Identifier: Apache-2.0
"""Operands by the names that the driver prints."""

import pytest

from halyard.model import ModelBuilder, TensorType, operation_name
from halyard.model.call import Call
from halyard.programs import operations
from halyard.proto import halyard_pb2 as pb

FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32


def floats(*shape: int) -> TensorType:
    return TensorType(FLOAT, shape)


def pooled(*scalars: int, layout: bool | None = None) -> Call:
    """AVERAGE_POOL_2D with these integers behind its input."""
    builder = ModelBuilder("pooled")
    arguments = [builder.int32(value) for value in scalars]
    if layout is not None:
        arguments.append(builder.boolean(layout))
    inputs = [builder.input("image", floats(1, 4, 4, 1)), *arguments]
    result = builder.operation(pb.OPERATION_TYPE_AVERAGE_POOL_2D, inputs, "out", floats(1, 2, 2, 1))
    model = builder.build([result])
    return Call(model, model.main.operations[0])


def test_a_name_means_the_same_in_every_form() -> None:
    scheme = pooled(1, 2, 3, 4, 5, 0)
    explicit = pooled(6, 7, 8, 9, 2, 3, 4, 5, 0)
    for call in (scheme, explicit, pooled(1, 2, 3, 4, 5, 0, layout=True)):
        names = ("stride_width", "stride_height", "filter_width", "filter_height")
        assert [call.integer(name) for name in names] == [2, 3, 4, 5]
    assert scheme.integer("padding_scheme") == 1
    assert explicit.integer("padding_left") == 6
    assert not explicit.has("padding_scheme")


@pytest.mark.parametrize("dilated", [False, True])
def test_a_form_is_told_by_types_where_counts_are_alike(dilated: bool) -> None:
    """Ten inputs: an explicit padding, or a scheme, a layout and dilations."""
    builder = ModelBuilder("convolved")
    scalars = [builder.int32(value) for value in (1, 2, 3, 0)]
    scalars += [builder.boolean(True)] if dilated else [builder.int32(4)]
    scalars += [builder.int32(5), builder.int32(6)]
    tensors = (
        builder.input("image", floats(1, 4, 4, 1)),
        builder.input("weights", floats(1, 1, 1, 1)),
        builder.input("bias", floats(1)),
    )
    result = builder.operation(
        pb.OPERATION_TYPE_CONV_2D, [*tensors, *scalars], "out", floats(1, 4, 4, 1)
    )
    model = builder.build([result])
    call = Call(model, model.main.operations[0])
    assert call.has("padding_scheme") == call.has("dilation_width") == dilated
    assert call.integer("activation") == (0 if dilated else 6)
    assert call.flag("layout") == dilated


def test_a_name_may_stand_for_several_operands() -> None:
    builder = ModelBuilder("joined")
    parts = [builder.input(f"part_{number}", floats(1, 2)) for number in range(3)]
    inputs = [*parts, builder.int32(1)]
    result = builder.operation(pb.OPERATION_TYPE_CONCATENATION, inputs, "out", floats(1, 6))
    model = builder.build([result])
    call = Call(model, model.main.operations[0])
    assert call.indexes("inputs") == parts
    assert call.integer("axis") == 1


def test_what_is_not_there_has_a_default_or_is_told() -> None:
    call = pooled(1, 2, 3, 4, 5, 0)
    assert not call.flag("layout")
    assert call.integer("dilation_width", 1) == 1
    with pytest.raises(ValueError, match="AVERAGE_POOL_2D has no input filter here"):
        call.index("filter")
    with pytest.raises(ValueError, match="no output scores here"):
        call.output("scores")


def test_an_omitted_operand_is_not_there() -> None:
    builder = ModelBuilder("turned")
    data = builder.input("data", floats(2, 3))
    order = builder.omitted(TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (2,)))
    result = builder.operation(pb.OPERATION_TYPE_TRANSPOSE, [data, order], "out", floats(3, 2))
    model = builder.build([result])
    call = Call(model, model.main.operations[0])
    assert call.has("input")
    assert not call.has("permutation")


def test_operands_that_are_of_no_form_are_told() -> None:
    with pytest.raises(ValueError, match="AVERAGE_POOL_2D has no form with 3 inputs"):
        pooled(1, 2)


def test_every_name_is_there_once_in_a_form() -> None:
    table = operations.table()
    assert len(table) > 100
    for row in table.values():
        assert operation_name(row.code) == row.name
        for form in row.forms:
            for side in (form.inputs, form.outputs):
                assert len({each.name for each in side}) == len(side), row.name
                assert sum(each.repeated for each in side) <= 1, row.name
