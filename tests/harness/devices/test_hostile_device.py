# SPDX-License-Identifier: Apache-2.0
"""Devices that send without end, claim sizes, say unknown words, or speak to the terminal."""

import contextlib
import io
import itertools
import logging
import math
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st
from rich.console import Console

from halyard import records
from halyard.benchmark_model import BenchmarkModel
from halyard.cases.check import ExpectedOutput, check
from halyard.cli import program
from halyard.cli.options import device as cli_device
from halyard.devices.adb import AdbDevice
from halyard.devices.adb_link import tcp_link
from halyard.devices.config import DeviceConfig
from halyard.devices.host import HostDevice
from halyard.devices.link_errors import LinkBroken, LinkOverflow
from halyard.errors import DeviceUnreachable, HalyardError, TooMuchSent
from halyard.measurement.measurement import Measurement
from halyard.measurement.measurement_text import print_measurement
from halyard.model import DataType
from halyard.programs.case_status import failures, stage_name, status_name
from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Run
from halyard.terminal.console import Terminal, printable
from tests.harness.fake_link import FakeLink

# ---- sizes --------------------------------------------------------------------------------------

MIB = 2**20
_HEAD = struct.Struct("<6I")
# A device's behaviour once a stream is open: it is given the connection and the stream's number.
Act = Callable[[socket.socket, int], None]


def adb_message(
    name: bytes, first: int, second: int, data: bytes = b"", size: int | None = None
) -> bytes:
    """One whose head may lie about the size."""
    word = int.from_bytes(name, "little")
    length = len(data) if size is None else size
    return _HEAD.pack(word, first, second, length, sum(data), word ^ 0xFFFFFFFF) + data


@contextlib.contextmanager
def hostile(act: Act) -> Iterator[int]:
    """The port of a device that lets everybody in."""

    def receive(connection: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def serve() -> None:
        with contextlib.suppress(OSError), listener.accept()[0] as connection:
            while True:
                command, first, _, length, _, _ = _HEAD.unpack(receive(connection, _HEAD.size))
                receive(connection, length)
                name = command.to_bytes(4, "little")
                if name == b"CNXN":
                    connection.sendall(adb_message(b"CNXN", 0x01000001, MIB, b"device::\0"))
                elif name == b"OPEN":
                    connection.sendall(adb_message(b"OKAY", 1, first))
                    act(connection, first)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.close()
        thread.join(20)
        assert not thread.is_alive()


def without_end(connection: socket.socket, stream: int) -> None:
    while True:
        connection.sendall(adb_message(b"WRTE", 1, stream, bytes(65536)))


def a_packet_of_gigabytes(connection: socket.socket, stream: int) -> None:
    connection.sendall(adb_message(b"WRTE", 1, stream, bytes(1000), size=0xFFFFFFFF))


def what_was_not_asked_for(connection: socket.socket, stream: int) -> None:
    for number in itertools.count(stream + 1):
        connection.sendall(adb_message(b"WRTE", number % 1000 + 2, number, bytes(65536)))


def a_file_without_end(connection: socket.socket, stream: int) -> None:
    connection.recv(4096)
    connection.sendall(adb_message(b"OKAY", 1, stream))
    while True:
        part = b"DATA" + struct.pack("<I", 60000) + bytes(60000)
        connection.sendall(adb_message(b"WRTE", 1, stream, part))


def a_part_of_gigabytes(connection: socket.socket, stream: int) -> None:
    connection.recv(4096)
    connection.sendall(adb_message(b"OKAY", 1, stream))
    begin = b"DATA" + struct.pack("<I", 0xFFFFFFFF)
    connection.sendall(adb_message(b"WRTE", 1, stream, begin))
    without_end(connection, stream)


def no_answer_of_a_file(connection: socket.socket, stream: int) -> None:
    connection.recv(4096)
    connection.sendall(adb_message(b"OKAY", 1, stream))
    connection.sendall(adb_message(b"WRTE", 1, stream, b"what\0\0\0\0"))


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (without_end, LinkOverflow, "larger than 4 MiB"),
        (a_packet_of_gigabytes, LinkBroken, "a packet of 4294967295 bytes"),
        (what_was_not_asked_for, LinkBroken, "was not asked for"),
    ],
)
def test_output_without_end_ends(act: Act, kind: type[Exception], said: str) -> None:
    with hostile(act) as port:
        link = tcp_link("127.0.0.1", port)
        link.connect(10)
        with pytest.raises(kind, match=said):
            link.execute("cat /dev/zero", 60, 4 * MIB)
        link.close()


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (a_file_without_end, LinkOverflow, "larger than 4 MiB"),
        (a_part_of_gigabytes, LinkBroken, "4294967295 bytes of a file at once"),
        (a_packet_of_gigabytes, LinkBroken, "a packet of 4294967295 bytes"),
        (no_answer_of_a_file, LinkBroken, "makes no sense"),
    ],
)
def test_a_file_without_end_ends(
    act: Act, kind: type[Exception], said: str, tmp_path: Path
) -> None:
    with hostile(act) as port:
        link = tcp_link("127.0.0.1", port)
        link.connect(10)
        with pytest.raises(kind, match=said):
            link.pull("/file", tmp_path / "file", 60, None, 4 * MIB)
        link.close()
    assert not (tmp_path / "file").exists() or (tmp_path / "file").stat().st_size <= 4 * MIB


