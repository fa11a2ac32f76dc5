# SPDX-License-Identifier: Apache-2.0
"""Which operations of a model normalise by a variance: those of a layer norm, whatever their
names."""

import pytest

from halyard import zoo
from halyard.model import DataType
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.normalizations import normalizations


@pytest.fixture(scope="module")
def encoder() -> pb.Model:
    return zoo.build("transformer_encoder", DataType.FLOAT32, size=8, width=0.25).model


def test_all_of_a_layer_norm_is_found(encoder: pb.Model) -> None:
    main = encoder.main
    named = {
        number
        for number, operation in enumerate(main.operations)
        if main.operands[operation.outputs[0]].name.startswith("layer_norm")
    }
    assert len(named) == 8 * 9
    assert normalizations(encoder) == named


def test_names_decide_nothing(encoder: pb.Model) -> None:
    nameless = pb.Model()
    nameless.CopyFrom(encoder)
    for operand in nameless.main.operands:
        operand.name = ""
    assert normalizations(nameless) == normalizations(encoder)


def test_a_root_of_no_variance_is_none(encoder: pb.Model) -> None:
    other = pb.Model()
    other.CopyFrom(encoder)
    for operation in other.main.operations:
        if operation.type == pb.OPERATION_TYPE_MEAN:
            operation.type = pb.OPERATION_TYPE_REDUCE_SUM
    assert normalizations(other) == frozenset()


def test_a_network_without_a_root_has_none() -> None:
    model = zoo.build("small_classifier", DataType.FLOAT32, size=16, width=0.35).model
    assert normalizations(model) == frozenset()
