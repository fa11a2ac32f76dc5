# SPDX-License-Identifier: Apache-2.0
"""The service's life on a device, with scripts that stand for the service and the runner."""

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from halyard.devices import service_folder
from halyard.devices.adb import AdbDevice
from halyard.devices.adb_service import UNKNOWN_EXIT_CODE, AdbService, registered
from halyard.devices.device import WORK_FOLDER, ServiceOptions, Wire
from halyard.errors import ServiceError
from halyard.programs import native
from halyard.vm import qemu
from tests.harness.fake_link import FakeLink

ROOT = Path(__file__).parents[3]

# A file stands for the service managers' names.
RUNNER = """#!/bin/sh
[ "$1" = --list-services ] && cat {registry}
[ "$*" = "--target hidl:halyard-default --report" ] && printf 'backend\\tA\\nbackend\\tB\\nn\\t0\\n'
exit 0
"""

SERVICE = """#!/bin/sh
echo "started with $*"
case "$*" in *aidl*) aidl=android.hardware.neuralnetworks.IDevice ;; esac
while [ $# -gt 0 ]; do [ "$1" = -n ] && name=$2; shift; done
for version in 1.0 1.1 1.2 1.3; do
    echo "android.hardware.neuralnetworks@$version::IDevice/$name"
done >{registry}
[ -n "$aidl" ] && echo "$aidl/$name" >>{registry}
trap 'echo ending; : >{registry}; exit {code}' TERM
while :; do sleep 0.05; done
"""


@pytest.fixture
def link(tmp_path: Path) -> FakeLink:
    return FakeLink(tmp_path / "device")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "registry"
    path.write_text("android.hidl.manager@1.0::IServiceManager/default\n")
    return path


@pytest.fixture
def programs(tmp_path: Path, registry: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "native"
    folder.mkdir()
    write(folder / native.RUNNER, RUNNER.format(registry=registry))
    write(folder / native.SERVICE, SERVICE.format(registry=registry, code=0))
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))
    return folder


@pytest.fixture
def device(link: FakeLink, programs: Path) -> Iterator[AdbDevice]:
    with AdbDevice(link, "SERIAL7") as device:
        yield device


def write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_a_service_that_is_not_on_the_device_is_pushed(device: AdbDevice, link: FakeLink) -> None:
    with device.start_service():
        pass
    assert link.path(f"{WORK_FOLDER}/{native.SERVICE}").is_file()


def test_a_service_on_the_device_is_used(device: AdbDevice, link: FakeLink, registry: Path) -> None:
    there = link.path(f"/vendor/bin/hw/{native.SERVICE}")
    there.parent.mkdir(parents=True)
    write(there, SERVICE.format(registry=registry, code=0))
    with device.start_service():
        pass
    assert not link.path(f"{WORK_FOLDER}/{native.SERVICE}").exists()


def test_a_started_service_is_registered_and_ends_in_order(device: AdbDevice) -> None:
    service = device.start_service(ServiceOptions(instance="some-name", backends=["CpuRef"]))
    assert service.interfaces == [
        f"android.hardware.neuralnetworks@1.{minor}::IDevice/some-name" for minor in range(4)
    ]
    assert service.is_running()
    os.kill(service.pid, 0)
    assert service.stop() == 0
    assert not service.is_running()
    assert service.log().splitlines() == [
        "started with -v -c CpuRef --wires hidl -n some-name",
        "ending",
    ]


def test_the_names_on_a_wire_are_told_from_others() -> None:
    services = [
        "android.hardware.neuralnetworks@1.3::IDevice/x",
        "android.hardware.neuralnetworks.IDevice/x",
        "android.hardware.neuralnetworks@1.0::IDevice/x",
        "android.hardware.neuralnetworks.IDevice/other",
        "android.hardware.neuralnetworks@1.3::IPreparedModel/x",
        "android.hardware.neuralnetworks.IDevice/x/x",
        "manager",
    ]
    hidl = [f"android.hardware.neuralnetworks@1.{minor}::IDevice/x" for minor in (0, 3)]
    aidl = ["android.hardware.neuralnetworks.IDevice/x"]
    assert registered(services, "x") == hidl + aidl
    assert registered(services, "x", [Wire.HIDL]) == hidl
    assert registered(services, "x", [Wire.AIDL]) == aidl


def test_a_service_has_to_be_registered_on_each_wire_that_is_asked_for(device: AdbDevice) -> None:
    both = ServiceOptions(wires=[Wire.HIDL, Wire.AIDL], verbose=False)
    with device.start_service(both) as service:
        assert service.interfaces[-1] == "android.hardware.neuralnetworks.IDevice/halyard-default"
        assert len(service.interfaces) == 5
    assert service.log().splitlines()[0] == "started with --wires hidl,aidl -n halyard-default"
    hidl = ServiceOptions(wires=[Wire.HIDL])
    with device.start_service(hidl) as service:
        assert len(service.interfaces) == 4


