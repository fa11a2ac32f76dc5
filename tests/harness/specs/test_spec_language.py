# SPDX-License-Identifier: Apache-2.0
"""The spec language: names, order, converters, lifetimes, versions, and what is wrong in a spec."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from halyard import specs
from halyard.cases import Case
from halyard.cases.variants import derived, unspecified_outputs, with_lifetimes
from halyard.errors import HalyardError
from halyard.model import Array, constant, dtype_of
from halyard.proto import halyard_pb2 as pb

Load = Callable[..., dict[str, Case]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """The cases of a spec, by name."""

    def run(source: str, folder: str = "V1_2", name: str = "spec.mod.py") -> dict[str, Case]:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        cases = specs.load(path, lambda models: [pb.HAL_VERSION_1_1] * len(models))
        found = {case.name: case for case in cases}
        assert len(found) == len(cases)
        return found

    return run


RELU = """
x = Input("x", ("TENSOR_FLOAT32", [4]))
z = Output("z", ("TENSOR_FLOAT32", [4]))
model = Model().Operation("RELU", x).To(z)
feed = {x: [-1, 0, 1, 2], z: [0, 0, 1, 2]}
"""


def operands(case: Case) -> dict[str, pb.Operand]:
    return {operand.name: operand for operand in case.test_case.model.main.operands}


def fed(case: Case) -> list[list[float]]:
    main = case.test_case.model.main
    return [
        np.frombuffer(value.data, dtype_of(main.operands[index].type)).tolist()
        for index, value in zip(main.input_indexes, case.test_case.examples[0].inputs, strict=True)
    ]


def expected(case: Case) -> list[list[float]]:
    return [output.values.tolist() for output in case.expected]


# ---- names and order ----------------------------------------------------------------------------


def test_a_name_is_spec_model_example_and_variations(load: Load) -> None:
    source = RELU.replace("Model()", 'Model("m")') + (
        'Example(feed, name="e").AddVariations("relaxed").AddVariations("float16")'
    )
    assert list(load(source)) == [
        "spec_m_e",
        "spec_m_e_float16",
        "spec_m_e_relaxed",
        "spec_m_e_relaxed_float16",
    ]


def test_a_name_that_is_taken_is_numbered_at_its_end(load: Load) -> None:
    cases = load(RELU + 'Example(feed, feed).AddVariations("relaxed")')
    assert list(cases) == ["spec", "spec_relaxed", "spec_2", "spec_relaxed_2"]
    # Every name counts for itself, those of derived forms, too.
    assert cases["spec_relaxed_2"].lifetime_names == ("spec_relaxed_all_inputs_as_internal_2",)


def test_default_names_and_given_names(load: Load) -> None:
    source = RELU + (
        'Example(feed).AddVariations("relaxed", RelaxedModeConverter(False), defaultName="plain")'
        '.AddVariations(DataTypeConverter("float16", name="half"), includeDefault=False)'
    )
    assert list(load(source)) == ["spec_plain_half", "spec_relaxed_half", "spec_float_half"]


@pytest.mark.parametrize(
    ("types", "name"),
    [
        (
            ["TENSOR_INT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_SYMM_PER_CHANNEL"],
            "channelQuant8",
        ),
        (["TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_ASYMM"], "quant8"),
        (["TENSOR_INT32", "TENSOR_QUANT8_ASYMM_SIGNED"], "quant8_signed"),
        (["TENSOR_FLOAT16", "TENSOR_INT32"], "int32"),
        (["TENSOR_FLOAT16"], "float16"),
        (["TENSOR_FLOAT32"], "float32"),
    ],
)
def test_a_data_type_converter_is_named_by_its_targets(
    load: Load, types: list[str], name: str
) -> None:
    operands = [f'o{i} = Input("o{i}", ("TENSOR_FLOAT32", [1]))' for i in range(3)]
    targets = ", ".join(
        f'o{i}: ("{kind}", {0.0 if kind.endswith("CHANNEL") else 1.0}, 0)'
        for i, kind in enumerate(types)
    )
    source = (
        "\n".join(operands)
        + f"""
z = Output("z", ("TENSOR_FLOAT32", [3]))
Model().Operation("CONCATENATION", o0, o1, o2, 0).To(z)
Example({{o0: [1], o1: [1], o2: [1], z: [1, 1, 1]}}).AddVariations(
    DataTypeConverter().Identify({{{targets}}}), includeDefault=False)
"""
    )
    assert list(load(source)) == [f"spec_{name}"]


def test_examples_that_differ_in_their_feeds_alone_are_one(load: Load) -> None:
    """Their feeds come together, also where another example stands between them."""
    source = (
        RELU
        + """
