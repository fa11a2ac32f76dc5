# SPDX-License-Identifier: Apache-2.0
"""Which kind of build a program is, by its ELF headers: static, against bionic, or another.

A static program runs on every kernel of its processor and loads no library, so that GpuAcc has no
OpenCL there. One that is linked against bionic loads libraries, and runs on Android alone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

# How much of a program to read: headers and the name of its loader come first.
HEAD_BYTES = 4096

_BIONIC_LOADERS = ("/system/bin/linker", "/system/bin/bootstrap/linker", "/apex/")
_LEAST_BYTES = 64
_ELF64 = 2
# Kinds of segments: PT_LOAD, PT_INTERP.
_LOAD, _INTERPRETER = 1, 3


@dataclass(frozen=True)
class _Form:
    """Where a field lies in the file's header, or in one of a segment."""

    word: str  # of struct: an offset or a size
    table: int  # e_phoff
    counts: int  # e_phentsize, e_phnum
    size: int  # of a segment's header
    offset: int  # p_offset
    bytes_in_file: int  # p_filesz
    alignment: int  # p_align


_FORM_64 = _Form("<Q", table=32, counts=54, size=56, offset=8, bytes_in_file=32, alignment=48)
_FORM_32 = _Form("<I", table=28, counts=42, size=32, offset=4, bytes_in_file=16, alignment=28)


@dataclass(frozen=True)
class Linkage:
    loader: str  # the path of its interpreter; empty: it is static
    alignment: int  # of its segments, in bytes: the largest pages that it runs with

    @property
    def is_static(self) -> bool:
        return not self.loader

    @property
    def is_bionic(self) -> bool:
        return self.loader.startswith(_BIONIC_LOADERS)

    def words(self) -> str:
        if self.is_static:
            return "static"
        kind = "linked against bionic" if self.is_bionic else "linked dynamically"
        return f"{kind}, with the loader {self.loader}"


def linkage(head: bytes) -> Linkage | None:
    """What the first HEAD_BYTES of a file tell; None: it is no ELF program, or of another order of
    bytes than all that Android runs on."""
    if len(head) < _LEAST_BYTES or head[:4] != b"\x7fELF" or head[5] != 1:
        return None
    form = _FORM_64 if head[4] == _ELF64 else _FORM_32
    (table,) = struct.unpack_from(form.word, head, form.table)
    size, count = struct.unpack_from("<HH", head, form.counts)
    loader, alignment = "", 0
    for index in range(count):
        header = head[table + index * size :][: form.size]
        if len(header) < form.size:
            break
        (kind,) = struct.unpack_from("<I", header)
        if kind == _INTERPRETER:
            (start,) = struct.unpack_from(form.word, header, form.offset)
            (length,) = struct.unpack_from(form.word, header, form.bytes_in_file)
            loader = head[start : start + length].rstrip(b"\0").decode(errors="replace")
        elif kind == _LOAD:
            (each,) = struct.unpack_from(form.word, header, form.alignment)
            alignment = min(alignment, each) if alignment else each
    return Linkage(loader, alignment)
