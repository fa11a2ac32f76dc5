# SPDX-License-Identifier: Apache-2.0
"""Device configurations: one YAML file per device.

kind: adb                  # host, virtual or adb
machine: arm64             # host, virtual: x86_64 or arm64, emulated; left out: host: this machine
cpu: cortex-a53            # host with another machine: the processor that QEMU emulates
accel: auto                # virtual: kvm, tcg (emulated), or auto: KVM where a guest boots with it
transport: usb             # adb: usb or tcp
serial: 0A1B2C3D           # usb: which phone; left out: the only one
host: 192.168.0.7          # tcp
port: 5555                 # tcp
key: ~/.android/adbkey     # adb: the private key; made if it is not there
memory: 1024               # virtual: MiB
processors: 2              # virtual
properties:                # virtual: what getprop answers beside the defaults
  ro.build.version.sdk: 30
service:                   # virtual, adb: where the service lies on the device, and its name
  program: /vendor/bin/hw/android.hardware.neuralnetworks@1.3-service-halyard
  instance: halyard-default
expected_failures:         # conformance cases that fail here: patterns of names, and why
  conv_quant8_*: rounds halves up
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from halyard.devices.device import ServiceOptions
from halyard.errors import ConfigError
from halyard.vm.accelerator import Accel
from halyard.vm.machine import MACHINES, X86_64, Machine

Kind = Literal["host", "virtual", "adb"]
Transport = Literal["usb", "tcp"]

_ALLOWED: Mapping[str, frozenset[str]] = {
    "host": frozenset({"machine", "cpu"}),
    "virtual": frozenset({"machine", "accel", "memory", "processors", "properties", "service"}),
    "adb": frozenset({"transport", "serial", "host", "port", "key", "service"}),
}
_COMMON = frozenset({"kind", "expected_failures"})
# Of a phone, those that only one of the transports has.
_OF_TRANSPORT: Mapping[str, frozenset[str]] = {
    "usb": frozenset({"serial"}),
    "tcp": frozenset({"host", "port"}),
}


@dataclass(frozen=True)
class ServiceConfig:
    program: str = ServiceOptions.program
    instance: str = ServiceOptions.instance


@dataclass(frozen=True)
class DeviceConfig:
    kind: Kind
    machine: str | None = None  # one of MACHINES
    cpu: str | None = None
    accel: Accel = Accel.AUTO
    transport: Transport = "usb"
    serial: str | None = None
    host: str | None = None
    port: int = 5555
    key: Path | None = None
    memory: int = 1024
    processors: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    service: ServiceConfig = ServiceConfig()
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    # The fields that a file sets: a virtual device that runs has to be as these say.
    asked: frozenset[str] = frozenset()

    def emulated(self) -> Machine:
        """What a virtual device is, or a host stands for."""
        return MACHINES[self.machine] if self.machine else X86_64


def load(path: Path) -> DeviceConfig:
    """Reads a file. ConfigError names the file, the field and what it may be."""
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
    try:
        return parse(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse(content: object) -> DeviceConfig:
    top = _mapping(content, "the file")
    kind = _one_of(top, "kind", get_args(Kind))
    _known(top, _ALLOWED[kind] | _COMMON, f"a device of kind {kind}")
    service = _mapping(top.get("service", {}), "service")
    _known(service, {item.name for item in fields(ServiceConfig)}, "service")
    values: dict[str, Any] = {"kind": kind}
    if "transport" in top:
        values["transport"] = _one_of(top, "transport", get_args(Transport))
    if "machine" in top:
        values["machine"] = _one_of(top, "machine", tuple(MACHINES))
    if "cpu" in top:
        values["cpu"] = _text(top["cpu"], "cpu")
        if "machine" not in top or MACHINES[values["machine"]].is_here():
            raise ConfigError("cpu is for a machine that is emulated: name another one by machine")
    if "accel" in top:
        values["accel"] = Accel(_one_of(top, "accel", tuple(Accel)))
    for name in ("serial", "host"):
        if name in top:
            # A serial such as 0123 unquoted is an octal number to YAML.
            if not isinstance(top[name], str):
                raise ConfigError(f"{name} must be text; put it in quotes")
            values[name] = _text(top[name], name)
    for name, low, high in (("port", 1, 65535), ("memory", 256, 65536), ("processors", 1, 64)):
        if name in top:
            values[name] = _integer(top[name], name, low, high)
    if "key" in top:
        values["key"] = Path(_text(top["key"], "key")).expanduser()
    if "properties" in top:
        properties = _mapping(top["properties"], "properties")
        values["properties"] = {
            name: _text(value, f"properties.{name}") for name, value in properties.items()
        }
    expected = _mapping(top.get("expected_failures", {}), "expected_failures")
    values["expected_failures"] = {
        pattern: _text(reason, f"expected_failures.{pattern}")
        for pattern, reason in expected.items()
    }
    if "instance" in service:
        check_instance(str(service["instance"]), "service.instance")
    values["service"] = ServiceConfig(
        **{name: _text(value, f"service.{name}") for name, value in service.items()}
    )
    config = DeviceConfig(**values, asked=frozenset(top))
    other = _OF_TRANSPORT["usb" if config.transport == "tcp" else "tcp"]
    for name in sorted(other & set(top)):
        raise ConfigError(f"{name} is not for a device on {config.transport}")
    if config.kind == "adb" and config.transport == "tcp" and config.host is None:
        raise ConfigError("host is missing: a device on tcp needs it")
    return config


def check_instance(name: str, what: str) -> None:
    """ConfigError for what can't be a service's name."""
    if not re.fullmatch(r"[A-Za-z0-9_.:@+-]{1,100}", name):
        raise ConfigError(
            f"{what}: {name!r} is no name of a service; it may have letters, digits and _.:@+-"
        )


def _mapping(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{name} must be a mapping of names to values")
    return value


def _known(given: Mapping[str, object], allowed: set[str] | frozenset[str], owner: str) -> None:
    for name in given:
        if name not in allowed:
            fields_there = ", ".join(sorted(allowed))
            raise ConfigError(f"{name} is not a field of {owner}; it has {fields_there}")


def _one_of(given: Mapping[str, object], name: str, choices: Sequence[str]) -> Any:
    if given.get(name) not in choices:
        raise ConfigError(f"{name} is {given.get(name)!r}; it must be one of {', '.join(choices)}")
    return given[name]


def _text(value: object, name: str) -> str:
    # YAML reads a bare number or truth value as such; a serial or a property is text all the same.
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float) or value == "":
        raise ConfigError(f"{name} must be text")
    return str(value)


def _integer(value: object, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
    return value
