# SPDX-License-Identifier: Apache-2.0
"""The native adbd, driven by adb-shell."""

import random
import stat
from pathlib import Path

from adb_shell.adb_device import AdbDeviceTcp

from tests.harness.adbd.daemon import Daemon


def test_adb_shell_runs_commands(adb_shell: AdbDeviceTcp) -> None:
    assert adb_shell.shell("echo one; echo two >&2") == "one\ntwo\n"
    assert adb_shell.exec_out("printf three", decode=False) == b"three"
    assert adb_shell.shell("cat /dev/zero | head -c 1000000", decode=False) == bytes(1_000_000)


def test_adb_shell_transfers_files(adb_shell: AdbDeviceTcp, daemon: Daemon, tmp_path: Path) -> None:
    content = random.Random(3).randbytes(1_000_003)
    local = tmp_path / "local"
    local.write_bytes(content)
    adb_shell.push(str(local), "/from adb-shell", mtime=1_234_567_890)
    assert (daemon.root / "from adb-shell").read_bytes() == content
    adb_shell.pull("/from adb-shell", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == content
    mode, size, modified = adb_shell.stat("/from adb-shell")
    assert (stat.S_IFMT(mode), size, modified) == (stat.S_IFREG, len(content), 1_234_567_890)
    assert adb_shell.stat("/missing") == (0, 0, 0)
    assert b"from adb-shell" in {bytes(entry.filename) for entry in adb_shell.list("/")}
