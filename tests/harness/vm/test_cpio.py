# SPDX-License-Identifier: Apache-2.0
"""The initramfs's archive format."""

import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halyard.vm.cpio import Archive, entries


def sample() -> bytes:
    archive = Archive()
    archive.folder("empty", 0o700)
    archive.file("/system/bin/tool", b"#!/bin/sh\n", 0o755)
    archive.file("odd", b"12345")
    archive.link("sh", "/system/bin/tool")
    return archive.finish()


def test_debians_cpio_reads_it(tmp_path: Path) -> None:
    subprocess.run(
        ["cpio", "-idm", "--quiet"], input=sample(), cwd=tmp_path, check=True, timeout=20
    )
    assert (tmp_path / "system/bin/tool").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "system/bin/tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "odd").read_bytes() == b"12345"
    assert (tmp_path / "empty").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "sh").readlink() == Path("/system/bin/tool")


def test_folders_come_before_what_is_in_them() -> None:
    names = [name for name, _, _ in entries(sample())]
    assert names.index("system") < names.index("system/bin") < names.index("system/bin/tool")


def test_the_same_content_gives_the_same_archive() -> None:
    assert sample() == sample()


@given(
    st.dictionaries(
        st.text(
            st.characters(codec="utf-8", min_codepoint=33, exclude_characters="/."),
            min_size=1,
            max_size=30,
        ).filter(lambda name: name != "TRAILER!!!"),
        st.binary(max_size=50),
        max_size=8,
    )
)
def test_files_come_back(files: dict[str, bytes]) -> None:
    archive = Archive()
    for name, content in files.items():
        archive.file(name, content)
    read = {name: content for name, mode, content in entries(archive.finish())}
    assert read == files


def test_modes_say_what_an_entry_is() -> None:
    kinds = {name: stat.S_IFMT(mode) for name, mode, _ in entries(sample())}
    assert kinds["empty"] == stat.S_IFDIR
    assert kinds["odd"] == stat.S_IFREG
    assert kinds["sh"] == stat.S_IFLNK


@pytest.mark.parametrize("name", ["", "/", "../outside", "a/../b", "TRAILER!!!"])
def test_what_names_no_entry_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name"):
        Archive().file(name, b"")


def test_a_name_is_given_once() -> None:
    archive = Archive()
    archive.file("a", b"")
    with pytest.raises(ValueError, match="in the archive already"):
        archive.file("/a", b"")
