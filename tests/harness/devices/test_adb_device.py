# SPDX-License-Identifier: Apache-2.0
"""AdbDevice on a connection that can be told to fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from halyard.devices.adb import AdbDevice
from halyard.devices.device import WORK_FOLDER, Progress
from halyard.errors import (
    CommandFailed,
    CommandTimeout,
    DeviceError,
    DeviceUnreachable,
    ProgramMissing,
)
from halyard.programs import native
from tests.harness.fake_link import FakeLink, LinkBroken, LinkError, LinkTimeout


@pytest.fixture
def link(tmp_path: Path) -> FakeLink:
    return FakeLink(tmp_path / "device")


@pytest.fixture
def device(link: FakeLink) -> AdbDevice:
    return AdbDevice(link, "SERIAL7")


def test_a_command_gives_its_streams_and_exit_code(device: AdbDevice) -> None:
    result = device.shell("echo out; echo err >&2; exit 5")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 5)
    assert result.serial == "SERIAL7"
    assert result.command == "echo out; echo err >&2; exit 5"


def test_check_raises_all_that_is_known(device: AdbDevice) -> None:
    with pytest.raises(CommandFailed) as caught:
        device.shell("echo out; echo err >&2; exit 5").check()
    for part in ("SERIAL7", "exit code: 5", "out", "err", "command: echo out"):
        assert part in str(caught.value)


def test_exec_gives_bytes_or_raises(device: AdbDevice) -> None:
    assert device.exec("printf '\\377\\000'") == b"\xff\0"
    with pytest.raises(CommandFailed, match="exit code: 1"):
        device.exec("false")


def test_a_timeout_carries_serial_command_and_output_so_far(
    device: AdbDevice, link: FakeLink
) -> None:
    device.connect()
    link.next_failure = LinkTimeout("nothing came", b"half an answer")
    with pytest.raises(CommandTimeout) as caught:
        device.shell("sleep 100", timeout=1.5)
    error = caught.value
    assert (error.serial, error.command) == ("SERIAL7", "sleep 100")
    assert error.stdout == "half an answer"
    assert "1.5 s" in str(error)


def test_a_link_that_timed_out_or_broke_is_opened_anew(device: AdbDevice, link: FakeLink) -> None:
    device.connect()
    for failure in (LinkTimeout("late"), LinkBroken("gone")):
        link.next_failure = failure
        with pytest.raises(DeviceError):
            device.shell("true")
        assert not link.is_open
        assert device.shell("echo back").stdout == "back\n"
    assert link.connections == 3


def test_a_refusal_leaves_the_link_open(device: AdbDevice, link: FakeLink, tmp_path: Path) -> None:
    device.connect()
    with pytest.raises(DeviceError, match="No such file"):
        device.pull("/data/local/tmp/nothing", tmp_path / "got")
    assert link.is_open


def test_an_unreachable_device_says_so(device: AdbDevice, link: FakeLink) -> None:
    link.next_failure = LinkBroken("Connection refused")
    with pytest.raises(DeviceUnreachable, match="SERIAL7: Connection refused"):
        device.shell("true")


def test_output_without_an_end_is_an_error(device: AdbDevice, link: FakeLink) -> None:
    link.cut_output_at = 4
    with pytest.raises(DeviceError, match="ended before the command did") as caught:
        device.shell("echo something")
    assert caught.value.stdout == "some"


def test_push_reports_serial_on_timeout(device: AdbDevice, link: FakeLink, tmp_path: Path) -> None:
    local = tmp_path / "file"
    local.write_text("content")
    device.push(local, "/data/local/tmp/new/file")
    link.next_failure = LinkTimeout("stands still")
    with pytest.raises(CommandTimeout) as caught:
        device.push(local, "/data/local/tmp/new/file")
    assert caught.value.serial == "SERIAL7"
    assert "/data/local/tmp/new/file" in caught.value.command


def test_push_makes_the_folder_and_shows_progress(
    device: AdbDevice, link: FakeLink, tmp_path: Path
) -> None:
    local = tmp_path / "file"
    local.write_text("content")
    seen: list[tuple[int, int]] = []
    device.push(local, "/data/local/tmp/a b/file", progress=lambda *step: seen.append(step))
    assert link.path("/data/local/tmp/a b/file").read_text() == "content"
    assert seen[-1] == (7, 7)


def test_push_of_what_is_no_file_does_not_reach_the_device(
    device: AdbDevice, link: FakeLink, tmp_path: Path
) -> None:
    with pytest.raises(DeviceError, match="is not a file"):
        device.push(tmp_path, "/data/local/tmp/x")
    assert link.connections == 0


def test_a_pull_that_breaks_leaves_the_old_file(
    device: AdbDevice, link: FakeLink, tmp_path: Path
) -> None:
    local = tmp_path / "got"
    local.write_text("old")
    device.connect()
    link.next_failure = LinkBroken("gone")
    with pytest.raises(DeviceUnreachable):
        device.pull("/data/local/tmp/file", local)
    assert local.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["got"]


def test_the_program_is_the_one_for_the_devices_processor(
    link: FakeLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / native.RUNNER).write_text("for arm64")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setenv("HALYARD_NATIVE_DIR_AARCH64", str(tmp_path))
    phone = AdbDevice(link, "one")
    link.answers["uname -m"] = "echo aarch64"
    assert link.path(phone.put_program(native.RUNNER)).read_text() == "for arm64"
    link.answers["uname -m"] = "echo armv7l"
    with pytest.raises(ProgramMissing, match="no programs for armv7l"):
        AdbDevice(link, "another").put_program(native.RUNNER)


def test_a_program_is_pushed_once_and_again_when_it_changes(
    link: FakeLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "native"
    folder.mkdir()
    program = folder / native.RUNNER
    program.write_text("first")
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))
    for expected in (1, 1):
        remote = AdbDevice(link, "one").put_program(native.RUNNER)
        assert len(link.pushed) == expected
    program.write_text("second")
    AdbDevice(link, "one").put_program(native.RUNNER)
    assert len(link.pushed) == 2
    assert link.path(remote).read_text() == "second"
    assert link.path(remote).stat().st_mode & 0o777 == 0o755


class HalfwayLink(FakeLink):
    """Calls `halfway` once in the middle of a push, and then goes on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.halfway: Callable[[], object] | None = None

    def push(self, local: Path, remote: str, timeout: float, progress: Progress | None) -> None:
        halfway, self.halfway = self.halfway, None
        if halfway is None:
            super().push(local, remote, timeout, progress)
            return
        content = local.read_bytes()
        self.path(remote).write_bytes(content[: len(content) // 2])
        halfway()
        with self.path(remote).open("ab") as file:
            file.write(content[len(content) // 2 :])


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "native").mkdir()
    path = tmp_path / "native" / native.RUNNER
    path.write_text("a program")
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(path.parent))
    return path


def test_two_runs_that_push_a_program_at_once_both_have_it(tmp_path: Path, program: Path) -> None:
    link = HalfwayLink(tmp_path / "device")
    seen: list[str] = []

    def push_from_another_run() -> None:
        remote = AdbDevice(link, "two").put_program(native.RUNNER)
        seen.append(link.path(remote).read_text())

    link.halfway = push_from_another_run
    remote = AdbDevice(link, "one").put_program(native.RUNNER)
    seen.append(link.path(remote).read_text())
    assert seen == [program.read_text()] * 2
    assert [path.name for path in link.path(WORK_FOLDER).iterdir()] == [native.RUNNER]


@pytest.mark.parametrize(
    "failure", [LinkError("No space left on device"), SystemExit(143)], ids=["full", "ended"]
)
def test_a_program_that_is_half_pushed_is_removed(
    tmp_path: Path, program: Path, failure: BaseException
) -> None:
    link = HalfwayLink(tmp_path / "device")

    def fail() -> None:
        raise failure

    link.halfway = fail
    with pytest.raises((DeviceError, SystemExit)):
        AdbDevice(link, "one").put_program(native.RUNNER)
    assert list(link.path(WORK_FOLDER).iterdir()) == []
