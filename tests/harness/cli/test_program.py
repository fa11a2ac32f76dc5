# SPDX-License-Identifier: Apache-2.0
"""The command `halyard` as a process: how it is ended, and outputs that are not a good terminal."""

import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest
from rich.console import Console

from halyard.cli.options import device as cli_device
from halyard.devices.config import DeviceConfig
from halyard.terminal.console import Terminal

SMALL = ("save", "--model", "small_classifier", "--size", "16", "--width", "0.5")


def python(program: str, **more: Any) -> "subprocess.Popen[str]":
    # A shell starts what it has in the background with SIGINT ignored, nohup all it starts with
    # SIGHUP ignored, and that is inherited.
    program = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"signal.signal(signal.SIGHUP, signal.SIG_DFL)\n{program}"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def halyard(*words: str | Path, **more: Any) -> "subprocess.CompletedProcess[str]":
    # PYTHONUTF8 and the like would decide instead of what a test sets.
    environment = {**os.environ, **more.pop("environment", {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    command = [sys.executable, "-m", "halyard", *map(str, words)]
    return subprocess.run(
        command, text=True, encoding="utf-8", errors="replace", env=environment, **streams
    )


# ---- how it is ended ----------------------------------------------------------------------------

# While the modules of the commands are loaded.
INTERRUPTED_EARLY = """
import os, sys, time
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "halyard.cli.program":
            os.kill(os.getpid(), {signal})
            time.sleep(30)
sys.meta_path.insert(0, Interrupting())
from halyard.__main__ import main
main()
"""

# In the middle of a command, which has something to end.
WAITING = """
import contextlib, time
from halyard.cli import program
@program.cli.command()
def wait():
    try:
        print("ready", flush=True)
        time.sleep(30)
    finally:
        print("ended in order", flush=True)
import sys
sys.argv[1:] = ["wait"]
from halyard.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_it_is_loaded_ends_it_without_a_word(number: int, code: int) -> None:
    process = python(INTERRUPTED_EARLY.replace("{signal}", str(int(number))))
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == code


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_command_in_order(number: int, code: int) -> None:
    process = python(WAITING)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    said, complaints = process.communicate(timeout=60)
    assert said == "ended in order\n"
    assert complaints.strip() == ""
    assert process.returncode == code


def test_a_hangup_that_nohup_ignores_is_ignored() -> None:
    process = python(
        f"signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{WAITING.replace('30', '0.5')}"
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=60)[0] == "ended in order\n"
    assert process.returncode == 0


# ---- outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_output_of_any_encoding_will_do(tmp_path: Path, encoding: str) -> None:
    done = halyard(*SMALL, tmp_path / "model", environment={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("✓ Building" if encoding == "utf-8" else "ok Building")


def test_a_name_that_is_no_utf8_can_be_told(tmp_path: Path) -> None:
    done = halyard(*SMALL, os.fsdecode(os.fsencode(tmp_path) + b"/m\xff"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "; halyard run " in done.stdout
    assert "\\udcff runs it" in done.stdout


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_closed_output_is_no_matter(tmp_path: Path, descriptor: int) -> None:
    command = [sys.executable, "-m", "halyard", *SMALL, tmp_path / "model"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {descriptor}>&-', "sh", *command], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    # The next output must not have gone where the last one was.
    assert b"small_classifier" in (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("words", [("operations",), ("devices",), ("--help",), ("operations", "x")])
def test_a_full_output_is_a_failure_told_in_a_line(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = halyard(*words, stdout=full)
    assert done.returncode == (2 if "x" in words else 1)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if "x" not in words:
        assert "No space left on device" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_is_gone_ends_it_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = halyard("operations", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


class Full(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_device_is_closed_where_nothing_can_be_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    class Opened:
        serial = "SERIAL7"

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            closed.append(self)

    monkeypatch.setattr(cli_device, "open_config", lambda *_: Opened())
    terminal = Terminal(Console(file=Full()))
    with (
        pytest.raises(OSError, match="No space"),
        cli_device.open_shown(terminal, "vm", DeviceConfig(kind="virtual")),
    ):
        pytest.fail("it is opened")
    assert len(closed) == 1