Example(feed)
Example(feed, name="other")
Example({x: [5, 5, 5, 5], z: [5, 5, 5, 5]})
"""
    )
    cases = load(source)
    assert list(cases) == ["spec", "spec_2", "spec_other"]
    assert fed(cases["spec_2"]) == [[5, 5, 5, 5]]


def test_examples_with_variations_stay_apart(load: Load) -> None:
    source = RELU + "Example(feed).AddRelaxed()\nExample(feed).AddRelaxed()"
    assert list(load(source)) == ["spec", "spec_relaxed", "spec_2", "spec_relaxed_2"]


def test_operands_are_in_the_order_of_their_first_use(load: Load) -> None:
    source = """
late, early = Input("late", ("TENSOR_FLOAT32", [1])), Input("early", ("TENSOR_FLOAT32", [1]))
z = Output("z", ("TENSOR_FLOAT32", [1]))
Model().Operation("ADD", early, late, 0).To(z)
Example({late: [1], early: [2], z: [3]})
"""
    case = load(source)["spec"]
    assert list(operands(case)) == ["early", "late", "param", "z"]
    assert fed(case) == [[2], [1]]


def test_names_of_operands_are_made_unique(load: Load) -> None:
    source = """
x = Input("x", ("TENSOR_FLOAT32", [1]))
other = Input("x", ("TENSOR_FLOAT32", [1]))
z = Output("z", ("TENSOR_FLOAT32", [1]))
Model().Operation("ADD", x, other, 0).To(z)
Model().Operation("SUB", x, other, 0).To(z)
Example({x: [1], other: [2], z: [-1]})
"""
    assert list(operands(load(source)["spec"])) == ["x", "x1", "param1", "z"]


def test_identified_inputs_come_first(load: Load) -> None:
    source = """
x, y = Input("x", ("TENSOR_FLOAT32", [1])), Input("y", ("TENSOR_FLOAT32", [1]))
z = Output("z", ("TENSOR_FLOAT32", [1]))
model = Model()
model.IdentifyInputs(y, x).IdentifyOutputs(z)
model.Operation("SUB", x, y, 0).To(z)
Example({x: [1], y: [2], z: [-1]})
"""
    case = load(source)["spec"]
    assert list(operands(case)) == ["y", "x", "z", "param"]
    assert list(case.test_case.model.main.operations[0].inputs) == [1, 0, 3]


def test_identifying_other_inputs_is_an_error(load: Load) -> None:
    with pytest.raises(HalyardError, match=r"spec.mod.py:6: the inputs are \[x\], and not \[\]"):
        load(RELU + "model.IdentifyInputs()")


def test_operations_are_sorted_by_what_they_need(load: Load) -> None:
    source = """
x, z = Input("x", ("TENSOR_FLOAT32", [1])), Output("z", ("TENSOR_FLOAT32", [1]))
a, b = Internal("a", ("TENSOR_FLOAT32", [1])), Internal("b", ("TENSOR_FLOAT32", [1]))
model = Model().Operation("RELU", b).To(z)
model.Operation("FLOOR", a).To(b)
model.Operation("ABS", x).To(a)
Example({x: [-1.5], z: [1]})
"""
    case = load(source)["spec"]
    types = [operation.type for operation in case.test_case.model.main.operations]
    assert types == [
        pb.OPERATION_TYPE_ABS,
        pb.OPERATION_TYPE_FLOOR,
        pb.OPERATION_TYPE_RELU,
    ]
    assert list(operands(case)) == ["b", "z", "a", "x"]
    with pytest.raises(HalyardError, match="needs its own result"):
        load(source.replace('"ABS", x', '"ABS", b'))


# ---- operands -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "dimensions", "scale", "zero_point"),
    [
        ('"TENSOR_QUANT8_ASYMM", "{2, 3}, 0.5f, 127"', [2, 3], 0.5, 127),
        ('"TENSOR_QUANT8_ASYMM", "{4}, 1.f, 0"', [4], 1.0, 0),
        ('"TENSOR_QUANT8_ASYMM", "{4},0.25,3"', [4], 0.25, 3),
        ('("TENSOR_QUANT8_ASYMM", (4, 1), 0.25)', [4, 1], 0.25, 0),
        ('["TENSOR_QUANT8_ASYMM", [4, 1], 0.25, 9]', [4, 1], 0.25, 9),
    ],
)
def test_types_in_both_forms(
    load: Load, written: str, dimensions: list[int], scale: float, zero_point: int
) -> None:
    source = f"""
x, z = Input("x", {written}), Output("z", {written})
Model().Operation("RELU", x).To(z)
values = [200] * x.type.count
Example({{x: values, z: values}})
"""
    x = operands(load(source)["spec"])["x"]
    assert (list(x.dimensions), x.scale, x.zero_point) == (dimensions, scale, zero_point)


@pytest.mark.parametrize("written", ['"INT32", "{}", [7]', '"INT32", "", 7', '("INT32", []), 7'])
def test_scalars_in_all_forms(load: Load, written: str) -> None:
    source = f"""
