# SPDX-License-Identifier: Apache-2.0
"""Kept results of benchmarks, processor by processor, and the table that the docs have of it."""

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from halyard import records
from halyard.bench import standing, timed
from halyard.bench.baseline import against
from halyard.bench.bench_report import Report
from halyard.bench.results import RELAXED, EngineResult
from halyard.cli.program import cli
from halyard.engines.peers import PEERS
from halyard.errors import ConfigError, HalyardError
from halyard.records.bench import Bench, Peer
from halyard.records.standing import Standing, encode
from halyard.terminal.console import Terminal
from halyard.timing import machine
from tests.harness.bench_documents import PEAK, document, engine, result

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmark.md"
LITERT = PEERS[0].probe()


def rounds(level: float, seed: int = 0) -> list[list[float]]:
    generator = np.random.default_rng(seed)
    return [list(level * generator.lognormal(0.0, 0.01, 5)) for _ in range(10)]


def peer(name: str, version: str = "1.2", missing: str = "") -> Peer:
    return Peer(name=name, title=name.title(), version=version, missing=missing)


def measured(*engines: EngineResult, threads: int = 1, cpu: str = "Acme CPU @ 2 GHz") -> Bench:
    made = result(*engines)
    made.threads = threads
    return msgspec.structs.replace(
        document(),
        results=[made.record(PEAK)],
        machine=msgspec.structs.replace(document().machine, cpu=cpu, features=["AVX2", "AMX"]),
        peers=[peer("litert"), peer("other"), peer("armnn", "", "it is not installed")],
        backends=[],
        date="2026-11-24T10:00:00+00:00",
        version="0.1.0",
    )


def usual(factor: float = 1.0, seed: int = 0) -> Bench:
    return measured(
        engine(rounds(2.0 * factor, seed)),
        engine(rounds(4.0, seed + 1), "litert"),
        engine(rounds(5.0, seed + 2), "other"),
    )


def shared(paces: Sequence[float]) -> Bench:
    """Ours takes a third of the time where the core is its own, and half else."""
    paces_of = [[1.0 if pace > 3.0 else 1.5] * 3 for pace in paces]
    made = result(engine(paces_of), engine([[3.0] * 3] * len(paces), "litert"))
    made.core_paces = list(paces)
    return msgspec.structs.replace(usual(), results=[made.record(PEAK)])


# ---- what is kept -------------------------------------------------------------------------------


def test_it_keeps_the_median_of_each_round_and_what_it_depends_on() -> None:
    kept = standing.of(usual())
    assert (kept.date, kept.cpu) == ("2026-11-24", "Acme CPU @ 2 GHz")
    assert (kept.features, kept.version) == (["AVX2", "AMX"], "0.1.0")
    versions = {name: each.version for name, each in kept.peers.items()}
    assert versions == {"litert": "1.2", "other": "1.2"}
    [row] = kept.rows
    assert (row.model, row.size, row.width, row.threads) == ("small_classifier", 16, 0.5, 1)
    expected = [float(np.median(each)) for each in rounds(2.0)]
    assert row.engines["halyard"] == pytest.approx(expected, rel=1e-3)


def test_its_file_has_a_line_for_each_row_and_is_read_as_it_was() -> None:
    kept = standing.of(usual())
    kept = msgspec.structs.replace(kept, rows=kept.rows * 50)
    written = encode(kept)
    assert records.decode(written, Standing) == [kept]
    assert sum(b"small_classifier" in line for line in written.splitlines()) == 50
    assert len(written) < 20_000


def test_it_compares_as_the_benchmark_itself_does(tmp_path: Path) -> None:
    before, now = usual(), usual(1.1, seed=9)
    path = tmp_path / "kept.json"
    path.write_bytes(encode(standing.of(before)))
    row, whole = against(timed.read(path), now).rows[0], against(before, now).rows[0]
    assert row.verdict(0.03) == whole.verdict(0.03) == "slower"
    assert row.yardstick == ["litert", "other"]
    assert row.ratio == pytest.approx(whole.ratio, rel=1e-3)


def test_rounds_whose_core_was_the_engines_own_have_a_table() -> None:
    kept = standing.of(shared([4.0, 2.0, 3.9, 3.1, 2.1, 2.2]))
    assert kept.rows[0].core_paces == [4.0, 2.0, 3.9, 3.1, 2.1, 2.2]
    page = standing.as_markdown([kept])
    assert "| small_classifier 16 width 0.5 | float32 | 2 of 6 | 0.33 |" in page, page
    assert "the engines' own" not in standing.as_markdown([standing.of(usual())])


