# SPDX-License-Identifier: Apache-2.0
"""The commands as a user runs them, on a device that is full, or on which a run was killed."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.devices import WORK_FOLDER, ServiceOptions, VirtualDevice
from halyard.devices.adb_service import list_services, registered
from tests.waiting import awaited, comes_true

SMALL = ("run", "--model", "small_classifier", "--size", "16", "--width", "0.5", "--repeat", "1")
DUMPS = "/data/dumps of a test"


def command(device: VirtualDevice, *words: str) -> list[str]:
    """The command, with the device as one on TCP."""
    main = "from halyard.cli.program import main; main()"
    return [sys.executable, "-c", main, *words, "--device", device.serial]


def halyard(
    device: VirtualDevice, *words: str, given: str = ""
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(device, *words),
        capture_output=True,
        text=True,
        input=given,
        env=os.environ,
        timeout=180,
    )


def left_over(device: VirtualDevice) -> list[str]:
    """The files in the work folder beside programs and the last log."""
    names = device.shell(f"ls {WORK_FOLDER} 2>/dev/null").stdout.split()
    return [name for name in names if name.startswith(("run-", "service-"))]


def is_registered(device: VirtualDevice) -> bool:
    """Whether it still is after the moment in which the kernel tells of a death."""
    return not comes_true(
        lambda: not registered(list_services(device), "halyard-default"), seconds=5
    )


def test_a_run_leaves_nothing_but_the_log(device: VirtualDevice) -> None:
    before = left_over(device)
    done = halyard(device, *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert left_over(device) == before
    log = halyard(device, "log")
    assert "registered android.hardware.neuralnetworks@1.3::IDevice/halyard-default" in log.stdout


@pytest.fixture
def small_disk(device: VirtualDevice) -> Iterator[None]:
    """A work folder with room for the runner, and for little else."""
    device.shell(
        f"mkdir -p {WORK_FOLDER} && mount -t tmpfs -o size=16m tmpfs {WORK_FOLDER}"
    ).check()
    yield
    device.shell(f"umount {WORK_FOLDER}").check()


@pytest.mark.usefixtures("small_disk")
def test_a_disk_that_fills_up_fails_the_run_and_leaves_no_service(
    device: VirtualDevice, tmp_path: Path
) -> None:
    assert halyard(device, *SMALL).returncode == 0
    room = device.shell(f"df -k {WORK_FOLDER} | tail -n 1").check().stdout.split()[3]
    device.shell(f"dd if=/dev/zero of={WORK_FOLDER}/fill bs=1k count={int(room) - 64}").check()
    done = halyard(device, *SMALL)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert left_over(device) == []
    assert not is_registered(device)

    device.shell(f"dd if=/dev/zero of={WORK_FOLDER}/rest bs=4k")
    done = halyard(device, *SMALL)
    assert done.returncode == 1
    assert "is the disk full?" in done.stderr
    assert left_over(device) == []

    local = tmp_path / "large"
    local.write_bytes(bytes(24 * 2**20))
    start = time.monotonic()
    done = halyard(device, "push", str(local), WORK_FOLDER)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert time.monotonic() - start < 25

    device.shell(f"rm {WORK_FOLDER}/fill {WORK_FOLDER}/rest").check()
    done = halyard(device, *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr


def start_long_run(device: VirtualDevice) -> "subprocess.Popen[str]":
    """A run of minutes whose service is registered."""
    run = subprocess.Popen(
        command(device, *SMALL[:-1], "100000"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    awaited(
        lambda: registered(list_services(device), "halyard-default") or run.poll() is not None,
        "the service of the run does not register",
    )
    assert run.poll() is None, run.communicate()[0]
    return run


def test_the_next_run_takes_over_what_a_killed_one_left(device: VirtualDevice) -> None:
    with start_long_run(device) as run:
        refused = halyard(device, *SMALL)
        assert refused.returncode == 1
        assert f"by halyard, process {run.pid} on " in refused.stderr
        beside = halyard(device, *SMALL, "--service-name", "beside")
        assert beside.returncode == 0, beside.stdout + beside.stderr
        run.kill()
    assert registered(list_services(device), "halyard-default")
    done = halyard(device, *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "which a run that died had left" in done.stderr
    assert not is_registered(device)
    assert left_over(device) == [], "nor do files of the killed run stay"


def test_an_interrupted_run_leaves_nothing(device: VirtualDevice) -> None:
    before = left_over(device)
    with start_long_run(device) as run:
        run.terminate()
        output, _ = run.communicate(timeout=60)
    assert run.returncode == 143
    assert "Traceback" not in output
    assert left_over(device) == before
    assert not is_registered(device)


def test_a_script_has_one_shell(device: VirtualDevice) -> None:
    script = "cd /data\nx=5\nfor i in 1 2; do\n  echo $x$i\ndone\npwd\nls /no/such >&2\nexit 7\n"
    done = halyard(device, "shell", given=script)
    assert (done.returncode, done.stdout) == (7, "51\n52\n/data\n")
    assert "/no/such: No such file" in done.stderr


def test_folders_go_there_and_back(device: VirtualDevice, tmp_path: Path) -> None:
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/a file").write_text("content")
    (tmp_path / "tree/empty").mkdir()
    device.shell("rm -rf /data/pushed").check()
    assert halyard(device, "push", str(tmp_path / "tree"), "/data/pushed").returncode == 0
    done = halyard(device, "pull", "/data/pushed", str(tmp_path / "back"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "back/sub/a file").read_text() == "content"
    assert (tmp_path / "back/empty").is_dir()


def test_the_services_options_reach_it(device: VirtualDevice) -> None:
    done = halyard(device, *SMALL, "-u", "SOFTMAX", "-n", "some")
    assert done.returncode == 1
    assert "operation 6 (SOFTMAX): turned off by option -u" in done.stdout
    done = halyard(device, *SMALL, "-d", DUMPS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1_output0.dump" in device.shell(f"ls '{DUMPS}'").stdout


def test_a_registered_service_is_used_where_it_is_named(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(instance="mine")) as service:
        done = halyard(device, *SMALL, "--instance", "mine", "--hal", "all")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("hidl:mine") == 8
        assert service.is_running()
