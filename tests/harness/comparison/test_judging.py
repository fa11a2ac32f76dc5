# SPDX-License-Identifier: Apache-2.0
"""The rules by which results agree: how an output is computed, and how far the reference is from
itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.comparison.difference import MAX_SHARE, Difference, allowed_steps, compare_all
from halyard.comparison.judging import SPREADS, Rules, Steps, judge
from halyard.comparison.reference import Repetitions, reference
from halyard.comparison.spread import (
    INPUTS,
    KERNELS,
    ROUNDING,
    WEIGHTS,
    Spread,
    Variation,
    variations,
)
from halyard.engines.engine import EngineRefused, Library, Loaded, Shapes
from halyard.engines.litert import LiteRt
from halyard.engines.nudging import nudged, nudged_file, rounding_otherwise
from halyard.engines.onnx_runtime import OnnxRuntime
from halyard.engines.original import run_file
from halyard.engines.workload import Workload
from halyard.model import (
    Array,
    DataType,
    ModelBuilder,
    RunnableModel,
    TensorInfo,
    Tensors,
    TensorType,
)
from halyard.proto import halyard_pb2 as pb

FLOATS = TensorInfo("y", np.dtype(np.float32), (10,))
INDEXES = TensorInfo("y", np.dtype(np.int32), (10,))
OFF = Difference("y", 10, 1.0, 0.1, None, 0.0, nonzero=10, largest=100.0)


def rules(*outputs: TensorInfo, behind: Steps | None = None) -> Rules:
    return Rules(1, 1, outputs, [behind] * len(outputs))


class Asked:
    """A reference's spread that counts how often it is asked. `errors`: of each variation."""

    def __init__(self, info: TensorInfo, errors: Sequence[float]) -> None:
        self.times = 0
        base = np.zeros(info.shape, info.dtype)
        self.spread = Spread([info], [base], self._variations(base, errors))

    def _variations(self, base: Array, errors: Sequence[float]) -> Iterator[Variation]:
        for error in errors:
            self.times += 1
            other = base.copy()
            other[0] = error
            yield Variation("otherwise", [other])


# ---- from 8 bits --------------------------------------------------------------------------------


def quantized_model(kinds: Sequence[int], scale: float = 0.5) -> RunnableModel:
    """Floats, 8 bits by QUANTIZE, floats by DEQUANTIZE, and operations of one input behind."""
    builder = ModelBuilder("m")
    floats = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4))
    x = builder.input("x", floats)
    bytes_ = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (1, 4), scale, 128)
    value = builder.operation(pb.OPERATION_TYPE_QUANTIZE, [x], "q", bytes_)
    value = builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [value], "d", floats)
    for number, kind in enumerate(kinds):
        more = []
        if kind == pb.OPERATION_TYPE_RESHAPE:
            more = [builder.vector("shape", [1, 4])]
        value = builder.operation(kind, [value, *more], f"y{number}", floats)
    return RunnableModel.of(builder.build([value]))


def test_floats_that_are_dequantized_may_be_off_by_steps_of_what_they_were() -> None:
    [steps] = Rules.of(quantized_model([pb.OPERATION_TYPE_RESHAPE])).behind
    assert steps == Steps(1, 0.5, is_moved=True)
    assert steps.limit(OFF) == 0.5


def test_floats_that_are_computed_from_8_bits_may_be_off_by_a_step_of_their_range() -> None:
    [steps] = Rules.of(quantized_model([pb.OPERATION_TYPE_TANH])).behind
    assert steps == Steps(1, 0.5, is_moved=False)
    assert steps.limit(replace(OFF, largest=255.0)) == 1.0
    assert steps.limit(replace(OFF, largest=10.0)) == 0.5
    assert steps.limit(replace(OFF, largest=1.0)) == 0.1, "no more than a tenth"


def test_several_steps_are_no_more_than_a_tenth_and_one_is() -> None:
    several = Steps(16, 0.5, is_moved=True)
    for largest, limit in ((1000.0, 8.0), (50.0, 5.0), (1.0, 0.5)):
        assert several.limit(replace(OFF, largest=largest)) == limit


