# SPDX-License-Identifier: Apache-2.0
"""How a command's exit code and stderr come through one stream of bytes."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from halyard.devices.shell import WrappedCommand, parse_properties, parse_temperature


def run(command: str, folder: Path) -> tuple[int, bytes, bytes]:
    """As adbd's exec service would: one shell, one stream."""
    wrapped = WrappedCommand(command)
    done = subprocess.run(
        ["/bin/sh", "-c", wrapped.text()],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    parsed = wrapped.parse(done.stdout)
    assert parsed is not None, done.stdout
    return parsed


@pytest.mark.parametrize(
    ("command", "exit_code", "stdout", "stderr"),
    [
        ("echo out; echo err >&2", 0, b"out\n", b"err\n"),
        ("printf 'no newline'", 0, b"no newline", b""),
        ("exit 3", 3, b"", b""),
        ("echo before; exit 3; echo after", 3, b"before\n", b""),
        ("true", 0, b"", b""),
        ("kill -9 $$", 137, b"", b""),
        (
            "echo \"double\" 'single' `echo tick` $((1 + 1)) \\\\",
            0,
            b"double single tick 2 \\\n",
            b"",
        ),
        ("cat", 0, b"", b""),
        ("printf '\\000\\r\\n\\377'", 0, b"\0\r\n\xff", b""),
        ("echo one\necho two", 0, b"one\ntwo\n", b""),
        ("printf 'no newline' >&2", 0, b"", b"no newline"),
        ("printf 'two\n\n' >&2; exit 7", 7, b"", b"two\n\n"),
    ],
)
def test_a_command_keeps_its_streams_and_exit_code(
    tmp_path: Path, command: str, exit_code: int, stdout: bytes, stderr: bytes
) -> None:
    code, out, err = run(command, tmp_path)
    assert (code, out) == (exit_code, stdout)
    if exit_code != 137:  # a shell may say Killed
        assert err == stderr


def test_an_unfinished_quote_is_the_commands_own_error(tmp_path: Path) -> None:
    code, out, err = run("echo 'open", tmp_path)
    assert code != 0
    assert out == b""
    assert b"quoted" in err.lower() or b"eof" in err.lower()


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """Nothing of the wrapping is a file, so there is nothing that a full disk could take away."""
    code, out, err = run("dd if=/dev/zero of=/dev/full bs=1 count=1", tmp_path)
    assert (code != 0, out) == (True, b"")
    assert b"No space left on device" in err
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_leaves_something_running_ends(tmp_path: Path) -> None:
    begun = time.monotonic()
    code, out, _ = run("sleep 20 >/dev/null 2>&1 & echo $!", tmp_path)
    assert time.monotonic() - begun < 10
    assert code == 0
    os.kill(int(out), signal.SIGKILL)


def test_output_that_breaks_off_is_no_result() -> None:
    wrapped = WrappedCommand("true")
    for output in (b"", b"some output", wrapped.marker.encode(), f"{wrapped.marker} 0".encode()):
        assert wrapped.parse(output) is None, output


def test_a_marker_of_another_command_is_output() -> None:
    wrapped, other = WrappedCommand("true"), WrappedCommand("true")
    assert wrapped.parse(f"{other.marker} 0\n{wrapped.marker} 1\n".encode()) == (
        1,
        f"{other.marker} 0\n".encode(),
        b"",
    )


def test_properties_hold_brackets_and_spaces() -> None:
    text = "[ro.a]: [1]\r\n[ro.b]: [x [y]: z]\nnoise\n[ro.c]: []\n"
    assert parse_properties(text) == {"ro.a": "1", "ro.b": "x [y]: z", "ro.c": ""}


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("", None),
        ("38500\n41200\n", 41.2),
        ("-2147483648\n30000\n", 30.0),
        ("cat: permission denied", None),
    ],
)
def test_temperature_is_the_hottest_plausible_zone(text: str, degrees: float | None) -> None:
    assert parse_temperature(text) == degrees
