# SPDX-License-Identifier: Apache-2.0
"""Instructions of an inference, counted under QEMU: they repeat, they follow the core, and those of
small models are the recorded ones."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from halyard import paths
from halyard.benchmark_model import BenchmarkModel
from halyard.counting.count_report import TOLERANCE, departures, read
from halyard.counting.counted_process import CLASSES, CountedProgram, Counts, count
from halyard.counting.emulated_core import CORES
from halyard.counting.instruction_counts import Counter, ModelCount
from halyard.counting.litert_arm64 import LiteRtForArm64
from halyard.errors import HalyardError
from halyard.model import DataType
from halyard.model.multiply_adds import multiply_adds
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions
from halyard.vm.machine_type import ARM64

ROOT = Path(__file__).parents[2]

RECORDED = ROOT / "benchmarks" / "instructions-arm64.json"
MODELS = ("mobilenet_v2", "transformer_encoder")
TYPES = (DataType.FLOAT32, DataType.QUANT8_SIGNED, DataType.FLOAT16)
SIZE, WIDTH = 32, 0.25
RECORD = (
    f"halyard bench {' '.join(MODELS)} --count-instructions --device host-arm64 --alone "
    f"--types {','.join(map(str, TYPES))} --relaxed --size {SIZE} --width {WIDTH} "
    f"--json {RECORDED.relative_to(ROOT)}"
)


@cache
def small(name: str, data_type: DataType) -> BenchmarkModel:
    return BenchmarkModel(name, data_type, SIZE, WIDTH)


def ours(result: ModelCount) -> Counts:
    assert result.ours.counted is not None, result.ours.reason
    return result.ours.counted.inference


def theirs(result: ModelCount) -> Counts:
    assert result.litert is not None
    assert result.litert.counted is not None, result.litert.reason
    return result.litert.counted.inference


def multiplications(counts: Counts) -> int:
    return counts.by_class[CLASSES.index("multiply")]


def differences(results: Sequence[ModelCount]) -> str:
    found = departures(read(RECORDED), [each.record() for each in results])
    if not found:
        return ""
    return "\n".join(
        [
            f"Instructions differ from those recorded by more than {TOLERANCE:.0%}:",
            *found,
            "If that is meant to be, record them anew, and say in the commit what became of them:",
            f"  {RECORD}",
        ]
    )


@pytest.mark.parametrize("processor", CORES)
@pytest.mark.parametrize("name", MODELS)
def test_are_those_recorded(name: str, processor: str) -> None:
    counter, core = Counter(), CORES[processor]
    results = [counter.measure(small(name, each), core) for each in TYPES]
    results.append(counter.measure(small(name, DataType.FLOAT32), core, relaxed=True))
    assert (message := differences(results)) == "", message


def test_the_recorded_ones_are_of_one_run_of_the_command() -> None:
    recorded = read(RECORDED)
    assert recorded.ok
    assert len(recorded.results) == len(MODELS) * (len(TYPES) + 1) * len(CORES)


def test_repeat_to_the_last_one() -> None:
    first, second = (
        Counter().measure(small("mobilenet_v2", DataType.QUANT8_SIGNED), CORES["i8mm"])
        for _ in range(2)
    )
    assert ours(first) == ours(second)


def test_no_product_is_left_out() -> None:
    """Four multiply-adds an instruction are the most that there are of float32."""
    model = small("mobilenet_v2", DataType.FLOAT32)
    counted = multiplications(ours(Counter().measure(model, CORES["cortex-a76"])))
    assert counted >= multiply_adds(model.runnable.model) / 4


def test_the_hottest_blocks_are_of_kernels_and_no_more_than_all() -> None:
    model = small("mobilenet_v2", DataType.FLOAT32)
    result = Counter(hot=5).measure(model, CORES["cortex-a76"])
    hot = result.ours.hot
    assert len(hot) == 5
    assert "halyard::engine::cpu::" in hot[0].place
    assert hot[0].total >= hot[-1].total > 0
    assert sum(block.total for block in hot) <= ours(result).total
    assert any("fmla" in line for line in hot[0].disassembly())


def test_a_model_that_the_driver_refuses_is_told_of_as_such() -> None:
    driver = DriverOptions(threads=1, unsupported=["CONV_2D"])
    model = small("mobilenet_v2", DataType.FLOAT32)
    result = Counter(driver).measure(model, CORES["cortex-a53"])
    assert result.ours.counted is None
    assert result.ours.reason.startswith("prepare: ")
    assert "CONV_2D" in result.ours.reason
    [told] = departures(read(RECORDED), [result.record()])
    assert told.endswith(result.ours.reason)


def test_a_program_that_can_t_begin_is_told_of_with_what_it_said(tmp_path: Path) -> None:
    command = [native.program(native.RUNNER, ARM64.uname), "--serve", "--bundle", tmp_path / "none"]
    with pytest.raises(HalyardError, match=r"it ended with exit code [1-9]\d*: .*--target"):
        count(CountedProgram(command), CORES["cortex-a53"])


# ---- LiteRT -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def litert() -> LiteRtForArm64:
    return LiteRtForArm64.kept_in(paths.cache())


def test_litert_s_kernels_follow_the_core(litert: LiteRtForArm64) -> None:
    """By the part number and the features that are faked: dot products, and matrices of them."""
    model = small("mobilenet_v2", DataType.QUANT8_SIGNED)
    counts = [
        multiplications(theirs(Counter(litert=litert).measure(model, core)))
        for core in CORES.values()
    ]
    assert counts[0] > 2 * counts[1]
    assert counts[1] > counts[2]


def test_litert_computes_in_half_precision_beside_relaxed_models(litert: LiteRtForArm64) -> None:
    model = small("mobilenet_v2", DataType.FLOAT32)
    counter, core = Counter(litert=litert), CORES["cortex-a76"]
    exact = counter.measure(model, core)
    relaxed = counter.measure(model, core, relaxed=True)
    half = counter.measure(small("mobilenet_v2", DataType.FLOAT16), core)
    assert multiplications(theirs(relaxed)) < 0.7 * multiplications(theirs(exact))
    assert theirs(half).total == pytest.approx(theirs(relaxed).total, rel=0.001)
    assert exact.ratio == pytest.approx(ours(exact).total / theirs(exact).total)
