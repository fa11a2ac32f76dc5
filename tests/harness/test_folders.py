# SPDX-License-Identifier: Apache-2.0
"""Temporary folders, and those that killed runs have left."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from halyard import paths

HOLDING = """
import os, sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from halyard import paths
held = paths.Temporary("run")
(held.path / "file").write_text("x")
print(held.path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def make_old(path: Path) -> None:
    then = time.time() - 3600
    os.utime(path, (then, then))


def test_it_is_gone_with_its_context() -> None:
    with paths.Temporary("run") as path:
        (path / "sub").mkdir()
        assert path.is_dir()
    assert not path.exists()


def test_what_a_killed_process_left_is_removed_by_the_next(temporary: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, temporary], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        make_old(path)
        with paths.Temporary("run"):
            assert (path / "file").exists(), "its maker lives"
        process.send_signal(signal.SIGKILL)
    with paths.Temporary("host"):
        assert not path.exists()


def test_what_is_new_or_no_folder_of_ours_stays(temporary: Path) -> None:
    new = temporary / "halyard-held-run-new"
    other = temporary / "halyard-other"
    elsewhere = temporary / "elsewhere"
    for folder in (new, other, elsewhere):
        folder.mkdir()
    make_old(other)
    make_old(elsewhere)
    link = temporary / "halyard-held-run-link"
    link.symlink_to(elsewhere)
    (temporary / "halyard-held-run-file").write_text("")
    make_old(temporary / "halyard-held-run-file")
    paths.remove_abandoned()
    assert all(path.exists() for path in (new, other, elsewhere, link))
    assert (temporary / "halyard-held-run-file").exists()