def test_rows_of_a_table_of_8_bits_have_no_steps() -> None:
    builder = ModelBuilder("m")
    bytes_ = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (4, 4), 2.0, 128)
    table = builder.constant("table", bytes_, np.zeros((4, 4), np.uint8))
    row = builder.operation(
        pb.OPERATION_TYPE_GATHER,
        [
            table,
            builder.int32(0),
            builder.input("i", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (1,))),
        ],
        "row",
        replace(bytes_, dimensions=(1, 4)),
    )
    floats = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4))
    y = builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [row], "y", floats)
    assert Rules.of(RunnableModel.of(builder.build([y]))).behind == [None]


def test_floats_behind_floats_have_no_steps() -> None:
    builder = ModelBuilder("m")
    floats = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4))
    bytes_ = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (1, 4), 0.5, 128)
    # Inputs of 8 bits are the same on both sides.
    given = builder.operation(
        pb.OPERATION_TYPE_DEQUANTIZE, [builder.input("q", bytes_)], "d", floats
    )
    y = builder.operation(pb.OPERATION_TYPE_TANH, [given], "y", floats)
    assert Rules.of(RunnableModel.of(builder.build([y]))).behind == [None]


def test_the_coarsest_of_the_last_8_bit_values_counts_and_none_before_it() -> None:
    builder = ModelBuilder("m")
    floats = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4))

    def rounded(value: int, scale: float) -> int:
        bytes_ = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (1, 4), scale, 128)
        value = builder.operation(pb.OPERATION_TYPE_QUANTIZE, [value], "q", bytes_)
        return builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [value], "d", floats)

    x = builder.input("x", floats)
    ends = [rounded(rounded(x, 8.0), 0.25), rounded(x, 0.125)]
    y = builder.operation(pb.OPERATION_TYPE_ADD, [*ends, builder.int32(0)], "y", floats)
    [steps] = Rules.of(RunnableModel.of(builder.build([y]))).behind
    assert steps is not None
    assert (steps.size, steps.is_moved) == (0.25, False)


def test_steps_decide_before_the_reference_is_asked_and_say_so() -> None:
    asked = Asked(FLOATS, [1.0])
    said = judge(rules(FLOATS, behind=Steps(1, 1.0, True)), [OFF], "LiteRT", asked.spread)
    assert said.problems == []
    assert said.notes == [
        "y is off by 1: within 1, what a step of the 8-bit values comes to that it is computed from"
    ]
    assert asked.times == 0


def test_8_bit_outputs_are_held_to_steps_whatever_the_spread_is() -> None:
    info = TensorInfo("y", np.dtype(np.uint8), (10,), 0.5)
    off = replace(OFF, max_steps=2)
    asked = Asked(FLOATS, [50.0])
    [problem] = judge(rules(info), [off], "LiteRT", asked.spread).problems
    assert problem.startswith("disagrees with LiteRT by more than 1 step: y: ")
    assert asked.times == 0


# ---- 8 bits behind floats -----------------------------------------------------------------------

UNITS, ROWS = 64, 512
SCALE = 8 / 255


def layers(count: int) -> list[Array]:
    """Weights of layers that keep the range of what they are given."""
    random = np.random.default_rng(5)
    each = [random.normal(0, UNITS**-0.5, (UNITS, UNITS)) for _ in range(count)]
    return [weights.astype(np.float32) for weights in each]


def rounding_model(count: int) -> RunnableModel:
    """Layers in floats, behind each of which the values are rounded to 8 bits."""
    builder = ModelBuilder("m")
    floats = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (ROWS, UNITS))
    bytes_ = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (ROWS, UNITS), SCALE, 128)
    value = builder.input("x", bytes_)
    none = builder.int32(0)
    bias = builder.constant("bias", replace(floats, dimensions=(UNITS,)), np.zeros(UNITS, "<f4"))
    for number, weights in enumerate(layers(count)):
        matrix = builder.constant(f"w{number}", replace(floats, dimensions=(UNITS, UNITS)), weights)
        real = builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [value], f"d{number}", floats)
        real = builder.operation(
            pb.OPERATION_TYPE_FULLY_CONNECTED, [real, matrix, bias, none], f"f{number}", floats
        )
        value = builder.operation(pb.OPERATION_TYPE_QUANTIZE, [real], f"q{number}", bytes_)
    return RunnableModel.of(builder.build([value]))