def test_the_summary_tells_of_those_rounds_that_they_are_its_own() -> None:
    told = io.StringIO()
    made = result(engine([[1.0], [1.5]]), engine([[3.0], [3.0]], "litert"))
    for paces in ([], [4.0, 2.0]):
        made.core_paces = list(paces)
        Report([], {1: PEAK}, [], 50, results=[made]).print_end(Terminal(Console(file=told)))
    before, _, table = told.getvalue().partition("Where the core was the engines' own")
    assert before.count("Summary") == 2, "nothing without paces"
    assert table.splitlines()[2].split() == ["small_classifier", "float32", "1", "of", "2", "0.33"]


def test_another_processor_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(encode(standing.of(usual())))
    notes = against(timed.read(path), measured(engine(rounds(1.0)), cpu="Other")).notes
    assert "another processor: Acme CPU @ 2 GHz before, Other now" in notes


def test_only_peers_that_are_as_exact_are_kept() -> None:
    reduced = engine(rounds(1.0), "reduced")
    reduced.is_relaxed = True
    relaxed = engine(rounds(1.0), RELAXED)
    kept = standing.of(
        measured(engine(rounds(2.0)), relaxed, engine(rounds(4.0), "litert"), reduced)
    )
    assert list(kept.rows[0].engines) == ["halyard", "litert"]


@pytest.mark.parametrize(
    ("cpu", "backends", "name"),
    [
        ("AMD EPYC", [], "amd-epyc-amx.json"),
        ("Intel(R) Xeon(R) Gold 6 CPU @ 2.70GHz", [], "intel-xeon-gold-6-amx.json"),
        ("AMD EPYC 7B13 64-Core Processor", ["GpuAcc"], "amd-epyc-7b13-amx-gpuacc.json"),
    ],
)
def test_a_file_is_named_after_the_processor(cpu: str, backends: list[str], name: str) -> None:
    kept = standing.of(measured(engine(rounds(2.0)), cpu=cpu))
    assert standing.file_name(msgspec.structs.replace(kept, backends=backends)) == name


@pytest.mark.parametrize("changes", [{"complete": False}, {"results": []}, {"burners": 1}])
def test_what_says_nothing_of_a_processor_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        standing.of(msgspec.structs.replace(usual(), **changes))


def test_another_device_is_refused() -> None:
    made = usual()
    assert made.device is not None
    phone = msgspec.structs.replace(made.device, serial="PHONE")
    with pytest.raises(ConfigError, match="this machine"):
        standing.of(msgspec.structs.replace(made, device=phone))


