# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tests/validation over golden cases, and reads what they found."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from halyard.cases import Case
from halyard.programs import native, protobuf_stream

_HANGS = 1200


@dataclass(frozen=True)
class Counts:
    """How often a check was tried, and how that ended."""

    tried: int
    held: int
    exempt: int
    broken: int


@dataclass(frozen=True)
class Findings:
    checks: dict[str, Counts]
    broken: list[str]  # the first of them
    crashes: list[str]
    seconds: float

    def table(self) -> str:
        rows: list[tuple[str, ...]] = [("", "tried", "held", "exempt", "broken")]
        rows += [
            (name, *map(str, (row.tried, row.held, row.exempt, row.broken)))
            for name, row in self.checks.items()
        ]
        total = [sum(getattr(row, name) for row in self.checks.values()) for name in rows[0][1:]]
        rows.append((f"all, in {self.seconds:.1f} s", *map(str, total)))
        return "\n".join(
            f"{row[0]:52}" + "".join(f"{word:>10}" for word in row[1:]) for row in rows
        )

    def assert_all_held(self) -> None:
        """And that there is no check that nothing was put to."""
        assert not self.crashes, "\n".join(self.crashes)
        assert not self.broken, "\n".join(self.broken)
        assert sum(row.broken for row in self.checks.values()) == 0
        assert [name for name, row in self.checks.items() if row.held == 0] == []


def run(
    name: str, cases: Sequence[Case], folder: Path, *words: str, command: Sequence[str] = ()
) -> Findings:
    """Runs a program over the cases, on all processors; `folder` is for its bundle. The command
    comes before the options."""
    program = native.folder() / name
    if not program.is_file():
        pytest.skip(f"{name} is not built: make test-native builds it")
    bundle = folder / "bundle"
    bundle.write_bytes(protobuf_stream.write(case.test_case for case in cases))
    workers = str(os.cpu_count() or 1)
    start = time.monotonic()
    done = subprocess.run(
        [program, *command, "--bundle", bundle, "--workers", workers, *words],
        capture_output=True,
        text=True,
        timeout=_HANGS,
    )
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    checks = {name: Counts(**row) for name, row in found["checks"].items()}
    return Findings(checks, found["broken"], found["crashes"], seconds)
