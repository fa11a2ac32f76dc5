# SPDX-License-Identifier: Apache-2.0
"""Devices: the protocol, the kinds of them, and `open_device`, which gives one by its name."""

from pathlib import Path

from halyard.devices.adb import AdbDevice
from halyard.devices.config import DeviceConfig, load
from halyard.devices.device import (
    WORK_FOLDER,
    CommandResult,
    Device,
    Progress,
    Service,
    ServiceOptions,
)
from halyard.devices.host import HostDevice
from halyard.devices.virtual import VirtualDevice
from halyard.errors import ConfigError
from halyard.vm.machine import MACHINES
from halyard.vm.virtual_machine import StageListener, VmOptions

__all__ = [
    "WORK_FOLDER",
    "AdbDevice",
    "CommandResult",
    "Device",
    "HostDevice",
    "Progress",
    "Service",
    "ServiceOptions",
    "VirtualDevice",
    "config_of",
    "open_config",
    "open_device",
]


def config_of(name: str) -> DeviceConfig:
    """What a name on the command line means.

    `host`; `vm`; the same emulated for another architecture, `host-arm64` and `vm-arm64`; a YAML
    file; HOST:PORT for a phone on TCP; anything else is a USB serial.
    """
    for machine in MACHINES.values():
        if name == f"host{machine.suffix}":
            return DeviceConfig(kind="host", machine=machine.name if machine.suffix else None)
        if name == f"vm{machine.suffix}":
            return DeviceConfig(kind="virtual", machine=machine.name)
    if name.endswith((".yaml", ".yml")):
        return load(Path(name))
    host, colon, port = name.rpartition(":")
    if colon and host and port.isdigit() and 0 < int(port) < 65536:
        return DeviceConfig(kind="adb", transport="tcp", host=host, port=int(port))
    if not name or colon or "/" in name:
        raise ConfigError(
            f"{name!r} is no device: give host, vm, host-arm64, vm-arm64, a serial, "
            "HOST:PORT or a YAML file"
        )
    return DeviceConfig(kind="adb", transport="usb", serial=name)


def open_config(config: DeviceConfig, on_stage: StageListener | None = None) -> Device:
    """A device that is there and answers. A virtual one is booted if none runs."""
    if config.kind == "host":
        return HostDevice(config.emulated() if config.machine else None, config.cpu)
    if config.kind == "virtual":
        options = VmOptions(
            machine=config.emulated(),
            memory=config.memory,
            processors=config.processors,
            properties=config.properties,
        )
        return VirtualDevice.open(options, on_stage)
    if config.transport == "tcp":
        device = AdbDevice.tcp(config.host or "", config.port, config.key)
    else:
        device = AdbDevice.usb(config.serial, config.key)
    device.connect()
    return device


def open_device(name: str, on_stage: StageListener | None = None) -> Device:
    return open_config(config_of(name), on_stage)
