# SPDX-License-Identifier: Apache-2.0
"""A conformance run on drivers that die: with a script that stands for halyard-runner, and a
service that can be killed."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from halyard.conformance.driver import Driver
from halyard.conformance.plan import Planned, parse_versions
from halyard.conformance.run import RunSettings, run
from halyard.devices import HostDevice, ServiceOptions, Wire, config_of
from halyard.devices.host import HostDevice as Host
from halyard.errors import DeviceError, HalyardError, ServiceError
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from tests.harness.conformance.test_selection import case
from tests.waiting import awaited

# A case's name is its action. Results are written as cases "end".
RUNNER = f"""#!{sys.executable}
import os, signal, sys, time
from pathlib import Path
from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
options = pb.RunOptions.FromString(Path(value("--options")).read_bytes())
here = Path(__file__).parent
with open(here / "calls", "a") as calls:
    print(*(word for word in words if not word.startswith("/")), file=calls)
if (here / "service-is-gone").exists():
    sys.exit(2)
cases = list(protobuf_stream.read(Path(value("--bundle")).read_bytes(), pb.TestCase))
with open(value("--results"), "wb", buffering=0) as results:
    for index, case in enumerate(cases):
        result = pb.CaseResult(
            name=case.name, index=index, target=value("--target"),
            hal_version=options.hal_version or 13,
        )
        if case.name == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if case.name == "garbage":
            results.write(b"\\xff" * 9)
            os._exit(0)
        if case.name == "truncate":
            results.write(protobuf_stream.write([result])[:-1])
            os._exit(0)
        if case.name == "endless":
            (here / "pid").write_text(str(os.getpid()))
            time.sleep(600)
        if case.name == "skip":
            continue
        if case.name == "elsewhere":
            result.target = "hidl:another"
        if case.name == "usage":
            print("no such backend", file=sys.stderr)
            sys.exit(1)
        crashes = case.name in ("crash", "hang", "lose")
        if crashes:
            result.failed_stage = pb.STAGE_HANG if case.name == "hang" else pb.STAGE_CRASH
        if case.name != "lose":
            results.write(protobuf_stream.write([result]))
        if crashes and "--until-crash" in words:
            if case.name == "lose":
                (here / "service-is-gone").touch()
            sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / native.RUNNER
    path.write_text(RUNNER)
    path.chmod(0o755)
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    return tmp_path


def planned(*names: str) -> list[Planned]:
    cases = [case(name, pb.OPERATION_TYPE_RELU) for name in names]
    return [
        Planned(f"{index} {c.name}", c, pb.HAL_VERSION_UNSPECIFIED) for index, c in enumerate(cases)
    ]


def stages(driver: Driver, runs: Sequence[Planned], jobs: int = 0) -> dict[str, pb.Stage]:
    found = [
        (item.name, result.failed_stage)
        for item, result in run(driver, runs, RunSettings(jobs=jobs))
    ]
    assert len(found) == len(dict(found)) == len(runs)
    return dict(found)


@pytest.fixture
def driver(folder: Path) -> Iterator[Driver]:
    with Driver.open(config_of("host")) as driver:
        yield driver


# ---- in-process ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["kill", "garbage", "truncate"])
@pytest.mark.parametrize("jobs", [0, 1])
def test_a_runner_that_dies_costs_the_case_it_died_of(
    driver: Driver, folder: Path, bad: str, jobs: int
) -> None:
    runs = planned("good", "good", bad, "good", bad)
    assert stages(driver, runs, jobs) == {
        "0 good": pb.STAGE_NONE,
        "1 good": pb.STAGE_NONE,
        f"2 {bad}": pb.STAGE_CRASH,
        "3 good": pb.STAGE_NONE,
        f"4 {bad}": pb.STAGE_CRASH,
    }
    calls = (folder / "calls").read_text().splitlines()
    # Several cases at a time do not tell which one it was: then they run one by one.
    assert [call.endswith("--jobs 1") for call in calls] == [jobs == 1] + [True] * (len(calls) - 1)
    assert len(calls) == (2 if jobs else 3)


def test_the_reason_of_a_runner_that_dies_is_told(driver: Driver) -> None:
    [(_, result)] = run(driver, planned("kill"))
    assert "killed by signal 9" in result.message


def test_results_that_break_off_are_told(driver: Driver) -> None:
    [(_, result)] = run(driver, planned("truncate"))
    assert "cut off" in result.message


def test_closing_a_run_ends_its_runner(driver: Driver, folder: Path) -> None:
    results = run(driver, planned("good", "endless"))
    next(results)
    awaited((folder / "pid").exists, "the case does not begin")
    results.close()
    assert not Path("/proc", (folder / "pid").read_text()).exists()


def test_a_case_that_is_left_out_is_not_taken_for_passed(driver: Driver) -> None:
    found = stages(driver, planned("good", "skip", "good"))
    assert found["1 skip"] == pb.STAGE_CRASH
    assert found["2 good"] == pb.STAGE_NONE


def test_a_crash_in_process_is_one_result_of_many(driver: Driver, folder: Path) -> None:
    found = stages(driver, planned("crash", "good", "hang", "good"))
    assert list(found.values()) == [pb.STAGE_CRASH, pb.STAGE_NONE, pb.STAGE_HANG, pb.STAGE_NONE]
    assert len((folder / "calls").read_text().splitlines()) == 1


