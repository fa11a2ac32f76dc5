# SPDX-License-Identifier: Apache-2.0
"""A model as text: all that it is made of, whatever is wrong with it."""

import numpy as np

from halyard.model import ModelBuilder, TensorType
from halyard.model.text import as_text
from halyard.proto import halyard_pb2 as pb

FLOATS = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (2,))
MANY = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (3, 4), 0.5, 128)


def built() -> pb.Model:
    builder = ModelBuilder("little")
    x = builder.input("x", FLOATS)
    ten = builder.constant("ten", FLOATS, np.array([10, 0.1], np.float32))
    y = builder.operation(pb.OPERATION_TYPE_ADD, [x, ten, builder.int32(0)], "y", FLOATS)
    return builder.build([y])


def test_names_operations_and_what_they_read_and_write() -> None:
    assert as_text(built()).splitlines() == [
        "main: little",
        "  in  %0 x FLOAT32[2]",
        "  out %3 y FLOAT32[2]",
        "  0   ADD -> %3 y",
        "        %0 x FLOAT32[2]",
        "        %1 ten FLOAT32[2] = [10, 0.100000001]",
        "        %2 INT32 = 0",
    ]


def test_cuts_a_long_constant_and_tells_a_quantised_ones_scale() -> None:
    builder = ModelBuilder("long")
    values = builder.constant("w", MANY, np.arange(12, dtype=np.uint8).reshape(3, 4))
    y = builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [values], "y", FLOATS)
    assert (
        "%0 w QUANT8_ASYMM[3, 4] scale 0.5 zero point 128 = [0, 1, 2, 3, 4, 5, 6, 7, ...]"
        in as_text(builder.build([y]))
    )


def test_shows_subgraphs() -> None:
    model = built()
    model.referenced.add().operations.add(type=pb.OPERATION_TYPE_FLOOR)
    assert as_text(model).splitlines()[-3:] == ["", "subgraph 0", "  0   FLOOR -> "]


def test_shows_what_is_wrong_as_a_question() -> None:
    model = built()
    model.main.operations[0].inputs.append(99)
    model.main.operands[1].location.length = 2**31
    model.main.operands[2].type = 77
    model.main.output_indexes.append(50)
    text = as_text(model)
    assert "%99 ?" in text
    assert "%1 ten FLOAT32[2] = ?" in text
    assert "%50 ?" in text
