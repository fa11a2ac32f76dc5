# SPDX-License-Identifier: Apache-2.0
"""Through which HAL version a device's service is reached, where none is named: the newest of
HIDL's, or AIDL's where the model needs one of those or the service has no other."""

from __future__ import annotations

from halyard.devices import Device, Wire
from halyard.devices.adb_service import list_services, registered
from halyard.errors import CommandFailed, ConfigError, TargetUnreachable
from halyard.model import RunnableModel
from halyard.transport import hal_version
from halyard.transport.hal_version import Choice


def resolve(choice: Choice, device: Device, model: RunnableModel, instance: str = "") -> Choice:
    """For a model on a service that is started, or on the one that is registered as `instance`.
    ConfigError for versions that can't carry the model, TargetUnreachable where there is no such
    service; either says what to do."""
    if choice.text or not device.has_binder:
        return choice
    there = _wires(device, instance) if instance else tuple(Wire)
    needs_aidl = hal_version.lowest_version(model.model) in hal_version.AIDL
    if Wire.AIDL in there and (needs_aidl or Wire.HIDL not in there):
        return hal_version.choose(str(Wire.AIDL))
    if needs_aidl:
        raise ConfigError(
            f"the model needs AIDL, and {instance} is registered over HIDL alone: leave it out to "
            "have a service started, or put it there with halyard deploy --wires hidl,aidl"
        )
    return choice


def carrying(choice: Choice, model: RunnableModel, named: str = "", option: str = "--hal ") -> None:
    """ConfigError unless all of its versions can carry the model. `named`: what asked for them;
    `option` stands before a version."""
    if not choice.versions:
        return
    lowest = hal_version.lowest_version(model.model)
    if min(choice.versions) < lowest:
        asked = named or f"{option}{choice.text}"
        raise ConfigError(f"{asked}: {hal_version.needed(lowest, option)}")


def _wires(device: Device, instance: str) -> tuple[Wire, ...]:
    """On which it is registered; both of them on a device that does not tell."""
    try:
        services = list_services(device)
    except CommandFailed:
        services = []
    there = tuple(wire for wire in Wire if registered(services, instance, [wire]))
    if services and not there:
        names = sorted(name for name in services if registered(services, name.rpartition("/")[2]))
        found = ", ".join(dict.fromkeys(name.rpartition("/")[2] for name in names)) or "none"
        doctor = f"halyard doctor --device {device.serial} --instance {instance}"
        raise TargetUnreachable(
            f"no service is registered as {instance}; there is {found}. {doctor} says why, and "
            "without --instance one is started",
            serial=device.serial,
        )
    return there or tuple(Wire)