x, z = Input("x", ("TENSOR_FLOAT32", [9])), Output("z", ("TENSOR_INT32", [1]))
Model().Operation("ARGMAX", x, Parameter("axis", {written})).To(z)
Example({{x: [0] * 9, z: [0]}})
"""
    case = load(source)["spec"]
    axis = operands(case)["axis"]
    assert list(axis.dimensions) == []
    assert constant(case.test_case.model, axis) == 7


def test_python_values_become_constants_by_their_exact_type(load: Load) -> None:
    source = """
x, z = Input("x", ("TENSOR_FLOAT32", [1])), Output("z", ("TENSOR_FLOAT32", [1]))
Model().Operation("BOX_WITH_NMS_LIMIT", x, 1, 2.0, True, [3, 4], [5.0], [], (6, 7)).To(z)
Example({x: [1], z: [1]})
"""
    case = load(source)["spec"]
    found = [
        (operand.type, constant(case.test_case.model, operand).tolist())
        for name, operand in operands(case).items()
        if name.startswith("param")
    ]
    assert all(operand.location.offset % 4 == 0 for operand in operands(case).values())
    assert found == [
        (pb.OPERAND_TYPE_INT32, 1),
        (pb.OPERAND_TYPE_FLOAT32, 2.0),
        (pb.OPERAND_TYPE_BOOL, 1),
        (pb.OPERAND_TYPE_TENSOR_INT32, [3, 4]),
        (pb.OPERAND_TYPE_TENSOR_FLOAT32, [5.0]),
        (pb.OPERAND_TYPE_TENSOR_INT32, []),
        (pb.OPERAND_TYPE_TENSOR_INT32, [6, 7]),
    ]


@pytest.mark.parametrize("value", ["[1, 2.0]", "None", "'text'", "[True]"])
def test_other_values_are_no_arguments(load: Load, value: str) -> None:
    with pytest.raises(HalyardError, match="neither an operand nor a constant of one kind"):
        load(f'{RELU}\nModel().Operation("RELU", {value}).To(z)')


def test_a_half_is_rounded_from_a_float32(load: Load) -> None:
    """As in a C++ program with the constant 1.00048828125f, halfway between two halves."""
    source = """
x, z = Input("x", ("TENSOR_FLOAT16", [1])), Output("z", ("TENSOR_FLOAT16", [1]))
Model().Operation("ELU", x, Float16Scalar("alpha", 1 + 2**-11 + 2**-40)).To(z)
Example({x: [1], z: [1]})
"""
    case = load(source)["spec"]
    assert constant(case.test_case.model, operands(case)["alpha"]) == 1


def test_shared_memory_is_chosen_when_a_parameter_is_made(load: Load) -> None:
    source = """
Configuration.use_shm_for_weights = True
shared = Parameter("shared", ("TENSOR_FLOAT32", [1]), [1])
Configuration.use_shm_for_weights = False
copied = Parameter("copied", ("TENSOR_FLOAT32", [1]), [2])
z = Output("z", ("TENSOR_FLOAT32", [1]))
Model().Operation("ADD", shared, copied, 0).To(z)
Example({z: [3]})
"""
    case = load(source)["spec"]
    found = operands(case)
    assert found["shared"].lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
    assert found["copied"].lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY
    assert constant(case.test_case.model, found["shared"]) == [1]
    # Not kept for the next file.
    assert "constantReference" not in load(RELU + "Example(feed)")["spec"].tags


def test_an_operand_without_a_value_is_left_out(load: Load) -> None:
    source = """
x, z = Input("x", ("TENSOR_FLOAT32", [1, 2])), Output("z", ("TENSOR_FLOAT32", [2]))
some = Input("some", ("TENSOR_INT32", [1]))
Model().Operation("SQUEEZE", x, Parameter("axes", "TENSOR_INT32", "{1}", None), some).To(z)
Example({x: [1, 2], some: [], z: [1, 2]})
"""
    case = load(source)["spec"]
    assert operands(case)["axes"].lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE
    assert [value.has_no_value for value in case.test_case.examples[0].inputs] == [False, True]
    assert case.tags == {"omittedConstant", "omittedInput"}


def test_an_ignored_output_needs_no_value(load: Load) -> None:
    source = RELU.replace("Output(", "IgnoredOutput(") + "Example({x: [1, 2, 3, 4]})"
    [output] = load(source)["spec"].expected
    assert (output.ignored, output.values.tolist(), output.tolerance) == (True, [0] * 4, None)


def test_a_result_without_elements_is_offered_a_byte(load: Load) -> None:
    source = RELU.replace("[4]", "[0]") + "Example({x: [], z: []})"
    case = load(source)["spec"]
    assert case.test_case.examples[0].outputs[0].byte_size == 1
    assert "zeroSizedOutput" in case.tags


# ---- data types ---------------------------------------------------------------------------------


def test_real_numbers_are_rounded_to_even_and_clamped(load: Load) -> None:
    source = (
        RELU.replace("[4]", "[7]")
        + """