def test_a_service_that_lacks_a_wire_does_not_start(
    device: AdbDevice, programs: Path, registry: Path
) -> None:
    no_aidl = SERVICE.replace('-n "$aidl"', '-n ""')
    write(programs / native.SERVICE, no_aidl.format(registry=registry, code=0))
    options = ServiceOptions(wires=[Wire.HIDL, Wire.AIDL], timeout=1)
    with pytest.raises(ServiceError, match="not registered"):
        device.start_service(options)


def test_a_service_reports_on_itself(device: AdbDevice) -> None:
    with device.start_service() as service:
        assert service.report() == {"backend": ["A", "B"], "n": ["0"]}


def test_the_exit_code_is_the_services(device: AdbDevice, programs: Path, registry: Path) -> None:
    write(programs / native.SERVICE, SERVICE.format(registry=registry, code=7))
    assert device.start_service().stop() == 7


def test_a_service_that_ends_at_once_is_an_error_with_its_log(
    device: AdbDevice, programs: Path
) -> None:
    write(programs / native.SERVICE, "#!/bin/sh\necho 'no backend Foo' >&2\nexit 1\n")
    with pytest.raises(ServiceError) as caught:
        device.start_service()
    assert caught.value.exit_code == 1
    assert "no backend Foo" in caught.value.stderr
    assert caught.value.serial == "SERIAL7"


