# SPDX-License-Identifier: Apache-2.0
"""HAL versions: their names, and the lowest one that can carry a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from halyard.devices.device import Wire
from halyard.errors import ConfigError, HalyardError
from halyard.programs.validity import verdicts
from halyard.proto import halyard_pb2 as pb

# Those of HIDL. A later version is a larger number.
ALL = (pb.HAL_VERSION_1_0, pb.HAL_VERSION_1_1, pb.HAL_VERSION_1_2, pb.HAL_VERSION_1_3)
# Those of the stable AIDL interface.
AIDL = (
    pb.HAL_VERSION_AIDL_1,
    pb.HAL_VERSION_AIDL_2,
    pb.HAL_VERSION_AIDL_3,
    pb.HAL_VERSION_AIDL_4,
)


# For the help of --hal.
METAVAR = "1.0|1.1|1.2|1.3|aidl1|aidl2|aidl3|aidl4|aidl|A..B|all"
METAVAR_OF_ONE = "1.0|1.1|1.2|1.3|aidl1|aidl2|aidl3|aidl4|aidl"
NEWEST = (
    "aidl: the newest of AIDL's that is there; all: HIDL's. Left out: the newest, AIDL-4, "
    "in-process (the host); of a service the newest of HIDL's, or of AIDL's where the model needs "
    "one or a service of --instance has no other."
)


def parse(text: str) -> pb.HalVersion:
    """The version named "1.0" to "1.3", or "aidl1" to "aidl4" or "AIDL-1" to "AIDL-4", in any case.
    ConfigError for anything else."""
    for version in ALL + AIDL:
        if text.upper() in (format(version), format(version).replace("-", "")):
            return version
    raise ConfigError(f"no HAL version {text!r} (one of {', '.join(map(format, ALL + AIDL))})")


@dataclass(frozen=True)
class Choice:
    """The versions that --hal names. No versions: the newest that is there, of a service on
    `newest_of`."""

    text: str = ""
    versions: tuple[pb.HalVersion, ...] = ()
    newest_of: Wire = Wire.HIDL

    @property
    def wires(self) -> Sequence[Wire]:
        """On which a service has to be reached for all of it."""
        found = {wire_of(version) for version in self.versions} or {self.newest_of}
        return [wire for wire in Wire if wire in found]


def choose(text: str | None) -> Choice:
    """A version, a range A..B, `aidl` for the newest of AIDL's, or `all` of HIDL's; None: the
    newest. ConfigError for what names no version."""
    if text is None:
        return Choice()
    if text.lower() == Wire.AIDL:
        return Choice(text, newest_of=Wire.AIDL)
    if text == "all":
        return Choice(text, tuple(ALL))
    first, dots, last = text.partition("..")
    try:
        low, high = parse(first), parse(last if dots else first)
    except ConfigError as error:
        raise ConfigError(f"--hal {text}: {error}") from error
    if low > high:
        raise ConfigError(f"--hal {text}: the first version is the newer one")
    return Choice(text, tuple(version for version in ALL + AIDL if low <= version <= high))


def one_version(text: str | None, named: str = "") -> Choice:
    """The same, of one version or the newest of a wire. `named`: what asks for it."""
    chosen = choose(text)
    if len(chosen.versions) > 1:
        raise ConfigError(f"{named or f'--hal {text}'}: one HAL version, not several")
    return chosen


def wire_of(version: pb.HalVersion) -> Wire:
    """That carries the version."""
    return Wire.AIDL if version in AIDL else Wire.HIDL


def newest_of(wires: Collection[Wire]) -> pb.HalVersion:
    """The newest version that there is on any of the wires."""
    return AIDL[-1] if Wire.AIDL in wires else ALL[-1]


def format(version: int) -> str:
    """ "1.2" or "AIDL-2"; "newest" for HAL_VERSION_UNSPECIFIED."""
    if version == pb.HAL_VERSION_UNSPECIFIED:
        return "newest"
    if version >= pb.HAL_VERSION_AIDL_1:
        return f"AIDL-{version - pb.HAL_VERSION_AIDL_1 + 1}"
    return f"{version // 10}.{version % 10}"


def needed(lowest: int, option: str = "--hal ") -> str:
    """The message about a version that can't carry a model, with what to do: the option stands
    before another version."""
    instead = Wire.AIDL if lowest in AIDL else format(lowest)
    return f"the model needs HAL {format(lowest)} or newer: {option}{instead}, or leave it out"


def lowest_versions(models: Sequence[pb.Model]) -> list[pb.HalVersion]:
    """The lowest HAL version that can carry each model, of which the driver knows the rules;
    HAL_VERSION_UNSPECIFIED for a model that is valid in none."""
    return [result.hal_version for result in verdicts(models)]


def lowest_version(model: pb.Model) -> pb.HalVersion:
    """The same of one model. HalyardError, with the driver's reason, if it is valid in none. What
    the host runs as a whole leaves a model of nothing, which any can carry."""
    if not model.main.operands:
        return ALL[0]
    [result] = verdicts([model])
    if result.hal_version == pb.HAL_VERSION_UNSPECIFIED:
        raise HalyardError(
            f"no HAL version can carry {model.name or 'the model'}: {result.message}"
        )
    return result.hal_version
