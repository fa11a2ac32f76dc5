# SPDX-License-Identifier: Apache-2.0
"""The parts of a benchmark: turns, statistics, counts, the machine's peak."""

import itertools
import subprocess
from collections import Counter

import numpy as np
import pytest

from halyard import zoo
from halyard.bench.cores import OwnRounds
from halyard.bench.results import OURS, EngineResult, ModelResult, disagreement
from halyard.benchmark_model import BenchmarkModel
from halyard.comparison.difference import Difference
from halyard.model import DataType, ModelBuilder, TensorType
from halyard.model.arguments import Activation, Padding
from halyard.model.multiply_adds import multiply_adds
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.timing import machine, turns
from halyard.timing.machine import Peak
from halyard.timing.turns import Amount

FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32


# ---- turns --------------------------------------------------------------------------------------


def test_every_engine_has_its_turn_in_every_round() -> None:
    for number in range(8):
        assert sorted(turns.order("abc", number)) == ["a", "b", "c"]


def test_every_engine_begins_and_ends_rounds() -> None:
    orders = [turns.order("abc", number) for number in range(6)]
    assert {order[0] for order in orders} == set("abc")
    assert {order[-1] for order in orders} == set("abc")


def test_no_engine_always_comes_after_the_same_one() -> None:
    before: dict[str, set[str]] = {"a": set(), "b": set(), "c": set()}
    for number in range(6):
        order = turns.order("abc", number)
        for first, second in itertools.pairwise(order):
            before[second].add(first)
    assert all(len(others) == 2 for others in before.values()), before


@pytest.mark.parametrize("wanted", [1, 2, 9, 10, 25, 50])
def test_a_plan_has_all_the_runs_that_are_wanted(wanted: int) -> None:
    counts: Counter[str] = Counter()
    for turn in (
        turn for each in turns.plan({"a": 1.0, "b": 3.0}, Amount(wanted)) for turn in each
    ):
        assert turn.warmup >= 1
        counts[turn.engine] += turn.count
    assert counts == {"a": wanted, "b": wanted}


@pytest.mark.parametrize(("milliseconds", "warmup"), [(0.01, 100), (1.0, 50), (30.0, 2)])
def test_a_turn_begins_with_fifty_milliseconds_that_do_not_count(
    milliseconds: float, warmup: int
) -> None:
    [[turn]] = turns.plan({"a": milliseconds}, Amount(1))
    assert turn.warmup == warmup


def test_engines_take_turns_within_a_round() -> None:
    for each in turns.plan({"a": 1.0, "b": 1.0, "c": 1.0}, Amount(50)):
        assert [turn.count for turn in each] == [5, 5, 5]
        assert len({turn.engine for turn in each}) == 3


def test_a_slow_engine_runs_less_often_and_the_others_as_often() -> None:
    plan = turns.plan({"fast": 1.0, "slow": 4000.0}, Amount(50))
    runs = Counter[str]()
    for each in plan:
        for turn in each:
            runs[turn.engine] += turn.count
    assert runs == {"fast": 50, "slow": 3}
    assert not any(turn.warmup for each in plan for turn in each if turn.engine == "slow")
    slow = [number for number, each in enumerate(plan) if any(t.engine == "slow" for t in each)]
    assert slow[-1] - slow[0] > len(plan) // 3, "its turns are spread over the rounds"


# ---- statistics ---------------------------------------------------------------------------------


def result_of(*medians: float | None) -> ModelResult:
    result = ModelResult("m", DataType.FLOAT32, 32, 1, 1_000_000, 0, "LiteRT")
    for number, median in enumerate(medians):
        engine = EngineResult(f"engine{number}" if number else OURS, f"Engine {number}")
        engine.times_ms = [] if median is None else [median - 1, median, median + 3]
        result.engines.append(engine)
    return result


def test_medians_and_quartiles() -> None:
    engine = EngineResult("e", "E", times_ms=[5.0, 1.0, 3.0, 2.0, 4.0])
    assert engine.median_ms == 3.0
    assert engine.quartiles_ms == (2.0, 4.0)
    assert EngineResult("e", "E", times_ms=[7.0]).quartiles_ms == (7.0, 7.0)
    assert EngineResult("e", "E").quartiles_ms is None


def test_the_ratio_is_that_of_medians_to_the_best_peer() -> None:
    result = result_of(6.0, 12.0, 8.0, None)
    assert result.ratio_to_best_peer == 0.75
    assert result.best_peer is result.engines[2]


def test_without_a_peer_there_is_no_ratio() -> None:
    assert result_of(6.0).ratio_to_best_peer is None
    assert result_of(6.0, None).ratio_to_best_peer is None
    assert result_of(None, 6.0).ratio_to_best_peer is None


def test_the_share_of_the_peak_counts_two_operations_per_multiply_add() -> None:
    peak = Peak(1, "x", 10.0, "y", 100.0, 1.0, 1.0)
    result = result_of(1.0)
    # 2 million operations in a millisecond are 2 GFLOP/s.
    assert result.share_of_peak(result.ours, peak) == pytest.approx(0.2)
    result.data_type = DataType.QUANT8_SIGNED
    assert result.share_of_peak(result.ours, peak) == pytest.approx(0.02)
    assert result.share_of_peak(result.ours, Peak(1, "", 0.0, "", 0.0, 1.0, 1.0)) is None