def test_a_device_tells_what_was_too_much(tmp_path: Path) -> None:
    link = FakeLink(tmp_path / "device")
    device = AdbDevice(link, "SERIAL7")
    device.limits.output = 1000
    with pytest.raises(TooMuchSent) as caught:
        device.shell("head -c 10000 /dev/zero")
    assert caught.value.command == "head -c 10000 /dev/zero"
    assert not link.is_open  # it would go on sending
    assert device.shell("echo there").stdout == "there\n"


def test_a_file_that_was_too_much_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with hostile(a_file_without_end) as port, AdbDevice.tcp("127.0.0.1", port) as device:
        device.limits.file = MIB
        with pytest.raises(TooMuchSent, match="larger than 1 MiB"):
            device.pull("/file", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_this_machine_has_limits_too(tmp_path: Path) -> None:
    with HostDevice() as device:
        device.limits.output = MIB
        for stream in ("1", "2"):
            with pytest.raises(TooMuchSent, match="larger than 1 MiB"):
                device.shell(f"cat /dev/zero >&{stream}", timeout=60)
        assert device.shell("echo out; echo err >&2; exit 5").exit_code == 5
        device.limits.file = 10
        device.shell("head -c 11 /dev/zero >large").check()
        with pytest.raises(TooMuchSent):
            device.pull("/large", tmp_path / "large")


def test_a_connection_that_is_none_is_an_error() -> None:
    def rubbish(connection: socket.socket, stream: int) -> None:
        connection.sendall(bytes(range(24)) * 1000)

    with (
        hostile(rubbish) as port,
        AdbDevice.tcp("127.0.0.1", port) as device,
        pytest.raises(DeviceUnreachable),
    ):
        device.shell("true", timeout=5)


# ---- words --------------------------------------------------------------------------------------

BENCHMARK_MODEL = BenchmarkModel("mobilenet_v2", DataType.QUANT8, 96, 0.35)
numbers = st.integers(-(2**31), 2**31 - 1)
texts = st.text(max_size=20)


@st.composite
def results(draw: st.DrawFn) -> pb.CaseResult:
    """Of a runner that says anything."""
    result = pb.CaseResult(
        name=draw(texts),
        failed_stage=draw(numbers | st.sampled_from(pb.Stage.values())),  # type: ignore[arg-type]
        status=draw(numbers | st.just(0)),  # type: ignore[arg-type]
        message=draw(texts),
        target=draw(texts),
        hal_version=draw(numbers | st.sampled_from([0, 10, 13])),  # type: ignore[arg-type]
        version_string=draw(texts),
        prepare_ns=draw(st.integers(0, 2**63)),
        partitions=draw(st.integers(0, 2**31 - 1)),
    )
    for _ in range(draw(st.integers(0, 2))):
        example = result.examples.add(
            name=draw(texts),
            status=draw(numbers | st.just(0)),  # type: ignore[arg-type]
            message=draw(texts),
        )
        for _ in range(draw(st.integers(0, 2))):
            example.timings.add(wall_ns=draw(st.integers(0, 2**64 - 1)))
            example.outputs.add(
                dimensions=draw(st.lists(st.integers(0, 2**32 - 1), max_size=3)),
                data=draw(st.binary(max_size=9)),
                is_sufficient=draw(st.booleans()),
            )
    for _ in range(draw(st.integers(0, 2))):
        row = result.placement.add(
            operation=draw(st.integers(0, 2**31 - 1)),
            label=draw(texts),
            node=draw(texts),
            backend=draw(texts),
            partition=draw(st.integers(0, 2**31 - 1)),
        )
        row.refusals.add(backend=draw(texts), reason=draw(texts))
    return result


EXPECTED = [ExpectedOutput("out", (2,), np.zeros(2, np.float32), None)]


@hypothesis.given(results())
@hypothesis.settings(
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
def test_whatever_a_runner_says_is_judged(result: pb.CaseResult) -> None:
    verdict = check(EXPECTED, False, None, result)
    assert verdict.passed or verdict.reason
    assert verdict.max_error is None or not math.isnan(verdict.max_error)
    check(EXPECTED, True, None, result)


@hypothesis.given(results())
@hypothesis.settings(
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
def test_whatever_a_runner_says_is_reported(result: pb.CaseResult) -> None:
    measurement = Measurement(
        BENCHMARK_MODEL, "SERIAL7", {}, result, None, problems=failures(result)
    )
    record = measurement.record()
    assert records.decode(records.encode(record), Run) == [record]
    shown = io.StringIO()
    print_measurement(Terminal(Console(file=shown, width=80)), measurement)
    assert not set(shown.getvalue()) & STEERING


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "NONE"), (pb.STAGE_PREPARE, "PREPARE"), (77, "STAGE 77"), (-1, "STAGE -1")],
)
def test_a_stage_that_there_is_not_is_a_number(number: int, name: str) -> None:
    assert stage_name(number) == name


