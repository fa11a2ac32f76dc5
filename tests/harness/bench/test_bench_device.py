# SPDX-License-Identifier: Apache-2.0
"""Our engine on a device, under load and two by two. This machine stands for the device, and an
engine that does as it is told for those whose times matter."""

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from halyard.bench import series
from halyard.bench.benchmark import Benchmark
from halyard.bench.pair import Pair, Side, Spec, Turns
from halyard.bench.site import Site
from halyard.bench.table import print_pair
from halyard.benchmark_model import BenchmarkModel
from halyard.cli.program import cli
from halyard.devices import HostDevice, conditions
from halyard.devices.conditions import UNKNOWN, Gate
from halyard.engines.device_process import DeviceProcess
from halyard.engines.served import EngineDied, Executions, ServedByLines
from halyard.engines.workload import Workload
from halyard.errors import ConfigError
from halyard.measurement import sustained
from halyard.measurement.measurement_text import print_sustained
from halyard.model import DataType
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records.conditions import Conditions
from halyard.runner.execution import Target
from halyard.terminal.console import Terminal
from halyard.timing import machine, turns
from halyard.timing.machine import Peak
from halyard.timing.turns import Amount

BENCHMARK_MODEL = BenchmarkModel("small_classifier", DataType.FLOAT32, 16, 0.35)
SMALL = ("--models", "small_classifier", "--size", "16", "--width", "0.35", "--threads", "1")
PAIR = ("pair", *SMALL[1:])
MILLISECOND = 1_000_000


class Told(ServedByLines):
    """Executions take as long as `pace` says of when they begin, by a clock of their own."""

    def __init__(self, pace: Callable[[int], int]) -> None:
        super().__init__("Told", None)
        self._pace = pace
        self._clock = 7_000
        self._line = ""
        self.lines: list[str] = []

    def _send(self, line: str) -> None:
        self._line = line
        self.lines.append(line)

    def _answer(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:
        count, warmup, *seconds = self._line.split()[1:]
        if self._pace(self._clock) == 0:
            return pb.CaseResult(failed_stage=pb.STAGE_EXECUTE, message="no breath")
        for _ in range(int(warmup)):
            self._clock += self._pace(self._clock)
        least = self._clock + int(float(seconds[0]) * 1e9) if seconds else 0
        example = pb.ExampleResult()
        while len(example.timings) < int(count) or self._clock < least:
            wall = self._pace(self._clock)
            example.timings.add(begin_ns=self._clock, wall_ns=wall)
            self._clock += wall
        return pb.CaseResult(examples=[example])

    def _died(self, message: str) -> EngineDied:
        return EngineDied(message)


def steady(milliseconds: float) -> Told:
    return Told(lambda _: int(milliseconds * MILLISECOND))


def terminal() -> tuple[Terminal, io.StringIO]:
    out = io.StringIO()
    return Terminal(Console(file=out, width=80)), out


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        machine, "measure_peak", lambda threads: Peak(threads, "x", 1, "y", 1, 1, 1)
    )


# ---- a process on a device ----------------------------------------------------------------------


@pytest.fixture
def device() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def served(device: HostDevice, work: Workload, *, mode: pb.ExecutionMode) -> DeviceProcess:
    options = pb.RunOptions(mode=mode)
    driver = DriverOptions(["CpuRef"], 1)
    return DeviceProcess("Halyard", device, work, options, Target.in_process(), driver, timeout=20)


