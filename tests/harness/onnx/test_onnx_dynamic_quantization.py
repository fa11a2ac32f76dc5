# SPDX-License-Identifier: Apache-2.0
"""Models as ONNX Runtime's dynamic quantiser writes them agree with ONNX Runtime."""

import platform
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx as onnx_package
import pytest
from click.testing import CliRunner
from onnx import ModelProto, TensorProto, helper

from halyard import onnx
from halyard.cli.program import cli
from halyard.model import Conversion
from tests.harness.on_parts import converted, inputs_for, operations, original
from tests.harness.onnx_models import Graph

onnxruntime = pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")

Build = Callable[[Graph], str]


def layers(g: Graph) -> str:
    x = g.op("Gemm", g.input("x", (3, 24)), g.weights(24, 16), g.weights(16))
    return g.op("MatMul", g.op("Relu", x), g.weights(16, 5))


def attention(g: Graph) -> str:
    """One input of several products."""
    x = g.input("x", (2, 7, 16))
    q, k, v = (g.op("Add", g.op("MatMul", x, g.weights(16, 16)), g.weights(16)) for _ in range(3))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 1]))
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def image(g: Graph) -> str:
    x = g.op("Conv", g.input("x", (1, 3, 8, 9)), g.weights(6, 3, 3, 3), g.weights(6), pads=[1] * 4)
    x = g.op("Conv", g.op("Relu", x), g.weights(8, 3, 3, 3), group=2, strides=[2, 2])
    return g.op("MatMul", g.op("GlobalAveragePool", x), g.weights(1, 4))


MODELS: dict[str, Build] = {"layers": layers, "attention": attention, "image": image}


def clips_pairs() -> bool:
    """Whether ONNX Runtime adds pairs of products of 8 bits in 16 here, which clip: on processors
    of the x86 family without VNNI. Its quantiser has weights of 7 bits for these."""
    if platform.machine() != "x86_64":
        return False
    flags = re.findall(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return not {"avx512_vnni", "avx_vnni"} & set(flags[0].split() if flags else ())


REDUCE_RANGE = clips_pairs()


def quantized(build: Build, folder: Path, *, per_channel: bool, unsigned: bool) -> Path:
    g = Graph(11)
    plain, path = folder / "plain.onnx", folder / "model.onnx"
    plain.write_bytes(g.model(build(g)).SerializeToString())
    types = quantization.QuantType
    quantization.quantize_dynamic(
        plain,
        path,
        per_channel=per_channel,
        weight_type=types.QUInt8 if unsigned else types.QInt8,
        reduce_range=REDUCE_RANGE,
    )
    return path


def read(path: Path) -> Conversion:
    return onnx.read_conversion(path.read_bytes(), path)


def close(path: Path, scale: float = 1.0, seed: int = 0) -> None:
    """Within what float sums are apart, and one step of an input that is rounded the other way
    where it lies between two."""
    conversion = read(path)
    assert [each.text() for each in conversion.unmapped] == []
    inputs = [array * np.float32(scale) for array in inputs_for(conversion.inputs, seed)]
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        limit = 1e-5 * max(float(np.abs(wanted).max()), scale)
        apart = np.abs(wanted - found)
        assert np.count_nonzero(apart > limit) <= wanted.size // 10
        assert apart.max() <= 0.01 * np.abs(wanted).max()


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_what_the_dynamic_quantiser_writes_agrees(
    name: str, per_channel: bool, unsigned: bool, tmp_path: Path
) -> None:
    path = quantized(MODELS[name], tmp_path, per_channel=per_channel, unsigned=unsigned)
    kinds = {node.op_type for node in onnx_package.load(path).graph.node}
    assert "DynamicQuantizeLinear" in kinds
    close(path)


def chain(g: Graph) -> str:
    """Each stage magnifies what the rounding before it does."""
    x = g.input("x", (5, 24))
    for _ in range(6):
        x = g.op("Add", x, g.op("Tanh", g.op("MatMul", x, g.weights(24, 24))))
        x = g.op("Mul", x, g.constant(3.0))
    return x


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_agrees_in_each_stage_that_has_onnx_runtime_s_values(
    seed: int, tmp_path: Path
) -> None:
    """A value that is rounded the other way makes the whole differ, by much where there are many
    roundings: fed with the same values, no stage has such a reason."""
    path = quantized(chain, tmp_path, per_channel=False, unsigned=False)
    model = onnx_package.load(path)
    given = model.graph.input[0].name
    rounded = [n for n in model.graph.node if n.op_type == "DynamicQuantizeLinear"]
    stages = [node for node in rounded if node.input[0] != given]
    assert len(stages) == 5
    names = [node.input[0] for node in stages]
    for name in names:
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, (5, 24)))
    path.write_bytes(model.SerializeToString())
    first = inputs_for(read(path).inputs, seed)
    values = original(path, first)[1:]
    for node, name in zip(stages, names, strict=True):
        node.input[0] = f"{name}/given"
        model.graph.input.append(
            helper.make_tensor_value_info(node.input[0], TensorProto.FLOAT, (5, 24))
        )
    path.write_bytes(model.SerializeToString())
    inputs = [*first, *values]
    for wanted, found in zip(original(path, inputs), converted(read(path), inputs), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-6 * float(np.abs(wanted).max()))


