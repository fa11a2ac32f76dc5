# SPDX-License-Identifier: Apache-2.0
"""The spec language: names, order, operands, versions, and what is wrong in a spec."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from halyard import specs
from halyard.errors import HalyardError
from halyard.model import Array, constant
from halyard.proto import halyard_pb2 as pb
from tests.harness.spec_cases import RELU, Load, fed, operands

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
