# SPDX-License-Identifier: Apache-2.0
"""Operations of float32 that are written for `halyard bench operators`: LiteRT makes of them what
numpy does."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from halyard import tflite
from halyard.engines.litert import LiteRt
from halyard.errors import NotExpressible
from halyard.model import Array, ModelBuilder, RunnableModel, TensorType
from halyard.proto import halyard_pb2 as pb

FLOATS = pb.OPERAND_TYPE_TENSOR_FLOAT32
SIGNED = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED
SHAPE = (2, 5, 6)
SECOND = np.linspace(0.5, 2.0, 6, dtype=np.float32)

UNARY: dict[str, Callable[[Array], Array]] = {
    "ABS": np.abs,
    "EXP": np.exp,
    "FLOOR": np.floor,
    "LOG": np.log,
    "NEG": np.negative,
    "SQRT": np.sqrt,
    "TANH": np.tanh,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "DIV": np.divide,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "POW": np.power,
    "PRELU": lambda x, slope: np.where(x >= 0, x, x * slope),
}


def litert_of(model: pb.Model, x: Array, folder: Path) -> Array:
    path = folder / "model.tflite"
    path.write_bytes(tflite.write(model))
    loaded = LiteRt().load(path)
    loaded.bind([x.tobytes()])
    [output] = loaded.run()
    return output.reshape(RunnableModel.of(model).outputs[0].shape)


def built(name: str, output: tuple[int, ...], *others: Callable[[ModelBuilder], int]) -> pb.Model:
    builder = ModelBuilder(name)
    inputs = [builder.input("x", TensorType(FLOATS, SHAPE)), *(add(builder) for add in others)]
    operation = pb.OperationType.Value(f"OPERATION_TYPE_{name}")
    return builder.build([builder.operation(operation, inputs, "y", TensorType(FLOATS, output))])


def second(builder: ModelBuilder) -> int:
    return builder.numbers("second", SECOND)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_an_element(name: str, tmp_path: Path) -> None:
    x = np.random.default_rng(1).uniform(0.1, 3, SHAPE).astype(np.float32)
    x = x if name in ("LOG", "SQRT") else x - 1
    found = litert_of(built(name, SHAPE), x, tmp_path)
    np.testing.assert_allclose(found, UNARY[name](x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_elements(name: str, tmp_path: Path) -> None:
    x = np.random.default_rng(2).uniform(-2, 2, SHAPE).astype(np.float32)
    x = np.abs(x) if name == "POW" else x
    others = [second, lambda builder: builder.int32(0)] if name == "DIV" else [second]
    found = litert_of(built(name, SHAPE, *others), x, tmp_path)
    np.testing.assert_allclose(found, BINARY[name](x, SECOND), rtol=1e-5)


@pytest.mark.parametrize(("mode", "name"), [(0, "reflect"), (1, "symmetric")])
def test_mirrors(mode: int, name: str, tmp_path: Path) -> None:
    amounts = [(0, 1), (2, 1), (3, 0)]
    padded = tuple(extent + sum(pair) for extent, pair in zip(SHAPE, amounts, strict=True))
    pairs = np.array(amounts, "<i4")
    model = built(
        "MIRROR_PAD",
        padded,
        lambda builder: builder.constant(
            "paddings", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, pairs.shape), pairs
        ),
        lambda builder: builder.int32(mode),
    )
    x = np.random.default_rng(3).uniform(-1, 1, SHAPE).astype(np.float32)
    expected = np.pad(x, amounts, mode="reflect" if name == "reflect" else "symmetric")
    np.testing.assert_array_equal(litert_of(model, x, tmp_path), expected)


def test_slices(tmp_path: Path) -> None:
    model = built(
        "SLICE",
        (1, 3, 6),
        lambda builder: builder.vector("begin", [1, 2, 0]),
        lambda builder: builder.vector("size", [1, 3, 6]),
    )
    x = np.random.default_rng(4).uniform(-1, 1, SHAPE).astype(np.float32)
    np.testing.assert_array_equal(litert_of(model, x, tmp_path), x[1:2, 2:5])


def test_of_8_bits_they_are_not_written() -> None:
    builder = ModelBuilder("bytes")
    kind = TensorType(SIGNED, SHAPE, 0.5, 3)
    x = builder.input("x", kind)
    y = builder.operation(pb.OPERATION_TYPE_MAXIMUM, [x, x], "y", kind)
    with pytest.raises(NotExpressible, match="of float32 alone"):
        tflite.write(builder.build([y]))