def test_a_processor_tells_its_features(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "processor: 0\nmodel name\t: Acme\nflags\t\t: fpu amx_int8 avx2 avx512f\n"
    monkeypatch.setattr(Path, "read_text", lambda path: told)
    assert machine.cpu_name() == "Acme"
    assert machine.cpu_features() == ["AVX2", "AVX-512", "AMX"]


# ---- the table ----------------------------------------------------------------------------------


def of_processor(cpu: str, *levels: float) -> Standing:
    """A small model with as many threads as there are levels, and a slow one with one."""
    kept = [
        standing.of(
            measured(engine([[level]] * 10), engine([[4.0]] * 10, "litert"), threads=count, cpu=cpu)
        )
        for count, level in enumerate(levels, 1)
    ]
    rows = [row for each in kept for row in each.rows]
    first = rows[0].engines
    slow = msgspec.structs.replace(
        rows[0],
        model="resnet_50",
        size=224,
        width=1.0,
        engines={**first, "halyard": [4 * each for each in first["halyard"]]},
    )
    return msgspec.structs.replace(kept[0], rows=[*rows, slow])


def test_the_table_has_processors_and_for_each_its_models() -> None:
    made = standing.as_markdown([of_processor("Zeta", 2.0, 3.0), of_processor("Acme", 1.0)])
    lines = made.splitlines()
    assert lines[:4] == [
        "| processor | type | 1 thread | 2 threads |",
        "|---|---|---:|---:|",
        "| Acme | float32 | 0.50 | - |",
        "| Zeta | float32 | 1.00 | 0.75 |",
    ], "geometric means of 0.25 and 1.00, and of 0.50 and 2.00"
    zeta = lines.index("### Zeta")
    assert lines.index("### Acme") < zeta
    assert lines[zeta + 2].startswith("2026-11-24, ")
    assert lines[zeta + 2].endswith(" with AVX2, AMX, beside Litert 1.2.")
    assert lines[zeta + 4 :] == [
        "| model | type | 1 thread | 2 threads |",
        "|---|---|---:|---:|",
        "| small_classifier 16 width 0.5 | float32 | 0.50 | 0.75 |",
        "| resnet_50 | float32 | 2.00 | - |",
    ]


def test_what_slows_all_engines_down_for_some_rounds_is_no_difference() -> None:
    ours, theirs = [0.5, 0.5, 2.0, 0.5, 2.0], [1.0, 9.0, 4.0, 1.0, 9.0]
    kept = standing.of(
        measured(
            engine([[each] * 5 for each in ours * 2]),
            engine([[each] * 5 for each in theirs * 2], "litert"),
        )
    )
    assert [ratio.value for ratio in standing.ratios(kept)] == [0.5], "of the medians: 0.125"


def test_an_engine_that_missed_rounds_counts_by_its_median() -> None:
    kept = standing.of(measured(engine(rounds(2.0)), engine([[4.0] * 5] * 3, "litert")))
    [ratio] = standing.ratios(kept)
    assert ratio.value == pytest.approx(0.5, rel=0.02)


def test_a_model_without_a_peer_has_no_ratio_and_counts_for_no_mean() -> None:
    kept = standing.of(measured(engine(rounds(2.0))))
    assert [ratio.value for ratio in standing.ratios(kept)] == [None]
    assert "| small_classifier 16 width 0.5 | float32 | - |" in standing.as_markdown([kept])


def test_a_page_keeps_what_is_around_the_table() -> None:
    page = f"before\n{standing.BEGIN}\nold\n{standing.END}\nafter\n"
    new = f"before\n{standing.BEGIN}\n\nnew\n\n{standing.END}\nafter\n"
    assert standing.within(page, "new") == new
    with pytest.raises(HalyardError, match="lacks <!-- end"):
        standing.within(standing.BEGIN, "new")


# ---- what is committed --------------------------------------------------------------------------


def test_the_docs_have_the_table_that_is_made_of_the_files(tmp_path: Path) -> None:
    """`make standing` writes it."""
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    script = ROOT / "tests" / "benchmarks" / "standing.py"
    done = subprocess.run([sys.executable, script, FOLDER, page], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == PAGE.read_text(), "make standing"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: str(path.stem))
def test_files_are_small_and_named_after_their_processor(path: Path) -> None:
    assert path.stat().st_size < 60_000
    kept = standing.read(path)
    assert standing.file_name(kept) == path.name
    assert kept.rows
    assert encode(kept) == path.read_bytes()


# ---- the command --------------------------------------------------------------------------------


def invoke(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["bench", *map(str, words)])


def test_what_another_run_wrote_can_be_kept(tmp_path: Path) -> None:
    whole = tmp_path / "bench.json"
    whole.write_bytes(records.encode(usual()))
    folder = tmp_path / "results"
    folder.mkdir()
    done = invoke("show", whole, "--standing", folder)
    assert done.exit_code == 0, done.output
    [path] = folder.iterdir()
    assert path.name in done.output
    assert standing.read(path) == standing.of(usual())


@pytest.mark.skipif(not LITERT.available, reason=LITERT.reason)
def test_a_run_keeps_its_standing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpu_name", lambda: "Acme")
    monkeypatch.setattr(machine, "cpu_features", lambda: ["AMX"])
    done = invoke(
        *("small_classifier", "--size", "16", "--width", "0.25", "--types", "float32"),
        *("--threads", "1", "--runs", "3", "--peers", "litert", "--standing", tmp_path),
    )
    assert done.exit_code == 0, done.output
    [row] = standing.read(tmp_path / "acme-amx.json").rows
    assert {name: len(each) for name, each in row.engines.items()} == {"halyard": 3, "litert": 3}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--standing", "/nowhere"], "does not exist"),
        (["--standing", "{}", "--burn", "1"], "--standing is for what is measured without --burn"),
        (["--standing", "{}", "--device", "vm"], "--standing is for this machine"),
        (
            ["pair", "--standing", "{}", "--a", "threads=1", "--b", ""],
            "No such option '--standing'",
        ),
        (["compare", "{}/file", "{}/file", "--standing", "{}"], "No such option '--standing'"),
    ],
)
def test_wrong_commands(words: Sequence[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = invoke(*(word.format(tmp_path) for word in words))
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_a_file_that_is_none_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_bytes(b"[]")
    with pytest.raises(HalyardError, match=r"none\.json"):
        standing.read(path)
    [row] = standing.of(usual()).rows
    for engines in ({"litert": [1.0]}, {"halyard": [1.0], "litert": []}):
        rows = [msgspec.structs.replace(row, engines=engines)]
        path.write_bytes(encode(msgspec.structs.replace(standing.of(usual()), rows=rows)))
        with pytest.raises(HalyardError, match=r"none\.json: a row has no times"):
            standing.read(path)