numbers = [-1000, -0.25, 0.25, 0.75, 1.25, 1000, 3]
Example({x: numbers, z: numbers}).AddVariations(
    DataTypeConverter("quant8", scale=0.5, zeroPoint=100),
    DataTypeConverter("quant8_signed", scale=0.5, zeroPoint=1),
    "float16", "int32")
"""
    )
    cases = load(source)
    # -0.5, 0.5, 1.5 and 2.5 steps from an even and from an odd zero point.
    assert fed(cases["spec_quant8"]) == [[0, 100, 100, 102, 102, 255, 106]]
    assert fed(cases["spec_quant8_signed"]) == [[-128, 0, 2, 2, 4, 127, 7]]
    assert fed(cases["spec_float16"]) == [[-1000, -0.25, 0.25, 0.75, 1.25, 1000, 3]]
    assert fed(cases["spec_int32"]) == [[-1000, 0, 0, 1, 1, 1000, 3]]


def test_a_float16_conversion_takes_scalars_along_and_a_quantised_one_does_not(load: Load) -> None:
    source = """
x, z = Input("x", ("TENSOR_FLOAT32", [2])), Output("z", ("TENSOR_FLOAT32", [2]))
Model().Operation("ELU", x, 0.1).To(z)
Example({x: [1, 2], z: [1, 2]}).AddVariations(
    "float16", DataTypeConverter("quant8", scale=1.0, zeroPoint=0))
"""
    cases = load(source)
    half = operands(cases["spec_float16"])["param"]
    assert half.type == pb.OPERAND_TYPE_FLOAT16
    assert constant(cases["spec_float16"].test_case.model, half) == np.float16(0.1)
    assert operands(cases["spec_quant8"])["param"].type == pb.OPERAND_TYPE_FLOAT32


def test_types_that_are_converted_already_are_dequantised_first(load: Load) -> None:
    source = """
x = Input("x", ("TENSOR_QUANT8_ASYMM", [2], 0.5, 10))
z = Output("z", ("TENSOR_QUANT8_ASYMM", [2], 0.5, 10))
Model().Operation("RELU", x).To(z)
to = ("TENSOR_QUANT8_ASYMM_SIGNED", 0.25, -4)
Example({x: [12, 8], z: [12, 10]}).AddVariations(DataTypeConverter().Identify({x: to, z: to}))
"""
    assert fed(load(source)["spec_quant8_signed"]) == [[0, -8]]


CHANNELS = """
x = Input("x", ("TENSOR_FLOAT32", [1, 1, 1, 1]))
w = Parameter("w", ("TENSOR_FLOAT32", [2, 1, 1, 1]), [1, -1000])
b = Parameter("b", ("TENSOR_FLOAT32", [2]), [3, 3])
z = Output("z", ("TENSOR_FLOAT32", [1, 1, 1, 2]))
Model().Operation("CONV_2D", x, w, b, 1, 1, 1, 0).To(z)
q = DataTypeConverter().Identify({
    x: ("TENSOR_QUANT8_ASYMM", 1.0, 0),
    w: ("TENSOR_QUANT8_SYMM_PER_CHANNEL", 0, 0, SymmPerChannelQuantParams(0, [0.5, 0.25])),
    b: ("TENSOR_INT32", 0.0, 0, SymmPerChannelQuantParams(0, [0.5, 0.25], hide=True)),
    z: ("TENSOR_QUANT8_ASYMM", 1.0, 0)})
Example({x: [1], z: [4, 255]}).AddVariations(q)
"""


def test_scales_of_channels_make_values_and_are_written_unless_hidden(load: Load) -> None:
    case = load(CHANNELS)["spec_channelQuant8"]
    found = operands(case)
    model = case.test_case.model
    assert constant(model, found["w"]).flatten().tolist() == [2, -127]
    assert list(found["w"].channel_quant.scales) == [0.5, 0.25]
    assert constant(model, found["b"]).tolist() == [6, 12]
    assert not found["b"].HasField("channel_quant")


def test_a_conversion_reaches_into_subgraphs_once(load: Load) -> None:
    source = """
def branch():
    y, z = Input("y", ["TENSOR_FLOAT32", [1]]), Output("z", ["TENSOR_FLOAT32", [1]])
    return Model().Operation("ADD", y, [100.0], 0).To(z)
x, y = Input("x", ["TENSOR_BOOL8", [1]]), Input("y", ["TENSOR_FLOAT32", [1]])
z = Output("z", ["TENSOR_FLOAT32", [1]])
shared = branch()
Model().Operation("IF", x, shared, shared, y).To(z)
Example({x: [True], y: [1], z: [101]}, {x: [False], y: [2], z: [102]}).AddVariations(
    DataTypeConverter("quant8", scale=1.0, zeroPoint=100), "float16")
