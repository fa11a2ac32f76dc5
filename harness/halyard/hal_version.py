# SPDX-License-Identifier: Apache-2.0
"""HAL versions: their names, and the lowest one that can carry a model."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from halyard import delimited, folders, native
from halyard.devices.config import DeviceConfig
from halyard.errors import ConfigError, HalyardError
from halyard.proto import halyard_pb2 as pb

# Those that a HIDL service may speak. A later version is a larger number.
ALL = (pb.HAL_VERSION_1_0, pb.HAL_VERSION_1_1, pb.HAL_VERSION_1_2, pb.HAL_VERSION_1_3)
# Those of the stable AIDL interface, which the driver has in-process only.
AIDL = (
    pb.HAL_VERSION_AIDL_1,
    pb.HAL_VERSION_AIDL_2,
    pb.HAL_VERSION_AIDL_3,
    pb.HAL_VERSION_AIDL_4,
)


# For the help of --hal.
METAVAR = "1.0|1.1|1.2|1.3|AIDL-1..AIDL-4|A..B|all"
NEWEST = (
    "Left out: the newest that is there: 1.3 of a service; in-process (the host) AIDL-4, as the "
    "driver knows the rules of AIDL's versions, too, but no service speaks them yet."
)


def parse(text: str) -> pb.HalVersion:
    """The version named "1.0" to "1.3" or "AIDL-1" to "AIDL-4", in any case. ConfigError for
    anything else."""
    for version in ALL + AIDL:
        if text.upper() == format(version):
            return version
    raise ConfigError(f"no HAL version {text!r} (one of {', '.join(map(format, ALL + AIDL))})")


def format(version: int) -> str:
    """ "1.2" or "AIDL-2"; "newest" for HAL_VERSION_UNSPECIFIED."""
    if version == pb.HAL_VERSION_UNSPECIFIED:
        return "newest"
    if version >= pb.HAL_VERSION_AIDL_1:
        return f"AIDL-{version - pb.HAL_VERSION_AIDL_1 + 1}"
    return f"{version // 10}.{version % 10}"


def check_reachable(text: str, versions: Sequence[pb.HalVersion], config: DeviceConfig) -> None:
    """ConfigError where --hal asks a service for nothing but AIDL's versions, which it lacks."""
    if config.kind != "host" and versions and not set(versions) & set(ALL):
        raise ConfigError(
            f"--hal {text}: the service speaks HIDL 1.0 to 1.3; what AIDL changed is there "
            "in-process only (--device host)"
        )


def lowest_versions(models: Sequence[pb.Model]) -> list[pb.HalVersion]:
    """The lowest HAL version that can carry each model, of which the driver knows the rules;
    HAL_VERSION_UNSPECIFIED for a model that is valid in none."""
    return [result.hal_version for result in _ask(models)]


def lowest_version(model: pb.Model) -> pb.HalVersion:
    """The same of one model. HalyardError, with the driver's reason, if it is valid in none."""
    [result] = _ask([model])
    if result.hal_version == pb.HAL_VERSION_UNSPECIFIED:
        raise HalyardError(
            f"no HAL version can carry {model.name or 'the model'}: {result.message}"
        )
    return result.hal_version


def _ask(models: Sequence[pb.Model]) -> list[pb.CaseResult]:
    """What this machine's runner says of the models, in one process."""
    program = native.program(native.RUNNER)
    with folders.Temporary("hal") as folder:
        bundle, results = folder / "bundle", folder / "results"
        bundle.write_bytes(delimited.write(pb.TestCase(model=model) for model in models))
        done = subprocess.run(
            [program, "--lowest-hal", "--bundle", bundle, "--results", results],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise HalyardError(f"{program} --lowest-hal failed: {done.stderr.strip()}")
        answers = list(delimited.read(results.read_bytes(), pb.CaseResult))
    if len(answers) != len(models):
        raise HalyardError(f"{program} gave {len(answers)} answers for {len(models)} models")
    return answers