def test_input_is_rounded_as_the_file_says(tmp_path: Path) -> None:
    """Not to any number of steps: what is apart by a tenth of one makes no difference."""
    g = Graph()
    path = tmp_path / "model.onnx"
    g = Graph(3)
    x, y = g.input("x", (1, 4)), g.constant(np.eye(4) * 3, "i1")
    whole, scale, zero = g.ops("DynamicQuantizeLinear", x, outputs=3)
    product = g.op("Cast", g.op("MatMulInteger", whole, y, zero), to=TensorProto.FLOAT)
    out = g.op("Mul", product, g.op("Mul", scale, g.constant(1 / 3)))
    path.write_bytes(g.model(out).SerializeToString())
    # Steps of 1/100: 0.5 steps go to the even one.
    values = np.array([[-1.0, 1.55, 0.004, 0.0051]], np.float32)
    [found] = converted(read(path), [values])
    np.testing.assert_allclose(found, [[-1.0, 1.55, 0.0, 0.01]], atol=1e-6)
    [wanted] = original(path, [values])
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("values", [[0, 0, 0, 0], [3, 3, 3, 3], [-2, -1, -1, -2], [1e-30, 0, 0, 0]])
def test_extremes_of_inputs_are_those_of_onnx_runtime(values: list[float], tmp_path: Path) -> None:
    """Of no extent, and on one side of 0 alone, where 0 has a step as well."""
    path = quantized(
        lambda g: g.op("MatMul", g.input("x", (1, 4)), g.weights(4, 3)),
        tmp_path,
        per_channel=False,
        unsigned=False,
    )
    given = [np.array([values], np.float32)]
    [wanted], [found] = original(path, given), converted(read(path), given)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-36)


def by_one_after_the_other(g: Graph) -> ModelProto:
    whole, scale, zero = g.ops("DynamicQuantizeLinear", g.input("x", (2, 5)), outputs=3)
    product = g.op("MatMulInteger", whole, g.constant(g.random.integers(-99, 99, (5, 3)), "i1"),
                   zero)  # fmt: skip
    real = g.op("Mul", g.op("Cast", product, to=TensorProto.FLOAT), g.constant(0.01))
    return g.model(g.op("Mul", scale, real))


def test_scales_may_be_multiplied_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(by_one_after_the_other(Graph(5)).SerializeToString())
    close(path)


def test_bias_may_be_added_in_whole_numbers(tmp_path: Path) -> None:
    """As older quantisers wrote it: rounded to steps of both scales, which are computed."""
    g = Graph(5)
    whole, scale, zero = g.ops("DynamicQuantizeLinear", g.input("x", (1, 3, 5, 4)), outputs=3)
    weights, step = g.constant(g.random.integers(-99, 99, (2, 3, 2, 2)), "i1"), g.constant(0.01)
    steps = g.op("Div", g.weights(2, scale=1), g.op("Mul", scale, step))
    bias = g.op("Cast", g.op("Floor", steps), to=TensorProto.INT32)
    product = g.op("ConvInteger", whole, weights, zero)
    product = g.op("Add", product, g.op("Reshape", bias, g.ints(1, 2, 1, 1)))
    real = g.op("Cast", product, to=TensorProto.FLOAT)
    path = tmp_path / "model.onnx"
    output = g.op("Mul", real, g.op("Mul", scale, step))
    path.write_bytes(g.model(output).SerializeToString())
    close(path)


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_bytes_that_are_moved_keep_their_scale(dtype: str, tmp_path: Path) -> None:
    """A table of bytes, of which rows are gathered and turned before they are dequantised."""
    g = Graph(5)
    low = 0 if dtype == "u1" else -128
    table = g.constant(g.random.integers(low, low + 256, (7, 4)), dtype)
    parameters = g.constant(0.02), g.constant(low + 120, dtype)
    rows = g.op("Gather", table, g.input("ids", (2, 3), TensorProto.INT64))
    turned = g.op("Transpose", g.op("Unsqueeze", rows, g.ints(0)), perm=[0, 3, 1, 2])
    ends = [g.op("DequantizeLinear", each, *parameters) for each in (rows, turned)]
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(*ends).SerializeToString())
    conversion = read(path)
    assert [each.text() for each in conversion.unmapped] == []
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_bytes_that_are_moved_into_another_scale_say_so(tmp_path: Path) -> None:
    g = Graph(5)
    table = g.constant(g.random.integers(0, 256, (7, 4)), "u1")
    rows = g.op("Gather", table, g.input("ids", (2, 3), TensorProto.INT64))
    turned = g.op("Transpose", rows, perm=[2, 0, 1])
    ends = [
        g.op("DequantizeLinear", each, g.constant(scale), g.constant(3, "u1"))
        for each, scale in ((rows, 0.5), (turned, 0.25))
    ]
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(*ends).SerializeToString())
    conversion = read(path)
    reasons = {each.reason for each in conversion.unmapped}
    assert any("is read in another scale than it was written in" in each for each in reasons)
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def whole_numbers(g: Graph) -> ModelProto:
    """Given away as they are."""
    x = g.input("x", (2, 5))
    return g.model(*g.ops("DynamicQuantizeLinear", x, outputs=3))


