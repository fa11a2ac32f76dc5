# SPDX-License-Identifier: Apache-2.0
"""Which kind of build a program is."""

import struct

import pytest

from halyard.programs import native
from halyard.programs.linkage import HEAD_BYTES, linkage
from tests.harness.doctor.phones import elf

BIONIC = "/system/bin/linker64"


def test_a_program_without_a_loader_is_static() -> None:
    found = linkage(elf(183, alignment=0x10000))
    assert found is not None
    assert (found.is_static, found.is_bionic, found.alignment) == (True, False, 0x10000)
    assert found.words() == "static"


@pytest.mark.parametrize(
    ("loader", "is_bionic"),
    [(BIONIC, True), ("/system/bin/linker", True), ("/lib/ld-linux-aarch64.so.1", False)],
)
def test_a_programs_loader_tells_its_c_library(loader: str, is_bionic: bool) -> None:
    found = linkage(elf(183, loader=loader))
    assert found is not None
    assert (found.loader, found.is_static, found.is_bionic) == (loader, False, is_bionic)


def test_the_program_of_this_machine_is_read_whole() -> None:
    with native.program(native.SERVICE).open("rb") as file:
        found = linkage(file.read(HEAD_BYTES))
    assert found is not None
    assert found.loader.startswith("/lib")
    assert found.alignment % 4096 == 0
    assert found.alignment


def test_a_program_of_32_bits_is_read() -> None:
    loader = b"/system/bin/linker\0"
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 3, 40, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    named = struct.pack("<IIIIIIII", 3, 84, 0, 0, len(loader), len(loader), 4, 1)
    found = linkage(head + named + loader)
    assert found is not None
    assert found.loader == "/system/bin/linker"


@pytest.mark.parametrize("head", [b"", b"#!/bin/sh\n" * 10, b"\x7fELF" + bytes(10)])
def test_what_is_no_program_has_no_linkage(head: bytes) -> None:
    assert linkage(head) is None


def test_headers_that_are_cut_off_name_no_loader() -> None:
    found = linkage(elf(183, loader=BIONIC)[:100])
    assert found is not None
    assert found.is_static