def rounded_results(count: int, *, ties: float) -> Array:
    """Of the model. `ties`: which share of the values that are rounded lies halfway between two
    steps, and goes to the other one than in an engine that adds in the model's order."""
    random = np.random.default_rng(6)
    values = random.integers(64, 193, (ROWS, UNITS)).astype(np.float32)
    for weights in layers(count):
        steps = np.rint((values - 128) @ weights.T)
        steps += random.choice([-1, 1], steps.shape) * (random.random(steps.shape) < ties)
        values = np.clip(steps + 128, 0, 255)
    return values.astype(np.uint8)


@pytest.mark.parametrize("count", [1, 4, 9, 25])
def test_steps_behind_floats_grow_as_the_root_of_the_roundings(count: int) -> None:
    assert allowed_steps(rounding_model(count).model) == 4 * count**0.5


def test_steps_behind_floats_are_no_more_than_a_tenth_of_the_range() -> None:
    assert allowed_steps(rounding_model(49).model) == 25


@pytest.mark.parametrize("ties", [1e-4, 1e-2])
def test_ties_that_go_to_the_other_step_are_right(ties: float) -> None:
    model = rounding_model(16)
    wanted, found = (rounded_results(16, ties=share) for share in (0.0, ties))
    [difference] = compare_all(model, [wanted], [found])
    assert difference.max_steps is not None
    assert difference.max_steps > 1, "a step alone would refuse a right result"
    assert judge(Rules.of(model), [difference], "LiteRT").problems == []


def test_values_that_all_go_to_the_other_step_are_refused() -> None:
    wanted, found = (rounded_results(16, ties=share) for share in (0.0, 1.0))
    model = rounding_model(16)
    assert judge(Rules.of(model), compare_all(model, [wanted], [found]), "LiteRT").problems


@pytest.mark.parametrize(("steps", "problems"), [(16, 0), (17, 1)])
def test_a_result_just_beyond_the_steps_behind_floats_is_refused(steps: int, problems: int) -> None:
    model = rounding_model(16)
    wanted = np.full((ROWS, UNITS), 100, np.uint8)
    found = wanted.copy()
    found[3, 5] += steps
    said = judge(Rules.of(model), compare_all(model, [wanted], [found]), "LiteRT")
    assert len(said.problems) == problems
    assert all("by more than 16 steps: q15: " in each for each in said.problems)
    assert not said.is_wrong


@pytest.mark.parametrize(
    ("dtype", "steps", "wrong"),
    [
        (np.uint8, 25, False),
        (np.int8, 26, True),
        (np.uint16, 6553, False),
        (np.uint16, 6554, True),
    ],
)
def test_a_tenth_of_the_range_is_wrong_altogether(dtype: type, steps: int, wrong: bool) -> None:
    info = TensorInfo("y", np.dtype(dtype), (10,), 0.5)
    said = judge(rules(info), [replace(OFF, max_steps=steps)], "LiteRT")
    assert said.problems
    assert said.is_wrong == wrong


# ---- from the reference itself ------------------------------------------------------------------


def test_a_reference_is_not_asked_for_its_spread_while_results_agree() -> None:
    asked = Asked(FLOATS, [1.0])
    near = replace(OFF, max_abs_error=1e-6)
    assert judge(rules(FLOATS), [near], "LiteRT", asked.spread).notes == []
    assert asked.times == 0


def test_results_may_be_some_spreads_away_and_no_further() -> None:
    for error, count in ((SPREADS * 0.2, 0), (SPREADS * 0.2 * 1.01, 1)):
        asked = Asked(FLOATS, [0.1, 0.2, 0.15])
        off = replace(OFF, max_abs_error=error)
        said = judge(rules(FLOATS), [off], "LiteRT", asked.spread)
        assert len(said.problems) == count, said
        assert said.is_disputed == bool(count)
        [text] = said.problems or said.notes
        assert "LiteRT otherwise is 0.2 from itself" in text