def test_a_service_that_does_not_register_is_stopped(
    device: AdbDevice, programs: Path, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    write(programs / native.SERVICE, f"#!/bin/sh\necho $$ >{pid}\nexec sleep 60\n")
    with pytest.raises(ServiceError, match=r"not registered 0\.3 s on"):
        device.start_service(ServiceOptions(timeout=0.3))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_name_that_is_taken_is_refused(device: AdbDevice, registry: Path) -> None:
    registry.write_text("android.hardware.neuralnetworks@1.2::IDevice/halyard-default\n")
    with pytest.raises(
        ServiceError, match="already, by a service not started by halyard"
    ) as caught:
        device.start_service()
    assert "--service-name" in str(caught.value)


# ---- what it leaves -----------------------------------------------------------------------------


@contextmanager
def run_of_its_own(root: Path, programs: Path) -> "Iterator[tuple[subprocess.Popen[str], int]]":
    """Another process of the harness, which has started the service and waits; the service's pid.
    It is killed at the end, so that it stops nothing."""
    with subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import signal, sys\n"
            "from pathlib import Path\n"
            "from halyard.devices.adb import AdbDevice\n"
            "from tests.harness.fake_link import FakeLink\n"
            "print(AdbDevice(FakeLink(Path(sys.argv[1])), 'S').start_service().pid, flush=True)\n"
            "signal.pause()\n",
            root,
        ],
        env={**os.environ, "HALYARD_NATIVE_DIR": str(programs), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        try:
            yield run, int(run.stdout.readline())
        finally:
            run.kill()


def is_alive(pid: int) -> bool:
    return qemu.start_time(pid) is not None


def left_on(link: FakeLink) -> list[str]:
    """The folders of services on the device."""
    return [path.name for path in link.path(WORK_FOLDER).glob("service-*")]


def test_what_a_killed_run_left_is_ended_and_its_name_taken_over(
    device: AdbDevice, link: FakeLink, programs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with run_of_its_own(link.root, programs) as (_, left):
        pass
    assert is_alive(left)
    with device.start_service() as service:
        assert service.pid != left
        assert not is_alive(left)
        assert len(service_folder.found(device)) == 1
    assert "ended the service halyard-default" in caplog.text


def test_what_a_living_run_holds_is_left_alone(
    device: AdbDevice, link: FakeLink, programs: Path
) -> None:
    with run_of_its_own(link.root, programs) as (run, held):
        try:
            with pytest.raises(ServiceError, match=f"by halyard, process {run.pid} on "):
                device.start_service()
            assert is_alive(held)
        finally:
            os.kill(held, signal.SIGTERM)


def test_a_number_that_another_process_has_by_now_is_not_killed(
    device: AdbDevice, link: FakeLink
) -> None:
    dead = dataclasses.replace(service_folder.Owner.here(), born=1)
    path = f"{WORK_FOLDER}/service-0123abcd"
    with subprocess.Popen(["sleep", "60"]) as other:
        device.shell(
            f"mkdir -p {path} && echo '{dead.text()}' >{path}/owner && "
            f"echo '{other.pid} 12345' >{path}/pid"
        ).check()
        assert service_folder.end_leftovers(device) == []
        assert not link.path(path).exists()
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize(
    ("change", "is_dead"),
    [
        ({}, False),
        ({"born": 1}, True),
        ({"pid": 2**22 + 1}, True),
        ({"boot": "another"}, True),
        ({"place": "other/1", "boot": "another", "pid": 1}, False),
    ],
    ids=["this run", "number used again", "no such process", "another boot", "another machine"],
)
def test_a_run_is_known_to_be_dead(change: dict[str, object], is_dead: bool) -> None:
    owner = dataclasses.replace(service_folder.Owner.here(), **change)
    assert service_folder.Owner.parse(owner.text()) == owner
    assert owner.is_dead() == is_dead


@pytest.mark.parametrize("text", ["", "a b c", "a b c d", "a b 1 2 3"])
def test_an_owner_that_is_not_understood_is_none(text: str) -> None:
    assert service_folder.Owner.parse(text) is None


def test_nothing_but_the_last_log_is_left_on_the_device(device: AdbDevice, link: FakeLink) -> None:
    for name in ("one", "two"):
        with device.start_service(ServiceOptions(instance=name)):
            pass
    names = [path.name for path in link.path(WORK_FOLDER).iterdir()]
    assert sorted(names) == sorted([native.RUNNER, native.SERVICE, "service.log"])
    assert "-n two" in link.path(service_folder.LAST_LOG).read_text()


def test_an_interrupted_start_leaves_nothing(
    device: AdbDevice, link: FakeLink, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids: list[int] = []

    def interrupted(service: AdbService) -> None:
        pids.append(service.pid)
        raise SystemExit(128 + signal.SIGTERM)

    monkeypatch.setattr(AdbService, "_wait_until_registered", interrupted)
    with pytest.raises(SystemExit):
        device.start_service()
    assert left_on(link) == []
    assert not is_alive(pids[0])


def test_an_interrupted_stop_leaves_nothing(
    device: AdbDevice, link: FakeLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: AdbService) -> bool:
        raise KeyboardInterrupt

    service = device.start_service()
    monkeypatch.setattr(AdbService, "is_running", interrupted)
    with pytest.raises(KeyboardInterrupt):
        service.stop()
    assert left_on(link) == []
    assert not is_alive(service.pid)


def test_a_shell_that_writes_meanwhile_does_not_keep_the_folder(
    device: AdbDevice, link: FakeLink, tmp_path: Path
) -> None:
    # The shell of the service tells its exit code after the files are gone, before the folder is.
    write(
        tmp_path / "remove",
        '#!/bin/sh\nrm -f "$1"/*\necho 137 2>/dev/null >"${1%.gone}/exit"\nrmdir "$1"\n',
    )
    link.answers["rm -rf"] = str(tmp_path / "remove")
    service = device.start_service()
    folder = service_folder.found(device)[0].path
    service_folder.kill_and_remove(device, folder)
    assert left_on(link) == []
    assert not is_alive(service.pid)


def test_what_an_interrupted_removal_left_is_removed(device: AdbDevice, link: FakeLink) -> None:
    service = device.start_service()
    link.answers["rm -rf"] = "false"
    service.stop()
    assert len(left_on(link)) == 1
    del link.answers["rm -rf"]
    service_folder.end_leftovers(device)
    assert left_on(link) == []


def test_a_full_disk_is_told_and_nothing_is_left(
    programs: Path, tmp_path: Path, full_disk: Callable[[Path], Callable[[], None]]
) -> None:
    fill = full_disk(tmp_path / "small")
    link = FakeLink(tmp_path / "small/device")
    with AdbDevice(link, "SERIAL7") as device:
        device.put_program(native.RUNNER)
        device.put_program(native.SERVICE)
        fill()
        with pytest.raises(ServiceError, match="is the disk full") as caught:
            device.start_service()
        assert "No space left on device" in caught.value.stderr
        assert service_folder.found(device) == []


def test_a_disk_that_fills_up_does_not_keep_a_service_from_ending(
    programs: Path, tmp_path: Path, full_disk: Callable[[Path], Callable[[], None]]
) -> None:
    fill = full_disk(tmp_path / "small")
    link = FakeLink(tmp_path / "small/device")
    with AdbDevice(link, "SERIAL7") as device:
        service = device.start_service()
        fill()
        assert service.is_running()
        assert service.stop() == UNKNOWN_EXIT_CODE
        assert not is_alive(service.pid)
        assert service_folder.found(device) == []


def test_leaving_the_context_stops_it(device: AdbDevice) -> None:
    with pytest.raises(ZeroDivisionError), device.start_service() as service:
        raise ZeroDivisionError
    assert not service.is_running()


def test_options_are_the_services() -> None:
    options = ServiceOptions(
        instance="a-b",
        backends=("CpuAcc", "CpuRef"),
        threads=2,
        fast_math=True,
        unsupported=(1, 3),
        seccomp="log",
        verbose=False,
        arguments=("-d", "/data/dump"),
        program="/vendor/bin/hw/x",
    )
    assert options.command_line() == [
        "/vendor/bin/hw/x",
        *("-c", "CpuAcc,CpuRef"),
        *("--number-of-threads", "2"),
        "--enable-fast-math",
        *("-u", "1,3"),
        *("--seccomp", "log"),
        *("--wires", "hidl"),
        *("-n", "a-b"),
        *("-d", "/data/dump"),
    ]


def test_a_program_that_a_configuration_names_is_not_replaced_by_ours(device: AdbDevice) -> None:
    options = ServiceOptions(program="/vendor/bin/hw/of-the-vendor")
    with pytest.raises(ServiceError, match="there is no such program on the device") as caught:
        device.start_service(options)
    assert caught.value.command == "/vendor/bin/hw/of-the-vendor"
