# SPDX-License-Identifier: Apache-2.0
"""halyard bench: engines in turns, checked before they are timed. No test looks at how fast."""

import io
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from halyard.bench import verification
from halyard.bench.benchmark import Benchmark
from halyard.bench.cores import CoreTurns
from halyard.bench.results import ModelResult
from halyard.bench.table import print_model, print_nodes
from halyard.benchmark_model import BenchmarkModel
from halyard.cli.program import cli
from halyard.comparison.reference import Reference, Repetitions, reference
from halyard.engines import libraries, peers
from halyard.engines.engine import EngineMissing
from halyard.engines.halyard import HalyardProcess
from halyard.engines.peers import PEERS, FoundPeer, Peer
from halyard.engines.process import EngineProcess
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload
from halyard.model import DataType
from halyard.programs import protobuf_stream
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.timing.machine import Peak
from tests.waiting import awaited

BENCHMARK_MODEL = BenchmarkModel("small_classifier", DataType.FLOAT32, 16, 0.35)
FAKE = Path(__file__).parents[1] / "fake_engine.py"
PEAK = Peak(1, "x", 10.0, "y", 100.0, 1.0, 1.0)

LITERT = PEERS[0].probe()
needs_litert = pytest.mark.skipif(not LITERT.available, reason=LITERT.reason)


@dataclass(frozen=True)
class FakePeer(Peer):
    """A peer whose outputs are right, unless its deed is another one."""

    deed: str = "works"
    outputs: Path = field(default=Path())

    def command(self, model: Path, case: Path, threads: int) -> Sequence[str | Path]:
        return [sys.executable, FAKE, case, self.outputs, self.deed]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LiteRT's, as a peer sends them."""
    word = reference(BENCHMARK_MODEL, Repetitions(threads=1))
    if word.outputs is None:
        pytest.skip(word.reason)
    example = pb.ExampleResult()
    for values in word.outputs:
        example.outputs.add(data=values.tobytes(), dimensions=values.shape, is_sufficient=True)
    path = tmp_path_factory.mktemp("fake") / "outputs"
    path.write_bytes(example.SerializeToString())
    return path


def workload() -> Workload:
    return Workload.seeded(BENCHMARK_MODEL.runnable, BENCHMARK_MODEL.seed)


def fake(outputs: Path, deed: str = "works") -> FakePeer:
    return FakePeer("fake", "Fake", Workload.tflite, deed=deed, outputs=outputs)


def measure(
    chosen: Sequence[Peer], *, runs: int = 5, backends: Sequence[str] = ("CpuRef",)
) -> tuple[ModelResult, str]:
    """The result, and what was printed."""
    console = Console(file=io.StringIO(), width=100_000)
    terminal = Terminal(console)
    benchmark = Benchmark(terminal, chosen, backends, runs)
    with workload() as work:
        result = benchmark.measure(BENCHMARK_MODEL, work, 1)
    print_model(terminal, result, PEAK)
    assert isinstance(console.file, io.StringIO)
    return result, console.file.getvalue()


# ---- checked before it is timed -----------------------------------------------------------------


def test_engines_that_agree_are_timed(outputs: Path) -> None:
    result, printed = measure([fake(outputs)])
    ours, peer = result.engines
    assert len(ours.times_ms) == 5
    assert peer.times_ms == [1.5] * 5
    assert (peer.prepare_ms, peer.model_memory_bytes, peer.version) == (2.0, 2 << 20, "1.2")
    assert ours.model_memory_bytes is not None
    assert ours.model_memory_bytes > 0
    assert result.ratio_to_best_peer == pytest.approx((ours.median_ms or 0) / 1.5)
    assert not ours.failed
    assert not peer.failed
    assert "exact" in printed
    assert "1 thread: the reference's outputs: LiteRT (" in printed


def test_a_profile_comes_with_the_times(outputs: Path) -> None:
    assert not measure([fake(outputs)])[0].profile
    console = Console(file=io.StringIO(), width=80)
    terminal = Terminal(console)
    with workload() as work:
        benchmark = Benchmark(terminal, [], ("CpuRef",), 2, profile=True)
        result = benchmark.measure(BENCHMARK_MODEL, work, 1)
    print_nodes(terminal, result, PEAK)
    assert isinstance(console.file, io.StringIO)
    assert "CONV_2D" in console.file.getvalue()
    rows = result.record(PEAK).profile
    assert sum(row.multiply_adds for row in rows) == result.multiply_adds
    assert sum(row.share for row in rows) == pytest.approx(1.0)