@pytest.mark.parametrize(
    ("differences", "text"),
    [
        (None, "-"),
        ([Difference("a", 4, 0.0, 0.0, None, 1.0)], "exact"),
        ([Difference("a", 4, 2.5e-6, 0.0, None, 0.5)], "2.5e-06"),
        ([Difference("a", 4, 0.1, 0.0, 1, 0.5), Difference("b", 4, 0.1, 0.0, 0, 1.0)], "1 step"),
    ],
)
def test_how_far_outputs_differ(differences: list[Difference] | None, text: str) -> None:
    assert disagreement(EngineResult("e", "E", differences=differences)) == text


# ---- multiply-adds ------------------------------------------------------------------------------


def test_the_multiply_adds_of_mobilenet_v2_are_the_published_ones() -> None:
    model = zoo.build("mobilenet_v2", DataType.FLOAT32, size=96, width=0.35).model
    # Its authors give 11 million for width 0.35 and images of 96, and leave the rest out.
    assert multiply_adds(model) // 1_000_000 == 11


def test_the_multiply_adds_of_single_operations() -> None:
    builder = ModelBuilder("counted")
    image = builder.input("image", TensorType(FLOAT, (1, 4, 4, 3)))
    filters = builder.constant(
        "filters", TensorType(FLOAT, (5, 3, 3, 3)), np.zeros((5, 3, 3, 3), np.float32)
    )
    bias = builder.constant("bias", TensorType(FLOAT, (5,)), np.zeros(5, np.float32))
    scalars = [builder.int32(value) for value in (Padding.SAME.value, 2, 2, Activation.NONE)]
    convolved = builder.operation(
        pb.OPERATION_TYPE_CONV_2D,
        [image, filters, bias, *scalars],
        "convolved",
        TensorType(FLOAT, (1, 2, 2, 5)),
    )
    assert multiply_adds(builder.build([convolved])) == 2 * 2 * 5 * 3 * 3 * 3


@pytest.mark.parametrize(
    ("shapes", "flags", "output", "count"),
    [
        (((2, 3, 4), (2, 4, 5)), (False, False), (2, 3, 5), 2 * 3 * 4 * 5),
        (((2, 4, 3), (2, 5, 4)), (True, True), (2, 3, 5), 2 * 3 * 4 * 5),
    ],
)
def test_the_multiply_adds_of_matrix_products(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    flags: tuple[bool, bool],
    output: tuple[int, ...],
    count: int,
) -> None:
    builder = ModelBuilder("product")
    sides = [
        builder.input(f"side{number}", TensorType(FLOAT, shape))
        for number, shape in enumerate(shapes)
    ]
    turned = [builder.scalar(pb.OPERAND_TYPE_BOOL, flag) for flag in flags]
    product = builder.operation(
        pb.OPERATION_TYPE_BATCH_MATMUL, [*sides, *turned], "product", TensorType(FLOAT, output)
    )
    assert multiply_adds(builder.build([product])) == count


# ---- the machine --------------------------------------------------------------------------------


def test_the_peak_is_plausible() -> None:
    peak = machine.measure_peak(1)
    assert peak.threads == 1
    # Between what an emulated core does and what none has reached.
    assert 0.01 < peak.float32_gflops < 2000, peak
    assert 0.01 < peak.int8_gops < 20000, peak
    assert 0.01 < peak.read_gb_per_s < 2000, peak
    assert 0.01 < peak.copy_gb_per_s < 2000, peak
    assert peak.float32_kernel
    assert peak.int8_kernel


def test_the_better_of_two_peaks_has_the_best_of_both() -> None:
    one, other = Peak(1, "x", 1.0, "y", 8.0, 3.0, 6.0), Peak(1, "x", 2.0, "y", 7.0, 4.0, 5.0)
    assert one.better(other) == Peak(1, "x", 2.0, "y", 8.0, 4.0, 6.0)


def test_the_peak_refuses_threads_that_make_no_sense() -> None:
    command = [native.program(native.RUNNER), "--measure-peak", "--number-of-threads", "x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert '--number-of-threads: takes a number up to 64, not "x"' in done.stderr


def test_a_core_has_a_pace() -> None:
    cores = machine.cores()
    # Between what an emulated core does and what none has reached.
    assert 0.001 < machine.measure_core_pace(cores[-1]) < 100
    assert machine.cores() == cores, "this process keeps its own"


def test_rounds_on_a_slower_core_than_the_best_are_not_its_own() -> None:
    ours, fast, slow = [1.0, 6.0, 1.2, 9.0], [2.0, 6.0, 3.0, 1.0], [4.0] * 4
    own = OwnRounds.among([5.0, 3.9, 4.0, 1.0], ours, [fast, slow, [9.0]], 5.0)
    assert own == OwnRounds(pytest.approx((0.5 + 0.4) / 2), 2, 4)
    assert OwnRounds.among([5.0, 3.9, 4.0, 1.0], ours, [fast], 9.0) == OwnRounds(None, 0, 4)


def test_the_machine_has_a_name() -> None:
    assert machine.cpu_name()


@pytest.mark.parametrize(
    ("name", "size"), [("mobilenet_v2", 224), ("ssd_mobilenet_v2", 300), ("lstm_speech", 100)]
)
def test_a_model_has_its_published_size_unless_another_is_asked_for(name: str, size: int) -> None:
    assert BenchmarkModel.of_zoo(name, DataType.FLOAT32, None, 1.0).size == size
    assert BenchmarkModel.of_zoo(name, DataType.FLOAT32, 64, 1.0).size == 64
