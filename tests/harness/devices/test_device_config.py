# SPDX-License-Identifier: Apache-2.0
"""Device YAML files and device names."""

from pathlib import Path
from typing import get_args

import pytest

from halyard.devices import config_of
from halyard.devices.config import DeviceConfig, load, parse
from halyard.errors import ConfigError
from halyard.programs import native
from halyard.vm.machine_type import ARM64, MACHINES, X86_64, MachineName


def test_the_files_that_come_along_are_valid() -> None:
    files = sorted(native.device_configs().glob("*.yaml"))
    assert {load(file).kind for file in files} == {"adb", "host", "virtual"}


def test_fields_are_read(tmp_path: Path) -> None:
    file = tmp_path / "phone.yaml"
    file.write_text(
        "kind: adb\ntransport: tcp\nhost: phone.local\nport: 5556\nkey: ~/key\n"
        "service:\n  instance: other-name\n"
    )
    config = load(file)
    assert (config.host, config.port, config.transport) == ("phone.local", 5556, "tcp")
    assert config.key == Path("~/key").expanduser()
    assert config.service.instance == "other-name"
    assert config.service.program.startswith("/vendor/bin/hw/")


def test_what_a_file_sets_is_known() -> None:
    config = parse({"kind": "virtual", "memory": 1024, "accel": "tcg"})
    assert config.asked == {"kind", "memory", "accel"}
    assert config_of("vm").asked == frozenset()


def test_properties_become_text() -> None:
    config = parse({"kind": "virtual", "properties": {"ro.build.version.sdk": 29, "ro.x": True}})
    assert config.properties == {"ro.build.version.sdk": "29", "ro.x": "true"}


def test_any_kind_of_device_may_have_expected_failures() -> None:
    failures = {"conv_*": "rounds halves up", "add": 7}
    for kind in ("host", "virtual", "adb"):
        config = parse({"kind": kind, "expected_failures": failures})
        assert config.expected_failures == {"conv_*": "rounds halves up", "add": "7"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the file must be a mapping"),
        ([], "the file must be a mapping"),
        ({}, "kind is None; it must be one of host, virtual, adb"),
        ({"kind": "phone"}, "kind is 'phone'"),
        ({"kind": "host", "interface": "c"}, "interface is 'c'; it must be one of ndk, ndk-sl"),
        ({"kind": "host", "library": "lib.so"}, "library needs an interface"),
        (
            {"kind": "host", "machine": "arm64", "interface": "ndk"},
            "interface is for this machine's own programs",
        ),
        ({"kind": "host", "port": 1}, "port is not a field of a device of kind host"),
        ({"kind": "adb", "transport": "bluetooth"}, "transport is 'bluetooth'"),
        ({"kind": "adb", "transport": "tcp"}, "host is missing"),
        ({"kind": "adb", "port": 0}, "port is 0; it must be a whole number from 1 to 65535"),
        ({"kind": "adb", "port": True}, "port is True"),
        ({"kind": "adb", "serial": 83}, "serial must be text; put it in quotes"),
        ({"kind": "virtual", "memory": "lots"}, "memory is 'lots'"),
        ({"kind": "virtual", "accel": "xen"}, "accel is 'xen'; it must be one of auto, kvm, tcg"),
        ({"kind": "host", "cpu": "cortex-a53"}, "cpu is for a machine that is emulated"),
        ({"kind": "host", "service": {}}, "service is not a field of a device of kind host"),
        ({"kind": "adb", "host": "phone"}, "host is not for a device on usb"),
        (
            {"kind": "adb", "transport": "tcp", "host": "phone", "serial": "X"},
            "serial is not for a device on tcp",
        ),
        ({"kind": "adb", "service": {"instance": "a b"}}, "'a b' is no name of a service"),
        (
            {"kind": "virtual", "machine": "mips"},
            "machine is 'mips'; it must be one of x86_64, arm",
        ),
        ({"kind": "virtual", "cpu": "max"}, "cpu is not a field of a device of kind virtual"),
        ({"kind": "adb", "machine": "arm64"}, "machine is not a field"),
        ({"kind": "virtual", "properties": [1]}, "properties must be a mapping"),
        ({"kind": "virtual", "properties": {"a": None}}, "properties.a must be text"),
        ({"kind": "host", "expected_failures": ["add"]}, "expected_failures must be a mapping"),
        ({"kind": "host", "expected_failures": {"a": None}}, "expected_failures.a must be text"),
        ({"kind": "adb", "service": {"name": "x"}}, "name is not a field of service"),
    ],
)
def test_a_wrong_field_is_named(content: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(content)
    assert message in str(caught.value)


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("kind: [unclosed")
    for path in (file, tmp_path / "missing.yaml"):
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_names_mean_devices() -> None:
    assert config_of("host").kind == "host"
    assert config_of("vm").kind == "virtual"
    for kind, name in (("host", "host-arm64"), ("virtual", "vm-arm64")):
        other = config_of(name)
        assert (other.kind, other.emulated()) == (kind, ARM64)
        assert config_of(name.removesuffix("-arm64")).emulated() == X86_64
    assert config_of("ndk") == DeviceConfig(kind="host", interface="ndk")
    support = config_of("ndk-sl:/opt/lib.so")
    assert (support.interface, support.library) == ("ndk-sl", Path("/opt/lib.so"))
    assert config_of("host").is_in_runner
    assert not support.is_in_runner
    phone = config_of("0A1B2C3D")
    assert (phone.kind, phone.transport, phone.serial) == ("adb", "usb", "0A1B2C3D")
    remote = config_of("192.168.0.7:5556")
    assert (remote.transport, remote.host, remote.port) == ("tcp", "192.168.0.7", 5556)


@pytest.mark.parametrize(
    "name", ["", "phone:", "phone:99999", ":5555", "no/such/file", "ndk-x:file"]
)
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is no device"):
        config_of(name)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# a phone\nkind: adb\ntransport: usb\nport: 0\n", 4, "port is 0; it must be a whole"),
        ("kind: virtual\nmemory: lots\n", 2, "memory is 'lots'"),
        (
            "kind: adb\nservice:\n  program: /x\n  instance: a b\n",
            4,
            "service.instance: 'a b' is no",
        ),
        ("kind: adb\n\nservice:\n  name: x\n", 4, "name is not a field of service"),
        ("kind: virtual\nproperties:\n  a: 1\n  b:\n", 4, "properties.b must be text"),
        (
            "kind: virtual\nproperties:\n  ro.a: 1\n  ro.b: null\n",
            4,
            "properties.ro.b must be text",
        ),
        ("kind: host\nport: 1\n", 2, "port is not a field of a device of kind host"),
        ("\nkind: phone\n", 2, "kind is 'phone'"),
        ("kind: host\nmachine: arm64\nkind: adb\n", 3, "kind is there twice"),
        ("kind: adb\ntransport: tcp\n", 2, "host is missing"),
        ("- kind: adb\n", 1, "the file must be a mapping"),
        ("", 1, "the file must be a mapping"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    file = tmp_path / "device.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}:{line}: {message}")


def test_the_machines_are_those_that_can_be_named() -> None:
    assert get_args(MachineName) == tuple(MACHINES)
