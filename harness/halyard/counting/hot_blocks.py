# SPDX-License-Identifier: Apache-2.0
"""Where a program executes most of its instructions: blocks, and the functions they are of."""

from __future__ import annotations

import bisect
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# Cross tools of Debian's g++-aarch64-linux-gnu.
_DISASSEMBLER = "aarch64-linux-gnu-objdump"
_DEMANGLER = "aarch64-linux-gnu-c++filt"
# Of an AArch64 instruction.
_BYTES = 4
# Marks between code and data, and labels inside of hand-written functions.
_NO_FUNCTION = re.compile(r"\$|\.L|label_")


@dataclass(frozen=True)
class HotBlock:
    """`executions` are of one inference. `place`: the function and the offset in it, or the
    address where none is known."""

    place: str
    address: int
    executions: int
    instructions: Sequence[int]

    @property
    def total(self) -> int:
        """Instructions in an inference."""
        return self.executions * len(self.instructions)

    def disassembly(self) -> list[str]:
        """A line for each instruction; its bits alone where there is no disassembler."""
        with tempfile.NamedTemporaryFile() as code:
            code.write(b"".join(each.to_bytes(_BYTES, "little") for each in self.instructions))
            code.flush()
            command = [_DISASSEMBLER, "-D", "-b", "binary", "-m", "aarch64"]
            try:
                done = subprocess.run(
                    [*command, f"--adjust-vma={self.address:#x}", code.name],
                    capture_output=True,
                    text=True,
                )
            except FileNotFoundError:
                return [f"{each:08x}" for each in self.instructions]
        return [
            line.strip().expandtabs(8)
            for line in done.stdout.splitlines()
            if re.match(r"\s*[0-9a-f]+:\t", line)
        ]


def hot_blocks(lines: Iterable[str], named: int) -> list[HotBlock]:
    """Of what the plugin wrote, which has the counts at the three reads, the hottest first; so many
    of them with their places."""
    blocks, maps = [], _Maps()
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "map":
            maps.add(rest)
        elif kind == "block":
            block = _block(rest)
            if block.executions > 0:
                blocks.append(block)
    hottest = sorted(_merged(blocks), key=lambda block: -block.total)
    return [
        replace(each, place=maps.place(each.address)) if index < named else each
        for index, each in enumerate(hottest)
    ]


def _block(text: str) -> HotBlock:
    head, _, body = text.partition(":")
    address, ready, few, more, *_ = head.split()
    executions = (int(more) - int(few)) - (int(few) - int(ready))
    instructions = [int(word, 16) for word in body.split()]
    return HotBlock("", int(address, 16), executions, instructions)


def _merged(blocks: Sequence[HotBlock]) -> list[HotBlock]:
    """QEMU ends a block at the end of a page, and where it grows long: one that begins where
    another ends, and is executed as often, is the same."""
    merged: list[HotBlock] = []
    for block in sorted(blocks, key=lambda each: each.address):
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.address + _BYTES * len(last.instructions) == block.address
            and last.executions == block.executions
        ):
            both = [*last.instructions, *block.instructions]
            merged[-1] = HotBlock("", last.address, last.executions, both)
        else:
            merged.append(block)
    return merged


# ---- functions ----------------------------------------------------------------------------------


class _Maps:
    """Which file lies where."""

    def __init__(self) -> None:
        self._found: list[tuple[int, int, int, Path]] = []

    def add(self, line: str) -> None:
        """One of /proc/PID/maps."""
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/"):
            begin, end = (int(word, 16) for word in words[0].split("-"))
            self._found.append((begin, end, int(words[2], 16), Path(words[5].strip())))

    def place(self, address: int) -> str:
        for begin, end, offset, file in self._found:
            if begin <= address < end:
                return _functions(file).place(address - begin + offset)
        return f"{address:#x}"


@dataclass(frozen=True)
class _Functions:
    """Of a file, in the order of their addresses in it; segments as (offset, address, size)."""

    file: Path
    addresses: Sequence[int]
    names: Sequence[str]
    segments: Sequence[tuple[int, int, int]]

    def place(self, offset: int) -> str:
        for begin, address, size in self.segments:
            if begin <= offset < begin + size:
                at = offset - begin + address
                index = bisect.bisect_right(self.addresses, at) - 1
                if index >= 0:
                    name = _demangled(self.names[index])
                    return f"{name} + {at - self.addresses[index]:#x}, {self.file.name}"
        return f"{self.file.name} + {offset:#x}"


@cache
def _functions(file: Path) -> _Functions:
    symbols: list[tuple[int, str]] = []
    segments: list[tuple[int, int, int]] = []
    try:
        with file.open("rb") as opened:
            elf = ELFFile(opened)
            segments += [
                (each["p_offset"], each["p_vaddr"], each["p_filesz"])
                for each in elf.iter_segments("PT_LOAD")
            ]
            for section in elf.iter_sections():
                if isinstance(section, SymbolTableSection):
                    symbols += [
                        (symbol["st_value"], symbol.name)
                        for symbol in section.iter_symbols()
                        if symbol["st_shndx"] != "SHN_UNDEF"
                        and symbol["st_info"]["type"] in ("STT_FUNC", "STT_NOTYPE")
                        and symbol.name
                        and not _NO_FUNCTION.match(symbol.name)
                    ]
    except (OSError, ELFError):
        pass
    symbols.sort()
    return _Functions(file, [each[0] for each in symbols], [each[1] for each in symbols], segments)


@cache
def _demangled(name: str) -> str:
    try:
        done = subprocess.run([_DEMANGLER, name], capture_output=True, text=True)
    except FileNotFoundError:
        return name
    return done.stdout.strip() or name
