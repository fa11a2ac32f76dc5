# SPDX-License-Identifier: Apache-2.0
"""How a side is named on the command line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from halyard.devices import place_of
from halyard.devices.config import DeviceConfig, check_instance
from halyard.devices.inside_litert import DOORS, LACKING
from halyard.errors import ConfigError
from halyard.programs.backends import built_in
from halyard.programs.backends import parse as parse_backends
from halyard.transport import hal_version

METAVAR = "BACKENDS|DEVICE[:HAL][:instance=NAME][:backends=A+B]|LIBRARY|torch=FILE"

# By their names in engines/libraries.py.
LIBRARIES = ("litert", "litert-reference", "onnxruntime")


@dataclass(frozen=True)
class SideChoice:
    """A library by its name, or a device. `instance`: a service that is there already."""

    text: str
    library: str = ""
    script: str = ""  # a file of PyTorch's
    device: str = ""
    hal: hal_version.Choice = field(default_factory=hal_version.Choice)
    instance: str = ""
    backends: tuple[str, ...] = ()
    backend_folder: str = ""

    @property
    def config(self) -> DeviceConfig:
        if not self.device:
            # A phone on USB, if there is but one.
            return DeviceConfig(kind="adb", transport="usb")
        return place_of(self.device)

    @contextmanager
    def or_alike(self) -> Iterator[None]:
        """A name that is no device's may be meant for a backend or a library."""
        try:
            yield
        except ConfigError as error:
            names = {name.lower(): name for name in (*built_in(), *LIBRARIES, *DOORS)}
            word = re.split("[:,]", self.text.lower())[0]
            for each in difflib.get_close_matches(word, names, n=1):
                raise ConfigError(f"did you mean {names[each]}? {error}") from error
            raise


def choose(text: str, backend_folder: str = "") -> SideChoice:
    """ConfigError for what names no side. `backend_folder` has shared libraries whose backends may
    be named besides those of the driver."""
    if text.lower() in LIBRARIES:
        return SideChoice(text, library=text.lower())
    key, equals, path = text.partition("=")
    if equals and key == "torch":
        if not Path(path).is_file():
            raise ConfigError(f"{text}: there is no file {path}")
        return SideChoice(text, script=path)
    names = _backends(text, backend_folder)
    if names:
        return SideChoice(text, device="host", backends=names, backend_folder=backend_folder)
    return _device(text, backend_folder)


def _backends(text: str, backend_folder: str) -> tuple[str, ...]:
    """None where the text names a device. A serial has no small letters, and a backend has."""
    if backend_folder and re.match(r"[A-Z][A-Za-z]*[a-z]", text):
        return tuple(parse_backends(text, known=False))
    try:
        return tuple(parse_backends(text))
    except ConfigError:
        return ()


def _device(text: str, backend_folder: str) -> SideChoice:
    """The words behind colons at the end, as far as they are ours; the rest is the device."""
    device, hal, instance = text, hal_version.Choice(), ""
    backends: tuple[str, ...] = ()
    while True:
        before, _, last = device.rpartition(":")
        key, equals, value = last.partition("=")
        if equals and key == "instance":
            check_instance(value, f"{text}: instance")
            instance = value
        elif equals and key == "backends":
            backends = tuple(parse_backends(value.replace("+", ","), known=False))
        elif before and _is_version(last):
            hal = hal_version.one_version(last, text)
        else:
            break
        device = before
    if not device and not instance:
        raise ConfigError(f"{text!r} is no side: {METAVAR}; libraries are {', '.join(LIBRARIES)}")
    if device in DOORS:
        _check_in_litert(text, device, hal, instance, backends)
    side = SideChoice(text, "", "", device, hal, instance, backends, backend_folder)
    with side.or_alike():
        config = side.config
    if config.kind == "host" and instance:
        raise ConfigError(
            f"{text}: the host has no services: name a device, vm:instance={instance}"
        )
    if instance and backends:
        raise ConfigError(f"{text}: a service that is there has its own backends")
    return side


def _check_in_litert(
    text: str, device: str, hal: hal_version.Choice, instance: str, backends: Sequence[str]
) -> None:
    """ConfigError for what no runtime of LiteRT's has."""
    if hal.text:
        raise ConfigError(f"{text}: LiteRT's runtime has no HAL version {hal.text}")
    if instance:
        raise ConfigError(f"{text}: LiteRT's runtime has no services of Android's")
    for door in DOORS:
        if door == device and backends and (reason := LACKING[door].get("--backends")):
            raise ConfigError(f"{text}: a choice of backends {reason}")


def _is_version(text: str) -> bool:
    try:
        hal_version.choose(text)
    except ConfigError:
        return False
    return True