def test_what_disagrees_is_told_with_the_name_of_the_reference() -> None:
    with workload() as work:
        infos = work.model.outputs
        word = Reference("ONNX Runtime", [np.zeros(info.shape, info.dtype) for info in infos])
        ones = [np.ones(info.shape, info.dtype) for info in infos]
        differences, judgement = verification.compared(work, word, ones)
    assert differences is not None
    assert len(judgement.problems) == len(infos)
    prefix = "disagrees with ONNX Runtime by more"
    assert all(text.startswith(prefix) for text in judgement.problems)


def test_a_peer_that_disagrees_fails_before_it_is_timed(outputs: Path) -> None:
    result, printed = measure([fake(outputs, "lies")])
    ours, peer = result.engines
    assert peer.failed
    assert "disagrees with LiteRT" in peer.reason
    assert not peer.times_ms
    assert ours.times_ms, "the others go on"
    assert result.best_peer is None
    assert result.ratio_to_best_peer is None
    assert "left out  Fake: disagrees with LiteRT" in printed
    assert not any(mark in printed for mark in ("PROBLEM", "✗")), "it is no failure of ours"
    [row] = [line for line in printed.splitlines() if line.split()[:2] == ["Fake", "-"]]
    assert row.split()[-1] != "exact", "how far it is off"


def test_ours_that_disagrees_is_not_timed(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = fake(outputs, "lies").command(Path(), Path(), 1)
    monkeypatch.setattr(HalyardProcess, "command", lambda *_: ours)
    result, _ = measure([fake(outputs)], backends=())
    assert result.ours.failed
    assert not result.ours.times_ms
    assert not result.engines[1].times_ms
    assert "Halyard failed" in result.engines[1].reason


def test_a_peer_that_is_disputed_is_timed_and_marked(outputs: Path) -> None:
    result, printed = measure([fake(outputs, "disputes")])
    _, peer = result.engines
    assert not peer.failed
    assert peer.times_ms
    assert "disagrees with LiteRT" in peer.disputed
    assert result.best_peer is peer
    assert not result.failed
    assert "disputed  Fake: disagrees with LiteRT" in printed
    [row] = [line for line in printed.splitlines() if line.split()[:1] == ["Fake"]]
    assert row.endswith(", disputed")
    assert result.record(PEAK).engines["fake"].disputed == peer.disputed


def test_ours_that_is_disputed_is_timed_and_no_success(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = fake(outputs, "disputes").command(Path(), Path(), 1)
    monkeypatch.setattr(HalyardProcess, "command", lambda *_: ours)
    result, _ = measure([fake(outputs)], backends=())
    assert not result.ours.failed
    assert result.ours.times_ms
    assert result.ratio_to_best_peer is not None
    assert result.failed


def test_outputs_of_another_size_are_a_failure(outputs: Path) -> None:
    result, _ = measure([fake(outputs, "cuts")])
    assert result.engines[1].failed
    assert "these are not its outputs" in result.engines[1].reason


def test_a_peer_that_refuses_a_model_is_no_failure(outputs: Path) -> None:
    result, printed = measure([fake(outputs, "refuses")])
    assert not result.engines[1].failed
    assert result.engines[1].reason == "prepare: no such operator"
    assert "Fake: prepare: no such operator" in printed
    assert result.ours.times_ms


def test_a_peer_without_a_choice_of_threads_has_one(outputs: Path) -> None:
    peer = replace(fake(outputs), has_threads=False)
    with workload() as work:
        benchmark = Benchmark(Terminal(Console(file=io.StringIO())), [peer], ("CpuRef",), 2)
        assert benchmark.measure(BENCHMARK_MODEL, work, 1).engines[1].times_ms
        left_out = benchmark.measure(BENCHMARK_MODEL, work, 2).engines[1]
    assert "threads" in left_out.reason
    assert not left_out.failed


def test_a_backend_that_runs_nothing_is_a_failure(outputs: Path) -> None:
    result, _ = measure([fake(outputs)], backends=("GpuAcc",))
    assert result.ours.failed
    assert "GpuAcc is not in this build" in result.ours.reason


# ---- processes that go wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("dies", "Fake: ended with exit code 7: out of luck"),
        ("dies later", "Fake: killed by signal 9"),
        ("babbles", "Fake: "),
    ],
)
def test_an_engine_that_dies_is_told_and_the_others_go_on(
    outputs: Path, deed: str, reason: str
) -> None:
    result, printed = measure([fake(outputs, deed)], runs=20)
    ours, peer = result.engines
    assert peer.failed
    assert peer.reason.startswith(reason)
    assert not peer.times_ms
    assert len(ours.times_ms) == 20
    assert reason in printed


