# SPDX-License-Identifier: Apache-2.0
"""ONNX files as NNAPI models: the driver computes from them what ONNX Runtime computes from the
files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from halyard import onnx
from halyard.errors import HalyardError
from halyard.model import Conversion, HostPart, NnapiPart
from halyard.proto import halyard_pb2 as pb
from tests.harness import onnx_models
from tests.harness.on_parts import counted, inputs_for, operations, original, problems
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


def read(model: ModelProto, folder: Path) -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


MODELS: dict[str, Callable[[], ModelProto]] = {
    "mobilenet": onnx_models.mobilenet_block,
    "resnet_int8_per_channel": onnx_models.resnet_block_qdq,
    "resnet_int8": lambda: onnx_models.resnet_block_qdq(per_channel=False),
    "resnet_uint8_per_channel": lambda: onnx_models.resnet_block_qdq("u1"),
    "resnet_uint8": lambda: onnx_models.resnet_block_qdq("u1", per_channel=False),
    "transformer": onnx_models.transformer_encoder,
    "mobilenet_float16": lambda: onnx_models.halved(onnx_models.mobilenet_block()),
    "transformer_float16": lambda: onnx_models.halved(onnx_models.transformer_encoder()),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_models_agree_with_onnx_runtime(name: str, seed: int, tmp_path: Path) -> None:
    """8 bits exactly, floats within the limits of compare.py."""
    conversion, path = read(MODELS[name](), tmp_path)
    assert conversion.unmapped == ()
    assert isinstance(conversion.whole, NnapiPart)
    assert problems(conversion, path, seed) == []


def test_images_are_transposed_where_they_come_in_and_nowhere_else(tmp_path: Path) -> None:
    conversion, _ = read(onnx_models.mobilenet_block(), tmp_path)
    assert operations(conversion) == [
        "TRANSPOSE", "CONV_2D", "HARD_SWISH", "CONV_2D", "DEPTHWISE_CONV_2D", "MEAN", "CONV_2D",
        "CONV_2D", "MUL", "ADD", "MUL", "MUL", "CONV_2D", "ADD", "MEAN", "RESHAPE", "RESHAPE",
        "FULLY_CONNECTED", "SOFTMAX",
    ]  # fmt: skip


def test_quantised_operators_become_8_bit_operations(tmp_path: Path) -> None:
    conversion, _ = read(onnx_models.resnet_block_qdq(), tmp_path)
    names = counted(operations(conversion))
    assert (names["QUANTIZE"], names.get("DEQUANTIZE", 0)) == (1, 0)
    operands = conversion.model.main.operands
    filters = [each for each in operands if each.channel_quant.scales]
    assert [each.channel_quant.channel_dim for each in filters] == [0, 0, 3, 0]
    products = (pb.OPERATION_TYPE_CONV_2D, pb.OPERATION_TYPE_DEPTHWISE_CONV_2D)
    biases = [
        operands[each.inputs[2]]
        for each in conversion.model.main.operations
        if each.type in products
    ]
    # Their scales are those of the filters' channels.
    assert [each.scale for each in biases] == [0.0] * 4


def test_operands_are_known_by_the_files_names_and_axes(tmp_path: Path) -> None:
    conversion, _ = read(onnx_models.mobilenet_block(), tmp_path)
    part = conversion.whole
    convolution = next(
        each for each in part.model.main.operations if each.type == pb.OPERATION_TYPE_CONV_2D
    )
    [output] = convolution.outputs
    # The batch normalisation is in it.
    assert part.tensor_names[output].startswith("BatchNormalization")
    assert part.permutations[output] == (0, 2, 3, 1)


def test_ends_have_the_files_types(tmp_path: Path) -> None:
    conversion, _ = read(onnx_models.transformer_encoder(), tmp_path)
    [ids] = conversion.inputs
    assert (ids.dtype, ids.shape) == (np.dtype(np.int64), (1, 6))
    [operand] = [
        conversion.model.main.operands[each] for each in conversion.model.main.input_indexes
    ]
    assert operand.type == pb.OPERAND_TYPE_TENSOR_INT32


# ---- what NNAPI has no word for ------------------------------------------------------------------


def around_an_atan(*, branch: bool = True) -> ModelProto:
    g = Graph(4)
    x = g.op("Conv", g.input("image", (1, 3, 8, 8)), g.weights(4, 3, 3, 3), pads=[1, 1, 1, 1])
    y = g.op("Atan", g.op("Mul", x, g.constant(3)))
    y = g.op("Relu", g.op("Conv", y, g.weights(4, 4, 1, 1)))
    y = g.op("Add", x, y) if branch else y
    return g.model(y, g.op("Mod", x, g.constant(2), fmod=1))


@pytest.mark.parametrize("branch", [False, True])
def test_what_is_not_mapped_is_named_and_left_to_the_host(branch: bool, tmp_path: Path) -> None:
    conversion, path = read(around_an_atan(branch=branch), tmp_path)
    assert [each.text() for each in conversion.unmapped] == [
        "2 Atan 'Atan_5': NNAPI has no operation for it, and none is composed",
        f"{6 if branch else 5} Mod 'Mod_{11 if branch else 10}': "
        "NNAPI has no operation for it, and none is composed",
    ]
    assert [type(part) for part in conversion.parts] == [NnapiPart, HostPart, NnapiPart]
    assert problems(conversion, path) == []
    with pytest.raises(HalyardError, match="2 operators have no mapping to NNAPI"):
        conversion.refuse_unmapped()


def test_all_that_nnapi_runs_is_one_model_too(tmp_path: Path) -> None:
    conversion, _ = read(around_an_atan(branch=True), tmp_path)
    main = conversion.model.main
    assert counted(operations(conversion))["CONV_2D"] == 2
    kinds = [each.type for each in main.operations]
    assert kinds.count(pb.OPERATION_TYPE_CONV_2D) == 2
    assert len(main.input_indexes) == 2


def test_a_cut_goes_through_bytes(tmp_path: Path) -> None:
    g = Graph(5)
    x = g.requantized(g.input("image", (1, 3, 8, 8)), 0.01, 0, "i1")
    w, scales = g.quantized_weights(4, 3, 1, 1)
    x = g.requantized(g.op("Conv", x, w, g.quantized_bias(4, 0.01, scales)), 0.02, 3, "i1")
    y = g.requantized(g.op("Atan", x), 0.02, 0, "i1")
    conversion, path = read(g.model(g.op("Add", x, y)), tmp_path)
    assert [each.operator for each in conversion.unmapped] == ["7 Atan 'Atan_18'"]
    assert problems(conversion, path) == []


def test_what_the_host_gives_in_five_dimensions_stays_there(tmp_path: Path) -> None:
    g = Graph(7)
    x = g.op("Reshape", g.op("Exp", g.input("x", (2, 3, 4))), g.ints(1, 1, 2, 3, 4))
    y = g.op("Squeeze", g.op("Atan", x), g.ints(0))
    conversion, path = read(g.model(g.op("MatMul", y, g.weights(4, 2))), tmp_path)
    assert [each.text() for each in conversion.unmapped] == [
        "2 Atan 'Atan_4': NNAPI has no operation for it, and none is composed",
        "3 Squeeze 'Squeeze_6': 'Atan_4' comes in with more dimensions than NNAPI takes",
    ]
    assert problems(conversion, path) == []


def test_bytes_that_are_read_in_another_scale_are_left_to_the_host(tmp_path: Path) -> None:
    g = Graph()
    x = g.op("QuantizeLinear", g.input("x", (2, 3)), g.constant(0.02), g.constant(0, "i1"))
    y = g.op("Relu", g.op("DequantizeLinear", x, g.constant(0.03), g.constant(0, "i1")))
    conversion, path = read(g.model(y), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "'QuantizeLinear_3' is read in another scale than it was written in"
    ] * 2
    assert problems(conversion, path) == []


def test_an_operator_of_another_domain_is_left_to_the_host(tmp_path: Path) -> None:
    g = Graph(6)
    model = g.model(g.op("Relu", g.input("x", (2, 3))))
    model.graph.node.append(helper.make_node("Fancy", ["Relu_1"], ["fancy"], domain="my.domain"))
    model.graph.output[0].name = "fancy"
    model.opset_import.add(domain="my.domain", version=1)
    conversion, _ = read(model, tmp_path)
    assert [each.text() for each in conversion.unmapped] == [
        "1 my.domain::Fancy '': NNAPI has no operation for it, and none is composed"
    ]


def test_an_output_may_be_an_input_or_another_output(tmp_path: Path) -> None:
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    conversion, path = read(g.model(x, g.op("Identity", x), g.op("Identity", "x")), tmp_path)
    assert problems(conversion, path) == []


def test_an_open_batch_is_one(tmp_path: Path) -> None:
    g = Graph()
    conversion, path = read(g.model(g.op("Relu", g.input("x", ("n", 3)))), tmp_path)
    assert conversion.inputs[0].shape == (1, 3)
    assert original(path, inputs_for(conversion.inputs))[0].shape == (1, 3)


def test_whole_numbers_go_through(tmp_path: Path) -> None:
    g = Graph()
    x = g.op("Add", g.input("x", (2, 3), TensorProto.INT32), g.constant(4, "i4"))
    conversion, path = read(g.model(g.op("Mul", x, x)), tmp_path)
    assert conversion.unmapped == ()
    assert problems(conversion, path) == []


def test_onnx_runtime_computes_what_the_file_says(tmp_path: Path) -> None:
    """A softmax of bytes is one of real numbers that is rounded, not a kernel's of its own."""
    g = Graph()
    x = g.requantized(g.input("x", (256, 16)), 0.02, 0, "i1")
    conversion, path = read(g.model(g.requantized(g.op("Softmax", x), 0.001, -128, "i1")), tmp_path)
    [given] = inputs_for(conversion.inputs)
    values = np.clip(np.rint(given / np.float32(0.02)), -128, 127) * 0.02
    shares = np.exp(values) / np.exp(values).sum(axis=-1, keepdims=True)
    rounded = np.clip(np.rint(shares * 1000), 0, 255) / 1000
    assert np.allclose(original(path, [given])[0], rounded, atol=1e-6)
    assert problems(conversion, path) == []