"""
    cases = load(source)
    assert len(cases["spec"].test_case.model.referenced) == 1
    for name in ("spec_quant8", "spec_quant8_2"):
        model = cases[name].test_case.model
        [y, added, _, z] = model.referenced[0].operands
        assert {y.type, added.type, z.type} == {pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM}
        assert constant(model, added) == [200]
    # The spec's own models are as they were.
    [y, *_] = cases["spec_2"].test_case.model.referenced[0].operands
    assert y.type == pb.OPERAND_TYPE_TENSOR_FLOAT32


def test_subgraphs_are_numbered_by_going_deeper_first(load: Load) -> None:
    source = """
B, F = ["TENSOR_BOOL8", [1]], ["TENSOR_FLOAT32", [1]]
def leaf(operation):
    y, z = Input("y", F), Output("z", F)
    return Model().Operation(operation, y).To(z)
def fork(one, other):
    x, y, z = Input("x", B), Input("y", F), Output("z", F)
    model = Model().IdentifyInputs(x, y).IdentifyOutputs(z)
    return model.Operation("IF", x, one, other, x, y).To(z)
relu, floor, exp = leaf("RELU"), leaf("FLOOR"), leaf("EXP")
main = fork(fork(relu, floor), fork(exp, relu))
x, y, z = (main.operands[i] for i in range(3))
Example({x: [True], y: [1], z: [1]}, model=main)
"""
    referenced = load(source)["spec"].test_case.model.referenced
    assert [subgraph.operations[0].type for subgraph in referenced] == [
        pb.OPERATION_TYPE_IF,
        pb.OPERATION_TYPE_RELU,
        pb.OPERATION_TYPE_FLOOR,
        pb.OPERATION_TYPE_IF,
        pb.OPERATION_TYPE_EXP,
    ]
    indexes = [
        operand.location.offset
        for operand in referenced[3].operands
        if operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH
    ]
    assert indexes == [4, 1]


# ---- layouts, axes, activations, relaxed --------------------------------------------------------


def test_a_layout_turns_images_vectors_of_four_and_the_flag(load: Load) -> None:
    source = """
x = Input("x", ("TENSOR_FLOAT32", [1, 2, 1, 3]))
begin = Parameter("begin", ("TENSOR_INT32", [4]), [10, 20, 30, 40])
layout = BoolScalar("layout", False)
z = Output("z", ("TENSOR_FLOAT32", [1, 2, 1, 3]))
Model().Operation("SLICE", x, begin, layout).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [1, 2, 3, 4, 5, 6]}).AddNchw(x, begin, layout, z)
"""
    cases = load(source)
    assert list(cases) == ["spec_nhwc", "spec_nchw"]
    case = cases["spec_nchw"]
    found, model = operands(case), case.test_case.model
    assert list(found["x"].dimensions) == [1, 3, 2, 1]
    assert fed(case) == [[1, 4, 2, 5, 3, 6]]
    assert constant(model, found["begin"]).tolist() == [10, 40, 20, 30]
    assert constant(model, found["layout"]) == 1


AXES = """
x, z = Input("x", ("TENSOR_FLOAT32", [2, 3])), Output("z", ("TENSOR_FLOAT32", [2, 3]))
axis = Int32Scalar("axis", AXIS)
Model().Operation("SOFTMAX", x, 1.0, axis).To(z)
example = Example({x: [1, 2, 3, 4, 5, 6], z: [1, 2, 3, 4, 5, 6]})
"""


def axis_of(case: Case) -> Array:
    return constant(case.test_case.model, operands(case)["axis"])


def test_all_ranks_and_axes_from_either_end(load: Load) -> None:
    cases = load(AXES.replace("AXIS", "-1") + "example.AddAllDimsAndAxis(x, z, axis)")
    found = {name: (int(axis_of(case)), fed(case)[0]) for name, case in cases.items()}
    assert found == {
        "spec_dim2_axis0": (0, [1, 4, 2, 5, 3, 6]),
        "spec_dim2_axis0_neg": (-2, [1, 4, 2, 5, 3, 6]),
        "spec_dim2_axis1": (1, [1, 2, 3, 4, 5, 6]),
        "spec_dim2_axis1_neg": (-1, [1, 2, 3, 4, 5, 6]),
        "spec_dim1_axis0": (0, [1, 2, 3]),
        "spec_dim1_axis0_neg": (-1, [1, 2, 3]),
    }
    assert list(operands(cases["spec_dim2_axis0"])["x"].dimensions) == [3, 2]


def test_ranks_keep_the_target_axis(load: Load) -> None:
    cases = load(AXES.replace("AXIS", "0") + "example.AddAllDims(x, z, axis)")
    assert list(cases) == ["spec_dim2_axis0", "spec_dim1_axis0"]
    assert fed(cases["spec_dim1_axis0"]) == [[1, 4]]
    source = """
