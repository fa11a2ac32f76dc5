# SPDX-License-Identifier: Apache-2.0
"""Halyard's own files whose dimensions are unspecified: inputs get them on the command line, and
all else as the driver infers it."""

from pathlib import Path

import numpy as np
import pytest

from halyard.conversion import convert
from halyard.errors import HalyardError
from halyard.model import ModelBuilder, TensorType
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import OpenDimensions, Shapes
from halyard.proto import halyard_pb2 as pb

_FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32


def model() -> pb.Model:
    """A convolution that halves the size of its image, and a mean."""
    builder = ModelBuilder("open")
    x = builder.input("x", TensorType(_FLOAT, (0, 0, 0, 2)))
    filters = builder.constant("w", TensorType(_FLOAT, (3, 1, 1, 2)), np.ones((3, 1, 1, 2), "f4"))
    bias = builder.constant("b", TensorType(_FLOAT, (3,)), np.zeros(3, "f4"))
    same, stride, none = builder.int32(1), builder.int32(2), builder.int32(0)
    narrow = TensorType(_FLOAT, (0, 0, 0, 3))
    [y] = builder.operation_n(
        pb.OPERATION_TYPE_CONV_2D, [x, filters, bias, same, stride, stride, none], [("y", narrow)]
    )
    axes, keep = builder.vector("axes", [1, 2]), builder.int32(0)
    [z] = builder.operation_n(
        pb.OPERATION_TYPE_MEAN, [y, axes, keep], [("z", TensorType(_FLOAT, (0, 3)))]
    )
    return builder.build([z])


def read(made: pb.Model, folder: Path, *shape: str) -> pb.Model:
    path = folder / "model.pb"
    path.write_bytes(made.SerializeToString())
    return convert(path, ReadOptions(Shapes.parse(shape, []))).model


def test_all_shapes_follow_from_those_of_inputs(tmp_path: Path) -> None:
    found = read(model(), tmp_path, "5,9,6,2")
    shapes = {each.name: list(each.dimensions) for each in found.main.operands}
    assert (shapes["x"], shapes["y"], shapes["z"]) == ([5, 9, 6, 2], [5, 5, 3, 3], [5, 3])


def test_a_model_of_unknown_rank_inside_gets_one(tmp_path: Path) -> None:
    made = model()
    for operand in made.main.operands:
        if operand.name in ("y", "z"):
            operand.ClearField("dimensions")
    found = read(made, tmp_path, "1,4,4,2")
    assert [list(each.dimensions) for each in found.main.operands if each.name == "y"] == [
        [1, 2, 2, 3]
    ]


def test_what_is_open_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OpenDimensions, match=r"'x' \[\?, \?, \?, 2\]: dimension 1 and dimension 2"):
        read(model(), tmp_path)


def test_shapes_that_contradict_are_refused(tmp_path: Path) -> None:
    made = model()
    [y] = [each for each in made.main.operands if each.name == "y"]
    y.dimensions[:] = [0, 7, 0, 3]
    with pytest.raises(HalyardError, match=r"shapes do not follow .*operation 0 \(CONV_2D\)"):
        read(made, tmp_path, "1,4,4,2")
    with pytest.raises(HalyardError, match="an input takes 8000000000 bytes"):
        read(model(), tmp_path, "1,100000,10000,2")
