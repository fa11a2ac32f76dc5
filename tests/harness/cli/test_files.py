# SPDX-License-Identifier: Apache-2.0
"""push, pull, shell and log, on a device whose shell is this machine's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halyard.cli import files as cli_files
from halyard.cli import program
from halyard.cli.options import device as cli_device
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
    return lambda *words: runner.invoke(program.cli, [str(word) for word in words])


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


def test_what_is_not_there_is_told(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("pull", "/data/none", tmp_path / "x", *PHONE)
    assert (result.exit_code, "No such file" in result.output) == (1, True)
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


def test_what_comes_in_is_one_session(
    invoke: Invoke, link: FakeLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script").write_text("cd /tmp\nx=5\nif true\nthen\n  echo $x\nfi\npwd\nexit 7\n")
    with (tmp_path / "script").open() as script:
        # click's runner has an input without a descriptor.
        monkeypatch.setattr(cli_files, "_input", script.fileno)
        result = invoke("shell", *PHONE)
    assert (result.exit_code, result.stdout) == (7, "5\n/tmp\n")


def test_folders_go_there_and_back(invoke: Invoke, link: FakeLink, tmp_path: Path) -> None:
    tree = tmp_path / "a tree"
    (tree / "sub/deep").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "one").write_bytes(b"1")
    (tree / "sub/two 'quoted'").write_bytes(b"22")
    (tree / "sub/deep/new\nline").write_bytes(b"333")
    (tree / "link").symlink_to("one")
    files = {
        "one": b"1",
        "link": b"1",
        "sub/two 'quoted'": b"22",
        "sub/deep/new\nline": b"333",
    }
    link.path("/data/there").mkdir()
    for remote in ("/data/new", "/data/there"):
        result = invoke("push", tree, remote, *PHONE)
        assert result.exit_code == 0, result.output
        assert "4 files, 7 bytes" in result.output
    for place in ("/data/new", "/data/there/a tree"):
        assert {name: link.path(f"{place}/{name}").read_bytes() for name in files} == files
        assert link.path(f"{place}/empty").is_dir()
    result = invoke("pull", "/data/new", tmp_path / "back", *PHONE)
    assert result.exit_code == 0, result.output
    assert "4 files, 7 bytes" in result.output
    assert {name: (tmp_path / "back" / name).read_bytes() for name in files} == files
    assert (tmp_path / "back/empty").is_dir()
    (tmp_path / "into").mkdir()
    assert invoke("pull", "/data/new", tmp_path / "into", *PHONE).exit_code == 0
    assert (tmp_path / "into/new/one").read_bytes() == b"1"


@pytest.mark.parametrize("name", ["../outside", "/etc/outside"])
def test_a_name_that_leads_out_of_the_folder_is_refused(
    invoke: Invoke, link: FakeLink, tmp_path: Path, name: str
) -> None:
    link.path("/data/bad").mkdir()
    link.answers["find . -mindepth 1 -type f -print0"] = f"printf '{name}\\0'"
    result = invoke("pull", "/data/bad", tmp_path / "bad", *PHONE)
    assert result.exit_code == 1
    assert f"it names a file that lies elsewhere: {name}" in result.output
    assert not (tmp_path / "outside").exists()
    assert not (tmp_path / "bad").exists()


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