x, z = Input("x", ("TENSOR_FLOAT32", [2, 2, 2])), Output("z", ("TENSOR_FLOAT32", [2, 2, 2]))
Model().Operation("SOFTMAX", x, 1.0).To(z)
Example({x: [1, 2, 3, 4, 5, 6, 7, 8], z: [1, 2, 3, 4, 5, 6, 7, 8]}).AddAllDims(x, z)
"""
    values = [fed(case)[0] for case in load(source).values()]
    assert values == [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4], [1, 2]]
    # Without an axis among the operands, it is the last.
    cases = load(AXES.replace("AXIS", "0") + "example.AddDims(1, x, z)")
    assert list(cases) == ["spec", "spec_dim1_axis0"]
    assert fed(cases["spec_dim1_axis0"]) == [[1, 2, 3]]


def test_activations_clamp_outputs_at_quantised_bounds(load: Load) -> None:
    source = """
x = Input("x", ("TENSOR_QUANT8_ASYMM", [4], 0.5, 100))
z = Output("z", ("TENSOR_QUANT8_ASYMM", [4], 0.5, 100))
act = Int32Scalar("act", 0)
Model().Operation("ADD", x, x, act).To(z)
Example({x: [90, 100, 101, 120], z: [80, 100, 102, 140]}).AddAllActivations(z, act)
"""
    cases = load(source)
    found = {
        name: (int(constant(case.test_case.model, operands(case)["act"])), expected(case)[0])
        for name, case in cases.items()
    }
    assert found == {
        "spec_none": (0, [80, 100, 102, 140]),
        "spec_relu": (1, [100, 100, 102, 140]),
        "spec_relu1": (2, [98, 100, 102, 102]),
        "spec_relu6": (3, [100, 100, 102, 112]),
    }
    assert list(found) == ["spec_none", "spec_relu", "spec_relu1", "spec_relu6"]


def test_relaxed_cases_have_the_tolerance_of_float16(load: Load) -> None:
    cases = load(RELU + 'Example(feed).AddVariations("relaxed", "float16")')
    relaxed = [case.test_case.model.relax_computation_float32_to_float16 for case in cases.values()]
    assert relaxed == [False, True, False]
    absolute = [case.expected[0].tolerance.absolute for case in cases.values()]
    assert absolute == [1e-5, 5 * 2.0**-10, 5 * 2.0**-10]


# ---- lifetimes ----------------------------------------------------------------------------------


PRELU = """
x, z = Input("x", ("TENSOR_FLOAT32", [2])), Output("z", ("TENSOR_FLOAT32", [2]))
slope = Parameter("slope", ("TENSOR_FLOAT32", [1]), [0.5])
Model().Operation("PRELU", x, slope).To(z)
example = Example({x: [-2, 2], z: [-1, 2]})
"""
TENSORS, INPUTS = ("all_tensors_as_inputs",), ("all_inputs_as_internal",)
OUTPUTS = ("all_outputs_as_internal",)


def test_examples_of_one_operation_have_both_lifetime_groups(load: Load) -> None:
    case = load(PRELU)["spec"]
    assert case.lifetime_variants == (INPUTS, TENSORS, TENSORS + INPUTS)
    names = [form.name for form in derived(case)]
    assert names == ["spec_unspecified_outputs", *case.lifetime_names]


@pytest.mark.parametrize(
    "said",
    [
        "example.DisableLifeTimeVariation()",
        'example.model.Operation("RELU", z).To(Internal("i", ("TENSOR_FLOAT32", [2])))',
    ],
)
def test_others_have_none(load: Load, said: str) -> None:
    assert load(PRELU + said)["spec"].lifetime_variants == ()


def test_what_must_not_be_internal_stays_an_input(load: Load) -> None:
    case = load(PRELU + "x.ShouldNeverBeInternal()")["spec"]
    assert case.lifetime_variants == (TENSORS, TENSORS + INPUTS)
    form = with_lifetimes(case, TENSORS + INPUTS)
    assert form is not None
    main = form.test_case.model.main
    # x itself, and what becomes the slope.
    assert [main.operands[index].name for index in main.input_indexes] == ["x", "slope_new"]
    assert [operation.type for operation in main.operations] == [
        pb.OPERATION_TYPE_ADD,
        pb.OPERATION_TYPE_PRELU,
    ]


def test_vectors_stay_constants(load: Load) -> None:
    source = PRELU.replace('Parameter("slope", ("TENSOR_FLOAT32", [1]), [0.5])', "[0.5]")
    assert load(source)["spec"].lifetime_variants == (INPUTS,)


def test_a_spec_may_want_a_form_alone(load: Load) -> None:
    source = PRELU + (
        "example.DisableLifeTimeVariation()\n"
        "example.AddVariations(AllOutputsAsInternalCoverter(), includeDefault=False)"
    )
    cases = load(source)
    assert list(cases) == ["spec_all_outputs_as_internal"]
    main = cases["spec_all_outputs_as_internal"].test_case.model.main
    assert [operation.type for operation in main.operations] == [
        pb.OPERATION_TYPE_PRELU,
        pb.OPERATION_TYPE_ADD,
    ]


def test_lifetimes_beside_the_default_are_variants_of_it(load: Load) -> None:
    source = PRELU + (
        'example.AddVariations("relaxed")\nexample.AddVariations(AllOutputsAsInternalCoverter())'
    )
    cases = load(source)
    assert list(cases) == ["spec", "spec_relaxed"]
    # Together with another form there would be two operations.
    assert cases["spec_relaxed"].lifetime_variants == (INPUTS, TENSORS, TENSORS + INPUTS, OUTPUTS)
    assert cases["spec_relaxed"].lifetime_names[-1] == "spec_relaxed_all_outputs_as_internal"


def test_open_outputs_may_be_ruled_out(load: Load) -> None:
    assert unspecified_outputs(load(PRELU)["spec"]) is not None
    source = PRELU + "example.DisableDynamicOutputShapeVariation()"
    assert unspecified_outputs(load(source)["spec"]) is None


# ---- versions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        ("V1_0", pb.HAL_VERSION_1_0),
        ("V1_3", pb.HAL_VERSION_1_3),
        ("V1_3_cts_only", pb.HAL_VERSION_1_3),
        ("elsewhere", pb.HAL_VERSION_1_1),  # what `lowest` says
    ],
)
def test_the_folder_says_the_version(load: Load, folder: str, version: int) -> None:
    [case] = load(RELU + "Example(feed)", folder).values()
    assert case.hal_version == version


def test_a_model_or_a_test_may_have_another_version(load: Load) -> None:
    source = (
        RELU
        + """