@pytest.mark.parametrize(
    ("status", "name"), [(0, "NONE"), (2, "GENERAL_FAILURE"), (99, "99"), (-1, "-1")]
)
def test_a_status_that_nnapi_lacks_is_a_number(status: int, name: str) -> None:
    assert status_name(status) == name


# ---- the terminal -------------------------------------------------------------------------------

STEERING = {chr(code) for code in (*range(32), *range(127, 160), 0x202E, 0x2066)} - {"\n", "\t"}
ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m red \u202e desrever\r over"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m red \u202e desrever\r over"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (ATTACK, SHOWN),
        ("two\nlines\tand a tab: äöü 日本 ✓ [bold]", "two\nlines\tand a tab: äöü 日本 ✓ [bold]"),
        ("a phone's line\r\n", "a phone's line\n"),
        ("\x00\x7f\x85\u2028", r"\x00\x7f\x85\u2028"),
    ],
)
def test_what_would_steer_a_terminal_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_all_that_a_terminal_prints_is_printable() -> None:
    shown = io.StringIO()
    terminal = Terminal(Console(file=shown, width=200, color_system=None))
    terminal.line(ATTACK)
    terminal.heading(ATTACK)
    terminal.table([ATTACK], [[ATTACK]])
    with terminal.step(ATTACK) as step:
        step.now(ATTACK)
        step.outcome = ATTACK
    with pytest.raises(HalyardError), terminal.step(ATTACK):
        raise HalyardError
    assert not set(shown.getvalue()) & STEERING
    assert shown.getvalue().count("owned") == 7


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLink:
    """The connection that every command opens."""
    link = FakeLink(tmp_path / "device")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def opening(config: DeviceConfig, *_: object) -> AdbDevice:
        return AdbDevice(link, config.serial or "")

    monkeypatch.setattr(cli_device, "open_config", opening)
    return link


def test_errors_of_a_device_do_not_steer_the_terminal(link: FakeLink, tmp_path: Path) -> None:
    link.next_failure = LinkBroken(ATTACK)
    result = CliRunner().invoke(program.cli, ["pull", "/x", str(tmp_path / "y"), "--device", "S"])
    assert result.exit_code == 1
    assert SHOWN in result.output
    assert not set(result.output) & STEERING


def test_a_services_log_does_not_steer_the_terminal(link: FakeLink) -> None:
    folder = link.path("/data/local/tmp/halyard")
    folder.mkdir(parents=True)
    (folder / "service.log").write_text(f"{ATTACK}\nthe end\n")
    result = CliRunner().invoke(program.cli, ["log", "--device", "S"])
    assert result.output == f"{SHOWN}\nthe end\n"


def test_a_shell_command_s_output_is_the_user_s(link: FakeLink) -> None:
    result = CliRunner().invoke(
        program.cli, ["shell", "--device", "S", "printf '\\033[1m'"], color=True
    )
    assert result.output == "\x1b[1m"


def test_warnings_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.LogRecord("halyard", logging.WARNING, "", 0, "left: %s", (ATTACK,), None)
    assert program._LogFormatter("%(message)s").format(record) == f"left: {SHOWN}"


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (["shell", "--max-output", "3", "true"], "output"),
        (["log", "--max-output", "3"], "output"),
        (["pull", "--max-size", "3", "/data/local/tmp/halyard/service.log"], "file"),
    ],
)
def test_the_limits_are_options(
    link: FakeLink,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    limit: str,
) -> None:
    opened: list[AdbDevice] = []

    def opening(config: DeviceConfig, *_: object) -> AdbDevice:
        opened.append(AdbDevice(link, "S"))
        return opened[-1]

    monkeypatch.setattr(cli_device, "open_config", opening)
    monkeypatch.chdir(tmp_path)
    folder = link.path("/data/local/tmp/halyard")
    folder.mkdir(parents=True)
    (folder / "service.log").write_text("x")
    result = CliRunner().invoke(program.cli, [*words, "--device", "S"])
    assert result.exit_code == 0, result.output
    assert getattr(opened[0].limits, limit) == 3 * MIB
