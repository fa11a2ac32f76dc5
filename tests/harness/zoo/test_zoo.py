# SPDX-License-Identifier: Apache-2.0
"""The zoo's models: their structure, their weights, and what quantisation leaves of them."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halyard import reference, zoo
from halyard.errors import ConfigError, HalyardError
from halyard.model import DataType, arguments, constant, half, is_constant, operation_name
from halyard.model.arguments import Activation, Padding, Window
from halyard.model.call import Call, calls
from halyard.programs import operations
from halyard.proto import halyard_pb2 as pb
from halyard.reference.convolution import convolved
from halyard.transport import hal_version
from halyard.zoo import ZooModel
from halyard.zoo.affine import affine
from halyard.zoo.architecture import make_divisible

SIZE, WIDTH = 32, 0.35
ALL = [(name, data_type) for name in zoo.NAMES for data_type in zoo.data_types(name)]
# Those that tell what is in one image.
CLASSIFIERS = (
    "efficientnet_lite0",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "resnet_50",
    "small_classifier",
)
# Those that HAL 1.0 carries in its two data types.
PLAIN = ("mobilenet_v1", "mobilenet_v2", "small_classifier", "efficientnet_lite0")
QUANTIZED = [
    (name, data_type)
    for name, data_type in ALL
    if data_type in (DataType.QUANT8, DataType.QUANT8_SIGNED)
]


# Sequences of fewer steps than that image has pixels: each step is an operation of its own.
SIZES = {"qlstm_speech": 8, "lstm_speech": 12, "transformer_encoder": 12}


@functools.cache
def build(name: str, data_type: DataType, classes: int = 1001) -> ZooModel:
    return zoo.build(name, data_type, size=SIZES.get(name, SIZE), width=WIDTH, classes=classes)


def histogram(model: pb.Model) -> dict[str, int]:
    names = [operation_name(operation.type) for operation in model.main.operations]
    return {name: names.count(name) for name in names}


# ---- structure ----------------------------------------------------------------------------------


def test_mobilenet_v2_has_the_layers_of_the_paper() -> None:
    model = build("mobilenet_v2", DataType.FLOAT32).model
    assert histogram(model) == {
        "CONV_2D": 1 + 16 + 17 + 1 + 1,
        "DEPTHWISE_CONV_2D": 17,
        "ADD": 10,
        "AVERAGE_POOL_2D": 1,
        "RESHAPE": 1,
        "SOFTMAX": 1,
    }


# As published, less one gamma per normalised channel: with the batch normalisations folded, each
# beta has become a bias.
@pytest.mark.parametrize(
    ("name", "published", "normalised"),
    [
        ("efficientnet_lite0", 4_652_008, 21_008),
        ("mobilenet_v2", 3_504_872, 17_056),
        ("mobilenet_v3_large", 5_483_032, 12_200),
        ("resnet_50", 25_557_032, 26_560),
    ],
)
def test_a_classifier_has_its_published_number_of_parameters(
    name: str, published: int, normalised: int
) -> None:
    model = zoo.build(name, DataType.FLOAT32, size=32, classes=1000).model
    count = sum(
        math.prod(operand.dimensions)
        for operand in model.main.operands
        if is_constant(operand) and operand.name.endswith(("/weights", "/bias"))
    )
    assert count == published - normalised


def test_resnet_strides_in_the_3x3_convolutions() -> None:
    model = build("resnet_50", DataType.FLOAT32).model
    strided = [
        call.shape("filter")[1]
        for call in calls(model, [pb.OPERATION_TYPE_CONV_2D])
        if arguments.window(call).stride_h == 2
    ]
    # The stem, and for each of three stages the shortcut and the filter.
    assert sorted(strided) == [1, 1, 1, 3, 3, 3, 7]


def test_mobilenet_v3_squeezes_and_excites_eight_times() -> None:
    counts = histogram(build("mobilenet_v3_large", DataType.FLOAT32).model)
    assert counts["MEAN"] == 8
    # The stem, two per block from the seventh on, and two at the end.
    assert counts["HARD_SWISH"] == 1 + 2 * 9 + 2


def test_deeplab_sees_a_sixteenth_and_dilates_what_follows() -> None:
    model = zoo.build("deeplab_v3_mobilenet_v2", DataType.FLOAT32, size=65, width=WIDTH).model
    dilations, extents = [], set()
    for operation in model.main.operations:
        if operation.type == pb.OPERATION_TYPE_DEPTHWISE_CONV_2D:
            dilations.append(arguments.window(Call(model, operation)).dilation_h)
            extents.add(model.main.operands[operation.outputs[0]].dimensions[1])
    assert dilations == [1] * 14 + [2] * 3 + [6, 12, 18]
    assert min(extents) == 5
    assert list(model.main.operands[model.main.output_indexes[0]].dimensions) == [1, 65, 65, 21]


def test_ssd_has_the_published_number_of_boxes() -> None:
    model = zoo.build("ssd_mobilenet_v2", DataType.FLOAT32, width=0.1)
    shapes = {info.name: info.shape for info in model.outputs}
    assert (shapes["scores"], shapes["deltas"]) == ((1, 1917, 91), (1, 1917, 4))
    assert shapes["detection_boxes"] == (1, 10, 4)


def test_the_encoder_has_four_layers_of_attention() -> None:
    model = zoo.build("transformer_encoder", DataType.FLOAT32)
    assert model.inputs[0].shape == (1, 128, 256)
    counts = histogram(model.model)
    assert (counts["BATCH_MATMUL"], counts["SOFTMAX"], counts["RSQRT"]) == (8, 4, 8)


def test_a_quantised_encoder_normalises_in_floats() -> None:
    main = build("transformer_encoder", DataType.QUANT8_SIGNED).model.main
    for operation in main.operations:
        operand = main.operands[operation.outputs[0]]
        if operand.name.startswith("layer_norm") and "/" not in operand.name.partition("/")[2]:
            assert operand.type == pb.OPERAND_TYPE_TENSOR_FLOAT32, operand.name
        elif operation.type in (pb.OPERATION_TYPE_BATCH_MATMUL, pb.OPERATION_TYPE_SOFTMAX):
            assert operand.type == pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED, operand.name


def test_steps_of_a_quantised_lstm_share_their_weights_and_hand_on_their_state() -> None:
    model = build("qlstm_speech", DataType.QUANT8_SIGNED).model
    steps = calls(model, [pb.OPERATION_TYPE_QUANTIZED_LSTM])
    assert len(steps) == 2 * SIZES["qlstm_speech"]
    layer = steps[: SIZES["qlstm_speech"]]
    names = [each.name for each in operations.table()["QUANTIZED_LSTM"].forms[0].inputs]
    shared = [name for name in names if "_weights" in name or name.endswith("_bias")]
    assert len(shared) == 21
    for before, after in itertools.pairwise(layer):
        assert [after.index(name) for name in shared] == [before.index(name) for name in shared]
        for state in ("output_state", "cell_state"):
            assert after.index(state) == before.output(state)


def test_mobilenet_v1_has_the_layers_of_the_paper() -> None:
    counts = histogram(build("mobilenet_v1", DataType.FLOAT32).model)
    assert (counts["CONV_2D"], counts["DEPTHWISE_CONV_2D"]) == (1 + 13 + 1, 13)


@given(st.floats(1, 4000))
def test_channels_are_rounded_to_eights_without_losing_a_tenth(channels: float) -> None:
    rounded = make_divisible(channels)
    assert rounded % 8 == 0
    assert rounded >= 0.9 * channels
    assert rounded <= max(8, channels + 8)


@pytest.mark.parametrize(
    ("name", "data_type"), [(name, data_type) for name, data_type in ALL if name in CLASSIFIERS]
)
@pytest.mark.parametrize("classes", [1000, 1001])
def test_inputs_and_outputs_are_described(name: str, data_type: DataType, classes: int) -> None:
    model = build(name, data_type, classes=classes)
    assert [info.shape for info in model.inputs] == [(1, SIZE, SIZE, 3)]
    assert [(info.name, info.shape) for info in model.outputs] == [
        ("probabilities", (1, classes)),
        ("logits", (1, classes)),
    ]
    floats = data_type in (DataType.FLOAT32, DataType.FLOAT16)
    assert [info.quantized for info in model.outputs] == [not floats] * 2
    example = model.example(seed=1)
    assert len(example.inputs[0].data) == SIZE * SIZE * 3 * model.inputs[0].dtype.itemsize
    assert example.outputs[0].byte_size == classes * model.outputs[0].dtype.itemsize


@pytest.mark.parametrize(
    ("data_type", "version"),
    [
        (DataType.FLOAT32, pb.HAL_VERSION_1_0),
        (DataType.FLOAT16, pb.HAL_VERSION_1_2),
        (DataType.QUANT8, pb.HAL_VERSION_1_0),
        (DataType.QUANT8_SIGNED, pb.HAL_VERSION_1_3),
    ],
)
@pytest.mark.parametrize("name", PLAIN)
def test_models_go_through_the_hal_versions_that_they_are_for(
    name: str, data_type: DataType, version: pb.HalVersion
) -> None:
    assert hal_version.lowest_version(build(name, data_type).model) == version


@pytest.mark.parametrize(
    ("name", "data_type", "version"),
    [
        ("deeplab_v3_mobilenet_v2", DataType.FLOAT32, pb.HAL_VERSION_1_3),
        ("lstm_speech", DataType.FLOAT16, pb.HAL_VERSION_1_2),
        ("mobilenet_v3_large", DataType.QUANT8, pb.HAL_VERSION_1_3),
        ("qlstm_speech", DataType.QUANT8_SIGNED, pb.HAL_VERSION_1_3),
        ("resnet_50", DataType.FLOAT32, pb.HAL_VERSION_1_1),
        ("ssd_mobilenet_v2", DataType.QUANT8, pb.HAL_VERSION_1_2),
        ("transformer_encoder", DataType.QUANT8_SIGNED, pb.HAL_VERSION_AIDL_2),
    ],
)
def test_operations_of_later_versions_ask_for_them(
    name: str, data_type: DataType, version: pb.HalVersion
) -> None:
    assert hal_version.lowest_version(build(name, data_type).model) == version


@pytest.mark.parametrize(("name", "data_type"), ALL)
def test_operations_are_in_execution_order(name: str, data_type: DataType) -> None:
    main = build(name, data_type).model.main
    known = set(main.input_indexes)
    known.update(
        i
        for i, operand in enumerate(main.operands)
        if is_constant(operand) or operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE
    )
    for operation in main.operations:
        assert known.issuperset(operation.inputs)
        assert known.isdisjoint(operation.outputs)
        known.update(operation.outputs)
    assert known == set(range(len(main.operands)))


@pytest.mark.parametrize(
    "options",
    [{"size": 4}, {"width": 0.0}, {"width": -1.0}, {"width": math.nan}, {"classes": 1}],
)
def test_arguments_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        zoo.build("mobilenet_v2", DataType.FLOAT32, **options)  # type: ignore[arg-type]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="mobilenet_v1, mobilenet_v2, mobilenet_v3_large"):
        zoo.build("resnet", DataType.FLOAT32)


def test_a_type_that_a_network_does_not_come_in_is_refused_with_those_it_does() -> None:
    with pytest.raises(ConfigError, match="lstm_speech comes in float32, float16, not in quant8"):
        zoo.build("lstm_speech", DataType.QUANT8)


# ---- weights and activations --------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, again, other = (
        zoo.build(
            "mobilenet_v1", DataType.QUANT8, size=SIZE, width=WIDTH, seed=seed
        ).model.SerializeToString(deterministic=True)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", [name for name, kind in ALL if kind is DataType.FLOAT32])
def test_activations_stay_in_a_sane_range(name: str) -> None:
    model = build(name, DataType.FLOAT32)
    values = reference.trace(model.model, model.input_arrays(seed=3))
    for operation in model.model.main.operations[:-3]:
        index = operation.outputs[0]
        result = values[index]
        layer = model.model.main.operands[index].name
        assert np.isfinite(result).all(), layer
        assert np.abs(result).max() < 60, layer
        # Shares of an attention are small, and the mean of a row says little.
        if not layer.startswith(("layer_norm", "softmax")):
            assert result.std() > 0.05, f"{layer} has died away"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_images_are_told_apart(name: str) -> None:
    model = build(name, DataType.FLOAT32)
    output = model.model.main.output_indexes[0]
    results = [reference.trace(model.model, model.input_arrays(seed))[output] for seed in range(8)]
    assert all(abs(float(result.sum()) - 1) < 1e-5 for result in results)
    assert len({int(result.argmax()) for result in results}) >= 4


def test_every_data_type_shows_the_same_picture() -> None:
    shown = [
        model.inputs[0].dequantize(model.input_arrays(seed=5)[0])
        for model in (build("small_classifier", data_type) for data_type in DataType)
    ]
    for other in shown[1:]:
        np.testing.assert_array_equal(shown[0], other)


def test_outputs_of_another_size_are_refused() -> None:
    model = build("small_classifier", DataType.FLOAT32)
    with pytest.raises(HalyardError, match="not its outputs"):
        model.output_arrays(pb.ExampleResult(outputs=[pb.OutputResult(data=b"abcd")]))
    with pytest.raises(HalyardError, match="not its outputs"):
        model.output_arrays(pb.ExampleResult())


# ---- kernels ------------------------------------------------------------------------------------


@given(
    batch_h_w_c=st.tuples(*(st.integers(1, n) for n in (2, 9, 9, 4))),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 1 << 32),
)
def test_convolution_is_the_sum_over_the_window(
    batch_h_w_c: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    data = random.normal(size=batch_h_w_c).astype(np.float32)
    weights = random.normal(size=(5, *kernel, batch_h_w_c[3])).astype(np.float32)
    bias = random.normal(size=5).astype(np.float32)
    window = Window(Padding.SAME, stride[1], stride[0], Activation.NONE)
    result = convolved(data, weights, window) + bias
    batch, height, width, _ = batch_h_w_c
    assert result.shape == (batch, -(-height // stride[0]), -(-width // stride[1]), 5)
    out_y, out_x = (int(random.integers(0, extent)) for extent in result.shape[1:3])
    before = [
        max(0, (n - 1) * s + k - extent) // 2
        for n, s, k, extent in zip(result.shape[1:3], stride, kernel, (height, width), strict=True)
    ]
    total = np.zeros((batch, 5))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y, x = out_y * stride[0] + i - before[0], out_x * stride[1] + j - before[1]
            if 0 <= y < height and 0 <= x < width:
                total += data[:, y, x].astype(np.float64) @ weights[:, i, j].T
    np.testing.assert_allclose(result[:, out_y, out_x], total + bias, rtol=1e-4, atol=1e-4)


_CONVOLUTIONS = [pb.OPERATION_TYPE_CONV_2D, pb.OPERATION_TYPE_DEPTHWISE_CONV_2D]


# ---- quantisation -------------------------------------------------------------------------------


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(0, 1), st.booleans())
def test_scale_and_zero_point_cover_the_range_and_zero(
    a: float, b: float, finest: float, signed: bool
) -> None:
    low, high = min(a, b), max(a, b)
    lowest, highest = (-128, 127) if signed else (0, 255)
    scale, zero_point = affine(low, high, lowest, highest, finest)
    assert scale >= finest or math.isclose(scale, finest, rel_tol=1e-6)
    assert lowest <= zero_point <= highest
    # The ends are met within half a step.
    assert (lowest - zero_point - 0.501) * scale <= min(low, 0)
    assert (highest - zero_point + 0.501) * scale >= max(high, 0)


@pytest.mark.parametrize(
    ("name", "data_type"), [pair for pair in QUANTIZED if pair[0] != "qlstm_speech"]
)
def test_quantised_weights_are_the_float_weights_within_half_a_step(
    name: str, data_type: DataType
) -> None:
    source, result = build(name, DataType.FLOAT32).model, build(name, data_type).model
    floats = {operand.name: operand for operand in source.main.operands if operand.name}
    checked = 0
    for operand in result.main.operands:
        if not operand.name.endswith("/weights"):
            continue
        steps = constant(result, operand).astype(np.float64) - operand.zero_point
        scales = np.array(operand.channel_quant.scales or [operand.scale])
        shape = [1] * steps.ndim
        shape[operand.channel_quant.channel_dim] = -1
        scales = scales.reshape(shape)
        error = np.abs(steps * scales - constant(source, floats[operand.name])) / scales
        assert error.max() <= 0.501, operand.name
        checked += 1
    assert checked >= 4


def test_signed_filters_are_symmetric_with_one_scale_per_channel() -> None:
    model = build("mobilenet_v2", DataType.QUANT8_SIGNED).model
    for call in calls(model, _CONVOLUTIONS):
        weights, bias = call.operand("filter"), call.operand("bias")
        assert weights.type == pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL
        dim = 0 if call.name == "CONV_2D" else 3
        assert weights.channel_quant.channel_dim == dim
        assert len(weights.channel_quant.scales) == weights.dimensions[dim]
        assert constant(model, weights).min() >= -127
        assert (bias.scale, bias.zero_point) == (0, 0)


def test_a_bias_has_exactly_the_scale_of_its_sums() -> None:
    model = build("mobilenet_v2", DataType.QUANT8).model
    for call in calls(model, _CONVOLUTIONS):
        data, weights, bias = map(call.operand, ("input", "filter", "bias"))
        assert np.float32(bias.scale) == np.float32(data.scale) * np.float32(weights.scale)


@pytest.mark.parametrize("data_type", [DataType.QUANT8, DataType.QUANT8_SIGNED])
def test_softmax_has_the_scale_that_nnapi_prescribes(data_type: DataType) -> None:
    info = build("mobilenet_v2", data_type).outputs[0]
    lowest = 0 if data_type is DataType.QUANT8 else -128
    assert (info.scale, info.zero_point) == (1 / 256, lowest)


# ---- float16 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, kind in ALL if kind is DataType.FLOAT16])
def test_half_models_hold_the_rounded_weights_of_their_float_twin(name: str) -> None:
    wide, narrow = build(name, DataType.FLOAT32).model, build(name, DataType.FLOAT16).model
    assert len(wide.main.operands) == len(narrow.main.operands)
    kinds = set()
    for before, after in zip(wide.main.operands, narrow.main.operands, strict=True):
        kinds.add(after.type)
        if not is_constant(before):
            continue
        expected = constant(wide, before)
        if expected.dtype == np.float32:
            expected = expected.astype(np.float16)
        found = constant(narrow, after)
        assert found.dtype == expected.dtype, after.name
        np.testing.assert_array_equal(found, expected)
    assert kinds.isdisjoint({pb.OPERAND_TYPE_TENSOR_FLOAT32, pb.OPERAND_TYPE_FLOAT32})


def test_widening_a_half_model_keeps_every_value() -> None:
    narrow = build("mobilenet_v1", DataType.FLOAT16).model
    wide = half.widen(narrow)
    for before, after in zip(narrow.main.operands, wide.main.operands, strict=True):
        if is_constant(before):
            np.testing.assert_array_equal(constant(narrow, before), constant(wide, after))
    assert half.narrow(wide).SerializeToString() == narrow.SerializeToString()
    assert hal_version.lowest_version(wide) == pb.HAL_VERSION_1_0
