# SPDX-License-Identifier: Apache-2.0
"""Debian's own adb client against the virtual device."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from halyard.devices import VirtualDevice
from tests.harness.adbd import debian_client

Adb = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def adb(device: VirtualDevice, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adb]:
    """adb with a server of its own, connected to the virtual device."""
    with debian_client.Adb(tmp_path_factory.mktemp("adb-home")) as client:

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            done = client.run(*words, check=False)
            # Decoded here, because text mode would change line ends.
            return subprocess.CompletedProcess(
                done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
            )

        connected = run("connect", device.serial)
        assert f"connected to {device.serial}" in connected.stdout, connected
        yield lambda *words: run("-s", device.serial, *words)


def test_it_is_a_device(adb: Adb) -> None:
    assert adb("get-state").stdout.strip() == "device"


def test_shell_gives_output_and_exit_code(adb: Adb) -> None:
    done = adb("shell", "echo out; echo err >&2; exit 9")
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 9)


def test_files_go_there_and_back(adb: Adb, tmp_path: Path) -> None:
    content = os.urandom(1_500_000)
    (tmp_path / "there").write_bytes(content)
    pushed = adb("push", str(tmp_path / "there"), "/data/local/tmp/from-adb")
    assert pushed.returncode == 0, pushed.stderr
    pulled = adb("pull", "/data/local/tmp/from-adb", str(tmp_path / "back"))
    assert pulled.returncode == 0, pulled.stderr
    assert (tmp_path / "back").read_bytes() == content


def test_a_full_disk_is_reported_and_leaves_no_file(adb: Adb, tmp_path: Path) -> None:
    folder = "/data/local/tmp/small"
    mounted = adb("shell", f"mkdir -p {folder} && mount -t tmpfs -o size=65536 none {folder}")
    assert mounted.returncode == 0, mounted
    try:
        (tmp_path / "large").write_bytes(bytes(1_000_000))
        pushed = adb("push", str(tmp_path / "large"), f"{folder}/large")
        assert pushed.returncode != 0
        assert "No space left on device" in pushed.stdout + pushed.stderr
        assert adb("shell", "ls", folder).stdout == ""
    finally:
        adb("shell", f"umount {folder}")


def test_exec_out_is_bytes(adb: Adb) -> None:
    assert adb("exec-out", "printf 'a\\r\\n\\000\\001'").stdout == "a\r\n\0\1"


def test_ls_lists_the_root(adb: Adb) -> None:
    listed = adb("shell", "ls", "/").stdout.split()
    assert {"system", "vendor", "data"} <= set(listed)
