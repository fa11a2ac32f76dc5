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
from halyard.bench import baseline, timed
from halyard.bench.baseline import against
from halyard.cli.options.timing import Percent
from halyard.cli.program import cli
from halyard.errors import HalyardError
from halyard.records.bench import Bench, Peer
from halyard.records.run import Model, Run
from halyard.terminal.console import Terminal
from tests.harness import sample_results
from tests.harness.bench_documents import document, engine, result


def rounds(factor: float = 1.0, *, seed: int = 0, count: int = 10) -> list[list[float]]:
    generator = np.random.default_rng(seed)
    return [list(factor * generator.lognormal(1.0, 0.01, 5)) for _ in range(count)]


def once(
    factor: float = 1.0, *, seed: int = 0, peer: float | None = None, version: str = "1.2"
) -> Bench:
    engines = [engine(rounds(factor, seed=seed))]
    if peer is None:
        return document(result(*engines))
    engines.append(engine(rounds(peer, seed=seed + 100), "litert"))
    return document(result(*engines), peers=[peer_of(version)])


def peer_of(version: str, name: str = "litert") -> Peer:
    return Peer(name=name, title=name.title(), version=version, missing="")


def beside(*levels: float, factor: float = 1.0, seed: int = 0) -> Bench:
    """Ours and a peer on a machine that is as slow as that from round to round."""
    generator = np.random.default_rng(seed)
    ours, theirs = (
        [[level * each * generator.lognormal(0, 0.005) for _ in range(5)] for level in levels]
        for each in (2 * factor, 3.0)
    )
    return document(result(engine(ours), engine(theirs, "litert")), peers=[peer_of("1.2")])


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
    [
        (1.2, "5%", 1),
        (1.2, "30%", 0),
        (1.03, "5%", 0),
        (1.2, None, 1),
        (1.02, None, 0),
        (1.0, None, 0),
        (0.5, "5%", 0),
    ],
)
def test_exits_with_1_where_ours_is_slower_by_more(
    tmp_path: Path, factor: float, fail_above: str | None, code: int
) -> None:
    files = [
        write(tmp_path / name, content)
        for name, content in (("a", once()), ("b", once(factor, seed=1)))
    ]
    words = [] if fail_above is None else ["--fail-above", fail_above]
    done = invoke("compare", *files, *words)
    assert done.exit_code == code, done.output
    assert ("PROBLEM" in done.output) == (code == 1)
    if code == 0:
        assert "Nothing is slower by more than" in done.output


def test_a_peer_that_is_slower_is_told_and_fails_nothing() -> None:
    """One of another version, which says nothing of the machine."""
    before, now = once(peer=1.0), once(seed=1, peer=2.0, version="1.3")
    outcome = against(before, now)
    assert [(row.engine, row.verdict()) for row in outcome.rows] == [
        ("halyard", "same"),
        ("litert", "slower"),
    ]
    assert outcome.slower(0.0) == []
    assert outcome.notes == [
        "another litert, which is no yardstick then: 1.2 before, 1.3 now",
    ]


def test_what_slows_down_peers_too_is_the_machine() -> None:
    ours = against(beside(*[1.0] * 10), beside(*[1.4] * 10, seed=1)).rows[0]
    assert ours.comparison.ratio == pytest.approx(1.4, rel=0.02)
    assert ours.yardstick == ["litert"]
    assert ours.ratio == pytest.approx(1.0, rel=0.02)
    assert ours.verdict(0.03) == "same"


def elsewhere(before: Bench) -> Bench:
    there = msgspec.structs.replace(before.machine, cpu="another")
    return msgspec.structs.replace(before, machine=there)


def test_a_step_backwards_is_seen_on_a_faster_machine() -> None:
    before, now = beside(*[1.4] * 10), beside(*[1.0] * 10, factor=1.1, seed=1)
    [row] = against(before, elsewhere(now)).slower(0.03)
    assert row.comparison.ratio < 0.8
    assert row.ratio == pytest.approx(1.1, rel=0.02)


def test_peers_that_had_better_luck_on_the_same_machine_are_no_step_backwards() -> None:
    before, now = once(peer=1.2), once(seed=1, peer=1.0)
    outcome = against(before, now)
    assert outcome.rows[0].ratio == pytest.approx(1.2, rel=0.02)
    assert outcome.rows[0].verdict(0.03) == "unclear"
    assert outcome.slower(0.03) == []
    assert "those beside the peers disagree" in " ".join(printed(before, now).split())
    assert "disagree" not in printed(before, elsewhere(now))


