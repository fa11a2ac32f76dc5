# SPDX-License-Identifier: Apache-2.0
"""Operations of a model as a model of their own."""

import numpy as np

from halyard.model import ModelBuilder, TensorType, constant
from halyard.model.cut import cut
from halyard.proto import halyard_pb2 as pb

VECTOR = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (64,))


def _chain() -> pb.Model:
    """((in + first) + second) + first: constants of the pool, and scalars that are copied."""
    builder = ModelBuilder("chain")
    value = builder.input("in", VECTOR)
    first = builder.numbers("first", np.full(64, 1, np.float32))
    second = builder.numbers("second", np.full(64, 2, np.float32))
    for name, other in (("a", first), ("b", second), ("c", first)):
        inputs = [value, other, builder.int32(0)]
        value = builder.operation(pb.OPERATION_TYPE_ADD, inputs, name, VECTOR)
    return builder.build([value])


def _names(model: pb.Model, indexes: object) -> list[str]:
    return [model.main.operands[index].name for index in indexes]  # type: ignore[attr-defined]


def test_a_cut_of_all_is_the_model() -> None:
    model = _chain()
    assert cut(model, [0, 1, 2], list(model.main.output_indexes)).model == model


def test_what_comes_from_elsewhere_goes_in_and_what_is_asked_for_comes_out() -> None:
    model = _chain()
    [between] = model.main.operations[1].outputs
    submodel = cut(model, [1], [between])
    main = submodel.model.main
    assert _names(submodel.model, main.input_indexes) == ["a"]
    assert _names(submodel.model, main.output_indexes) == ["b"]
    assert main.operands[submodel.operands[between]].name == "b"
    assert main.operands[main.input_indexes[0]].lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
    assert main.operands[main.output_indexes[0]].lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT


def test_takes_along_the_constants_that_are_needed_and_no_others() -> None:
    submodel = cut(_chain(), [1], [_chain().main.operations[1].outputs[0]]).model
    [second] = [each for each in submodel.main.operands if each.name == "second"]
    assert constant(submodel, second).tolist() == [2.0] * 64
    assert len(submodel.pools[0]) == 256
    assert not [each for each in submodel.main.operands if each.name == "first"]


def test_what_stays_inside_is_a_temporary() -> None:
    model = _chain()
    submodel = cut(model, [1, 2], list(model.main.output_indexes)).model
    [inside] = [each for each in submodel.main.operands if each.name == "b"]
    assert inside.lifetime == pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
