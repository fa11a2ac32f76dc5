# SPDX-License-Identifier: Apache-2.0
"""Files that killed runs have left on a device, whose shell is this machine's."""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from halyard.devices import run_files
from halyard.devices.adb import AdbDevice
from halyard.devices.device import WORK_FOLDER
from halyard.devices.owner import Owner
from halyard.vm import qemu
from tests.harness.fake_link import FakeLink


@pytest.fixture
def link(tmp_path: Path) -> FakeLink:
    link = FakeLink(tmp_path / "device")
    link.path(WORK_FOLDER).mkdir(parents=True)
    return link


def run_of(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(Owner, "here", lambda: owner)
        return run_files.new_run()


def test_files_of_dead_runs_go_and_those_of_others_stay(
    link: FakeLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Owner.here()
    dead = dataclasses.replace(here, born=here.born - 1)
    elsewhere = dataclasses.replace(dead, place="elsewhere/1")
    names = {
        "dead": run_of(dead, monkeypatch),
        "alive": run_of(here, monkeypatch),
        "elsewhere": run_of(elsewhere, monkeypatch),
        "older": f"{WORK_FOLDER}/run-0123abcd",
    }
    for path in names.values():
        for kind in ("bundle", "results", "pid"):
            link.path(f"{path}.{kind}").write_text("x")
    with AdbDevice(link, "SERIAL7") as device:
        run_files.remove_dead_runs(device)
    left = {path.name.partition(".")[0] for path in link.path(WORK_FOLDER).iterdir()}
    assert left == {path.rpartition("/")[2] for kind, path in names.items() if kind != "dead"}


def test_the_runner_of_a_dead_run_is_ended_and_no_other_process(
    link: FakeLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = dataclasses.replace(Owner.here(), born=1)
    runner_run, other_run = run_of(dead, monkeypatch), run_of(dead, monkeypatch)
    bundle = str(link.path(f"{runner_run}.bundle"))
    processes = [
        subprocess.Popen(["sh", "-c", "sleep 60; true", *words])
        for words in (["--bundle", bundle], ["--bundle", "another"])
    ]
    for path, process in zip((runner_run, other_run), processes, strict=True):
        link.path(f"{path}.pid").write_text(str(process.pid))
    try:
        with AdbDevice(link, "SERIAL7") as device:
            run_files.remove_dead_runs(device)
        assert processes[0].wait(timeout=20) == -9
        assert processes[1].poll() is None
        assert list(link.path(WORK_FOLDER).iterdir()) == []
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_runs_name_tells_whose_it_is() -> None:
    born = qemu.start_time(os.getpid())
    assert f"-{os.getpid()}-{born}-" in run_files.new_run()