def test_rounds_are_compared_with_those_of_the_peer_beside_them() -> None:
    """A machine that drifts as far as this hides a tenth, but from an engine that drifts along."""
    drift = list(np.random.default_rng(5).lognormal(0.0, 0.4, 10))
    outcome = against(beside(*drift), beside(*reversed(drift), factor=1.1, seed=1))
    [row] = outcome.slower(0.03)
    assert row.comparison.significant is False
    assert row.decisive.interval[0] > 1.05


def test_several_peers_are_one_yardstick() -> None:
    def both(seed: int, litert: float, other: float) -> Bench:
        engines = [
            engine(rounds(level, seed=seed + number), name)
            for number, (name, level) in enumerate(
                {"halyard": 1.0, "litert": litert, "other": other}.items()
            )
        ]
        found = [peer_of("1.2"), peer_of("1.0", "other")]
        return document(result(*engines), peers=found)

    row = against(both(0, 1.0, 1.0), both(9, 1.0, 1.21)).rows[0]
    assert row.yardstick == ["litert", "other"]
    assert row.ratio == pytest.approx(1 / 1.1, rel=0.02)


@pytest.mark.parametrize(("ours", "peers"), [(10, 3), (3, 3)])
def test_too_few_rounds_are_no_yardstick(ours: int, peers: int) -> None:
    engines = engine(rounds(count=ours)), engine(rounds(count=peers), "litert")
    few = document(result(*engines), peers=[peer_of("1.2")])
    assert against(few, few).rows[0].yardstick == ()


@pytest.mark.parametrize(
    ("backends", "yardstick"), [(["CpuAcc"], ["litert"]), (["GpuAcc:a=b"], ())]
)
def test_a_processor_is_no_yardstick_for_a_gpu(
    backends: list[str], yardstick: Sequence[str]
) -> None:
    on_it = msgspec.structs.replace(once(peer=1.0), backends=backends)
    assert against(on_it, on_it).rows[0].yardstick == yardstick


def test_many_models_do_not_make_chance_a_step_backwards() -> None:
    """Of forty that are the same both times, two seem to differ if each is tested alone."""

    def forty(seed: int) -> Bench:
        return document(
            *(
                result(engine(rounds(seed=seed + number)), model=f"model{number}")
                for number in range(40)
            )
        )

    alone, together = 0, 0
    for number in range(10):
        rows = against(forty(1000 * number), forty(1000 * number + 500)).rows
        alone += sum(row.comparison.significant for row in rows)
        together += sum(row.verdict() != "same" for row in rows)
    assert alone >= 10
    assert together <= 2


def test_the_table_fits_80_columns_and_says_by_how_much() -> None:
    said = printed(once(peer=1.0), once(1.2, seed=1, peer=1.0), 0.05)
    assert max(map(len, said.splitlines())) <= 80
    assert "small_classifier " in said
    assert "is slower beside litert by " in " ".join(said.split())
    assert "is slower by " in printed(once(), once(1.2, seed=1), 0.05)
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
        timed.read(path)
    assert "halyard bench --json" in str(raised.value)


@pytest.mark.parametrize("content", ["{}", "no JSON", '{"schema": 9}'])
def test_comparing_what_is_no_benchmark_is_a_wrong_command(tmp_path: Path, content: str) -> None:
    other = tmp_path / "other.json"
    other.write_text(content)
    done = invoke("compare", write(tmp_path / "a.json", once()), str(other))
    assert done.exit_code == 2
    assert f"{other}: " in " ".join(done.output.split())


def test_times_that_are_none_are_refused_by_the_models_name(tmp_path: Path) -> None:
    path = write(tmp_path / "zero.json", document(result(engine([[1.0], [0.0]]))))
    with pytest.raises(HalyardError, match=r"zero\.json: small_classifier .* not greater than 0"):
        timed.read(Path(path))


def test_comparing_what_has_nothing_in_common_is_a_wrong_command(tmp_path: Path) -> None:
    other = document(result(engine(rounds()), model="mobilenet_v1"))
    files = [write(tmp_path / "a", once()), write(tmp_path / "b", other)]
    done = invoke("compare", *files)
    assert done.exit_code == 2
    assert "there is nothing to compare" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-above", "5%"], "--baseline FILE"),
        (["--fail-above", "many"], "'many' is no percentage"),
        (["--fail-above", "-5%"], "is not between"),
        (["--baseline", "/nowhere"], "does not exist"),
        (["compare", "/nowhere", "/nowhere"], "does not exist"),
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