def test_variations_are_asked_for_until_they_explain_the_difference() -> None:
    asked = Asked(FLOATS, [0.1, 0.5, 0.6])
    assert not judge(rules(FLOATS), [OFF], "LiteRT", asked.spread).problems
    assert asked.times == 2
    # A spread that is known by then is not asked for again.
    assert not judge(rules(FLOATS), [OFF], "LiteRT", asked.spread).problems
    assert asked.times == 2


def test_no_spread_makes_a_tenth_of_the_largest_agree() -> None:
    limit = MAX_SHARE * OFF.largest
    asked = Asked(FLOATS, [0.9 * limit])
    off = replace(OFF, max_abs_error=1.01 * limit)
    said = judge(rules(FLOATS), [off], "LiteRT", asked.spread)
    assert said.is_wrong
    assert not said.is_disputed


def test_a_reference_that_is_a_tenth_from_itself_says_nothing() -> None:
    asked = Asked(FLOATS, [1.1 * MAX_SHARE * OFF.largest])
    off = replace(OFF, max_abs_error=50.0)
    said = judge(rules(FLOATS), [off], "ONNX Runtime", asked.spread)
    assert said.problems == []
    assert said.notes == [
        "y is off by 50, which says nothing: ONNX Runtime otherwise is 11 from itself"
    ]
    assert said.silent == said.notes


@pytest.mark.parametrize(("own", "problems"), [(50.0, 1), (np.nan, 0)])
def test_no_number_is_wrong_unless_the_reference_has_none_either(own: float, problems: int) -> None:
    asked = Asked(FLOATS, [own])
    off = replace(OFF, max_abs_error=np.inf)
    said = judge(rules(FLOATS), [off], "ONNX Runtime", asked.spread)
    assert len(said.problems) == problems
    assert said.is_wrong == bool(problems)


def test_one_output_has_no_part_in_the_spread_of_another() -> None:
    base = np.zeros(FLOATS.shape, np.float32)
    other = base + 1.0
    spread = Spread([FLOATS, FLOATS], [base] * 2, iter([Variation("otherwise", [other, base])]))
    said = judge(rules(FLOATS, FLOATS), [OFF, OFF], "LiteRT", spread)
    assert len(said.problems) == len(said.notes) == 1


def test_indexes_are_the_same_ones() -> None:
    off = replace(OFF, max_abs_error=1.0, largest=1e6, exact_share=0.9)
    [problem] = judge(rules(INDEXES), [off], "LiteRT").problems
    assert "by more than 0.00% of its elements" in problem


@pytest.mark.parametrize(("share", "problems"), [(0.99, 0), (0.9, 0), (0.8, 1)])
def test_indexes_differ_where_the_references_own_do(share: float, problems: int) -> None:
    """One of ten does, and no more than a tenth may."""
    asked = Asked(INDEXES, [7])
    off = replace(OFF, max_abs_error=7.0, exact_share=share)
    said = judge(rules(INDEXES), [off], "LiteRT", asked.spread)
    assert len(said.problems) == problems, said


def test_results_of_another_shape_are_no_measure() -> None:
    info = replace(FLOATS, shape=(0,))
    spread = Spread([info], [np.zeros(0)], iter([Variation("otherwise", [np.ones(3)])]))
    assert spread.widen()
    assert spread.widest[0].error == 0.0
    assert not spread.widen()


# ---- the engines' own ---------------------------------------------------------------------------


def hows(path: Path, inputs: Sequence[Array], info: TensorInfo) -> dict[str, float]:
    """How far ONNX Runtime is from itself, by what is varied."""
    engine = OnnxRuntime(as_written=True)
    base, _ = run_file(engine, path, inputs, 1, 0)
    found: dict[str, float] = {}
    for each in variations(engine, lambda: nullcontext(path), inputs, [info]):
        error = float(np.abs(each.outputs[0] - base[0]).max())
        found[each.how] = max(error, found.get(each.how, 0.0))
    return found