def integer_gemm(g: Graph) -> ModelProto:
    whole, _, zero = g.ops("DynamicQuantizeLinear", g.input("x", (2, 5)), outputs=3)
    return g.model(g.op("MatMulInteger", whole, g.constant(np.ones((5, 3)), "i1"), zero))


_SCALE = (
    "its scale is computed, and NNAPI's 8-bit tensors have constant ones; no product of the "
    "quantiser's form reads it, but "
)


@pytest.mark.parametrize(
    ("build", "reasons"),
    [
        (whole_numbers, [f"{_SCALE}output 'DynamicQuantizeLinear_1'"]),
        (
            integer_gemm,
            [
                f"{_SCALE}1 MatMulInteger 'MatMulInteger_5'",
                "its integer accumulators are used otherwise than the dynamic quantiser "
                "writes them",
            ],
        ),
    ],
)
def test_other_forms_run_on_the_host_and_say_why(
    build: Callable[[Graph], ModelProto], reasons: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(build(Graph(5)).SerializeToString())
    conversion = read(path)
    assert [each.reason for each in conversion.unmapped] == reasons
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_says_that_it_is_computed_in_other_numbers(tmp_path: Path) -> None:
    path = quantized(layers, tmp_path, per_channel=False, unsigned=False)
    conversion = read(path)
    assert len(conversion.notes) == 2
    shown = CliRunner().invoke(cli, ["convert", str(path)])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("note       MatMulInteger") == 2
    assert "its weights dequantised" in shown.output
    assert "FULLY_CONNECTED" in operations(conversion)
    plain = tmp_path / "plain.onnx"
    assert read(plain).notes == ()


def lstm(direction: str, *, per_channel: bool, unsigned: bool, folder: Path) -> Path:
    """As the quantiser writes it of an LSTM."""
    count = 2 if direction == "bidirectional" else 1
    g = Graph(7)
    x = g.input("x", (6, 2, 5))
    given = [x, g.weights(count, 32, 5, scale=0.4), g.weights(count, 32, 8, scale=0.4)]
    given.append(g.weights(count, 64, scale=0.4))
    y, h, c = g.ops("LSTM", *given, outputs=3, hidden_size=8, direction=direction)
    plain, path = folder / "plain.onnx", folder / "model.onnx"
    plain.write_bytes(g.model(y, h, c).SerializeToString())
    types = quantization.QuantType
    quantization.quantize_dynamic(
        plain,
        path,
        per_channel=per_channel,
        weight_type=types.QUInt8 if unsigned else types.QInt8,
        reduce_range=REDUCE_RANGE,
    )
    return path


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm_of_the_dynamic_quantiser_differs_by_its_rounding_alone(
    direction: str, per_channel: bool, unsigned: bool, tmp_path: Path
) -> None:
    path = lstm(direction, per_channel=per_channel, unsigned=unsigned, folder=tmp_path)
    kinds = [node.op_type for node in onnx_package.load(path).graph.node]
    assert kinds == ["DynamicQuantizeLSTM"]
    conversion = read(path)
    assert [each.text() for each in conversion.unmapped] == []
    assert "are not rounded to 8 bits" in conversion.notes[0]
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in operations(conversion)
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        assert np.abs(wanted - found).max() < 0.02
    # The reference rounds them no more than it does.
    compared = tmp_path / "compared.onnx"
    compared.write_bytes(conversion.source.reference)
    assert [node.op_type for node in onnx_package.load(compared).graph.node] == ["LSTM"]
    for wanted, found in zip(
        original(compared, inputs), converted(conversion, inputs), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    # It is the LSTM of the dequantised weights, which are a step of 8 bits from the plain ones.
    plain = tmp_path / "plain.onnx"
    for wanted, found in zip(original(plain, inputs), converted(conversion, inputs), strict=True):
        assert np.abs(wanted - found).max() < 0.02


def optimised(path: Path) -> Path:
    """As ONNX Runtime's optimiser writes the file."""
    written = path.with_name("optimised.onnx")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(written)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return written


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("name", ["layers", "attention"])
def test_what_onnx_runtime_makes_of_it_agrees(
    name: str, per_channel: bool, unsigned: bool, tmp_path: Path
) -> None:
    """DynamicQuantizeMatMul and MatMulIntegerToFloat."""
    plain = quantized(MODELS[name], tmp_path, per_channel=per_channel, unsigned=unsigned)
    path = optimised(plain)
    kinds = {node.op_type for node in onnx_package.load(path).graph.node}
    assert kinds & {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}, kinds
    assert read(path).notes
    close(path)
