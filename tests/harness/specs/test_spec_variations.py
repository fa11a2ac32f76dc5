# SPDX-License-Identifier: Apache-2.0
"""Variations of a spec: converters of data types, layouts and axes, activations, lifetimes."""

import numpy as np
import pytest

from halyard.cases import Case
from halyard.cases.variants import derived, unspecified_outputs, with_lifetimes
from halyard.model import Array, constant
from halyard.proto import halyard_pb2 as pb
from tests.harness.spec_cases import RELU, Load, expected, fed, operands

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