def test_onnx_runtime_is_varied_in_every_way(tmp_path: Path) -> None:
    """A sum that cancels, behind which a value lies between two steps of 8 bits."""
    pytest.importorskip("onnxruntime")
    from tests.harness.onnx_models import Graph

    g = Graph(3)
    x = g.input("x", (1, 32))
    product = g.op("MatMul", x, g.weights(32, 1))
    # 0 but for what the order and the last bits make of it; then half a step.
    tie = g.op("Add", g.op("Mul", product, g.constant(0.0)), g.constant(0.5))
    scale, zero = g.constant(1.0), g.constant(0, "u1")
    steps = g.op("DequantizeLinear", g.op("QuantizeLinear", tie, scale, zero), scale, zero)
    y = g.op("Add", steps, product)
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(y).SerializeToString())
    x_values = np.random.default_rng(3).uniform(-1, 1, (1, 32)).astype(np.float32)
    found = hows(path, [x_values], TensorInfo("y", np.dtype(np.float32), (1, 1)))
    assert set(found) == {INPUTS, WEIGHTS, KERNELS, ROUNDING}
    assert 0.0 < found[INPUTS] < 1e-5
    assert 0.0 < found[WEIGHTS] < 1e-5
    assert found[ROUNDING] == pytest.approx(1.0), "the tie goes to the other step"


def test_whole_numbers_have_no_ulp(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto

    from tests.harness.onnx_models import Graph

    g = Graph()
    x = g.input("x", (4,), TensorProto.INT32)
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(g.op("Cast", x, to=TensorProto.FLOAT)).SerializeToString())
    found = hows(path, [np.arange(4, dtype=np.int32)], TensorInfo("y", np.dtype(np.float32), (4,)))
    assert found == {KERNELS: 0.0}


def test_the_weights_of_a_tflite_file_move_by_an_ulp(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    from halyard import tflite

    model = BenchmarkModel("small_classifier", DataType.FLOAT32, 16, 0.35).runnable.model
    path = tmp_path / "model.tflite"
    path.write_bytes(tflite.write(model))
    content = nudged_file(path)
    assert content is not None
    before, after = tflite.read(path.read_bytes()), tflite.read(content)
    moved = 0
    for one, other in zip(before.buffers, after.buffers, strict=True):
        if one.data is None or len(one.data) < 64:
            assert (one.data is None) == (other.data is None)
            assert one.data is None or bytes(one.data) == bytes(other.data)
            continue
        a, b = (np.frombuffer(bytes(each.data), "<f4") for each in (one, other))
        ulps = np.abs(a.view(np.int32) - b.view(np.int32))
        assert set(ulps[a != 0]) == {1}
        assert not ulps[a == 0].any()
        moved += 1
    assert moved > 3


def test_no_file_is_held_for_variations_that_may_not_be_asked_for(tmp_path: Path) -> None:
    held = []

    @contextmanager
    def file() -> Iterator[Path]:
        held.append(1)
        yield tmp_path
        held.pop()

    whole = [np.zeros(4, np.float32)]
    waiting = variations(TwoWays(), file, whole, [FLOATS])
    assert not held
    assert next(waiting).how == INPUTS
    assert not held


def test_what_an_engine_does_not_take_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    inputs = [np.ones(4, np.float32)]
    assert list(variations(OnnxRuntime(), lambda: nullcontext(path), inputs, [FLOATS])) == []


def test_zeros_stay_and_other_floats_move_by_an_ulp_each_its_own_way() -> None:
    values = np.array([0.0, -0.0, np.inf, np.nan] + [1.5] * 60, np.float32)
    moved = nudged(values)
    assert np.array_equal(moved[:4], values[:4], equal_nan=True)
    assert set(np.abs(moved[4:].view(np.int32) - values[4:].view(np.int32))) == {1}
    assert {float(each) > 1.5 for each in moved[4:]} == {True, False}
    whole = np.arange(4, dtype=np.int64)
    assert nudged(whole) is whole


@pytest.mark.parametrize(
    ("kind", "is_computed", "moves"),
    [
        ("QuantizeLinear", True, True),
        ("QuantizeLinear", False, False),
        ("DynamicQuantizeLinear", True, True),
        ("DynamicQuantizeLinear", False, False),
    ],
)
def test_what_is_computed_before_it_is_rounded_moves(
    kind: str, is_computed: bool, moves: bool, tmp_path: Path
) -> None:
    """Inputs and weights are moved on their own."""
    pytest.importorskip("onnx")
    from tests.harness.onnx_models import Graph

    g = Graph()
    x = g.input("x", (1, 4))
    value = g.op("Tanh", x) if is_computed else x
    more = [g.constant(0.5), g.constant(0, "u1")] if kind == "QuantizeLinear" else []
    steps = g.ops(kind, value, *more, outputs=1 if more else 3)[0]
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(g.op("Cast", steps, to=1)).SerializeToString())
    assert (rounding_otherwise(path, 0) is not None) == moves


