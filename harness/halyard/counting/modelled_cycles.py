# SPDX-License-Identifier: Apache-2.0
"""Cycles that an inference takes by LLVM's models of cores (llvm-mca), where there is no such core.

Each block is taken for a loop whose loads all hit the first cache and whose branches are all
predicted. Counts of instructions say nothing of what waits for what: this does.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

import msgspec

from halyard.counting.hot_blocks import HotBlock
from halyard.errors import HalyardError, ProgramMissing

# By LLVM's names.
MODELS = ("cortex-a55", "cortex-a510", "neoverse-n1", "neoverse-v1")

_VERSION = "19"
_TRIPLE = ("-triple=aarch64", "-mattr=+all")
_ITERATIONS = 100
# Of all instructions, what is modelled; the rest takes as long an instruction.
_SHARE = 0.99


def check() -> None:
    """ProgramMissing where the programs are not installed."""
    _program("llvm-mca")
    _program("llvm-mc")


def cycles(blocks: Sequence[HotBlock], model: str) -> float:
    """Of one inference. The blocks are all that it executes, the hottest first. HalyardError where
    LLVM can't read one."""
    total = sum(block.total for block in blocks)
    modelled = _hottest(blocks, total)
    taken = _per_execution(modelled, model)
    found = sum(each * block.executions for each, block in zip(taken, modelled, strict=True))
    return found * total / sum(block.total for block in modelled)


def _hottest(blocks: Sequence[HotBlock], total: int) -> Sequence[HotBlock]:
    seen = 0
    for index, block in enumerate(blocks):
        seen += block.total
        if seen >= _SHARE * total:
            return blocks[: index + 1]
    return blocks


class _Summary(msgspec.Struct):
    cycles: int = msgspec.field(name="TotalCycles")


class _Region(msgspec.Struct):
    name: str = msgspec.field(name="Name")
    summary: _Summary = msgspec.field(name="SummaryView")


class _Report(msgspec.Struct):
    regions: list[_Region] = msgspec.field(name="CodeRegions")


def _per_execution(blocks: Sequence[HotBlock], model: str) -> list[float]:
    texts = _assembly({each for block in blocks for each in block.instructions})
    lines = []
    for index, block in enumerate(blocks):
        lines.append(f"# LLVM-MCA-BEGIN {index}")
        lines += [texts[each] for each in block.instructions]
        lines.append(f"# LLVM-MCA-END {index}")
    # A called function is another block.
    words = [f"-m{_TRIPLE[0][1:]}", _TRIPLE[1], f"-mcpu={model}", "-call-latency=1", "-json"]
    said = _run("llvm-mca", [*words, f"-iterations={_ITERATIONS}"], "\n".join(lines) + "\n")
    report = msgspec.json.decode(said, type=_Report)
    found = {region.name: region.summary.cycles / _ITERATIONS for region in report.regions}
    return [found[str(index)] for index in range(len(blocks))]


def _assembly(instructions: set[int]) -> Mapping[int, str]:
    """Each as LLVM writes it."""
    given = sorted(instructions)
    code = "\n".join(
        " ".join(f"{byte:#04x}" for byte in each.to_bytes(4, "little")) for each in given
    )
    said = _run("llvm-mc", ["-disassemble", *_TRIPLE], code + "\n")
    lines = [line.strip() for line in said.splitlines() if line.strip()][1:]  # behind .text
    if len(lines) != len(given):
        raise HalyardError(f"llvm-mc reads {len(lines)} of {len(given)} instructions")
    return dict(zip(given, lines, strict=True))


def _run(name: str, words: Sequence[str], given: str) -> str:
    done = subprocess.run([_program(name), *words], input=given, capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{name} failed ({done.returncode}): {done.stderr.strip()[:1000]}")
    return done.stdout


def _program(name: str) -> str:
    found = shutil.which(f"{name}-{_VERSION}") or shutil.which(name)
    if found is None:
        raise ProgramMissing(f"{name} is missing: install Debian's llvm-{_VERSION}")
    return found