model.IntroducedIn("V1_0")
Example(feed).AddVariations("float16")
Example.SetVersion("V1_1", "spec_float16", "never_heard_of")
"""
    )
    versions = {name: case.hal_version for name, case in load(source).items()}
    assert versions == {"spec": pb.HAL_VERSION_1_0, "spec_float16": pb.HAL_VERSION_1_1}


def test_relaxed_execution_came_with_1_1(load: Load) -> None:
    cases = load(RELU + 'Example(feed).AddVariations("relaxed")', "V1_0")
    versions = {name: case.hal_version for name, case in cases.items()}
    assert versions == {"spec": pb.HAL_VERSION_1_0, "spec_relaxed": pb.HAL_VERSION_1_1}


def test_what_no_hal_version_of_ours_carries_is_left_out(load: Load) -> None:
    assert load(RELU + "Example(feed)", "AIDL_V9") == {}


def test_the_driver_is_asked_once_and_only_where_nothing_is_said(tmp_path: Path) -> None:
    asked: list[int] = []

    def lowest(models: Sequence[pb.Model]) -> list[pb.HalVersion]:
        asked.append(len(models))
        return [pb.HAL_VERSION_UNSPECIFIED] * len(models)

    path = tmp_path / "spec.mod.py"
    path.write_text(RELU + "Example(feed, feed)")
    # The newest for what is valid in none.
    assert {case.hal_version for case in specs.load(path, lowest)} == {pb.HAL_VERSION_AIDL_4}
    assert asked == [2]


# ---- what a case expects ------------------------------------------------------------------------


def test_a_case_that_must_fail_expects_no_values(load: Load) -> None:
    case = load(RELU + "Example(feed).ExpectFailure()")["spec"]
    assert case.expect_failure
    assert case.expected[0].tolerance is None


def test_a_loop_that_must_fail_is_one_that_does_not_end(load: Load) -> None:
    source = """
F = ("TENSOR_FLOAT32", [1])
i, go_on = Input("i", F), Output("go_on", ("TENSOR_BOOL8", [1]))
condition = Model().Operation("EQUAL", i, i).To(go_on)
j, k = Input("j", F), Output("k", F)
body = Model().Operation("RELU", j).To(k)
x, z = Input("x", F), Output("z", F)
Model().Operation("WHILE", condition, body, x).To(z)
Example({x: [1], z: [1]}).ExpectFailure()
"""
    assert load(source)["spec"].tags == {"controlFlow", "infiniteLoop"}


def test_draws_are_compared_by_their_distribution(load: Load) -> None:
    source = """
