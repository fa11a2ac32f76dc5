# SPDX-License-Identifier: Apache-2.0
"""Two benchmarks side by side: what is slower, what is chance, and what can't be compared."""

import io
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from halyard import records
from halyard.bench import baseline
from halyard.bench.baseline import against
from halyard.cli import cli
from halyard.cli_timing import Percent
from halyard.errors import HalyardError
from halyard.records.bench import Bench
from halyard.records.run import Model, Run
from halyard.terminal import Terminal
from tests.harness import sample_results
from tests.harness.bench_documents import document, engine, result


def rounds(factor: float = 1.0, *, seed: int = 0, count: int = 10) -> list[list[float]]:
    generator = np.random.default_rng(seed)
    return [list(factor * generator.lognormal(1.0, 0.01, 5)) for _ in range(count)]


def once(factor: float = 1.0, *, seed: int = 0, peer: float | None = None) -> Bench:
    engines = [engine(rounds(factor, seed=seed))]
    if peer is not None:
        engines.append(engine(rounds(peer, seed=seed + 100), "litert"))
    return document(result(*engines))


def write(path: Path, content: Bench) -> str:
    path.write_bytes(records.encode(content))
    return str(path)


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *words])


def printed(before: Bench, now: Bench, fail_above: float | None = None) -> str:
    out = io.StringIO()
    terminal = Terminal(Console(file=out, width=80))
    baseline.print_outcome(terminal, against(before, now), fail_above)
    return out.getvalue()


@pytest.mark.parametrize(("factor", "verdict"), [(1.2, "slower"), (0.8, "faster"), (1.0, "same")])
def test_tells_slower_faster_and_the_same(factor: float, verdict: str) -> None:
    [row] = against(once(), once(factor, seed=1)).rows
    assert row.verdict() == verdict
    assert row.model == "small_classifier float32 16 width 0.5, 1 thread"
    assert row.comparison.ratio == pytest.approx(factor, rel=0.02)


def test_a_round_counts_as_one_sample() -> None:
    """Executions of a round are alike: fifty of them in ten rounds are not fifty that agree."""
    generator = np.random.default_rng(8)

    def drifting(seed: int) -> Bench:
        levels = np.random.default_rng(seed).lognormal(1.0, 0.2, 10)
        return document(
            result(engine([list(level * generator.lognormal(0, 0.001, 50)) for level in levels]))
        )

    found = [
        against(drifting(2 * number), drifting(2 * number + 1)).rows[0] for number in range(60)
    ]
    assert sum(row.comparison.significant for row in found) <= 9


def test_few_rounds_are_compared_by_their_executions() -> None:
    few = [
        document(result(engine(rounds(factor, seed=seed, count=2))))
        for factor, seed in ((1.0, 0), (1.5, 1))
    ]
    [row] = against(*few).rows
    assert row.comparison.significant


@pytest.mark.parametrize(
    ("factor", "fail_above", "code"),
    [(1.2, "5%", 1), (1.2, "30%", 0), (1.03, "5%", 0), (1.2, None, 0), (0.5, "5%", 0)],
)
def test_exits_with_1_where_ours_is_slower_by_more(
    tmp_path: Path, factor: float, fail_above: str | None, code: int
) -> None:
    files = [
        write(tmp_path / name, content)
        for name, content in (("a", once()), ("b", once(factor, seed=1)))
    ]
    words = [] if fail_above is None else ["--fail-above", fail_above]
    done = invoke("--compare", *files, *words)
    assert done.exit_code == code, done.output
    assert ("PROBLEM" in done.output) == (code == 1)
    if fail_above is not None and code == 0:
        assert "Nothing is slower by more than" in done.output


def test_a_peer_that_is_slower_is_told_and_fails_nothing() -> None:
    before, now = once(peer=1.0), once(seed=1, peer=2.0)
    outcome = against(before, now)
    assert [(row.engine, row.verdict()) for row in outcome.rows] == [
        ("halyard", "same"),
        ("litert", "slower"),
    ]
    assert outcome.slower(0.05) == []


