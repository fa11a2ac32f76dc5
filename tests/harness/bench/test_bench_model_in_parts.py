# SPDX-License-Identifier: Apache-2.0
"""A benchmark of a model of which NNAPI runs parts: these and the host's are timed, the whole file
is what peers run, and the host's share is told."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import ModelProto

from halyard.bench.benchmark import Benchmark
from halyard.bench.site import Site
from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.devices import HostDevice
from halyard.engines import served_parts
from halyard.engines.peers import PEERS
from halyard.engines.served import Executions, Served
from halyard.engines.served_parts import HostPartProcess, ServedParts
from halyard.engines.workload import Workload
from halyard.errors import NotExpressible
from halyard.model import Array, HostPart, NnapiPart, Tensors
from halyard.model.partitioned import PartitionedModel
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records import decode
from halyard.records.bench import Bench
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.timing.machine import Peak
from tests.harness.onnx_models import Graph
from tests.harness.tflite_models import GraphFile

pytest.importorskip("onnxruntime")

SMALL = ["small_classifier", "--size", "16", "--width", "0.35", "--types", "float32"]


@pytest.fixture
def site() -> Iterator[Site]:
    """This machine."""
    with HostDevice() as device:
        yield Site(device)


@pytest.fixture(autouse=True)
def no_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    peak = Peak(1, "x", 100.0, "y", 100.0, 1.0, 1.0)
    monkeypatch.setattr(machine, "measure_peak", lambda threads: peak)


def convolutions() -> ModelProto:
    """Two, with an Atan between them that NNAPI has not; and what the host picks of an input, whose
    shape is known when it runs."""
    g = Graph(5)
    x = g.op("Conv", g.input("image", (1, 3, 16, 16)), g.weights(8, 3, 3, 3), pads=[1, 1, 1, 1])
    y = g.op("Conv", g.op("Atan", x), g.weights(8, 8, 3, 3), pads=[1, 1, 1, 1])
    square = g.input("square", (3, 3))
    some = g.op("Greater", g.input("some", (3,)), g.constant(0))
    rows = g.op("Compress", square, some, axis=0)
    return g.model(y, g.op("Compress", rows, some, axis=1))


def file_of(folder: Path, model: ModelProto | None = None) -> Path:
    path = folder / "parts.onnx"
    path.write_bytes((model or convolutions()).SerializeToString())
    return path


def benched(*words: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *words, "--threads", "1", "--runs", "6"])


def document_of(folder: Path, *words: str, exit_code: int = 0) -> tuple[Bench, Result]:
    path = folder / "bench.json"
    done = benched(*words, "--json", str(path))
    assert done.exit_code == exit_code, done.output
    [document] = decode(path.read_bytes(), Bench)
    return document, done


# ---- what is told -------------------------------------------------------------------------------


def test_the_hosts_share_is_in_the_text_and_in_the_files(tmp_path: Path) -> None:
    rows = tmp_path / "bench.csv"
    words = (str(file_of(tmp_path)), "--peers", "onnxruntime,litert", "--csv", str(rows))
    document, done = document_of(tmp_path, *words)
    [result] = document.results
    ours, peer, other = (result.engines[name] for name in ("halyard", "onnxruntime", "litert"))
    assert (result.parts, result.host_parts) == (3, 1)
    assert ours.host_timings_ms is not None
    assert ours.host_timings_ms.count == ours.runs == 6
    assert ours.timings_ms is not None
    share = ours.host_timings_ms.avg / ours.timings_ms.avg
    assert 0 < share < 1
    assert ours.host_share == pytest.approx(share)
    assert re.search(r"Halyard: on the host [\d.]+ ms of [\d.]+ ms, \d+ % of the time", done.output)
    assert re.search(r"of peak +on the host\n", done.output)
    assert "parts      3, of operations: " in done.output
    assert "Atan" in done.output.split("host       ")[1]
    # Peers run the file as it is, where they read its format.
    assert result.reference == "ONNX Runtime"
    assert peer.runs == 6
    assert peer.host_share is None
    assert peer.agreement is not None
    assert result.ratio_to_best_peer is not None
    assert other.reason == "a model that runs in parts is not written as TFLite: its file is ONNX"
    assert not other.failed
    # The host's multiply-adds are not counted.
    assert (ours.share_of_peak, peer.share_of_peak) == (None, None)
    first, second, _ = csv.DictReader(io.StringIO(rows.read_text()))
    assert float(first["host_share"]) == pytest.approx(share)
    assert float(first["host_median_ms"]) == pytest.approx(ours.host_timings_ms.median)
    assert second["host_share"] == second["host_median_ms"] == ""


def test_a_tflite_file_in_parts_runs_beside_litert(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    graph = GraphFile()
    source = graph.input((2, 8))
    before, between, last = (graph.tensor((2, 8)) for _ in range(3))
    graph.add("TANH", [source], [before])
    graph.add("COS", [before], [between])
    graph.add("TANH", [between], [last])
    path = tmp_path / "parts.tflite"
    path.write_bytes(graph.content(last))
    document, _ = document_of(tmp_path, str(path), "--peers", "litert,onnxruntime")
    [result] = document.results
    assert result.engines["litert"].runs == result.engines["halyard"].runs == 6
    assert result.engines["litert"].agreement is not None
    assert result.engines["halyard"].host_share is not None
    assert result.engines["onnxruntime"].reason.endswith("not written as ONNX: its file is TFLite")


def test_a_model_that_the_host_runs_all_of_is_timed_there(tmp_path: Path) -> None:
    g = Graph()
    path = file_of(tmp_path, g.model(g.op("Atan", g.input("x", (4, 8)))))
    document, done = document_of(tmp_path, str(path), "--peers", "onnxruntime")
    [result] = document.results
    assert result.engines["halyard"].host_share == 1
    assert "100 % of the time" in done.output


def test_a_whole_model_tells_of_no_host(tmp_path: Path) -> None:
    document, done = document_of(tmp_path, *SMALL, "--peers", "onnxruntime")
    [result] = document.results
    assert (result.parts, result.host_parts) == (1, 0)
    assert result.engines["halyard"].host_share is None
    assert "on the host" not in done.output


def test_the_profile_has_a_row_for_each_part_of_the_hosts(tmp_path: Path) -> None:
    words = (str(file_of(tmp_path)), "--peers", "onnxruntime", "--profile")
    document, _ = document_of(tmp_path, *words)
    nodes = document.results[0].profile
    labels = [node.label for node in nodes]
    assert [label.partition(":")[0] for label in labels] == sorted(
        label.partition(":")[0] for label in labels
    )
    assert {node.label.partition(":")[0] for node in nodes if node.backend == "host"} == {"part 2"}
    assert sum("CONV_2D" in label for label in labels) == 2
    partitions = [node.partition for node in nodes]
    assert partitions == sorted(partitions)
    assert len(set(partitions)) == 3


def test_two_take_turns_on_a_model_in_parts(tmp_path: Path) -> None:
    words = ("pair", str(file_of(tmp_path)), "--a", "backends=CpuRef", "--b", "backends=CpuAcc")
    document, done = document_of(tmp_path, *words)
    [pair] = document.pairs
    for side in (pair.a, pair.b):
        assert side.result.engines["halyard"].host_share is not None
    assert done.output.count("% of the time") == 2
    assert pair.comparison is not None


def test_ours_may_be_relaxed_in_its_parts(tmp_path: Path, site: Site) -> None:
    words = (str(file_of(tmp_path)), "--relaxed", "--peers", "onnxruntime")
    document, _ = document_of(tmp_path, *words)
    relaxed = document.results[0].engines["halyard-relaxed"]
    assert relaxed.host_share is not None
    benchmark = Benchmark(Terminal(), (), site=site, relaxed=True)
    benchmark_model = FileModel(file_of(tmp_path))
    seen = []

    class Noted(ServedParts):
        def _part(self, part: HostPart | NnapiPart, inputs: Sequence[Array]) -> Served:
            if isinstance(part, NnapiPart):
                seen.append(part.model.relax_computation_float32_to_float16)
            return super()._part(part, inputs)

    with pytest.MonkeyPatch.context() as patch, Workload.of_model(benchmark_model) as work:
        patch.setattr("halyard.bench.site.ServedParts", Noted)
        benchmark.measure(benchmark_model, work, 1)
    assert seen == [False, False, True, True]


def test_outputs_of_each_engine_are_written(tmp_path: Path) -> None:
    words = (str(file_of(tmp_path)), "--peers", "onnxruntime", "--output", str(tmp_path / "out"))
    document_of(tmp_path, *words)
    folder = tmp_path / "out"
    with (
        np.load(folder / "parts.onnx-float32-1-halyard.npz") as ours,
        np.load(folder / "parts.onnx-float32-1-onnxruntime.npz") as theirs,
    ):
        assert ours.files == theirs.files
        for name in ours.files:
            assert ours[name].shape == theirs[name].shape
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-5)


# ---- what is refused, and what fails ------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (("--clients", "1,2"), "clients of one driver have no host's part between them"),
        (("--sustained", "1"), "there is no load by the second"),
    ],
)
def test_what_parts_can_not_do_is_refused_before_anything_is_measured(
    tmp_path: Path, option: tuple[str, str], reason: str
) -> None:
    document, done = document_of(
        tmp_path, str(file_of(tmp_path)), "--peers", "onnxruntime", *option, exit_code=1
    )
    assert document.results == []
    [skipped] = document.skipped
    assert "runs in 3 parts, 1 of them on the host" in skipped.reason
    assert reason in skipped.reason
    assert "preparing and checking" not in done.output


def test_peers_that_take_nnapis_model_say_that_there_is_none(tmp_path: Path) -> None:
    benchmark_model = FileModel(file_of(tmp_path))
    with Workload.of_model(benchmark_model) as work:
        with pytest.raises(NotExpressible, match="a model that NNAPI runs whole is wanted here"):
            work.bundle()
        for peer in PEERS:
            if peer.name != "onnxruntime":
                with pytest.raises(NotExpressible, match="its file is ONNX"):
                    peer.file(work)


def test_a_part_that_fails_is_named(tmp_path: Path, site: Site) -> None:
    model = FileModel(file_of(tmp_path)).runnable
    assert isinstance(model, PartitionedModel)
    for number, words in ((1, "part 2, on the host: ONNX Runtime does not take"), (2, "part 3: ")):
        parts = list(model.parts)
        part = parts[number]
        if isinstance(part, HostPart):
            parts[number] = HostPart(b"rubbish", part.format, part.inputs, part.outputs)
        else:
            spoilt = pb.Model()
            spoilt.CopyFrom(part.model)
            spoilt.main.operations[0].type = pb.OPERATION_TYPE_OEM_OPERATION
            parts[number] = NnapiPart(spoilt, part.inputs, part.outputs)
        broken = PartitionedModel(
            model.name, model.model, model.inputs, model.outputs, tuple(parts)
        )
        engine = site.engine(DriverOptions())
        with Workload.seeded(broken, 0) as work, engine.prepare(work) as process:
            assert process.prepared().message.startswith(words)
            assert process.prepared().failed_stage != pb.STAGE_NONE


# ---- how parts are timed ------------------------------------------------------------------------


class Fixed(Served):
    """Executions take so many milliseconds."""

    tensors = Tensors()

    def __init__(self, milliseconds: float) -> None:
        self._ns = round(milliseconds * 1e6)
        self.asked: list[tuple[int, int]] = []
        self.cores: Sequence[int] = ()

    def prepared(self) -> pb.CaseResult:
        return pb.CaseResult()

    def run_all(self) -> list[list[Array]]:
        return [[]]

    def time(self, count: int, warmup: int = 0, *, expected_s: float = 0.0) -> list[int]:
        del expected_s
        self.asked.append((count, warmup))
        return [self._ns] * count

    def series(self, executions: Executions, *, expected_s: float = 0.0) -> Sequence[pb.Timing]:
        raise NotImplementedError

    def profile(
        self, count: int, warmup: int, *, expected_s: float = 0.0
    ) -> Sequence[pb.NodeProfile]:
        raise NotImplementedError

    def keep_to(self, cores: Sequence[int]) -> None:
        self.cores = cores


@pytest.fixture
def fixed() -> tuple[ServedParts, list[Fixed]]:
    """5 ms of NNAPI's, then 20 of the host's."""
    parts = (NnapiPart(pb.Model(), (), ()), HostPart(b"", "ONNX", (), ()))
    model = PartitionedModel("two", pb.Model(), (), (), parts)
    work = Workload(model, ())
    served = ServedParts("two", work, lambda _: processes[0], 1, until=ExitStack())
    processes = [Fixed(5), Fixed(20)]
    served._held = [
        served_parts._Held(part, process, pb.CaseResult())
        for part, process in zip(parts, processes, strict=True)
    ]
    return served, processes


def test_the_whole_takes_what_its_parts_do(fixed: tuple[ServedParts, list[Fixed]]) -> None:
    served, processes = fixed
    assert served.time(3, 2) == [25_000_000] * 3
    assert served.host_ns == [20_000_000] * 3
    assert [each.asked for each in processes] == [[(3, 2)], [(3, 2)]]
    served.keep_to([1])
    assert [each.cores for each in processes] == [[1], [1]]


@pytest.mark.parametrize(
    ("executions", "count"),
    [
        (Executions(0), 1),
        (Executions(7), 7),
        (Executions(1, least_s=0.5), 20),
        (Executions(30, least_s=0.5), 30),
        (Executions(1000, most_s=0.25), 10),
        (Executions(1000, most_s=0.01), 1),
    ],
)
def test_a_warm_up_is_as_long_as_it_is_to_be(
    fixed: tuple[ServedParts, list[Fixed]], executions: Executions, count: int
) -> None:
    assert len(fixed[0].series(executions)) == count


def test_the_whole_holds_and_prepares_what_its_parts_do(tmp_path: Path, site: Site) -> None:
    engine = site.engine(DriverOptions())
    with (
        Workload.of_model(FileModel(file_of(tmp_path))) as work,
        engine.prepare(work) as process,
    ):
        whole = process.prepared()
        assert isinstance(process, ServedParts)
        said = [held.said for held in process._held]
    assert len(said) == 3
    assert all(each.memory.peak_rss_bytes > each.memory.base_rss_bytes > 0 for each in said)
    assert whole.memory.peak_rss_bytes == sum(each.memory.peak_rss_bytes for each in said)
    assert whole.memory.base_rss_bytes == sum(each.memory.base_rss_bytes for each in said)
    assert whole.prepare_ns == sum(each.prepare_ns for each in said)
    first = [each.examples[0].timings[0].wall_ns for each in said]
    assert whole.examples[0].timings[0].wall_ns == sum(first)
    assert all(first)


def test_the_hosts_parts_have_as_many_threads_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    threads = []

    class Noted(HostPartProcess):
        def __init__(self, part: HostPart, inputs: Sequence[Array], count: int) -> None:
            threads.append(count)
            super().__init__(part, inputs, count)

    monkeypatch.setattr(served_parts, "HostPartProcess", Noted)
    benchmark_model = FileModel(file_of(tmp_path))
    for count in (1, 2):
        engine = site.engine(DriverOptions(threads=count))
        with Workload.of_model(benchmark_model) as work, engine.prepare(work) as process:
            assert process.prepared().message == ""
    assert threads == [1, 2]