x = Input("x", ("TENSOR_FLOAT32", [1, 2]))
z = IgnoredOutput("z", ("TENSOR_INT32", [1, 100]))
Model().Operation("RANDOM_MULTINOMIAL", x, 100, [1, 2]).To(z)
Example(({x: [0, 1]}, {z: []})).WithMultinomialDistributionTolerance(0.1)
"""
    case = load(source)["spec"]
    assert case.multinomial is not None
    assert case.multinomial.logits.tolist() == [[0, 1]]
    assert case.lifetime_variants == ()
    shape = pb.OutputResult(is_sufficient=True, dimensions=[1, 100])

    def judged(draws: Array) -> bool:
        result = pb.CaseResult(examples=[pb.ExampleResult(outputs=[shape])])
        result.examples[0].outputs[0].data = draws.astype("<i4").tobytes()
        return case.check(result).passed

    assert judged(np.repeat([0, 1], [27, 73]))
    assert not judged(np.repeat([0, 1], [73, 27]))


# ---- files --------------------------------------------------------------------------------------


def test_files_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("b/x.mod.py", "a.mod.py", "b/y.py", "c/deep/z.mod.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = [str(path.relative_to(tmp_path)) for path in specs.files(tmp_path)]
    assert found == ["a.mod.py", "b/x.mod.py", "c/deep/z.mod.py"]


def test_files_know_nothing_of_each_other(load: Load) -> None:
    load(RELU + "Example(feed)", name="first.mod.py")
    with pytest.raises(HalyardError, match="NameError"):
        load("Example(feed)", name="second.mod.py")
    with pytest.raises(HalyardError, match="an example comes after its model"):
        load("Example({})", name="third.mod.py")
    cases = load(RELU + "Example(feed)", name="first.mod.py")
    assert list(cases) == ["first"]
    assert list(operands(cases["first"])) == ["x", "z"]


WRONG = {
    "1 +": (1, "SyntaxError: invalid syntax"),
    "\n\nraise RuntimeError('oh')": (3, "RuntimeError: oh"),
    "import sys\nsys.exit(3)": (2, "SystemExit: 3"),
    'x = Input("x", ("TENSOR_FLOAT99", [1]))': (1, "no operand type 'TENSOR_FLOAT99'"),
    'x = Input("x", ("TENSOR_FLOAT32", 1))': (1, "dimensions 1 are neither a list nor a tuple"),
    'x = Input("x", "TENSOR_FLOAT32", "2, 3")': (1, "'2, 3' is no shape like"),
    "Model().To(3)": (1, "To() without an operation before it"),
    f"{RELU}Example(7)": (6, "an example is a dict, or a pair of them"),
    f"{RELU}Example({{x: [1]}})": (6, "the example has no value for 'z'"),
    f"{RELU}Example(feed).AddVariations('float99')": (6, "'float99' is no variation"),
    f"{RELU}\nExample(feed).AddVariations('quant8')": (7, "quant8 needs a scale and a zero point"),
    f"{RELU}\nExample({{x: [1], z: [1]}})": (2, "operand 'x': TENSOR_FLOAT32: 1 values for"),
    f"{RELU}Model().Operation('NONE_SUCH', x).To(z)\nExample(feed)": (
        6,
        "no operation 'NONE_SUCH'",
    ),
    f"{RELU}Model().IntroducedIn('V9_9').Operation('RELU', x).To(z)\nExample(feed)": (
        7,
        "no HAL version 'V9_9'",
    ),
    f"{RELU}y = Input('y', ('TENSOR_FLOAT32', [1]))\nExample(feed).AddNchw(y)": (
        7,
        "operand 'y' is not in the model",
    ),
    "def f():\n    g()\ndef g():\n    1 / 0\nf()": (4, "ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize(
    ("source", "said"), WRONG.items(), ids=[said for _, said in WRONG.values()]
)
def test_a_broken_spec_gives_one_error_with_file_and_line(
    load: Load, source: str, said: tuple[int, str]
) -> None:
    line, what = said
    with pytest.raises(HalyardError, match=rf"spec\.mod\.py:{line}: .*{re.escape(what)}"):
        load(source)


def test_what_cannot_be_read_gives_one_error(tmp_path: Path) -> None:
    with pytest.raises(HalyardError, match="No such file"):
        specs.load(tmp_path / "none.mod.py")
    binary = tmp_path / "binary.mod.py"
    binary.write_bytes(b"\x00\xff")
    with pytest.raises(HalyardError, match=r"binary\.mod\.py"):
        specs.load(binary)


def test_values_that_do_not_fit_are_refused(load: Load) -> None:
    for kind, value in (("TENSOR_QUANT8_ASYMM", 256), ("TENSOR_INT32", 2**31)):
        source = RELU.replace("TENSOR_FLOAT32", kind) + f"Example({{x: [{value}] * 4, z: [0] * 4}})"
        with pytest.raises(HalyardError, match="a value is not within"):
            load(source)
