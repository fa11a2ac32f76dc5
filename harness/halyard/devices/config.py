# SPDX-License-Identifier: Apache-2.0
"""Device configurations: one YAML file per device.

kind: adb                  # host, virtual or adb
machine: arm64             # host, virtual: x86_64 or arm64, emulated; left out: host: this machine
cpu: cortex-a53            # host with another machine: the processor that QEMU emulates
interface: ndk             # host: ndk or ndk-sl: models go through NNAPI's C functions
library: lib/lib.so        # host: whose functions; left out: Halyard's own
accel: auto                # virtual: kvm, tcg (emulated), or auto: KVM where a guest boots with it
name: left                 # virtual: which of several, as in vm:left
transport: usb             # adb: usb or tcp
serial: 0A1B2C3D           # usb: which phone; left out: the only one
host: 192.168.0.7          # tcp
port: 5555                 # tcp
key: ~/.android/adbkey     # adb: the private key; made if it is not there
memory: 1024               # virtual: MiB
processors: 2              # virtual
properties:                # virtual: what getprop answers beside the defaults
  ro.build.version.sdk: 34
service:                   # virtual, adb: where the service lies on the device, and its name
  program: /vendor/bin/hw/android.hardware.neuralnetworks@1.3-service-halyard
  instance: halyard-default
expected_failures:         # conformance cases that fail here: patterns of names, and why
  conv_quant8_*: rounds halves up
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
import yaml
from msgspec import inspect

from halyard.devices.device import ServiceOptions
from halyard.devices.inside_litert import Door
from halyard.devices.library import Interface
from halyard.errors import ConfigError
from halyard.vm.accelerator import Accel
from halyard.vm.machine_type import MACHINES, X86_64, Machine, MachineName

Kind = Literal["host", "virtual", "adb"]
Transport = Literal["usb", "tcp"]
# In the order in which a person reads them.
_CHOICES = {
    "kind": get_args(Kind),
    "transport": get_args(Transport),
    "machine": tuple(MACHINES),
    "interface": get_args(Interface),
}
Text = Annotated[str, msgspec.Meta(min_length=1)]

_ALLOWED: Mapping[str, frozenset[str]] = {
    "host": frozenset({"machine", "cpu", "interface", "library"}),
    "virtual": frozenset(
        {"machine", "accel", "memory", "name", "processors", "properties", "service"}
    ),
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
    program: Text = ServiceOptions.program
    instance: Text = ServiceOptions.instance


@dataclass(frozen=True)
class DeviceConfig:
    kind: Kind
    machine: MachineName | None = None
    cpu: Text | None = None
    interface: Interface | None = None
    library: Path | None = None
    # Of LiteRT's runtime, which no file names.
    door: Door | None = None
    accel: Accel = Accel.AUTO
    name: Text | None = None
    transport: Transport = "usb"
    serial: Text | None = None
    host: Text | None = None
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 5555
    key: Path | None = None
    memory: Annotated[int, msgspec.Meta(ge=256, le=65536)] = 1024
    processors: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    service: ServiceConfig = ServiceConfig()
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    # The fields that a file sets: a virtual device that runs has to be as these say.
    asked: frozenset[str] = frozenset()

    @property
    def is_in_runner(self) -> bool:
        """Whether the driver is the runner's own: it can be asked what no interface tells."""
        return self.kind == "host" and self.interface is None and self.door is None

    def emulated(self) -> Machine:
        """The machine that a virtual device is, or a host stands for."""
        return MACHINES[self.machine] if self.machine else X86_64


