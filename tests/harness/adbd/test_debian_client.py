# SPDX-License-Identifier: Apache-2.0
"""The native adbd, driven by Debian's adb client."""

import os
import random
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.harness.adbd.daemon import Daemon, wait_until
from tests.harness.adbd.debian_client import Adb, Run


@pytest.mark.usefixtures("device")
def test_adb_lists_the_device(adb: Adb, daemon: Daemon) -> None:
    lines = adb.run("devices", "-l").stdout.decode().splitlines()
    line = next(line for line in lines if line.startswith(daemon.serial))
    assert "product:halyard" in line
    assert line.split()[1] == "device"


def test_shell_separates_output_error_and_exit_status(device: Run) -> None:
    result = device("shell", "echo out; echo err >&2; exit 7", check=False)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\n", b"err\n")


def test_shell_reports_death_by_signal_as_a_shell_does(device: Run) -> None:
    assert device("shell", "kill -KILL $$", check=False).returncode == 128 + signal.SIGKILL


def test_shell_reads_piped_commands_to_their_end(device: Run) -> None:
    result = device("shell", stdin=b"echo first\nexit 3\n", check=False)
    assert (result.returncode, result.stdout) == (3, b"first\n")


def test_shell_carries_binary_input_and_output(device: Run) -> None:
    content = random.Random(1).randbytes(3_000_000)
    assert device("shell", "cat", stdin=content).stdout == content


def test_terminal_shell_has_a_terminal(device: Run) -> None:
    result = device("shell", "-tt", "test -t 0 && test -t 1 && echo on $TERM", check=False)
    assert result.stdout.startswith(b"on ")


def test_raw_shell_has_no_terminal(device: Run) -> None:
    assert device("shell", "-T", "test -t 0 || test -t 1 || echo none").stdout == b"none\n"


def test_shell_without_packets_merges_errors(device: Run) -> None:
    result = device("shell", "-x", "echo out; echo err >&2; exit 7", check=False)
    assert result.stdout.replace(b"\r", b"") == b"out\nerr\n"


def test_exec_out_leaves_bytes_alone(device: Run, daemon: Daemon) -> None:
    content = random.Random(2).randbytes(200_000) + b"\r\n\n"
    (daemon.root / "bytes").write_bytes(content)
    assert device("exec-out", "cat bytes").stdout == content


def test_a_process_in_the_background_outlives_its_shell(device: Run, daemon: Daemon) -> None:
    device("shell", "(sleep 0.3; echo done > later) >/dev/null 2>&1 </dev/null &")
    wait_until((daemon.root / "later").exists, "the background process wrote its file")


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 50_000_000])
def test_push_and_pull_keep_files_of_any_size(
    device: Run, daemon: Daemon, tmp_path: Path, size: int
) -> None:
    local = tmp_path / "local file"
    local.write_bytes(random.Random(size).randbytes(size))
    device("push", local, "/data/new folder/a file")
    remote = daemon.root / "data/new folder/a file"
    assert remote.read_bytes() == local.read_bytes()
    device("pull", "/data/new folder/a file", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == local.read_bytes()


def test_push_sets_mode_and_time(device: Run, daemon: Daemon, tmp_path: Path) -> None:
    local = tmp_path / "program"
    local.write_text("#!/bin/sh\necho ran\n")
    local.chmod(0o700)
    os.utime(local, (1_000_000_000, 1_234_567_890))
    device("push", local, "/program")
    remote = (daemon.root / "program").stat()
    # Everybody has the owner's rights: adbd's own rule.
    assert stat.S_IMODE(remote.st_mode) == 0o777
    assert int(remote.st_mtime) == 1_234_567_890
    assert device("shell", "./program").stdout == b"ran\n"


def test_push_replaces_a_file(device: Run, daemon: Daemon, tmp_path: Path) -> None:
    local = tmp_path / "file"
    for content in (b"long content", b"short"):
        local.write_bytes(content)
        device("push", local, "/replaced")
        assert (daemon.root / "replaced").read_bytes() == content


def test_folders_go_there_and_back(device: Run, daemon: Daemon, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "with space/deep").mkdir(parents=True)
    (source / "with space/deep/file").write_text("text")
    (source / "empty file").write_text("")
    (source / "link").symlink_to("empty file")
    device("push", source, "/tree")
    assert (daemon.root / "tree/with space/deep/file").read_text() == "text"
    assert (daemon.root / "tree/link").readlink() == Path("empty file")
    device("pull", "/tree", tmp_path / "back")
    assert (tmp_path / "back/with space/deep/file").read_text() == "text"
    assert (tmp_path / "back/empty file").read_text() == ""


def test_pull_of_a_missing_file_fails(device: Run, tmp_path: Path) -> None:
    result = device("pull", "/no/such/file", tmp_path, check=False)
    assert result.returncode == 1
    assert b"No such file" in result.stderr + result.stdout


def test_push_below_a_file_fails_with_the_reason(
    device: Run, daemon: Daemon, tmp_path: Path
) -> None:
    (daemon.root / "plain").write_text("")
    local = tmp_path / "local"
    local.write_bytes(bytes(1_000_000))
    result = device("push", local, "/plain/below", check=False)
    assert result.returncode == 1
    assert b"Not a directory" in result.stderr + result.stdout


def test_ls_lists_every_entry_of_a_large_folder(device: Run, daemon: Daemon) -> None:
    folder = daemon.root / "large"
    folder.mkdir()
    names = {f"entry with a rather long name {number}" for number in range(3000)}
    for name in names:
        (folder / name).touch()
    lines = device("ls", "/large").stdout.decode().splitlines()
    assert {line.split(" ", 3)[3] for line in lines} == names | {".", ".."}


def test_refuses_what_it_does_not_do(device: Run) -> None:
    assert b"not supported" in device("remount", check=False).stdout
    assert b"not allowed" in device("reboot", check=False).stdout
    assert b"serves only TCP port" in device("tcpip", "5555", check=False).stdout


@pytest.mark.usefixtures("device")
def test_many_shells_at_once(adb: Adb, daemon: Daemon) -> None:
    clients = [
        subprocess.Popen(
            [adb.program, "-s", daemon.serial, "shell", f"read line; echo $line {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=adb.environment,
        )
        for number in range(20)
    ]
    wait_until(lambda: len(daemon.children()) >= 20, "all shells run at the same time")
    for number, client in reversed(list(enumerate(clients))):
        assert client.communicate(b"go\n", timeout=20)[0] == f"go {number}\n".encode()
