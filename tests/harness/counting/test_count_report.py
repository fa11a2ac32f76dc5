# SPDX-License-Identifier: Apache-2.0
"""Counts held to recorded ones."""

from pathlib import Path

import msgspec
import pytest

from halyard.counting.count_report import departures, read
from halyard.errors import HalyardError
from halyard.records.instruction_counts import (
    Classes,
    Engine,
    InstructionCounts,
    Result,
    encode,
)
from halyard.records.run import Model


def result(total: int | None, processor: str = "cortex-a76", width: float = 1.0) -> Result:
    inference = None
    if total is not None:
        inference = Classes(
            multiply=total,
            vector=0,
            vector_load=0,
            scalar_load=0,
            store=0,
            prefetch=0,
            branch=0,
            integer=0,
            total=total,
        )
    return Result(
        benchmark_model=Model(name="net", type="float32", size=32, width=width, seed=0),
        relaxed=False,
        processor=processor,
        ours=Engine(title="Halyard", inference=inference, reason="" if inference else "it broke"),
        litert=None,
        ratio=None,
    )


def document(*results: Result) -> InstructionCounts:
    return InstructionCounts(
        date="",
        version="",
        emulator="",
        backends=[],
        fast_math=False,
        ok=True,
        complete=True,
        results=list(results),
        skipped=[],
    )


@pytest.mark.parametrize("now", [990_001, 1_000_000, 1_009_999])
def test_a_count_within_one_percent_is_as_recorded(now: int) -> None:
    assert departures(document(result(1_000_000)), [result(now)]) == []


@pytest.mark.parametrize(("now", "change"), [(1_010_101, "+1.0%"), (989_000, "-1.1%")])
def test_more_and_fewer_are_departures(now: int, change: str) -> None:
    [told] = departures(document(result(1_000_000)), [result(now)])
    assert told == (
        f"net, float32, 32x32, width 1.0, cortex-a76: {now} instructions, {change} of 1000000"
    )


def test_another_processor_or_width_is_another_count() -> None:
    recorded = document(result(1_000_000))
    for other in (result(1_000_000, "i8mm"), result(1_000_000, width=0.5)):
        [told] = departures(recorded, [other])
        assert told.endswith("of which nothing is recorded")


def test_a_failed_count_is_a_departure() -> None:
    [told] = departures(document(result(1_000_000)), [result(None)])
    assert told.endswith(": it broke")


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = document(result(1), result(2, "i8mm"))
    (tmp_path / "counts.json").write_bytes(encode(written))
    assert read(tmp_path / "counts.json") == written
    # A line for each result.
    assert (tmp_path / "counts.json").read_text().count('\n    {"benchmark_model"') == 2


def test_a_file_without_results_is_read(tmp_path: Path) -> None:
    (tmp_path / "counts.json").write_bytes(encode(document()))
    assert read(tmp_path / "counts.json") == document()


def test_another_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_bytes(msgspec.json.encode({"schema": 2, "date": ""}))
    with pytest.raises(HalyardError, match="this is no InstructionCounts"):
        read(tmp_path / "other.json")