def test_an_engine_that_stands_still_is_given_up(outputs: Path) -> None:
    command = fake(outputs, "hangs").command(Path(), Path(), 1)
    with EngineProcess("Fake", command, timeout=0.5) as process:
        with pytest.raises(EngineDied, match="Fake: no answer for"):
            process.prepared()
        # It never reads its commands, so this is also what ends it.
        pid = process._process.pid
    assert not Path(f"/proc/{pid}").exists()


def test_an_engine_is_stopped_between_its_turns(outputs: Path) -> None:
    with EngineProcess("Fake", fake(outputs).command(Path(), Path(), 1)) as process:
        process.prepared()
        assert state_of(process) == "T"
        assert process.time(3, 1) == [1_500_000] * 3
        assert state_of(process) == "T"


@pytest.mark.parametrize(("many", "rounds"), [(1, 10), (3, 12), (8, 16), (16, 16)])
def test_each_core_has_its_turn_as_often(many: int, rounds: int) -> None:
    turns = CoreTurns(range(many))
    assert turns.rounds == rounds
    cores = [turns.of_round(number) for number in range(rounds)]
    assert cores[: many + 1] == [*range(many), 0][:rounds]
    assert {cores.count(core) for core in range(many)} == {rounds // many}


@pytest.mark.parametrize("threads", [1, 2])
def test_all_engines_of_one_thread_have_the_same_core_in_a_round(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    moved: list[tuple[str, Sequence[int]]] = []
    monkeypatch.setattr(
        EngineProcess, "keep_to", lambda self, cores: moved.append((self._name, cores))
    )
    paces = itertools.count(1)
    measured: list[int] = []

    def pace(core: int) -> float:
        measured.append(core)
        return float(next(paces))

    monkeypatch.setattr(machine, "measure_core_pace", pace)
    benchmark = Benchmark(
        Terminal(Console(file=io.StringIO())), [fake(outputs)], ("CpuRef",), 50, same_core=(5, 6)
    )
    with workload() as work:
        result = benchmark.measure(BENCHMARK_MODEL, work, threads)
    assert not result.ours.failed
    if threads > 1:
        assert not moved
        assert not measured
        assert not result.core_paces
        return
    assert len(moved) == 2 * 10 + 2
    for number in range(10):
        turns = moved[2 * number : 2 * number + 2]
        assert {name for name, _ in turns} == {"Fake", "Halyard"}
        assert {tuple(cores) for _, cores in turns} == {(5 + number % 2,)}
    assert [cores for _, cores in moved[20:]] == [(5, 6)] * 2, "all of them afterwards"
    assert measured == [5, 5, 5, 6, 6, 6] * 5, "before each turn and after the last one"
    assert result.core_paces == [1.0 + 3 * number for number in range(10)], "the least of them"


def test_all_threads_of_an_engine_keep_to_its_cores() -> None:
    core = max(os.sched_getaffinity(0))
    with workload() as work, HalyardProcess(DriverOptions(["CpuAcc"], 3)).prepare(work) as process:
        process.prepared()
        process.keep_to([core])
        threads = Path(f"/proc/{process._process.pid}/task")
        ids = [int(thread.name) for thread in threads.iterdir()]
        assert len(ids) >= 3
        assert {tuple(os.sched_getaffinity(thread)) for thread in ids} == {(core,)}
        assert all(time > 0 for time in process.time(4, 2))


def test_a_dead_engine_needs_no_cores(outputs: Path) -> None:
    with EngineProcess("Fake", fake(outputs, "dies").command(Path(), Path(), 1)) as process:
        with pytest.raises(EngineDied):
            process.prepared()
        process.keep_to([max(os.sched_getaffinity(0))])


def state_of(process: EngineProcess) -> str:
    """A signal takes its time."""
    path = Path(f"/proc/{process._process.pid}/stat")
    until = time.monotonic() + 20
    state = ""
    while state != "T" and time.monotonic() < until:
        state = path.read_text().rpartition(")")[2].split()[0]
    return state


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Sequence[str | Path]]:
    with workload() as work:
        yield HalyardProcess(DriverOptions(["CpuRef"], 1)).command(work)


def test_the_runner_serves_a_case(served: Sequence[str | Path]) -> None:
    with EngineProcess("Halyard", served) as process:
        result = process.prepared()
        assert result.prepare_ns > 0
        assert len(result.examples[0].outputs) == 2
        assert result.memory.peak_rss_bytes > result.memory.base_rss_bytes > 0
        assert {row.backend for row in result.placement} == {"CpuRef"}
        assert all(time > 0 for time in process.time(4, 2))


def test_only_ours_is_told_of_fast_math() -> None:
    terminal = Terminal(Console(file=io.StringIO()))
    with workload() as work:
        for wanted in (True, False):
            command = Benchmark(terminal, [], fast_math=wanted).ours(1).command(work)
            assert ("--enable-fast-math" in command) == wanted


def test_an_engine_that_is_stopped_does_not_outlive_a_harness_that_is_killed(
    served: Sequence[str | Path],
) -> None:
    program = (
        "import sys; from halyard.engines.process import EngineProcess;"
        "process = EngineProcess('Halyard', sys.argv[1:]); process.prepared();"
        "print(process._process.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, *served], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as harness:
        assert harness.stdout is not None
        engine = Path(f"/proc/{int(harness.stdout.readline())}/stat")
        harness.kill()

    def is_dead() -> bool:
        """A zombie is: its exit code has not been asked for yet."""
        try:
            return engine.read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    awaited(is_dead, "the engine lives on", seconds=20)


def test_the_runner_refuses_a_command_that_makes_no_sense(served: Sequence[str | Path]) -> None:
    done = subprocess.run(served, input=b"walk 3\n", capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b'a command is "run COUNT WARMUP", the same with least and most seconds' in done.stderr
    assert b", not walk 3" in done.stderr
    assert len(list(protobuf_stream.read(done.stdout, pb.CaseResult))) == 1


def test_the_runner_profiles_when_it_is_told(served: Sequence[str | Path]) -> None:
    done = subprocess.run(served, input=b"profile 3 1\nrun 1 0\n", capture_output=True, timeout=60)
    assert done.returncode == 0
    first, second, third = protobuf_stream.read(done.stdout, pb.CaseResult)
    assert not first.profile
    assert not third.profile
    assert len(second.profile) == len(first.placement) > 1
    assert all(row.kernel and row.bytes for row in second.profile)
    assert not second.examples, "its executions do not count"


def test_the_runner_ends_with_its_commands(served: Sequence[str | Path]) -> None:
    done = subprocess.run(served, input=b"run 2 0\n", capture_output=True, timeout=60)
    assert done.returncode == 0
    first, second = protobuf_stream.read(done.stdout, pb.CaseResult)
    assert len(first.examples[0].timings) == 1
    assert len(second.examples[0].timings) == 2


# ---- peers --------------------------------------------------------------------------------------


def test_a_missing_peer_is_left_out_with_the_reason() -> None:
    [found] = peers.find([Peer("gone", "Gone", Workload.tflite)], required=False)
    assert not found.available
    assert found.reason


def test_a_package_that_is_not_installed_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EngineMissing, match="pip install onnxruntime"):
        libraries.library("onnxruntime")


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_peers_agree_on_the_same_weights(peer: Peer) -> None:
    found = peer.probe()
    if not found.available:
        pytest.skip(f"{peer.title}: {found.reason}")
    result, _ = measure([peer], runs=2)
    engine = result.engines[1]
    assert not engine.failed, engine.reason
    assert len(engine.times_ms) == 2, engine.reason
    assert engine.differences is not None or not LITERT.available
    assert (engine.peak_memory_bytes or 0) > (engine.base_memory_bytes or 0) > 0


# ---- the command --------------------------------------------------------------------------------

SMALL = ("--models", "small_classifier", "--size", "16", "--width", "0.35", "--runs", "3")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments])


