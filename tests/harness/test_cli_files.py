# SPDX-License-Identifier: Apache-2.0
"""push, pull, shell and log, on a device whose shell is this machine's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halyard import cli, cli_device
from halyard.devices import WORK_FOLDER
from halyard.devices.adb import AdbDevice
from halyard.devices.config import DeviceConfig
from tests.harness.fake_link import FakeLink, LinkError

Invoke = Callable[..., Result]


@pytest.fixture
def link(tmp_path: Path) -> FakeLink:
    return FakeLink(tmp_path / "device")


@pytest.fixture
def invoke(tmp_path: Path, link: FakeLink, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    opened: list[DeviceConfig] = []

    def opening(config: DeviceConfig) -> AdbDevice:
        opened.append(config)
        return AdbDevice(link, config.serial or "")

    monkeypatch.setattr(cli_device, "open_config", opening)
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.cli, [str(word) for word in words])


PHONE = ("--device", "SERIAL7")


def test_files_go_there_and_back(invoke: Invoke, link: FakeLink, tmp_path: Path) -> None:
    local = tmp_path / "model.bin"
    local.write_bytes(b"12345")
    link.path("/data/local/tmp/there").mkdir()
    for remote in ("/data/local/tmp/", "/data/local/tmp/there", "/data/local/tmp/new/name"):
        result = invoke("push", local, remote, *PHONE)
        assert result.exit_code == 0, result.output
        assert ": 5 bytes" in result.output
    for path in ("model.bin", "there/model.bin", "new/name"):
        assert link.path(f"/data/local/tmp/{path}").read_bytes() == b"12345"
    assert invoke("pull", "/data/local/tmp/new/name", tmp_path / "a", *PHONE).exit_code == 0
    assert invoke("pull", "/data/local/tmp/new/name", tmp_path, *PHONE).exit_code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "name").read_bytes() == b"12345"


def test_what_is_not_there_or_a_folder_is_told(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("pull", "/data/none", tmp_path / "x", *PHONE)
    assert (result.exit_code, "No such file" in result.output) == (1, True)
    result = invoke("pull", "/data/local", tmp_path / "x", *PHONE)
    assert (result.exit_code, "is a folder" in result.output) == (1, True)
    assert not (tmp_path / "x").exists()


def test_a_device_that_refuses_a_file_fails_the_push(
    invoke: Invoke, link: FakeLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise LinkError("write failed: No space left on device")

    monkeypatch.setattr(link, "push", full)
    local = tmp_path / "model.bin"
    local.write_bytes(b"12345")
    result = invoke("push", local, "/data/local/tmp/x", *PHONE)
    assert result.exit_code == 1
    assert "write failed: No space left on device" in result.output
    assert "✗" in result.output


@pytest.mark.parametrize(
    "words", [("push", "/etc/passwd", "/data/x"), ("pull", "/data/x"), ("shell", "true"), ("log",)]
)
def test_a_device_that_keeps_nothing_is_refused(
    invoke: Invoke, link: FakeLink, words: tuple[str, ...]
) -> None:
    for device, said in (
        ((), "--device"),
        (("--device", "host"), "the host keeps nothing"),
        (("--device", "vm"), "halyard vm start"),
    ):
        result = invoke(*words, *device)
        assert result.exit_code == 2, result.output
        assert said in result.output
    assert link.connections == 0


def test_a_command_gives_its_output_and_exit_code(invoke: Invoke) -> None:
    result = invoke("shell", *PHONE, "echo out; echo err >&2; exit 7")
    assert (result.exit_code, result.stdout, result.stderr) == (7, "out\n", "err\n")
    assert invoke("shell", *PHONE, "--", "expr", "1", "+", "2").stdout == "3\n"


def test_lines_that_are_typed_keep_their_folder(
    link: FakeLink, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["cd /tmp", "pwd", "exit", "echo never"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    result = invoke("shell", *PHONE)
    assert (result.exit_code, result.stdout) == (0, "/tmp\n")


def test_the_log_of_the_running_service_goes_before_that_of_the_last(
    invoke: Invoke, link: FakeLink
) -> None:
    result = invoke("log", *PHONE)
    assert (result.exit_code, "no service" in result.output) == (1, True)
    work = link.path(WORK_FOLDER)
    (work / "service-1").mkdir(parents=True)
    (work / "service.log").write_text("old 1\nold 2\nold 3\n")
    assert invoke("log", *PHONE).stdout == "old 1\nold 2\nold 3\n"
    assert invoke("log", "--tail", "2", *PHONE).stdout == "old 2\nold 3\n"
    (work / "service-1/log").write_text("new\n")
    assert invoke("log", *PHONE).stdout == "new\n"
