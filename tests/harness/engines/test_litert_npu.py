# SPDX-License-Identifier: Apache-2.0
"""Halyard as LiteRT's NPU as an engine: files run as they are, and what LiteRT has no way for is
refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.compiled_model")

from halyard.benchmark_model import FileModel
from halyard.devices import LiteRtDevice
from halyard.engines import libraries, litert_npu
from halyard.engines.engine import EngineMissing, EngineRefused
from halyard.engines.in_litert import InLiteRt
from halyard.engines.litert_npu import LiteRtNpu
from halyard.engines.litert_options import LiteRtOptions
from halyard.engines.litert_report import Report
from halyard.engines.litert_runs import LiteRtRuns
from halyard.engines.placement import refusals
from halyard.errors import ConfigError
from halyard.measurement.measurement import measure
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from tests.harness.in_litert import STRANGE, chain, integers
from tests.harness.tflite_file import GraphFile

DOOR = "litert-npu"

try:
    libraries.library(DOOR)
except EngineMissing as missing:
    pytest.skip(str(missing), allow_module_level=True)


def engine(**options: Any) -> InLiteRt:
    return InLiteRt(DOOR, DriverOptions(threads=1, **options))


def test_operators_that_halyard_has_not_are_rows_of_the_host_with_the_reason(
    tmp_path: Path,
) -> None:
    runs = LiteRtRuns(LiteRtDevice(DOOR), pb.RunOptions(), DriverOptions(threads=1))
    found = measure(runs, FileModel(chain(tmp_path, "ABS", STRANGE, "NEG", "ABS")), count=2)
    assert found.ok, found.problems
    rows = found.result.placement
    assert [row.node for row in rows] == ["ABS", STRANGE, "NEG", "ABS"]
    assert [row.backend for row in rows] == ["Halyard", "host", "Halyard", "Halyard"]
    assert [row.partition for row in rows] == [0, 1, 2, 2]
    [(backend, reason, count)] = refusals(rows)
    assert (backend, count) == ("Halyard", 1)
    assert reason
    assert found.result.version_string.startswith("Halyard ")


def test_numbers_of_64_bits_reach_the_model(tmp_path: Path) -> None:
    """Which LiteRT's own Python writes into no buffer."""
    values = np.array([[1, -2, 3], [4, 5, -(2**20)]])
    with engine().load(integers(tmp_path)) as loaded:
        loaded.bind([values.tobytes()])
        [found] = loaded.run()
    assert found.tolist() == (2.0 * values).tolist()


def test_inputs_of_another_size_are_refused(tmp_path: Path) -> None:
    """LiteRT takes fewer bytes than there are."""
    loaded = LiteRtNpu().load(chain(tmp_path, "NEG"))
    with loaded, pytest.raises(EngineRefused, match="t0 has 64 bytes, and not 60"):
        loaded.bind([bytes(60)])


def test_every_subgraph_has_its_rows(tmp_path: Path) -> None:
    graph = GraphFile()
    data, chosen = graph.input((2, 3)), graph.input((1,), "bool")
    branches = []
    for kind in ("ABS", "NEG"):
        branch = GraphFile()
        given, result = branch.input((2, 3)), branch.tensor((2, 3))
        branch.add(kind, [given], [result])
        branches.append(graph.subgraph(branch, result))
    either, last = graph.tensor((2, 3)), graph.tensor((2, 3))
    numbers = {"thenSubgraphIndex": branches[0], "elseSubgraphIndex": branches[1]}
    graph.add("IF", [chosen, data], [either], "IfOptions", **numbers)
    graph.add("ABS", [either], [last])
    path, report = tmp_path / "branches.tflite", tmp_path / "report.json"
    path.write_bytes(graph.content(last))
    with LiteRtNpu(1, LiteRtOptions(report=str(report))).load(path) as loaded:
        loaded.bind([np.full((2, 3), -2, np.float32).tobytes(), bytes([0])])
        loaded.time(1)
        [found] = loaded.run()
    assert {*found.flat} == {2.0}
    result = pb.CaseResult(examples=[pb.ExampleResult()])
    Report.read(report).into(result, [])
    assert [(row.node, row.backend) for row in result.placement] == [
        ("IF", "host"),
        ("ABS", "Halyard"),
        ("ABS", "Halyard"),
        ("NEG", "Halyard"),
    ]


def test_what_compiled_model_can_not_do_is_refused(tmp_path: Path) -> None:
    path = chain(tmp_path, "NEG")
    with pytest.raises(EngineRefused, match="buffers for the shapes of the file alone"):
        LiteRtNpu().load(path, [(4, 8)])
    with_state = GraphFile()
    data, result = with_state.input((2, 3)), with_state.tensor((2, 3))
    state = with_state.tensor((2, 3), variable=True)
    with_state.add("ADD", [data, state], [result], "AddOptions")
    path.write_bytes(with_state.content(result))
    with pytest.raises(EngineRefused, match="it has states"):
        LiteRtNpu().load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(EngineRefused, match="LiteRT does not take the model"):
        LiteRtNpu().load(path)


def test_options_reach_the_environment_and_others_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def stand_in(**options: Any) -> Any:
        given.update(options)
        raise ConfigError("enough")

    monkeypatch.setattr(litert_npu, "environment", stand_in)
    words = [*map(str, engine(fast_math=True).command(*[tmp_path] * 3))]
    with pytest.raises(EngineRefused, match="enough"):
        libraries.library(DOOR, int(words[6]), words[7]).load(chain(tmp_path, "NEG"))
    given.pop("report")
    assert given == {"threads": 1, "fast_math": True}
    with pytest.raises(ConfigError, match="--backends has no way through"):
        engine(backends=["CpuRef"])
    with pytest.raises(ConfigError, match="--cache-dir has no way through"):
        InLiteRt(DOOR, cache_folder="kept")


@pytest.mark.parametrize(
    "line",
    ["", "{}", json.dumps({"operators": 2, "left": []}), '{"operators": 1, "left": [{}]}'],
)
def test_a_report_of_something_else_is_refused(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = litert_npu._report
    monkeypatch.setattr(litert_npu, "_report", lambda file, _: make(file, line.splitlines()))
    with pytest.raises(EngineRefused, match="report is not of this file"):
        LiteRtNpu().load(chain(tmp_path, "NEG"))
