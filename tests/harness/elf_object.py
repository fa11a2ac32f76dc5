# SPDX-License-Identifier: Apache-2.0
"""Small ELF objects: just enough to be a kernel module."""

import struct


def kernel_module(*modinfo: str) -> bytes:
    """A relocatable x86-64 object whose .modinfo holds the given "key=value" entries."""
    names = b"\0.shstrtab\0.modinfo\0"
    content = b"".join(entry.encode() + b"\0" for entry in modinfo)
    sections_at = 64 + len(names) + len(content)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        *(b"\x7fELF\x02\x01\x01".ljust(16, b"\0"), 1, 62, 1, 0, 0, sections_at),
        *(0, 64, 0, 0, 64, 3, 1),
    )

    def section(name: int, kind: int, offset: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 1, 0)

    return (
        header
        + names
        + content
        + bytes(64)
        + section(1, 3, 64, len(names))
        + section(11, 1, 64 + len(names), len(content))
    )