def test_the_table_fits_80_columns_and_says_by_how_much() -> None:
    said = printed(once(), once(1.2, seed=1), 0.05)
    assert max(map(len, said.splitlines())) <= 80
    assert "is slower by " in said
    assert "and 5 % are allowed" in said


def test_another_machine_and_other_options_are_noted() -> None:
    now = once(seed=1)
    other = msgspec.structs.replace(
        now,
        machine=msgspec.structs.replace(now.machine, cpu="another"),
        backends=["CpuRef"],
        device=msgspec.structs.replace(now.device, serial="PHONE"),
        complete=False,
    )
    assert against(now, now).notes == []
    notes = "\n".join(against(other, now).notes)
    assert "another device: PHONE before, host now" in notes
    assert "another processor: another before, " in notes
    assert "another choice of backends: CpuRef before, CpuAcc now" in notes
    assert "the baseline was interrupted" in notes


def test_models_of_one_side_alone_are_noted() -> None:
    both = document(result(engine(rounds())), result(engine(rounds()), model="mobilenet_v1"))
    notes = against(once(), both).notes
    assert notes == ["mobilenet_v1 float32 16 width 0.5, 1 thread is not in the baseline"]
    notes = against(both, once()).notes
    assert notes == ["mobilenet_v1 float32 16 width 0.5, 1 thread is in the baseline alone"]


def run_of(file: str, name: str, factor: float = 1.0) -> Run:
    samples = [value for each in rounds(factor) for value in each]
    model = Model(name=name, file=file, seed=0)
    return msgspec.structs.replace(sample_results.run(), model=model, samples_ms=samples)


def test_two_files_are_two_models_whatever_they_call_themselves() -> None:
    """As PyTorch's exports do; files of results may hold that name from earlier."""
    before = [run_of("a/encoder.onnx", "main_graph")]
    with pytest.raises(HalyardError, match=r"has encoder\.onnx, .* this run block\.onnx, "):
        against(before, [run_of("a/block.onnx", "main_graph")])
    [row] = against(before, [run_of("b/encoder.onnx", "encoder.onnx")]).rows
    assert row.model == "encoder.onnx, HAL 1.3"


def test_nothing_in_common_is_an_error_that_says_what_there_is() -> None:
    other = document(result(engine(rounds()), model="mobilenet_v1"))
    with pytest.raises(HalyardError, match="nothing to compare: the baseline has small_class"):
        against(once(), other)


def test_a_model_without_times_is_noted() -> None:
    failed = engine([])
    failed.fail("out of luck")
    both = document(result(failed), result(engine(rounds()), model="mobilenet_v1"))
    good = document(result(engine(rounds())), result(engine(rounds()), model="mobilenet_v1"))
    assert against(good, both).notes == [
        "small_classifier float32 16 width 0.5, 1 thread has no times in this run"
    ]


@pytest.mark.parametrize(
    ("content", "message"), [(b"{}", "this is no Bench|no schema"), (b"x", "this is no Bench")]
)
def test_a_file_that_is_no_benchmark_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(HalyardError, match=message) as raised:
        baseline.read(path)
    assert "halyard bench --json" in str(raised.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-above", "5%"], "--baseline FILE"),
        (["--fail-above", "many"], "'many' is no percentage"),
        (["--fail-above", "-5%"], "is not between"),
        (["--baseline", "/nowhere"], "does not exist"),
        (["--compare", "/nowhere", "/nowhere"], "does not exist"),
    ],
)
def test_wrong_commands(words: Sequence[str], message: str) -> None:
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("5", 0.05), ("0.5%", 0.005)])
def test_percentages(text: str, share: float) -> None:
    assert Percent().convert(text, None, None) == pytest.approx(share)
    with pytest.raises(click.BadParameter):
        Percent().convert("nan%", None, None)