@pytest.fixture
def _known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its peers and its peak, which take seconds to learn, and enough cores."""
    found = [
        LITERT,
        FoundPeer(PEERS[1], reason="it is not installed: pip install onnxruntime"),
        FoundPeer(PEERS[2], reason="it is not installed"),
    ]
    by_name = {entry.peer.name: entry for entry in found}
    monkeypatch.setattr(Peer, "probe", lambda peer: by_name[peer.name])
    monkeypatch.setattr(machine, "measure_peak", lambda threads: replace(PEAK, threads=threads))
    monkeypatch.setattr(machine, "cores", lambda: [0, 1])


@needs_litert
@pytest.mark.usefixtures("_known_machine")
def test_the_json_holds_all_results(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    done = invoke(*SMALL, "--threads", "1,2", "--types", "quant8_signed", "--json", str(path))
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(path.read_text())
    assert content["ok"]
    assert content["date"]
    assert content["machine"]["cpu"]
    assert [peak["threads"] for peak in content["machine"]["peaks"]] == [1, 2]
    assert content["machine"]["peaks"][0]["int8_gops"] > 0
    assert [bool(peer["version"]) for peer in content["peers"]] == [True, False, False]
    assert "pip install" in content["peers"][1]["missing"]
    assert [result["threads"] for result in content["results"]] == [1, 2]
    for result in content["results"]:
        assert result["model"] == "small_classifier"
        assert result["type"] == "quant8_signed"
        assert result["best_peer"] == "litert"
        assert list(result["engines"]) == ["halyard", "litert"]
        medians = [engine["median_ms"] for engine in result["engines"].values()]
        assert result["ratio_to_best_peer"] == pytest.approx(medians[0] / medians[1])
        for engine in result["engines"].values():
            low, high = engine["quartiles_ms"]
            assert 0 < low <= engine["median_ms"] <= high
            assert engine["prepare_ms"] > 0
            assert engine["peak_memory_bytes"] > engine["base_memory_bytes"] > 0
            assert engine["agreement"][0]["max_steps"] <= 1
            assert engine["share_of_peak"] > 0
    assert "left out: it is not installed: pip install onnxruntime" in done.output
    assert max(map(len, done.output.partition("Summary")[2].splitlines())) <= 80


@needs_litert
@pytest.mark.usefixtures("_known_machine")
def test_ratios_stand_in_columns_by_threads_and_what_has_no_core_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    more = ("--types", "float32,quant8_signed", "--json", str(path))
    done = invoke(*SMALL, "--threads", "1,2,4,16", *more)
    assert done.exit_code == 0, done.output
    assert "Left out: 4, 16 threads; this machine has 2 cores." in done.output
    results = json.loads(path.read_text())["results"]
    ratios = [f"{result['ratio_to_best_peer']:.2f}" for result in results]
    lines = done.output.partition("Ratios to the best peer")[2].splitlines()
    [head] = [line for line in lines if "threads" in line]
    assert head.split() == ["model", "type", "1", "thread", "2", "threads"]
    rows = [line.split() for line in lines if line.strip().startswith("small_classifier")]
    assert rows == [
        ["small_classifier", "float32", *ratios[:2]],
        ["small_classifier", "quant8_signed", *ratios[2:]],
    ]


@needs_litert
@pytest.mark.usefixtures("_known_machine")
def test_one_number_of_threads_needs_no_columns() -> None:
    done = invoke(*SMALL, "--threads", "2", "--types", "float32")
    assert done.exit_code == 0, done.output
    assert "Left out: 4" not in done.output
    assert "Ratios to the best peer" not in done.output


@pytest.mark.usefixtures("_known_machine")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads", "3,4"], "--threads 3,4: this machine has 2 cores"),
        (["--threads", "2", "--cpus", "0"], "--threads 2: --cpus gives 1 core\n"),
    ],
)
def test_threads_that_have_no_core_are_refused(words: Sequence[str], message: str) -> None:
    done = invoke(*SMALL, *words)
    assert done.exit_code == 2
    assert message in done.output


@needs_litert
@pytest.mark.usefixtures("_known_machine")
def test_models_are_named_as_for_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settings = tmp_path / "bench.json", tmp_path / "settings.yaml"
    settings.write_text("bench: {models: resnet_50}")
    monkeypatch.setenv("HALYARD_SETTINGS", str(settings))
    words = ("mobilenet_v1", "small_classifier", "--size", "32", "--width", "0.1", "--runs", "2")
    more = ("--threads", "1", "--types", "quant8", "--json", str(path))
    done = invoke(*words, *more)
    assert done.exit_code == 0, done.output
    results = json.loads(path.read_text())["results"]
    assert [each["model"] for each in results] == ["mobilenet_v1", "small_classifier"]


@pytest.mark.usefixtures("_known_machine")
def test_a_peer_that_is_asked_for_has_to_be_there() -> None:
    done = invoke(*SMALL, "--peers", "litert,onnxruntime")
    assert done.exit_code == 1
    assert "ONNX Runtime was asked for: it is not installed" in done.output
    assert "Summary" not in done.output


@needs_litert
@pytest.mark.usefixtures("_known_machine")
def test_a_backend_that_is_not_on_the_machine_fails_the_command() -> None:
    done = invoke(*SMALL, "--threads", "1", "--types", "float32", "--backends", "GpuAcc")
    assert done.exit_code == 1
    assert "Error: GpuAcc can't be measured on this machine: " in done.output
    assert "Building" not in done.output, "it is told before anything takes long"


@needs_litert
@pytest.mark.usefixtures("_known_machine")
@pytest.mark.parametrize("deed", ["lies", "refuses", "dies"])
def test_a_peer_that_goes_wrong_is_told_and_is_no_failure(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deed: str
) -> None:
    bad = fake(outputs, deed)
    monkeypatch.setattr(peers, "find", lambda *_, **__: [LITERT, FoundPeer(bad, version="1.2")])
    path = tmp_path / "bench.json"
    done = invoke(*SMALL, "--threads", "1", "--types", "float32", "--json", str(path))
    assert done.exit_code == 0, done.output
    content = json.loads(path.read_text())
    assert content["ok"]
    [result] = content["results"]
    assert result["best_peer"] == "litert"
    told = result["engines"]["fake"]
    assert told["failed"] == (deed != "refuses")
    assert told["reason"]
    assert told["runs"] == 0
    assert (told["agreement"] is not None) == (deed == "lies")
    assert "Fake does not count: " in done.output.partition("Summary")[2]


@needs_litert
@pytest.mark.usefixtures("_known_machine")
def test_ours_that_disagrees_fails_the_command(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = fake(outputs, "lies").command(Path(), Path(), 1)
    monkeypatch.setattr(HalyardProcess, "command", lambda *_: ours)
    done = invoke(*SMALL, "--threads", "1", "--types", "float32")
    assert done.exit_code == 1
    assert "disagrees with LiteRT" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "lenet"], "--models: no 'lenet', there are "),
        (["resnet_50", "--models", "lenet"], "--models lenet: the models are resnet_50 already"),
        (["resnet_50", "resnet_50"], "MODEL names something twice"),
        (["--types", "int4"], "--types: no 'int4'"),
        (["--peers", "tensorrt"], "--peers: no 'tensorrt'"),
        (["--threads", "0"], "--threads takes numbers from 1 to 64, not '0'"),
        (["--threads", "1,,2"], "--threads has an empty name"),
        (["--threads", "1,1"], "--threads names something twice"),
        (["--runs", "0"], "--runs"),
        (["--clients", "0"], "--clients takes numbers from 1 to 32, not '0'"),
        (["--cpus", "x"], "--cpus takes numbers from 0 to 1023, not 'x'"),
        (["--same-core", "--threads", "2,4"], "--same-core is for one thread: --threads 1"),
        (["--same-core", "--device", "vm"], "--same-core is for this machine: --device host"),
        (["--burn", "-1"], "--burn"),
        (["--json", "/nowhere/at/all"], "is not a folder"),
    ],
)
def test_wrong_commands(arguments: Sequence[str], message: str) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert message in done.output
