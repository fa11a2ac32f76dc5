# SPDX-License-Identifier: Apache-2.0
"""The ONNX writer: ONNX Runtime computes from it what LiteRT computes from the same weights."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from halyard import onnx, zoo
from halyard.comparison.difference import compare
from halyard.engines import litert
from halyard.engines.litert import LiteRt
from halyard.errors import HalyardError, NotExpressible, PackageMissing
from halyard.model import Array, DataType, ModelBuilder, TensorType
from halyard.model.arguments import Activation, Padding
from halyard.onnx import operators
from halyard.onnx.graph import packed
from halyard.onnx.operators import convert
from halyard.proto import halyard_pb2 as pb
from tests.harness.agreement import disagreements
from tests.harness.on_engine import outputs_of

ort: Any = pytest.importorskip("onnxruntime")

FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32
IMAGE = (1, 6, 5, 4)

needs_litert = pytest.mark.skipif(
    not litert.available(), reason="LiteRT (ai-edge-litert) is not installed"
)


def run(content: bytes, inputs: Sequence[Array]) -> list[Array]:
    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [info.name for info in session.get_inputs()]
    outputs: list[Array] = session.run(None, dict(zip(names, inputs, strict=True)))
    return outputs


# Operations that ONNX has no equivalent for.
REFUSED = {
    "lstm_speech": "whose LSTM has no projection",
    "ssd_mobilenet_v2": "DETECTION_POSTPROCESSING.*ONNX has no operator for it",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_network_that_onnx_has_no_operator_for_is_refused_with_the_reason(name: str) -> None:
    model = zoo.build(name, DataType.FLOAT32, size=33, width=0.35)
    with pytest.raises(NotExpressible, match=REFUSED[name]):
        onnx.write(model.model)


@needs_litert
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in zoo.NAMES
        if DataType.FLOAT32 in zoo.data_types(name) and name not in REFUSED
    ],
)
def test_networks_of_the_zoo_agree_with_litert(name: str) -> None:
    model = zoo.build(name, DataType.FLOAT32, size=32, width=0.35)
    content = onnx.write(model.model)
    inputs = model.input_arrays(3)
    expected = outputs_of(LiteRt(), model.model, inputs)
    differences = [
        compare(info, wanted, found)
        for info, wanted, found in zip(model.outputs, expected, run(content, inputs), strict=True)
    ]
    assert not disagreements(differences, len(model.model.main.operations))


@pytest.mark.parametrize("name", ["mobilenet_v1", "mobilenet_v2", "small_classifier"])
def test_images_are_transposed_where_they_come_in_and_nowhere_else(name: str) -> None:
    graph = convert(zoo.build(name, DataType.FLOAT32, size=32, width=0.35).model)
    assert [node.op_type for node in graph.nodes].count("Transpose") == 1


def test_the_same_model_gives_the_same_file() -> None:
    model = zoo.build("small_classifier", DataType.FLOAT32, size=32).model
    assert onnx.write(model) == onnx.write(model)


@pytest.mark.parametrize("name", ["mobilenet_v3_large", "transformer_encoder"])
def test_what_is_written_is_read(name: str) -> None:
    model = zoo.build(name, DataType.FLOAT32, size=32, width=0.35)
    content = onnx.write(model.model)
    found = onnx.read(content)
    assert found.producer_name == "Halyard"
    for infos, given in (
        (model.inputs, found.graph.input),
        (model.outputs, found.graph.output),
    ):
        for info, value in zip(infos, given, strict=True):
            shape = tuple(extent.dim_value for extent in value.type.tensor_type.shape.dim)
            assert (value.name.partition(":")[2], shape) == (info.name, info.shape)
    inputs = model.input_arrays(2)
    assert all(map(np.array_equal, run(content, inputs), run(packed(found), inputs)))


@pytest.mark.parametrize("content", [b"\xff\xff", b"", b"\x08\x08"])
def test_what_is_no_file_of_it_is_told(content: bytes) -> None:
    with pytest.raises(HalyardError, match="this is no ONNX file"):
        onnx.read(content)


def test_what_a_missing_package_takes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.build("small_classifier", DataType.FLOAT32, size=32).model
    for name in [each for each in sys.modules if each.startswith("halyard.onnx.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PackageMissing, match=r"to write an ONNX file .*halyard\[peers\]"):
        onnx.write(model)
    with pytest.raises(PackageMissing, match="to read an ONNX file"):
        onnx.read(b"")


def test_a_quantised_model_is_refused_with_the_reason() -> None:
    model = zoo.build("small_classifier", DataType.QUANT8_SIGNED, size=32).model
    with pytest.raises(NotExpressible, match="QUANT8_ASYMM_SIGNED is not written"):
        onnx.write(model)


def test_an_unknown_operation_is_refused_by_name() -> None:
    builder = ModelBuilder("strange")
    data = builder.input("data", TensorType(FLOAT, (2, 2)))
    output = builder.operation(pb.OPERATION_TYPE_SIN, [data], "sine", TensorType(FLOAT, (2, 2)))
    with pytest.raises(NotExpressible, match=r"operation 0 \(SIN\)"):
        onnx.write(builder.build([output]))


# ---- single operations, as numpy has them -------------------------------------------------------

Composed = Callable[[ModelBuilder, int, Array], tuple[int, Array]]


def floats(builder: ModelBuilder, name: str, values: Array) -> int:
    return builder.constant(name, TensorType(FLOAT, values.shape), values.astype(np.float32))


def mean(axes: Sequence[int], keep: bool) -> Composed:
    def compose(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
        expected = values.mean(axis=tuple(axes), keepdims=keep)
        inputs = [image, builder.vector("axes", axes), builder.int32(int(keep))]
        shape = TensorType(FLOAT, expected.shape)
        return builder.operation(pb.OPERATION_TYPE_MEAN, inputs, "mean", shape), expected

    return compose


def scaled(shape: tuple[int, ...]) -> Composed:
    def compose(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
        factors = np.arange(1, 1 + np.prod(shape)).reshape(shape)
        inputs = [image, floats(builder, "factors", factors), builder.int32(Activation.RELU6)]
        expected = np.clip(values * factors, 0, 6)
        tensor = TensorType(FLOAT, expected.shape)
        return builder.operation(pb.OPERATION_TYPE_MUL, inputs, "scaled", tensor), expected

    return compose


def padded(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
    pairs = np.array([[0, 0], [1, 0], [2, 1], [0, 3]], np.int32)
    expected = np.pad(values, pairs)
    amounts = builder.constant("pads", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (4, 2)), pairs)
    tensor = TensorType(FLOAT, expected.shape)
    return builder.operation(pb.OPERATION_TYPE_PAD, [image, amounts], "padded", tensor), expected


def joined(axis: int) -> Composed:
    def compose(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
        expected = np.concatenate([values, values], axis)
        tensor = TensorType(FLOAT, expected.shape)
        inputs = [image, image, builder.int32(axis)]
        return builder.operation(pb.OPERATION_TYPE_CONCATENATION, inputs, "two", tensor), expected

    return compose


def dense(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
    weights = np.random.default_rng(5).normal(0, 1, (3, values.size))
    inputs = [
        image,
        floats(builder, "weights", weights),
        floats(builder, "bias", np.arange(3)),
        builder.int32(Activation.NONE),
    ]
    expected = values.reshape(1, -1) @ weights.astype(np.float32).T + np.arange(3)
    tensor = TensorType(FLOAT, (1, 3))
    return builder.operation(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, "dense", tensor), expected


def flattened(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
    expected = values.reshape(1, -1)
    inputs = [image, builder.vector("shape", expected.shape)]
    tensor = TensorType(FLOAT, expected.shape)
    return builder.operation(pb.OPERATION_TYPE_RESHAPE, inputs, "flat", tensor), expected


def function(operation: int, compute: Callable[[Array], Array]) -> Composed:
    def compose(builder: ModelBuilder, image: int, values: Array) -> tuple[int, Array]:
        tensor = TensorType(FLOAT, values.shape)
        return builder.operation(operation, [image], "function", tensor), compute(values)

    return compose


@pytest.mark.parametrize(
    "compose",
    [
        mean([1, 2], keep=True),
        mean([1, 2], keep=False),
        mean([-1], keep=True),
        mean([3], keep=False),
        scaled((4,)),
        scaled((1, 1, 1, 4)),
        scaled((1, 6, 5, 1)),
        scaled((5, 4)),
        padded,
        joined(3),
        joined(-1),
        joined(1),
        dense,
        flattened,
        function(pb.OPERATION_TYPE_RELU1, lambda x: np.clip(x, -1, 1)),
        function(pb.OPERATION_TYPE_RELU6, lambda x: np.clip(x, 0, 6)),
        function(pb.OPERATION_TYPE_TANH, np.tanh),
        function(pb.OPERATION_TYPE_LOGISTIC, lambda x: 1 / (1 + np.exp(-x))),
        function(pb.OPERATION_TYPE_HARD_SWISH, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ],
)
@pytest.mark.parametrize("channels_first", [False, True])
def test_operations_in_either_layout(compose: Composed, channels_first: bool) -> None:
    """After a pooling that changes nothing the image is there with its channels first."""
    values = np.random.default_rng(4).normal(0, 2, IMAGE).astype(np.float32)
    builder = ModelBuilder("one")
    data = builder.input("data", TensorType(FLOAT, IMAGE))
    if channels_first:
        scalars = (Padding.VALID.value, 1, 1, 1, 1, Activation.NONE)
        inputs = [data, *(builder.int32(value) for value in scalars)]
        tensor = TensorType(FLOAT, IMAGE)
        data = builder.operation(pb.OPERATION_TYPE_MAX_POOL_2D, inputs, "same", tensor)
    output, expected = compose(builder, data, values)
    [found] = run(onnx.write(builder.build([output])), [values])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_matrices_are_multiplied_as_their_flags_say() -> None:
    random = np.random.default_rng(6)
    left, right = random.normal(0, 1, (2, 4, 3)), random.normal(0, 1, (2, 5, 4))
    builder = ModelBuilder("product")
    sides = [
        builder.input(name, TensorType(FLOAT, values.shape))
        for name, values in (("left", left), ("right", right))
    ]
    flags = [builder.scalar(pb.OPERAND_TYPE_BOOL, True) for _ in sides]
    product = builder.operation(
        pb.OPERATION_TYPE_BATCH_MATMUL, [*sides, *flags], "product", TensorType(FLOAT, (2, 3, 5))
    )
    inputs = [left.astype(np.float32), right.astype(np.float32)]
    [found] = run(onnx.write(builder.build([product])), inputs)
    expected = left.transpose(0, 2, 1) @ right.transpose(0, 2, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_every_operation_that_is_written_has_a_name() -> None:
    assert all(pb.OperationType.Name(code) for code in operators._HANDLERS)
