# SPDX-License-Identifier: Apache-2.0
"""The .tflite writer: what it writes, and that LiteRT runs it as numpy does."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from halyard import reference, tflite, zoo
from halyard.comparison.difference import compare
from halyard.engines import litert
from halyard.engines.engine import EngineMissing, EngineRefused
from halyard.engines.litert import Kernels, LiteRt
from halyard.engines.workload import Workload
from halyard.errors import HalyardError, NotExpressible, PackageMissing
from halyard.model import (
    Array,
    DataType,
    ModelBuilder,
    TensorType,
    constant,
    is_constant,
    is_tensor,
)
from halyard.model.call import calls
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.graph import made, packed
from halyard.zoo import ZooModel
from tests.harness.on_engine import outputs_of

needs_litert = pytest.mark.skipif(
    not litert.available(), reason="LiteRT (ai-edge-litert) is not installed"
)

FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32
UINT8 = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
INT8 = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED
IMAGE = TensorType(FLOAT, (1, 4, 4, 3))


# Steps of a sequence are operations of their own, or rows.
SIZES = {"qlstm_speech": 8, "lstm_speech": 12, "transformer_encoder": 12}


@functools.cache
def build(name: str, data_type: DataType) -> ZooModel:
    return zoo.build(name, data_type, size=SIZES.get(name, 32), width=0.35)


# ---- the file -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data_type"),
    [
        (name, data_type)
        for name in zoo.NAMES
        for data_type in zoo.data_types(name)
        if data_type != DataType.FLOAT16
    ],
)
def test_weights_lie_in_the_file_as_in_the_model_and_aligned(
    name: str, data_type: DataType
) -> None:
    model = build(name, data_type).model
    content = tflite.write(model)
    assert content[4:8] == b"TFL3"
    weights = [
        constant(model, operand).tobytes()
        for operand in model.main.operands
        # States are variables there.
        if is_constant(operand) and is_tensor(operand.type) and "_state" not in operand.name
    ]
    assert len(weights) >= 8
    for data in weights:
        offset = content.find(data)
        while offset % 16 != 0:
            assert offset != -1
            offset = content.find(data, offset + 1)


def test_the_same_model_gives_the_same_file() -> None:
    model = build("small_classifier", DataType.QUANT8).model
    assert tflite.write(model) == tflite.write(model)


def test_a_field_that_the_schema_has_not_is_no_option() -> None:
    from ai_edge_litert import schema_py_generated as official

    assert made(official.Conv2DOptionsT, strideW=3).strideW == 3
    with pytest.raises(TypeError, match="Conv2DOptionsT has no field stride"):
        made(official.Conv2DOptionsT, stride=3)


# ---- read again ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data_type"),
    [
        ("mobilenet_v3_large", DataType.FLOAT32),
        ("ssd_mobilenet_v2", DataType.QUANT8_SIGNED),
        ("lstm_speech", DataType.FLOAT32),
        ("qlstm_speech", DataType.QUANT8_SIGNED),
    ],
)
def test_what_is_written_is_read(name: str, data_type: DataType, tmp_path: Path) -> None:
    model = build(name, data_type)
    content = tflite.write(model.model)
    found = tflite.read(content)
    [subgraph] = found.subgraphs
    for infos, indexes in (
        (model.inputs, subgraph.inputs),
        (model.outputs, subgraph.outputs),
    ):
        for info, index in zip(infos, indexes, strict=True):
            tensor = subgraph.tensors[index]
            assert tensor.name.decode() == info.name
            assert tuple(tensor.shape) == info.shape
            if info.quantized:
                assert tensor.quantization.scale[0] == np.float32(info.scale)
                assert tensor.quantization.zeroPoint[0] == info.zero_point
    assert packed(found) == packed(tflite.read(packed(found))), "nothing gets lost on the way"
    runs = []
    for number, each in enumerate((content, packed(found))):
        path = tmp_path / f"{number}.tflite"
        path.write_bytes(each)
        loaded = LiteRt().load(path)
        loaded.bind([array.tobytes() for array in model.input_arrays(1)])
        runs.append(loaded.run())
    assert all(map(np.array_equal, *runs)), "LiteRT makes the same of both"


@pytest.mark.parametrize(
    "content", [b"", b"no flatbuffer at all", bytes([0xFF] * 4) + b"TFL3" + bytes(9)]
)
def test_what_is_no_file_of_it_is_told(content: bytes) -> None:
    with pytest.raises(HalyardError, match=r"this is no \.tflite file"):
        tflite.read(content)


def test_what_a_missing_package_takes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("small_classifier", DataType.FLOAT32).model
    for name in [each for each in sys.modules if each.startswith("halyard.tflite.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.schema_py_generated", None)
    with pytest.raises(PackageMissing, match=r"to write a \.tflite file .*halyard\[peers\]"):
        tflite.write(model)
    with pytest.raises(PackageMissing, match=r"to read a \.tflite file"):
        tflite.read(b"")


# ---- what TFLite has no word for ----------------------------------------------------------------


def unary(
    operation: int,
    arguments: Callable[[ModelBuilder], list[int]] = lambda _: [],
    *,
    data: TensorType = IMAGE,
    result: TensorType | None = None,
) -> pb.Model:
    builder = ModelBuilder("unary")
    operand = builder.input("data", data)
    inputs = [operand, *arguments(builder)]
    return builder.build([builder.operation(operation, inputs, "result", result or data)])


def test_an_operation_that_tflite_lacks_is_named() -> None:
    with pytest.raises(NotExpressible, match=r"operation 0 \(RANDOM_MULTINOMIAL\)"):
        tflite.write(unary(pb.OPERATION_TYPE_RANDOM_MULTINOMIAL))


def test_half_floats_are_refused() -> None:
    tensor = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT16, (1, 4))
    model = unary(pb.OPERATION_TYPE_RELU, data=tensor)
    with pytest.raises(NotExpressible, match="TENSOR_FLOAT16"):
        tflite.write(model)


def test_an_unspecified_dimension_is_refused() -> None:
    tensor = TensorType(FLOAT, (0, 4))
    with pytest.raises(NotExpressible, match="no fixed shape"):
        tflite.write(unary(pb.OPERATION_TYPE_RELU, data=tensor))


def test_another_softmax_axis_is_refused() -> None:
    model = unary(pb.OPERATION_TYPE_SOFTMAX, lambda b: [b.float32(1), b.int32(1)])
    with pytest.raises(NotExpressible, match="last axis"):
        tflite.write(model)


def test_nchw_is_refused() -> None:
    def arguments(builder: ModelBuilder) -> list[int]:
        return [*map(builder.int32, (2, 1, 1, 1, 1, 0)), builder.boolean(True)]

    with pytest.raises(NotExpressible, match="NCHW"):
        tflite.write(unary(pb.OPERATION_TYPE_MAX_POOL_2D, arguments))


def test_explicit_padding_of_a_pooling_is_refused() -> None:
    def arguments(builder: ModelBuilder) -> list[int]:
        return [*map(builder.int32, (1, 0, 0, 0, 1, 1, 2, 2, 0))]

    with pytest.raises(NotExpressible, match="neither SAME nor VALID"):
        tflite.write(unary(pb.OPERATION_TYPE_MAX_POOL_2D, arguments))


# ---- LiteRT runs it -----------------------------------------------------------------------------


def scalars(*values: int) -> Callable[[ModelBuilder], list[int]]:
    return lambda builder: [builder.int32(value) for value in values]


def reshaped(*shape: int) -> TensorType:
    return TensorType(FLOAT, shape)


def paddings(builder: ModelBuilder) -> list[int]:
    tensor = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (4, 2))
    return [builder.constant("paddings", tensor, np.array([[0, 0], [1, 2], [0, 3], [0, 0]], "<i4"))]


def image_filter(*shape: int) -> Callable[[ModelBuilder], list[int]]:
    def arguments(builder: ModelBuilder) -> list[int]:
        random = np.random.default_rng(7)
        channels = shape[0] if shape[0] > 1 else shape[3]
        weights = random.normal(size=shape).astype("<f4")
        bias = random.normal(size=channels).astype("<f4")
        return [
            builder.constant("weights", TensorType(FLOAT, shape), weights),
            builder.constant("bias", TensorType(FLOAT, (channels,)), bias),
        ]

    return arguments


def both(
    first: Callable[[ModelBuilder], list[int]], second: Callable[[ModelBuilder], list[int]]
) -> Callable[[ModelBuilder], list[int]]:
    return lambda builder: first(builder) + second(builder)


FLOAT_OPERATIONS: dict[str, pb.Model] = {
    "relu": unary(pb.OPERATION_TYPE_RELU),
    "relu1": unary(pb.OPERATION_TYPE_RELU1),
    "relu6": unary(pb.OPERATION_TYPE_RELU6),
    "logistic": unary(pb.OPERATION_TYPE_LOGISTIC),
    "softmax": unary(pb.OPERATION_TYPE_SOFTMAX, lambda b: [b.float32(0.7)]),
    "reshape": unary(
        pb.OPERATION_TYPE_RESHAPE, lambda b: [b.vector("shape", (2, -1))], result=reshaped(2, 24)
    ),
    "mean": unary(
        pb.OPERATION_TYPE_MEAN,
        lambda b: [b.vector("axes", (1, -1)), b.int32(0)],
        result=reshaped(1, 4),
    ),
    "mean_keeping_dims": unary(
        pb.OPERATION_TYPE_MEAN,
        lambda b: [b.vector("axes", (1, 2)), b.int32(1)],
        result=reshaped(1, 1, 1, 3),
    ),
    "pad": unary(pb.OPERATION_TYPE_PAD, paddings, result=reshaped(1, 7, 7, 3)),
    "average_pool_same": unary(
        pb.OPERATION_TYPE_AVERAGE_POOL_2D, scalars(1, 2, 2, 3, 3, 0), result=reshaped(1, 2, 2, 3)
    ),
    "max_pool_valid": unary(
        pb.OPERATION_TYPE_MAX_POOL_2D, scalars(2, 1, 2, 2, 3, 1), result=reshaped(1, 1, 3, 3)
    ),
    "max_pool_explicit_same": unary(
        pb.OPERATION_TYPE_MAX_POOL_2D, scalars(1, 1, 1, 1, 1, 1, 3, 3, 0)
    ),
    "conv_explicit": unary(
        pb.OPERATION_TYPE_CONV_2D,
        both(image_filter(5, 3, 3, 3), scalars(2, 0, 1, 3, 1, 2, 3)),
        result=reshaped(1, 3, 4, 5),
    ),
    "depthwise_multiplier": unary(
        pb.OPERATION_TYPE_DEPTHWISE_CONV_2D,
        both(image_filter(1, 3, 3, 6), scalars(1, 2, 2, 2, 0)),
        result=reshaped(1, 2, 2, 6),
    ),
    "hard_swish": unary(pb.OPERATION_TYPE_HARD_SWISH),
    "transpose": unary(
        pb.OPERATION_TYPE_TRANSPOSE,
        lambda b: [b.vector("order", (0, 3, 1, 2))],
        result=reshaped(1, 3, 4, 4),
    ),
    "resize": unary(pb.OPERATION_TYPE_RESIZE_BILINEAR, scalars(7, 5), result=reshaped(1, 5, 7, 3)),
    "resize_aligned": unary(
        pb.OPERATION_TYPE_RESIZE_BILINEAR,
        both(scalars(7, 6), lambda b: [b.boolean(flag) for flag in (False, True, False)]),
        result=reshaped(1, 6, 7, 3),
    ),
    "resize_from_centres": unary(
        pb.OPERATION_TYPE_RESIZE_BILINEAR,
        both(scalars(3, 9), lambda b: [b.boolean(flag) for flag in (False, False, True)]),
        result=reshaped(1, 9, 3, 3),
    ),
    "conv_dilated": unary(
        pb.OPERATION_TYPE_CONV_2D,
        both(
            both(image_filter(5, 2, 2, 3), scalars(2, 1, 1, 0)),
            lambda b: [b.boolean(False), b.int32(2), b.int32(3)],
        ),
        result=reshaped(1, 1, 2, 5),
    ),
}


def binary(operation: int, second: tuple[int, ...], last: int, result: TensorType) -> pb.Model:
    builder = ModelBuilder("binary")
    inputs = [builder.input("a", reshaped(1, 4, 4, 3)), builder.input("b", reshaped(*second))]
    inputs.append(builder.int32(last))
    return builder.build([builder.operation(operation, inputs, "result", result)])


FLOAT_OPERATIONS |= {
    "sub": binary(pb.OPERATION_TYPE_SUB, (4, 1), 0, reshaped(1, 4, 4, 3)),
    "add_broadcast": binary(pb.OPERATION_TYPE_ADD, (3,), 1, reshaped(1, 4, 4, 3)),
    "mul": binary(pb.OPERATION_TYPE_MUL, (1, 4, 4, 3), 3, reshaped(1, 4, 4, 3)),
    "concatenation": binary(pb.OPERATION_TYPE_CONCATENATION, (1, 4, 4, 2), 3, reshaped(1, 4, 4, 5)),
}


def test_a_state_that_is_not_zero_at_first_is_refused() -> None:
    model = pb.Model()
    model.CopyFrom(build("lstm_speech", DataType.FLOAT32).model)
    [state] = [each for each in model.main.operands if each.name == "lstm_1/cell_state"]
    pool = bytearray(model.pools[0])
    pool[state.location.offset + 3] = 0x3F
    model.pools[0] = bytes(pool)
    with pytest.raises(NotExpressible, match="lstm_1/cell_state is not zero at first"):
        tflite.write(model)


def test_a_chain_of_states_that_branches_is_refused() -> None:
    model = pb.Model()
    model.CopyFrom(build("qlstm_speech", DataType.QUANT8_SIGNED).model)
    first, _, third, *_ = calls(model, [pb.OPERATION_TYPE_QUANTIZED_LSTM])
    inputs = third.operation.inputs
    for state in ("output_state", "cell_state"):
        inputs[list(inputs).index(third.index(state))] = first.output(state)
    with pytest.raises(NotExpressible, match="is read twice"):
        tflite.write(model)


def test_a_state_that_others_read_is_refused() -> None:
    model = pb.Model()
    model.CopyFrom(build("qlstm_speech", DataType.QUANT8_SIGNED).model)
    step, *_ = calls(model, [pb.OPERATION_TYPE_QUANTIZED_LSTM])
    model.main.output_indexes.append(step.output("output_state"))
    with pytest.raises(NotExpressible, match="is a state"):
        tflite.write(model)


def test_a_detection_that_counts_the_background_is_refused() -> None:
    model = pb.Model()
    model.CopyFrom(build("ssd_mobilenet_v2", DataType.FLOAT32).model)
    [detection] = calls(model, [pb.OPERATION_TYPE_DETECTION_POSTPROCESSING])
    flag = detection.operand("background_is_class")
    values = bytearray(model.operand_values)
    values[flag.location.offset] = 1
    model.operand_values = bytes(values)
    with pytest.raises(NotExpressible, match="background"):
        tflite.write(model)


def random_inputs(model: pb.Model) -> list[Array]:
    random = np.random.default_rng(11)
    return [
        random.normal(0, 3, tuple(model.main.operands[index].dimensions)).astype(np.float32)
        for index in model.main.input_indexes
    ]


@needs_litert
@pytest.mark.parametrize("kernels", Kernels)
@pytest.mark.parametrize("name", FLOAT_OPERATIONS)
def test_litert_computes_an_operation_as_numpy_does(name: str, kernels: Kernels) -> None:
    model = FLOAT_OPERATIONS[name]
    inputs = random_inputs(model)
    index = model.main.output_indexes[0]
    expected = reference.trace(model, inputs)[index]
    assert expected.shape == tuple(model.main.operands[index].dimensions)
    (result,) = outputs_of(LiteRt(kernels=kernels), model, inputs)
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


@needs_litert
@pytest.mark.parametrize("operand_type", [UINT8, INT8])
def test_quantize_and_dequantize_are_written(operand_type: int) -> None:
    quantized = TensorType(operand_type, (1, 4, 4, 3), 0.05, 3)
    builder = ModelBuilder("there and back")
    data = builder.input("data", reshaped(1, 4, 4, 3))
    there = builder.operation(pb.OPERATION_TYPE_QUANTIZE, [data], "there", quantized)
    back = builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [there], "back", reshaped(1, 4, 4, 3))
    model = builder.build([back])
    (values,) = random_inputs(model)
    lowest, highest = (0, 255) if operand_type == UINT8 else (-128, 127)
    (result,) = outputs_of(LiteRt(), model, [values])
    reachable = np.clip(values, (lowest - 3) * 0.05, (highest - 3) * 0.05)
    assert np.abs(result - reachable).max() <= 0.0251


@needs_litert
@pytest.mark.parametrize(
    "name", [name for name in zoo.NAMES if DataType.FLOAT32 in zoo.data_types(name)]
)
def test_litert_runs_float_models_as_numpy_does(name: str) -> None:
    model = build(name, DataType.FLOAT32)
    with Workload.seeded(model, 0) as work, LiteRt().prepare(work) as prepared:
        # Two runs of the same input: states do not go on where the last run left them.
        for seed in (0, 1, 0):
            inputs = model.input_arrays(seed)
            values = reference.trace(model.model, inputs)
            prepared.bind([each.tobytes() for each in inputs])
            results = prepared.run()
            for info, index, result in zip(
                model.outputs, model.model.main.output_indexes, results, strict=True
            ):
                difference = compare(info, values[index], result)
                # Sums in another order, of the largest value: the logits of some networks reach 50.
                allowed = 2e-5 * max(1.0, difference.largest)
                assert difference.max_abs_error < allowed, difference.text()


@needs_litert
@pytest.mark.parametrize(
    ("name", "data_type"),
    [
        (name, data_type)
        for name in zoo.NAMES
        for data_type in zoo.data_types(name)
        if data_type in (DataType.QUANT8, DataType.QUANT8_SIGNED) and name != "qlstm_speech"
    ],
)
def test_quantised_models_stay_close_to_their_float_twin(name: str, data_type: DataType) -> None:
    size = SIZES.get(name, 96)
    floats, model = (
        zoo.build(name, which, size=size, width=0.35) for which in (DataType.FLOAT32, data_type)
    )
    names = [info.name for info in model.outputs]
    # Of a detection's outputs the deltas go through no threshold.
    output = names.index("logits" if "logits" in names else "deltas")
    engine = LiteRt()
    correlations = []
    for seed in range(8):
        inputs = floats.input_arrays(seed)
        expected = reference.trace(floats.model, inputs)[floats.model.main.output_indexes[output]]
        result = outputs_of(engine, model.model, model.input_arrays(seed))[output]
        result = model.outputs[output].dequantize(result)
        correlations.append(np.corrcoef(result.ravel(), expected.ravel())[0, 1])
    # A network's quantisation error is the same in every engine: random weights make more of a
    # rounding error than trained ones, and most of it in MobileNetV3, whose gates multiply errors.
    least = 0.85 if name == "mobilenet_v3_large" else 0.95
    assert np.median(correlations) > least, correlations


@needs_litert
def test_inputs_that_do_not_fit_are_refused() -> None:
    model = build("small_classifier", DataType.FLOAT32)
    for inputs in ([np.zeros((1, 5, 5, 3), np.float32)], []):
        with pytest.raises(EngineRefused):
            outputs_of(LiteRt(), model.model, inputs)


@needs_litert
def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(b"no flatbuffer at all")
    with pytest.raises(EngineRefused):
        LiteRt().load(path)


def test_a_missing_litert_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    assert not litert.available()
    with pytest.raises(EngineMissing, match=r"pip install 'halyard\[peers\]'"):
        LiteRt()
