# SPDX-License-Identifier: Apache-2.0
"""halyard bench --clients, --burn and --cpus, and a bench that does not come to its end."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from halyard.bench import clients
from halyard.bench.benchmark import Benchmark
from halyard.bench.burners import Burners
from halyard.bench.clients import HIGH_BESIDE_LOW, ClientsResult, Latencies, Side
from halyard.bench.results import ModelResult
from halyard.cli.program import cli
from halyard.engines import peers
from halyard.engines.halyard import HalyardProcess
from halyard.engines.peers import FoundPeer, Peer
from halyard.engines.process import EngineProcess
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from halyard.timing import machine
from tests.harness.bench.test_bench import (
    BENCHMARK_MODEL,
    LITERT,
    PEAK,
    SMALL,
    fake,
    needs_litert,
    outputs,
    workload,
)
from tests.waiting import comes_true

__all__ = ["outputs"]

MILLISECOND = 1_000_000
HIGH, LOW = pb.PRIORITY_HIGH, pb.PRIORITY_LOW


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_WARMUP_S", 0.01)
    monkeypatch.setattr(clients, "_WINDOW_S", (0.05, 0.05))
    monkeypatch.setattr(machine, "measure_peak", lambda threads: PEAK)


# ---- what counts --------------------------------------------------------------------------------


def timing(begin: float, wall: float) -> pb.Timing:
    return pb.Timing(begin_ns=int(begin * MILLISECOND), wall_ns=int(wall * MILLISECOND))


def test_an_execution_that_a_window_cuts_counts_in_part() -> None:
    latencies = Latencies(seconds=0.1)
    cut = [timing(90, 20), timing(110, 20), timing(195, 20)]
    latencies.take(cut, 100 * MILLISECOND, 200 * MILLISECOND)
    assert latencies.executions == pytest.approx(0.5 + 1 + 0.25)
    assert latencies.times_ms == [20, 20], "of those that began in it"
    assert latencies.throughput == pytest.approx(17.5)


def test_percentiles_of_the_tail() -> None:
    latencies = Latencies(times_ms=[float(number) for number in range(101)])
    assert [latencies.percentile_ms(percent) for percent in (50, 90, 99)] == [50, 90, 99]
    assert Latencies().percentile_ms(99) is None


def test_ratios_are_below_one_where_ours_is_faster() -> None:
    result = ClientsResult(2)
    result.ours = Latencies(times_ms=[1.0], executions=200, seconds=1)
    assert result.ratio is None
    assert result.tail_ratio is None
    result.peer = Latencies(times_ms=[2.0], executions=100, seconds=1)
    assert result.ratio == 0.5
    assert result.tail_ratio == 0.5


def test_windows_grow_with_clients_and_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_WINDOW_S", (0.5, 8.0))
    assert clients.window_s(0.01, 1) == 0.5
    assert clients.window_s(20.0, 8) == pytest.approx(12 * 8 * 0.02)
    assert clients.window_s(1e6, 8) == 8.0


# ---- the runner's clients -----------------------------------------------------------------------


@pytest.fixture
def work() -> Iterator[Workload]:
    with workload() as made:
        yield made


def runner(priorities: Sequence[pb.Priority], *, share_process: bool = False) -> HalyardProcess:
    return HalyardProcess(DriverOptions(["CpuRef"], 2), priorities, share_process)


@pytest.mark.parametrize("share_process", [False, True])
def test_the_runner_serves_clients_at_the_same_time(work: Workload, share_process: bool) -> None:
    with runner([HIGH, LOW, LOW], share_process=share_process).prepare(work) as process:
        prepared = process.prepared()
        assert len(prepared.examples) == 3, "each has executed"
        assert len({example.outputs[0].data for example in prepared.examples}) == 1
        begin = time.monotonic_ns() + 20 * MILLISECOND
        end = begin + 200 * MILLISECOND
        process.start_load(begin, end, 2)
        loaded = process.finish_load()
        assert len(loaded) == 2
        for timings in loaded:
            assert timings
            assert all(each.begin_ns < end for each in timings)
            assert all(each.begin_ns + each.wall_ns > begin for each in timings)
            starts = [each.begin_ns for each in timings]
            assert starts == sorted(starts)
        first, second = ((each[0], each[-1]) for each in loaded)
        assert first[0].begin_ns < second[1].begin_ns, "not one after the other"
        assert second[0].begin_ns < first[1].begin_ns
        assert len(process.time(3, 0)) == 3, "the first one alone, as ever"


def test_the_runner_refuses_more_clients_than_it_has(work: Workload) -> None:
    done = subprocess.run(
        runner([LOW, LOW]).command(work), input=b"load 1 2 3\n", capture_output=True, timeout=60
    )
    assert done.returncode == 1
    assert b"of as many clients as there are, not load 1 2 3" in done.stderr


def test_the_runner_serves_one_client_of_a_service_alone(work: Workload) -> None:
    words = runner([LOW, LOW]).command(work)
    command = ["hidl:none" if word == "in-process" else word for word in words]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"several clients need an in-process target" in done.stderr


# ---- sides --------------------------------------------------------------------------------------


def measure(peer: Peer, counts: Sequence[int] = (1, 2)) -> ModelResult:
    terminal = Terminal(Console(file=io.StringIO()))
    benchmark = Benchmark(terminal, [peer], ("CpuRef",), 2, clients=counts)
    with workload() as made:
        return benchmark.measure(BENCHMARK_MODEL, made, 1)


def test_as_many_processes_of_a_peer_as_clients(outputs: Path) -> None:
    many = measure(fake(outputs)).clients
    assert many is not None
    assert (many.peer, many.reason, many.failed) == ("fake", "", False)
    one, two = many.results
    # A fake one takes 1.5 ms for each, whatever is beside it.
    assert one.peer.throughput == pytest.approx(1000 / 1.5)
    assert two.peer.throughput == pytest.approx(2 * 1000 / 1.5)
    assert set(two.peer.times_ms) == {1.5}
    for result in many.results:
        assert result.ours.times_ms
        assert result.ratio == pytest.approx(result.peer.throughput / result.ours.throughput)
    assert not one.high.times_ms, "there is no client to be beside"
    assert two.high.times_ms
    assert two.low.times_ms


def test_sides_take_turns_and_none_is_always_first() -> None:
    loads: list[tuple[str, int]] = []

    class Noting(Side):
        def __init__(self, name: str) -> None:
            self.name = name

        def load(self, count: int, warmup_s: float, window_s: float) -> clients.Window:
            loads.append((self.name, count))
            return clients.Window(0, 1, [[]] * count)

    sides = {name: Noting(name) for name in ("ours", "peer", HIGH_BESIDE_LOW)}
    clients.measure(sides, [4], 1.0, [], lambda _: None)
    names = [name for name, _ in loads]
    assert sorted(names[:3]) == sorted(sides), "each once a round"
    assert {names[start] for start in range(0, len(names), 3)} == {"ours", "peer", HIGH_BESIDE_LOW}


def test_a_peer_that_fails_under_load_is_told(outputs: Path) -> None:
    many = measure(fake(outputs, "fails under load")).clients
    assert many is not None
    assert "out of breath" in many.reason
    assert not many.failed, "no fault of ours"
    assert many.results[1].ours.times_ms, "ours goes on"


def test_ours_that_fails_under_load_is_a_failure(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = fake(outputs, "fails under load").command(Path(), Path(), 1)
    monkeypatch.setattr(HalyardProcess, "command", lambda *_: bad)
    terminal = Terminal(Console(file=io.StringIO()))
    with workload() as made:
        result = Benchmark(terminal, [], (), 2, clients=[1]).measure(BENCHMARK_MODEL, made, 1)
    assert result.failed
    assert result.clients is not None
    assert "out of breath" in result.clients.reason


def test_clients_whose_outputs_are_wrong_are_not_timed(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = (fake(outputs, deed).command(Path(), Path(), 1) for deed in ("works", "lies"))
    monkeypatch.setattr(
        HalyardProcess, "command", lambda ours, _: wrong if ours.priorities else right
    )
    terminal = Terminal(Console(file=io.StringIO()))
    with workload() as made:
        result = Benchmark(terminal, [], (), 2, clients=[2]).measure(BENCHMARK_MODEL, made, 1)
    assert result.clients is not None
    assert result.clients.failed
    assert "disagrees with LiteRT" in result.clients.reason
    assert not result.clients.results


def test_clients_whose_outputs_are_disputed_are_timed(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disputed = fake(outputs, "disputes").command(Path(), Path(), 1)
    monkeypatch.setattr(HalyardProcess, "command", lambda *_: disputed)
    terminal = Terminal(Console(file=io.StringIO()))
    with workload() as made:
        result = Benchmark(terminal, [], (), 2, clients=[1]).measure(BENCHMARK_MODEL, made, 1)
    assert result.clients is not None
    assert not result.clients.failed, result.clients.reason
    assert result.clients.results


# ---- burning ------------------------------------------------------------------------------------


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def comes_to(pid: int, states: str) -> bool:
    return comes_true(lambda: state_of(pid) in states, seconds=20)


def test_burners_burn_while_they_are_told_to_and_then_are_gone() -> None:
    with Burners(2) as burners:
        assert len(burners.pids) == 2
        assert all(comes_to(pid, "T") for pid in burners.pids)
        with burners.burning():
            assert all(comes_to(pid, "R") for pid in burners.pids)
            cores = [os.sched_getaffinity(pid) for pid in burners.pids]
        assert all(comes_to(pid, "T") for pid in burners.pids)
        usable = sorted(os.sched_getaffinity(0))
        assert cores[0] == {usable[-1]}
        assert cores[1] == {usable[-2 if len(usable) > 1 else -1]}
    assert not any(Path(f"/proc/{pid}").exists() for pid in burners.pids)


def test_burners_burn_while_engines_are_timed_and_not_before(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []
    prepared, run = EngineProcess.prepared, EngineProcess.time
    with Burners(1) as burners:
        [pid] = burners.pids

        def note_prepared(process: EngineProcess) -> pb.CaseResult:
            seen.append(("prepare", "T" if comes_to(pid, "T") else "?"))
            return prepared(process)

        def note_run(process: EngineProcess, *words: Any, **more: Any) -> list[int]:
            seen.append(("run", "R" if comes_to(pid, "R") else "?"))
            return run(process, *words, **more)

        monkeypatch.setattr(EngineProcess, "prepared", note_prepared)
        monkeypatch.setattr(EngineProcess, "time", note_run)
        terminal = Terminal(Console(file=io.StringIO()))
        with workload() as made:
            benchmark = Benchmark(terminal, [], ("CpuRef",), 2, burners=burners)
            benchmark.measure(BENCHMARK_MODEL, made, 1)
    assert set(seen) == {("prepare", "T"), ("run", "R")}


# ---- the command --------------------------------------------------------------------------------


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments])


@pytest.fixture
def _litert_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "find", lambda *_, **__: [LITERT])


@needs_litert
@pytest.mark.usefixtures("_litert_alone")
def test_the_json_holds_the_clients(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    core = str(min(os.sched_getaffinity(0)))
    before = os.sched_getaffinity(0)
    done = invoke(
        *(*SMALL, "--threads", "1", "--types", "float32", "--clients", "1,2"),
        *("--burn", "1", "--cpus", core, "--json", str(path)),
    )
    assert done.exit_code == 0, done.output
    assert os.sched_getaffinity(0) == before
    content = json.loads(path.read_text())
    assert content["ok"]
    assert content["complete"]
    assert content["burners"] == 1
    assert content["machine"]["cpus"] == [int(core)]
    [result] = content["results"]
    assert result["clients"]["peer"] == "litert"
    one, two = result["clients"]["results"]
    assert [one["clients"], two["clients"]] == [1, 2]
    for entry in (one, two):
        for side in (entry["ours"], entry["peer"]):
            assert side["throughput_per_s"] > 0
            assert 0 < side["median_ms"] <= side["p90_ms"] <= side["p99_ms"]
        assert entry["ratio_to_peer"] > 0
        assert entry["p99_ratio_to_peer"] > 0
    assert one["priorities"] is None
    assert set(two["priorities"]) == {"high", "low"}
    [header] = [line for line in done.output.splitlines() if line.startswith("clients  of")]
    assert header.split()[-8:] == ["per", "s", "median", "p90", "p99", "ratio", "of", "p99"]


def test_a_core_that_is_not_there_is_a_wrong_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "find", lambda *_, **__: [])
    done = invoke(*SMALL, "--cpus", "1023")
    assert done.exit_code == 2
    assert "--cpus names a core that is not to be had; there are " in done.output


def test_missing_peers_are_told_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = FoundPeer(peers.PEERS[0], reason="it is not installed: pip install ai-edge-litert")
    monkeypatch.setattr(peers, "find", lambda *_, **__: [gone])
    done = invoke(*SMALL, "--threads", "1", "--types", "float32", "--backends", "CpuRef")
    before, _, _ = done.output.partition("Measuring")
    assert "LiteRT        left out: it is not installed: pip install ai-edge-litert" in before
    assert "No peer is there: there will be times, and no ratios." in before


@pytest.mark.parametrize(("ending", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_what_was_measured_is_kept_where_it_is_interrupted(
    ending: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peers, "find", lambda *_, **__: [])
    monkeypatch.setattr(machine, "cores", lambda: [0, 1])
    turns = 0
    run = EngineProcess.time

    def interrupted(process: EngineProcess, *words: Any, **more: Any) -> list[int]:
        nonlocal turns
        turns += 1
        if turns == 5:  # of the second number of threads: three each
            raise ending
        return run(process, *words, **more)

    monkeypatch.setattr(EngineProcess, "time", interrupted)
    path = tmp_path / "bench.json"
    done = invoke(*SMALL, "--threads", "1,2", "--types", "float32", "--json", str(path))
    assert done.exit_code == code
    content = json.loads(path.read_text())
    assert not content["complete"]
    assert not content["ok"]
    assert [result["threads"] for result in content["results"]] == [1, 2]
    runs = [result["engines"]["halyard"]["runs"] for result in content["results"]]
    assert runs == [3, 1]
    assert "It did not come to its end" in done.output


def test_an_interrupt_ends_the_command_and_writes(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    # A shell has what it runs in the background ignore the signal.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from halyard.timing import machine; from halyard.engines import peers; "
        "from halyard.timing.machine import Peak;"
        "machine.measure_peak = lambda threads: Peak(1, 'x', 1, 'y', 1, 1, 1);"
        "peers.find = lambda *_, **__: [];"
        "from halyard.cli.program import main; main()"
    )
    words = [*SMALL, "--runs", "100000", "--backends", "CpuRef", "--json", str(path)]
    with subprocess.Popen(
        [sys.executable, "-c", program, "bench", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "preparing and checking" in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(60) == 130, rest
    assert not json.loads(path.read_text())["complete"]


def test_a_side_that_answers_for_too_few_has_failed(work: Workload) -> None:
    with runner([LOW]).prepare(work) as process:
        process.prepared()
        side = Side([process], clients_inside=False)
        with pytest.raises(EngineDied, match="1 clients answered, not 2"):
            side.load(2, 0.01, 0.01)