class FieldError(ConfigError):
    """An error in a field. `field` is its name, with those around it: service.instance."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def load(path: Path) -> DeviceConfig:
    """Reads a file. ConfigError names the file, the line, the field and what it may be."""
    try:
        node = yaml.compose(path.read_text(), Loader=yaml.SafeLoader)
        content = _content(node)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except FieldError as error:
        raise ConfigError(f"{path}:{_line(node, error.field)}: {error}") from error
    try:
        return parse(content)
    except FieldError as error:
        raise ConfigError(f"{path}:{_line(node, error.field)}: {error}") from error


def parse(content: object) -> DeviceConfig:
    """FieldError for what is none."""
    top = dict(_mapping(content, ""))
    if top.get("kind") not in _ALLOWED:
        raise _refused("kind", top.get("kind"))
    kind = str(top["kind"])
    _known(top, "", _ALLOWED[kind] | _COMMON, f"a device of kind {kind}")
    for name in ("properties", "expected_failures", "service"):
        if name in top:
            given = _mapping(top[name], name)
            top[name] = {key: _text(value, f"{name}.{key}") for key, value in given.items()}
    if "service" in top:
        service = _mapping(top["service"], "service")
        _known(service, "service.", {*ServiceConfig.__annotations__}, "service")
        if "instance" in service:
            check_instance(str(service["instance"]), "service.instance")
    if "name" in top:
        check_vm_name(_text(top["name"], "name"))
    for name in ("cpu", "key", "name"):
        if name in top:
            top[name] = _text(top[name], name)
    for name in ("serial", "host"):
        # A serial such as 0123 unquoted is an octal number to YAML.
        if name in top and not isinstance(top[name], str):
            raise FieldError(f"{name} must be text; put it in quotes", name)
    try:
        config = msgspec.convert({**top, "asked": [*top]}, DeviceConfig, dec_hook=_decoded)
    except msgspec.ValidationError as problem:
        # The values of mappings have been looked at: what is left is a field of the file's own.
        found = re.search(r"at `\$\.(\w+)", str(problem))
        raise _refused(found[1], top[found[1]]) if found else FieldError(str(problem)) from problem
    if config.cpu is not None and (config.machine is None or config.emulated().is_here()):
        raise FieldError(
            "cpu is for a machine that is emulated: name another one by machine", "cpu"
        )
    if config.library is not None and config.interface is None:
        raise FieldError("library needs an interface: ndk or ndk-sl", "library")
    if config.interface is not None and not config.emulated().is_here():
        raise FieldError("interface is for this machine's own programs", "interface")
    other = _OF_TRANSPORT["usb" if config.transport == "tcp" else "tcp"]
    for name in sorted(other & set(top)):
        raise FieldError(f"{name} is not for a device on {config.transport}", name)
    if config.kind == "adb" and config.transport == "tcp" and config.host is None:
        raise FieldError("host is missing: a device on tcp needs it", "transport")
    return config


def check_instance(name: str, what: str) -> None:
    """ConfigError for what can't be a service's name."""
    if not re.fullmatch(r"[A-Za-z0-9_.:@+-]{1,100}", name):
        raise FieldError(
            f"{what}: {name!r} is no name of a service; it may have letters, digits and _.:@+-",
            what,
        )


def check_vm_name(name: str) -> None:
    """ConfigError for what can't tell a virtual device from others."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
        raise FieldError(
            f"{name!r} is no name of a virtual device; it may have letters, digits, _ and -", "name"
        )


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise FieldError(f"{name or 'the file'} must be a mapping of names to values", name)
    return value


def _known(
    given: Mapping[str, object], before: str, allowed: set[str] | frozenset[str], owner: str
) -> None:
    for name in given:
        if name not in allowed:
            fields_there = ", ".join(sorted(allowed))
            raise FieldError(
                f"{name} is not a field of {owner}; it has {fields_there}", before + name
            )


def _text(value: object, name: str) -> str:
    # YAML reads a bare number or truth value as such; a property is text all the same.
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float) or value == "":
        raise FieldError(f"{name} must be text", name)
    return str(value)


def _decoded(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value).expanduser()
    raise NotImplementedError(kind)


def _refused(name: str, value: object) -> FieldError:
    """That the value is not what the field's type asks for."""
    described = inspect.type_info(DeviceConfig)
    assert isinstance(described, inspect.DataclassType)
    [kind] = [each.type for each in described.fields if each.name == name]
    if isinstance(kind, inspect.UnionType):
        kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    match kind:
        case inspect.IntType(ge=low, le=high):
            wanted = f"a whole number from {low} to {high}"
        case inspect.LiteralType(values=values):
            wanted = f"one of {', '.join(_CHOICES.get(name, values))}"
        case inspect.EnumType(cls=cls):
            wanted = f"one of {', '.join(str(each.value) for each in cls)}"
        case _:
            wanted = "text"
    return FieldError(f"{name} is {value!r}; it must be {wanted}", name)


# ---- lines --------------------------------------------------------------------------------------


def _content(node: yaml.Node | None) -> object:
    """The file's contents. FieldError for a name that is there twice, of which YAML takes the last
    one without a word."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise FieldError(f"{key.value} is there twice", key.value)
            seen.add(key.value)
    return None if node is None else yaml.SafeLoader("").construct_document(node)


def _line(node: yaml.Node | None, field: str) -> int:
    """Where the field, or what is nearest around it, stands; of one that is there twice the
    last."""
    if node is None:
        return 1
    line: int = node.start_mark.line + 1
    names = field.split(".") if field else []
    for number in range(len(names)):
        name, rest = ".".join(names[: number + 1]), ".".join(names[number + 1 :])
        for key, value in reversed(node.value if isinstance(node, yaml.MappingNode) else []):
            if key.value == name:
                own: int = key.start_mark.line + 1
                return max(own, _line(value, rest) if rest else 0)
    return line
