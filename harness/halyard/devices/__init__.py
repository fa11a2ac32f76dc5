# SPDX-License-Identifier: Apache-2.0
"""Devices: the protocol, the kinds of them, and `open_device`, which gives one by its name."""

from pathlib import Path
from typing import get_args

from halyard.devices.adb import AdbDevice
from halyard.devices.adb_link import usb_serials
from halyard.devices.config import DeviceConfig, check_vm_name, load
from halyard.devices.device import (
    WORK_FOLDER,
    CommandResult,
    Device,
    Progress,
    Service,
    ServiceOptions,
    Wire,
)
from halyard.devices.host import HostDevice
from halyard.devices.inside_litert import DOORS, REFUSAL, LiteRtDevice
from halyard.devices.library import Interface, LibraryDevice
from halyard.devices.link_errors import LinkBroken
from halyard.devices.virtual import VirtualDevice
from halyard.errors import ConfigError
from halyard.vm.machine_type import MACHINES
from halyard.vm.virtual_machine import StageListener, VmOptions

__all__ = [
    "WORK_FOLDER",
    "AdbDevice",
    "CommandResult",
    "Device",
    "HostDevice",
    "LibraryDevice",
    "LiteRtDevice",
    "Progress",
    "Service",
    "ServiceOptions",
    "VirtualDevice",
    "Wire",
    "check_there",
    "config_of",
    "open_config",
    "open_device",
    "place_of",
    "vm_options",
]


# Without those that are named by what they are on.
_NAMES = [f"{kind}{machine.suffix}" for machine in MACHINES.values() for kind in ("host", "vm")]
_NAMES += get_args(Interface)


def config_of(name: str) -> DeviceConfig:
    """The device that a name on the command line means.

    `host`; `vm`; the same emulated for another architecture, `host-arm64` and `vm-arm64`; one of
    several virtual devices, `vm:NAME`; NNAPI's C functions on this machine, `ndk` and `ndk-sl`, or
    those of another library, `ndk:FILE`; a YAML file; HOST:PORT for a phone on TCP; anything else
    is a USB serial.
    """
    for machine in MACHINES.values():
        if name == f"host{machine.suffix}":
            return DeviceConfig(kind="host", machine=machine.name if machine.suffix else None)
        kind, colon, own = name.partition(":")
        if kind == f"vm{machine.suffix}":
            if colon:
                check_vm_name(own)
            return DeviceConfig(kind="virtual", machine=machine.name, name=own or None)
    if name.partition(":")[0] in DOORS:
        raise ConfigError(f"{name}: {REFUSAL}")
    for interface in get_args(Interface):
        word, colon, library = name.partition(":")
        if word == interface:
            if colon and not library:
                raise ConfigError(f"{name!r}: the library has no name: {interface}:FILE")
            return DeviceConfig(
                kind="host", interface=interface, library=Path(library) if library else None
            )
    if name.endswith((".yaml", ".yml")):
        return load(Path(name))
    host, colon, port = name.rpartition(":")
    if colon and host and port.isdigit() and 0 < int(port) < 65536:
        return DeviceConfig(kind="adb", transport="tcp", host=host, port=int(port))
    if not name or colon or "/" in name:
        raise ConfigError(
            f"{name!r} is no device: give {', '.join(_NAMES)}, a serial, HOST:PORT or a YAML file"
        )
    return DeviceConfig(kind="adb", transport="usb", serial=name)


def place_of(name: str) -> DeviceConfig:
    """As config_of(), for commands that only want models run: LiteRT's runtime on this machine does
    that, too, as one of DOORS."""
    for door in DOORS:
        if name == door:
            return DeviceConfig(kind="host", door=door)
        if name.startswith(f"{door}:"):
            raise ConfigError(f"{name!r}: {door} takes no such words behind a colon")
    return config_of(name)


def vm_options(config: DeviceConfig) -> VmOptions:
    """A configuration's options of a virtual device."""
    return VmOptions(
        machine=config.emulated(),
        name=config.name or "",
        memory=config.memory,
        processors=config.processors,
        properties=config.properties,
        accel=config.accel,
    )


def open_config(config: DeviceConfig, on_stage: StageListener | None = None) -> Device:
    """A device that is there and answers. A virtual one is booted if none runs."""
    if config.door is not None:
        return LiteRtDevice(config.door)
    if config.interface is not None:
        return LibraryDevice(config.interface, config.library)
    if config.kind == "host":
        return HostDevice(config.emulated() if config.machine else None, config.cpu)
    if config.kind == "virtual":
        return VirtualDevice.open(vm_options(config), on_stage, asked=config.asked)
    if config.transport == "tcp":
        device = AdbDevice.tcp(config.host or "", config.port, config.key)
    else:
        check_there(config)
        device = AdbDevice.usb(config.serial, config.key)
    device.connect()
    return device


def check_there(config: DeviceConfig) -> None:
    """ConfigError, with what there is, for a phone that is not on USB: any word may be a serial."""
    if config.kind != "adb" or config.transport != "usb":
        return
    serial = config.serial
    try:
        there = usb_serials()
        found = f"on USB there is {', '.join(there)}" if there else "no phone is found on USB"
    except LinkBroken as error:
        there, found = [], str(error)
    if serial not in there and (serial is not None or not there):
        asked = f"{serial!r} is no device" if serial is not None else "there is no phone"
        raise ConfigError(
            f"{asked}: {found} (an adb server may hold it: adb kill-server). Other names are "
            f"{', '.join(_NAMES)}, HOST:PORT and YAML files: halyard devices"
        )


def open_device(name: str, on_stage: StageListener | None = None) -> Device:
    return open_config(config_of(name), on_stage)