def test_a_runner_that_can_not_run_ends_the_run(driver: Driver) -> None:
    results = run(driver, planned("good", "usage"))
    assert next(results)[0].name == "0 good"
    with pytest.raises(DeviceError, match="no such backend"):
        list(results)


def test_a_result_from_elsewhere_proves_nothing(driver: Driver) -> None:
    with pytest.raises(HalyardError, match="hidl:another"):
        list(run(driver, planned("elsewhere")))


def test_nothing_is_left_on_the_device(driver: Driver) -> None:
    stages(driver, planned("good", "kill", "truncate"))
    results = run(driver, planned("good", "good"))
    next(results)
    results.close()
    assert isinstance(driver.device, HostDevice)
    assert [path for path in driver.device.root.rglob("*") if path.is_file()] == []


# ---- a service ----------------------------------------------------------------------------------


class FakeService:
    def __init__(self, options: ServiceOptions, folder: Path) -> None:
        self.options = options
        self.instance = options.instance
        self.log_text = "last words\n"
        (folder / "service-is-gone").unlink(missing_ok=True)

    def log(self) -> str:
        return self.log_text

    def stop(self) -> int:
        return 0


class BinderDevice(Host):
    """A host that claims to have binder."""

    has_binder = True

    def __init__(self, folder: Path, *, starts: int = 100) -> None:
        super().__init__()
        self.folder = folder
        self.starts = starts
        self.services: list[FakeService] = []

    def start_service(self, options: ServiceOptions | None = None) -> FakeService:  # type: ignore[override]
        if len(self.services) == self.starts:
            raise ServiceError("the service ended before it was registered", serial="fake")
        self.services.append(FakeService(options or ServiceOptions(), self.folder))
        return self.services[-1]


def on_binder(device: BinderDevice, instance: str | None = None) -> Driver:
    driver = Driver(device, config_of("vm"), ["CpuRef"], instance)
    driver.start()
    return driver


def test_a_service_that_dies_is_started_again_and_costs_one_case(folder: Path) -> None:
    device = BinderDevice(folder)
    with on_binder(device) as driver:
        found = stages(driver, planned("good", "crash", "good", "hang", "good"))
    assert list(found.values()) == [
        pb.STAGE_NONE,
        pb.STAGE_CRASH,
        pb.STAGE_NONE,
        pb.STAGE_HANG,
        pb.STAGE_NONE,
    ]
    assert len(device.services) == 3
    calls = (folder / "calls").read_text().splitlines()
    assert all("--target hidl:halyard-default" in call for call in calls)
    # A service has its own backends.
    assert all("--until-crash" in call and "-c" not in call.split() for call in calls)


def test_each_version_is_reached_on_its_wire(folder: Path) -> None:
    device = BinderDevice(folder)
    driver = Driver(device, config_of("vm"), [], None, [Wire.HIDL, Wire.AIDL])
    driver.start()
    [unspecified] = planned("good")
    versions = (pb.HAL_VERSION_UNSPECIFIED, pb.HAL_VERSION_1_2, pb.HAL_VERSION_AIDL_3)
    runs = [Planned(f"{version}", unspecified.case, version) for version in versions]
    with driver:
        results = {item.version: result for item, result in run(driver, runs)}
    targets = {version: result.target for version, result in results.items()}
    hidl, aidl = "hidl:halyard-default", "aidl:halyard-default"
    assert targets == dict(zip(versions, (hidl, hidl, aidl), strict=True))
    assert driver.targets == f"{hidl}, {aidl}"
    assert driver.newest == pb.HAL_VERSION_AIDL_4
    [service] = device.services
    assert service.options.command_line()[-4:-2] == ["--wires", "hidl,aidl"]


def test_the_newest_of_aidl_is_reached_on_its_wire(folder: Path) -> None:
    device = BinderDevice(folder)
    wires = parse_versions("aidl").wires
    with Driver(device, config_of("vm"), [], "theirs", wires) as driver:
        assert stages(driver, planned("good")) == {"0 good": pb.STAGE_NONE}
    assert "--target aidl:theirs" in (folder / "calls").read_text()


def test_a_service_that_is_gone_between_cases_costs_none(folder: Path) -> None:
    device = BinderDevice(folder)
    (folder / "service-is-gone").touch()
    with on_binder(device) as driver:
        (folder / "service-is-gone").touch()
        found = stages(driver, planned("good", "good"))
    assert list(found.values()) == [pb.STAGE_NONE, pb.STAGE_NONE]
    assert len(device.services) == 2


def test_a_case_that_always_loses_the_service_ends_the_run(folder: Path) -> None:
    with on_binder(BinderDevice(folder)) as driver:
        results = run(driver, planned("good", "lose"))
        assert next(results)[0].name == "0 good"
        with pytest.raises(HalyardError, match="gone"):
            list(results)


def test_a_service_that_does_not_come_back_ends_the_run(folder: Path) -> None:
    with on_binder(BinderDevice(folder, starts=1)) as driver:
        results = run(driver, planned("crash", "good"))
        assert next(results)[1].failed_stage == pb.STAGE_CRASH
        with pytest.raises(ServiceError):
            list(results)


def test_a_service_of_another_is_not_started_again(folder: Path) -> None:
    device = BinderDevice(folder)
    with on_binder(device, "theirs") as driver:
        found = stages(driver, planned("crash", "good"))
    assert list(found.values()) == [pb.STAGE_CRASH, pb.STAGE_NONE]
    assert device.services == []
    assert "--target hidl:theirs" in (folder / "calls").read_text()
    assert "--until-crash" not in (folder / "calls").read_text()
