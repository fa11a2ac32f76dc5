# SPDX-License-Identifier: Apache-2.0
"""One shell for all of an input, on the native adbd with this machine's shell."""

import os
import pty
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from halyard.devices.adb import AdbDevice
from halyard.errors import DeviceUnreachable, ProgramMissing
from tests.harness.adbd.daemon import Daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    try:
        running = Daemon(tmp_path_factory.mktemp("root"))
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    yield running
    running.stop()


Said = tuple[int, bytes, bytes]


@pytest.fixture
def converse(daemon: Daemon, tmp_path: Path) -> Iterator[Callable[[bytes], Said]]:
    """Gives a script to a shell on the device."""
    with AdbDevice.tcp("127.0.0.1", daemon.port) as device:

        def run(script: bytes) -> Said:
            (tmp_path / "script").write_bytes(script)
            outputs, errors = bytearray(), bytearray()

            def add(output: bytes, error: bytes) -> None:
                outputs.extend(output)
                errors.extend(error)

            with (tmp_path / "script").open("rb") as source:
                code = device.converse(source.fileno(), add)
            return code, bytes(outputs), bytes(errors)

        yield run


def test_variables_functions_and_the_folder_stay(converse: Callable[[bytes], Said]) -> None:
    script = b"cd /usr\nx=5\nf() {\n  echo $x\n}\nf\npwd\necho e >&2\nexit 7\necho never\n"
    assert converse(script) == (7, b"5\n/usr\n", b"e\n")


def test_the_end_of_the_input_ends_it_with_the_last_exit_code(
    converse: Callable[[bytes], Said],
) -> None:
    assert converse(b"") == (0, b"", b"")
    assert converse(b"true\nfalse") == (1, b"", b"")
    assert converse(b"kill -9 $$\n")[0] == 137


def test_much_goes_both_ways(converse: Callable[[bytes], Said]) -> None:
    words = [f"{number:0100}" for number in range(3000)]
    script = "".join(f"echo {word}\n" for word in words)
    assert converse(script.encode()) == (0, "".join(f"{word}\n" for word in words).encode(), b"")


def test_a_device_that_goes_is_told(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "root")
    (tmp_path / "script").write_text(f"kill -9 {daemon.process.pid}; sleep 20\n")
    with (
        AdbDevice.tcp("127.0.0.1", daemon.port) as device,
        (tmp_path / "script").open("rb") as source,
        pytest.raises(DeviceUnreachable),
    ):
        device.converse(source.fileno(), lambda *_: None)
    daemon.stop()


def test_a_terminal_gets_one_there_and_has_its_modes_back(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "91")
    monkeypatch.setenv("LINES", "33")
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    os.write(ours, b"tty; stty size; exit 3\r")
    said: list[bytes] = []
    with AdbDevice.tcp("127.0.0.1", daemon.port) as device:
        code = device.converse(theirs, lambda output, _: said.append(output))
    assert code == 3
    text = b"".join(said)
    assert b"/dev/pts/" in text
    assert b"33 91" in text
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)
