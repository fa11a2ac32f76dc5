# SPDX-License-Identifier: Apache-2.0
"""One suite on two virtual devices, of which one is switched off in the middle."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.devices import WORK_FOLDER, VirtualDevice
from halyard.vm.virtual_machine import VmOptions
from tests.harness.cases.test_golden_cases import addition
from tests.harness.cases.test_golden_suite import write

CASES = 200
MAIN = "from halyard.cli.program import main; main()"


@pytest.fixture
def other() -> Iterator[VirtualDevice]:
    with VirtualDevice.boot(VmOptions(timeout=180)) as device:
        yield device


def start(folder: Path, *devices: VirtualDevice) -> "subprocess.Popen[str]":
    (folder / "goldens").mkdir()
    write(folder / "goldens", {"add": [addition(name=f"add{n}") for n in range(CASES)]})
    names = ",".join(device.serial for device in devices)
    words = ["--goldens", "goldens", "--derived", "none", "--hal", "1.3", "--json", "out.json"]
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "conformance", *words, "--device", names, "--shard"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
    )


def test_two_devices_share_a_suite_and_one_alone_ends_it(
    device: VirtualDevice, other: VirtualDevice, tmp_path: Path
) -> None:
    with start(tmp_path, device, other) as running:
        end = time.monotonic() + 60
        while not other.shell(f"ls {WORK_FOLDER}/run-*.bundle 2>/dev/null").stdout:
            assert time.monotonic() < end, "no case runs there"
        other.machine.stop()
        said = running.communicate(timeout=120)[0]
    assert running.returncode == 0, said
    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["passed"], document["ended_early"]) == (CASES, "")
    shares = {share["device"]: share for share in document["shares"]}
    assert shares[device.serial]["lost"] == ""
    assert shares[other.serial]["lost"] != ""
    assert shares[device.serial]["cases"] + shares[other.serial]["cases"] == CASES
    assert f"{other.serial} has dropped out" in said
    assert "Traceback" not in said