def runners(device: HostDevice) -> list[str]:
    """Those that this device has."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if any(str(device.root).encode() in word for word in words):
                found.append(path.parent.name)
    return found


def test_a_device_prepares_once_and_executes_when_it_is_told(device: HostDevice) -> None:
    with Workload.seeded(BENCHMARK_MODEL.runnable, 0) as work:
        with served(device, work, mode=pb.EXECUTION_MODE_SYNC) as process:
            assert process.prepared().prepare_ns > 0
            assert [array.shape for array in process.run()] == [
                info.shape for info in BENCHMARK_MODEL.runnable.outputs
            ]
            assert len(process.time(5, 2)) == 5
            timings = process.series(Executions(3))
            assert len(timings) == 3
            begins = [timing.begin_ns for timing in timings]
            assert begins == sorted(begins)
            assert begins[0] > 0
        left = device.shell('ls "$ROOT"/data/local/tmp/halyard').stdout
    assert left == ""
    assert runners(device) == []


def test_a_device_executes_for_as_long_as_it_is_told(device: HostDevice) -> None:
    with (
        Workload.seeded(BENCHMARK_MODEL.runnable, 0) as work,
        served(device, work, mode=pb.EXECUTION_MODE_SYNC) as process,
    ):
        process.prepared()
        timings = process.series(Executions(1, least_s=0.2, most_s=5))
        last = timings[-1]
        assert last.begin_ns + last.wall_ns - timings[0].begin_ns >= 0.19e9
        assert len(process.series(Executions(100_000, most_s=0.05))) < 100_000
        assert len(process.series(Executions(1, most_s=1e-9))) == 1


def test_a_command_that_makes_no_sense_is_told_with_the_runner_s_word(device: HostDevice) -> None:
    with (
        Workload.seeded(BENCHMARK_MODEL.runnable, 0) as work,
        served(device, work, mode=pb.EXECUTION_MODE_SYNC) as process,
    ):
        process.prepared()
        process._send("walk")
        with pytest.raises(EngineDied, match="exit code 1: halyard-runner: a command is"):
            process._answer(0)


def test_a_runner_that_is_killed_is_told(device: HostDevice) -> None:
    with (
        Workload.seeded(BENCHMARK_MODEL.runnable, 0) as work,
        served(device, work, mode=pb.EXECUTION_MODE_SYNC) as process,
    ):
        process.prepared()
        device.shell('kill -9 $(cat "$ROOT"/data/local/tmp/halyard/run-*.pid)')
        process._runner.wait(2)
        with pytest.raises(EngineDied, match="ended with exit code 137"):
            process._answer(0)


def test_a_run_that_is_interrupted_leaves_no_runner(device: HostDevice) -> None:
    def interrupted(work: Workload) -> None:
        with served(device, work, mode=pb.EXECUTION_MODE_SYNC) as process:
            process.prepared()
            assert runners(device)
            raise KeyboardInterrupt

    with Workload.seeded(BENCHMARK_MODEL.runnable, 0) as work, pytest.raises(KeyboardInterrupt):
        interrupted(work)
    assert runners(device) == []


# ---- how much is executed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "milliseconds", "runs"),
    [
        (Amount(50), 1.0, 50),
        (Amount(50), 1000.0, 10),
        (Amount(50), 60_000.0, 3),
        (Amount(50, least_s=2.0), 1.0, 2000),
        (Amount(50, least_s=60.0), 1.0, 10_000),
        (Amount(50, most_s=0.0), 1000.0, 50),
    ],
)
def test_runs_are_as_many_as_are_wanted_and_fit(
    amount: Amount, milliseconds: float, runs: int
) -> None:
    assert amount.of(milliseconds) == runs


def test_a_plan_for_seconds_has_ten_rounds() -> None:
    plan = turns.plan({"a": 1.0}, Amount(1, least_s=1.0))
    assert [turn.count for [turn] in plan] == [100] * 10


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "run 1 0 0.000000 10.000000"),
        (["--warmup", "7", "--warmup-secs", "0.001"], "run 7 0 0.001000 10.000000"),
        (["--warmup", "3", "--max-secs", "0"], "run 3 0 0.000000 0.000000"),
    ],
)
def test_the_warm_up_is_told_to_the_engine(
    words: list[str], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    send = ServedByLines.series

    def noted(process: ServedByLines, executions: Executions, **more: float) -> Sequence[pb.Timing]:
        told.append(f"run {executions.count} 0 {executions.least_s:f} {executions.most_s:f}")
        return send(process, executions, **more)

    monkeypatch.setattr(ServedByLines, "series", noted)
    done = invoke(*SMALL, "--types", "float32", "--peers", "litert", "--runs", "2", *words)
    assert told[0] == line, done.output


# ---- a sustained load ---------------------------------------------------------------------------


def slowing(begin: int) -> int:
    """Twice as slow from the sixth second on."""
    return (10 if begin < 6_000_000_000 else 20) * MILLISECOND


def loaded(process: Told, look: Callable[[], Conditions] = lambda: UNKNOWN) -> sustained.Sustained:
    return sustained.load(process, 10.0, look, lambda _: None)


def test_a_load_shows_how_pace_changes_over_time() -> None:
    record = loaded(Told(slowing)).record()
    assert [round(window.begin_s) for window in record.windows] == list(range(10))
    assert [round(window.throughput_per_s) for window in record.windows] == [100] * 6 + [50] * 4
    assert record.slowdown == pytest.approx(2.0, rel=0.02)
    assert record.runs == sum(window.runs for window in record.windows)
    assert record.seconds == pytest.approx(10.0, rel=0.02)
    times = [time for time, _ in record.samples]
    assert times == sorted(times)
    assert times[0] == 0.0
    assert record.samples[-1][1] == 20.0


def test_a_long_load_has_windows_of_ten_seconds() -> None:
    process = steady(100)
    record = sustained.load(process, 200.0, lambda: UNKNOWN, lambda _: None).record()
    assert len(record.windows) == 20
    assert set(process.lines) == {"run 1 0 10.000000 10.000000"}
    assert len(record.samples) == 2000


def test_an_execution_longer_than_a_window_is_one() -> None:
    record = loaded(steady(3000)).record()
    assert [window.runs for window in record.windows] == [1] * 10
    assert record.throughput_per_s == pytest.approx(1 / 3)


def test_a_load_tells_energy_heat_and_frequency_where_the_device_does() -> None:
    looks = iter(range(100))

    def look() -> Conditions:
        number = next(looks)
        counter = conditions.Energy(name="p", joules=2.0 * number, range_joules=None)
        cores = conditions.Cores(
            cpus="0", governor="x", mhz=2000.0 - number, min_mhz=None, max_mhz=None
        )
        return msgspec.structs.replace(
            UNKNOWN, energy=[counter], cores=[cores], temperature_c=40.0 + number
        )

    record = loaded(steady(10), look).record()
    assert record.joules == 20.0
    assert record.joules_per_run == pytest.approx(0.02)
    assert [window.temperature_c for window in record.windows] == list(range(41, 51))
    assert record.windows[0].mhz == [1999.0]


def test_energy_that_is_not_told_is_null_with_a_reason() -> None:
    record = loaded(steady(10)).record()
    assert (record.joules, record.joules_per_run) == (None, None)
    assert record.reason == "the device has no energy counter and no battery"
    screen, out = terminal()
    print_sustained(screen, record)
    assert "energy: the device has no energy counter and no battery" in out.getvalue()


# ---- two by two ---------------------------------------------------------------------------------

SPEC = Spec("small_classifier", DataType.FLOAT32, "host", [], 1, False, "sync", None)
MODES = ["sync", "burst"]


def pair() -> Pair:
    return Pair(Side.of("A", SPEC, BENCHMARK_MODEL), Side.of("B", SPEC, BENCHMARK_MODEL))


@pytest.fixture
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halyard.bench.pair._GAP", 0.0)


@pytest.mark.usefixtures("_no_pause")
@pytest.mark.parametrize(
    ("a", "b", "verdict"), [(2.0, 1.0, "B is faster"), (1.0, 2.0, "B is slower")]
)
def test_two_take_turns_and_are_compared(a: float, b: float, verdict: str) -> None:
    made = pair()
    Turns(Executions(2), Amount(50)).take(made, steady(a), steady(b))
    found = made.comparison
    assert found is not None
    assert (found.before, found.after, found.ratio) == (a, b, b / a)
    assert found.significant
    assert made.a.engine.round_sizes == made.b.engine.round_sizes == [5] * 10
    screen, out = terminal()
    print_pair(screen, made)
    assert verdict in out.getvalue()
    assert out.getvalue().count("Inference timings in us:") == 0, "it has no time to prepare"
    record = made.record()
    assert record.comparison is not None
    assert record.comparison.ratio == b / a


@pytest.mark.usefixtures("_no_pause")
def test_what_slows_both_down_is_no_difference() -> None:
    """Each round is twice as slow as the one before."""
    shared = {"turn": 0}

    def pace(factor: float) -> Callable[[int], int]:
        return lambda begin: int(factor * 2 ** (shared["turn"] // 2) * MILLISECOND)

    class Noting(Told):
        def _answer(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:
            result = super()._answer(expected_s, quiet_s)
            shared["turn"] += self._line.endswith(tuple("0123456789")) and " 0." not in self._line
            return result

    made = pair()
    Turns(Executions(1), Amount(50)).take(made, Noting(pace(1.0)), Noting(pace(1.1)))
    found = made.comparison
    assert found is not None
    assert found.ratio == pytest.approx(1.1)
    assert found.significant


@pytest.mark.usefixtures("_no_pause")
def test_the_same_twice_is_no_difference() -> None:
    made = pair()
    Turns(Executions(1), Amount(50)).take(made, steady(1), steady(1))
    assert made.comparison is not None
    assert not made.comparison.significant
    screen, out = terminal()
    print_pair(screen, made)
    assert "they are not told apart" in out.getvalue()


@pytest.mark.usefixtures("_no_pause")
def test_a_side_that_fails_fails_the_pair() -> None:
    made = pair()
    breaks = Told(lambda begin: 0 if begin > 20 * MILLISECOND else MILLISECOND)
    with pytest.raises(EngineDied, match="no breath"):
        Turns(Executions(1), Amount(50)).take(made, steady(1), breaks)
    assert made.failed
    assert made.comparison is None
    assert "no breath" in made.b.engine.reason


def test_words_say_what_a_side_is() -> None:
    words = "model=mobilenet_v1 type=quant8 backends=CpuRef,CpuAcc threads=2 fast-math mode=burst"
    side = SPEC.parse(f"{words} device=vm instance=other hal=aidl2", "--a", MODES)
    assert (side.model, side.data_type, side.device) == ("mobilenet_v1", DataType.QUANT8, "vm")
    assert (list(side.backends), side.threads, side.fast_math) == (["CpuRef", "CpuAcc"], 2, True)
    assert (side.mode, side.instance, side.hal.text) == ("burst", "other", "aidl2")
    assert SPEC.parse("", "--a", MODES) == SPEC


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("backend=CpuRef", "'backend=CpuRef' is not model="),
        ("fast", "'fast' is not model="),
        ("threads=0", "threads are from 1 to 64"),
        ("type=int4", "no type 'int4'"),
        ("mode=late", "no mode 'late', there are sync, burst"),
        ("model=", "'model=' is not"),
        ("hal=1.0..1.3", "hal=1.0..1.3: one HAL version, not several"),
    ],
)
def test_words_that_say_nothing_are_refused(words: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"--b: {re.escape(message)}"):
        SPEC.parse(words, "--b", MODES)


# ---- the command --------------------------------------------------------------------------------


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *words])


def test_two_are_compared_by_the_command(tmp_path: Path) -> None:
    path, table = tmp_path / "pair.json", tmp_path / "pair.csv"
    done = invoke(
        *PAIR,
        *("--runs", "10", "--json", str(path), "--csv", str(table)),
        *("--a", "backends=CpuRef", "--b", "backends=CpuAcc"),
    )
    assert done.exit_code == 0, done.output
    assert "of A's time (95 %: " in done.output
    content = json.loads(path.read_text())
    assert content["results"] == []
    [found] = content["pairs"]
    assert (found["a"]["backends"], found["b"]["backends"]) == (["CpuRef"], ["CpuAcc"])
    assert found["comparison"]["ratio"] > 0
    assert len(found["a"]["result"]["engines"]["halyard"]["rounds_ms"]) == 10
    assert [row.split(",")[5] for row in table.read_text().splitlines()] == ["side", "A", "B"]


def test_ours_runs_through_the_version_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    done = invoke(*SMALL, "--types", "float32", "--runs", "2", "--hal", "1.3", "--json", str(path))
    assert done.exit_code == 0, done.output
    assert json.loads(path.read_text())["results"][0]["target"] == "in-process"
    done = invoke(*SMALL, "--types", "float16", "--runs", "2", "--hal", "1.0")
    assert done.exit_code == 1
    assert "--hal 1.0: the model needs HAL 1.2 or newer: --hal 1.2, or leave" in done.output


def test_a_side_that_does_not_run_fails_the_command() -> None:
    done = invoke(*PAIR, "--runs", "2", "--a", "backends=GpuAcc", "--b", "backends=CpuAcc")
    assert done.exit_code == 1
    assert "PROBLEM  A: backends=GpuAcc: GpuAcc is not in this build" in done.output


def test_a_run_has_its_load_conditions_and_waiting_in_the_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = msgspec.structs.replace(
        UNKNOWN, temperature_c=41.5, zones=[conditions.Zone(name="cpu", celsius=41.5)], missing=[]
    )
    monkeypatch.setattr(conditions, "read", lambda device: found)
    path = tmp_path / "bench.json"
    done = invoke(
        *(*SMALL, "--types", "float32", "--peers", "litert", "--runs", "2", "--json", str(path)),
        *("--sustained", "0.2", "--max-temperature", "40", "--cool-secs", "0"),
    )
    assert done.exit_code == 0, done.output
    content = json.loads(path.read_text())
    [result] = content["results"]
    assert content["device"]["serial"] == "host"
    assert result["conditions"]["temperature_c"] == 41.5
    assert result["waited"]["reason"].endswith("it was measured all the same")
    assert "it has 41.5 °C, more than 40 °C" in done.output
    assert len(result["sustained"]["windows"]) == 10
    assert result["sustained"]["joules"] is None


def test_there_is_a_pause_between_models_and_none_before_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses = []
    monkeypatch.setattr(series.time, "sleep", pauses.append)
    done = invoke(
        *(*SMALL, "--types", "float32,quant8_signed", "--peers", "litert", "--runs", "2"),
        *("--cool-down", "30"),
    )
    assert done.exit_code == 0, done.output
    assert pauses.count(30.0) == 1


def test_nothing_is_waited_for_before_times_unless_it_is_asked_for() -> None:
    screen, out = terminal()
    with HostDevice() as device:
        assert conditions.cool(screen, device, Gate()) is None
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pair", "--a", "threads=1"], "Missing option '--b'"),
        (["pair", "--a", "", "--b", "", "--sustained", "9"], "No such option '--sustained'"),
        (["pair", "--a", "", "--b", "", "--clients", "2"], "No such option '--clients'"),
        (["compare", "/dev/null", "/dev/null", "--csv", "x"], "No such option '--csv'"),
        (["pair", "--a", "x", "--b", "threads=1"], "--a: 'x' is not model="),
        (["pair", "--a", "", "--b", "model=nosuch"], "--b: no 'nosuch'"),
        (["--compare", "a", "b"], "--compare is a command of its own: halyard bench compare FILE"),
        (["run", "--show=x"], "--show is a command of its own: halyard bench show FILE"),
        (["resnet_50", "--a", "threads=1"], "halyard bench pair [MODEL] --a WORDS --b WORDS"),
        (["resnet_50", "--b", "threads=1"], "halyard bench pair [MODEL] --a WORDS --b WORDS"),
        (["--device", "vm", "--peers", "litert"], "--peers is for this machine: --device host"),
        (["--device", "vm", "--clients", "2"], "--clients is for this machine"),
        (["--device", "vm", "--burn", "1"], "--burn is for this machine"),
        (["--device", "vm", "--cpus", "0"], "--cpus is for this machine"),
        (["--device", "vm", "--profile"], "--profile is for this machine"),
        (["--instance", "default"], "--instance needs a service"),
        (["--min-secs", "5", "--max-secs", "2"], "--min-secs 5 is more than --max-secs 2"),
        (["--max-throttling", "hot"], "'hot' is not one of"),
        (["--csv", "/nowhere/at/all"], "is not a folder"),
    ],
)
def test_wrong_commands(words: Sequence[str], message: str) -> None:
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_a_benchmark_on_a_device_has_no_peers(device: HostDevice) -> None:
    screen, _ = terminal()
    with Workload.seeded(BENCHMARK_MODEL.runnable, 0) as work:
        benchmark = Benchmark(screen, [], ["CpuRef"], 4, site=Site(device))
        result = benchmark.measure(BENCHMARK_MODEL, work, 1)
    assert len(result.ours.times_ms) == 4
    assert result.conditions is not None
    assert [engine.name for engine in result.engines] == ["halyard"]


def test_a_model_of_a_file_is_timed_as_the_zoo_s(tmp_path: Path) -> None:
    model = tmp_path / "model.pb"
    quantized = BenchmarkModel("small_classifier", DataType.QUANT8_SIGNED, 16, 0.35)
    model.write_bytes(quantized.runnable.model.SerializeToString())
    path = tmp_path / "bench.json"
    done = invoke(
        *("--models", str(model), "--threads", "1", "--runs", "2", "--peers", "litert"),
        *("--json", str(path)),
    )
    assert done.exit_code == 0, done.output
    [result] = json.loads(path.read_text())["results"]
    assert (result["model"], result["type"]) == ("model.pb", "quant8_signed")
    assert result["benchmark_model"]["file"] == str(model)
    assert result["engines"]["halyard"]["agreement"][0]["max_steps"] <= 1


def test_an_answer_without_times_is_told() -> None:
    class Silent(Told):
        def _answer(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:
            return pb.CaseResult()

    with pytest.raises(EngineDied, match="no times"):
        Silent(lambda _: MILLISECOND).series(Executions(1))
    with pytest.raises(EngineDied, match="0 times for 2 executions"):
        Silent(lambda _: MILLISECOND).time(2)
