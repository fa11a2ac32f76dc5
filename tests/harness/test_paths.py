# SPDX-License-Identifier: Apache-2.0
"""The user's folders, temporary ones, and those that killed runs have left."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from halyard import paths
from halyard.errors import HalyardError

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


@pytest.mark.parametrize(
    ("of", "variable", "usual"),
    [
        (paths.cache, "XDG_CACHE_HOME", ".cache/halyard"),
        (paths.state, "XDG_STATE_HOME", ".local/state/halyard"),
        (paths.config, "XDG_CONFIG_HOME", ".config/halyard"),
    ],
    ids=["cache", "state", "config"],
)
def test_a_variable_names_the_place_of_a_user_s_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of: Callable[[], Path],
    variable: str,
    usual: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, str(tmp_path / "named"))
    assert of() == tmp_path / "named/halyard"
    # The specification has relative paths ignored.
    for no_place in ("relative", ""):
        monkeypatch.setenv(variable, no_place)
        assert of() == tmp_path / usual


def test_a_folder_that_can_not_be_made_is_told_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(HalyardError, match="XDG_CACHE_HOME may name another place"):
        paths.cache()
