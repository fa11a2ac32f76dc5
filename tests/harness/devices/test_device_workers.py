# SPDX-License-Identifier: Apache-2.0
"""pytest with several devices: a worker of pytest-xdist for each."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from halyard.conformance.xdist_devices import DeviceScheduling
from tests.harness.cases.test_golden_cases import addition
from tests.harness.cases.test_golden_suite import write

CASES = 24
# Says on which device each case runs; the device `lost` breaks off at its third.
SPY = """
import os
import time
from halyard.conformance import pytest_cases
from halyard.errors import DeviceUnreachable

ran = pytest_cases.run
count = 0

def run(driver, planned):
    global count
    config = open(os.environ["SPY_FOLDER"] + "/" + str(os.getpid()), "a")
    for each in planned:
        count += 1
        # So that there is work left when a lost worker is replaced.
        time.sleep(0.2 if os.environ["SPY_LOST"] else 0)
        if os.environ.get("PYTEST_XDIST_WORKER") in os.environ["SPY_LOST"].split() and count == 3:
            raise DeviceUnreachable("the cable is out", serial="lost")
        print(each.name, file=config, flush=True)
    yield from ran(driver, planned)

opened = pytest_cases.Driver.open

def open_driver(config, **more):
    with open(os.environ["SPY_FOLDER"] + "/opened", "a") as file:
        print(*config.expected_failures.values(), file=file)
    return opened(config, **more)

pytest_cases.run = run
pytest_cases.Driver.open = open_driver
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "goldens").mkdir()
    (tmp_path / "ran").mkdir()
    write(tmp_path / "goldens", {"add": [addition(name=f"add{n}") for n in range(CASES)]})
    (tmp_path / "conftest.py").write_text(SPY)
    for name in ("one", "two", "three"):
        marked = f"kind: host\nexpected_failures:\n  no_such_case: {name}\n"
        (tmp_path / f"{name}.yaml").write_text(marked)
    return tmp_path


def run_pytest(folder: Path, *words: str, lost: str = "") -> tuple[int, str]:
    plugins = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    sources = ("--goldens=goldens", "--derived=none", "--hal=1.3")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *sources, "--rootdir=.", *words],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONWARNINGS": "",
            "SPY_FOLDER": str(folder / "ran"),
            "SPY_LOST": lost,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def ran(folder: Path) -> list[list[str]]:
    """The cases of each worker."""
    paths = sorted((folder / "ran").iterdir())
    return [path.read_text().split() for path in paths if path.name != "opened"]


def opened(folder: Path) -> list[str]:
    """The devices, by each worker that has opened one."""
    return sorted((folder / "ran" / "opened").read_text().split())


def test_each_device_has_a_worker_and_the_cases_are_divided(folder: Path) -> None:
    code, said = run_pytest(folder, "--device=one.yaml,two.yaml")
    assert code == 0, said
    assert f"{CASES} passed" in said
    assert "halyard: devices one.yaml, two.yaml" in said
    of_workers = ran(folder)
    assert len(of_workers) == 2
    assert all(of_workers)
    assert len({name for names in of_workers for name in names}) == CASES
    assert opened(folder) == ["one", "two"]


def test_dist_each_runs_all_on_each(folder: Path) -> None:
    code, said = run_pytest(folder, "--device=one.yaml,two.yaml", "--dist=each")
    assert code == 0, said
    assert f"{2 * CASES} passed" in said
    assert [len(names) for names in ran(folder)] == [CASES, CASES]


def test_the_test_of_a_device_that_drops_out_runs_on_another(folder: Path) -> None:
    code, said = run_pytest(folder, "--device=one.yaml,two.yaml,three.yaml", lost="gw1")
    assert code == 0, said
    assert re.search(rf"{CASES} passed,.* 1 rerun", said)
    assert "halyard: two.yaml has dropped out: lost: the cable is out" in said
    # No worker beside the first three was given a device, or a test.
    assert opened(folder) == ["one", "three", "two"]


def test_where_all_devices_drop_out_the_session_ends(folder: Path) -> None:
    code, said = run_pytest(folder, "--device=one.yaml,two.yaml", lost="gw0 gw1")
    assert code != 0
    assert "all devices have dropped out" in said
    assert not re.search(rf"\b{CASES} passed", said)


class GoneNode:
    """A worker that has ended, which has not been noticed yet."""

    shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        raise OSError(f"cannot send {indices} (already closed?)")


def test_what_is_given_to_a_worker_that_has_just_gone_is_not_lost() -> None:
    gone = GoneNode()
    scheduling = object.__new__(DeviceScheduling)
    scheduling.collection = ["a", "b", "c"]
    scheduling.pending = [0, 1, 2]
    scheduling.node2pending = {gone: []}
    scheduling._send_tests(gone, 2)
    assert scheduling.node2pending[gone] == [0, 1]
    assert scheduling.remove_node(gone) == "a"
    assert scheduling.pending == [2, 1]


def test_a_device_that_is_named_twice_is_refused(folder: Path) -> None:
    code, said = run_pytest(folder, "--device=one.yaml,one.yaml")
    assert code == 4
    assert "names a device twice" in said


def test_one_device_needs_no_workers(folder: Path) -> None:
    code, said = run_pytest(folder, "--device=one.yaml")
    assert code == 0, said
    assert "halyard: device one.yaml" in said
    assert len(ran(folder)) == 1