class OneValue(Loaded):
    """Gives a number, whatever comes in."""

    def __init__(self, number: float) -> None:
        self._number = number

    @property
    def tensors(self) -> Tensors:
        return Tensors()

    def bind(self, inputs: Sequence[bytes]) -> None:
        del inputs

    def feed(self, inputs: Sequence[Array]) -> None:
        del inputs

    def execute(self) -> None: ...

    def run(self) -> list[Array]:
        return [np.full(10, self._number, np.float32)]

    def time(self, count: int, warmup: int = 0) -> list[int]:
        return [count, warmup]


class TwoWays(Library):
    title = "Two ways"
    version = "1"

    def __init__(self, number: float = 1.0) -> None:
        self._number = number

    def load(self, path: Path, shapes: Shapes = ()) -> OneValue:
        del path, shapes
        return OneValue(self._number)

    def prepare(self, work: Workload) -> OneValue:
        del work
        return OneValue(self._number)

    def otherwise(self) -> Library:
        return TwoWays(self._number + 2.0)


def test_the_engine_s_other_way_is_a_variation(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.touch()
    whole = [np.zeros(4, np.int32)]
    [only] = variations(TwoWays(), lambda: nullcontext(path), whole, [FLOATS])
    assert only.how == KERNELS
    assert set(only.outputs[0]) == {3.0}


def test_onnx_runtime_otherwise_optimises_no_graph_and_computes_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    seen = []

    def session(path: str, options: Any, providers: Sequence[str]) -> None:
        del path, providers
        written = options.get_session_config_entry("session.disable_quant_qdq")
        seen.append((options.graph_optimization_level, written))
        raise RuntimeError("seen")

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    engine = OnnxRuntime(as_written=True)
    for each in (engine, engine.otherwise(), engine.otherwise().otherwise()):
        with pytest.raises(EngineRefused):
            each.load(tmp_path)
    levels = onnxruntime.GraphOptimizationLevel
    assert seen == [
        (levels.ORT_ENABLE_ALL, "1"),
        (levels.ORT_DISABLE_ALL, "1"),
        (levels.ORT_ENABLE_ALL, "1"),
    ]


def test_litert_otherwise_has_its_reference_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    seen = []

    def made(**options: Any) -> None:
        seen.append(options["experimental_op_resolver_type"])
        raise RuntimeError("seen")

    monkeypatch.setattr(interpreter, "Interpreter", made)
    for each in (LiteRt(), LiteRt().otherwise()):
        with pytest.raises(EngineRefused):
            each.load(tmp_path)
    kinds = interpreter.OpResolverType
    assert seen == [kinds.AUTO, kinds.BUILTIN_REF]


def test_a_model_of_the_zoo_has_the_spread_of_its_reference() -> None:
    word = reference(BenchmarkModel("small_classifier", DataType.FLOAT32, 16, 0.35), Repetitions())
    if word.outputs is None:
        pytest.skip(word.reason)
    assert word.spread is not None
    assert word.spread.widen()
    assert word.spread.widest[0].how == INPUTS
    assert 0.0 < word.spread.widest[0].error < 1e-3
