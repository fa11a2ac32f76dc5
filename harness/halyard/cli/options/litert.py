# SPDX-License-Identifier: Apache-2.0
"""Options that make no sense where LiteRT's runtime runs a model with Halyard inside."""

from __future__ import annotations

from collections.abc import Mapping

import click

from halyard.bench.pair import Spec
from halyard.cli.options.driver import DriverChoice
from halyard.devices.inside_litert import DOORS, LACKING, Door
from halyard.errors import ConfigError

NO_PROFILE = (
    "needs the driver in the runner's process: halyard.litert.delegate(profile=) writes what nodes "
    "take in LiteRT"
)


def check_in_litert(door: Door, driver: DriverChoice, others: Mapping[str, str | None]) -> None:
    """ConfigError for the first that is given. `others`: the command's own, with the reason of
    each that is given."""
    source = click.get_current_context().get_parameter_source("mode")
    is_mode_typed = source is click.core.ParameterSource.COMMANDLINE
    reasons = {
        "--hal": "is a version of NNAPI's interface" if driver.hal is not None else None,
        "--instance": "is for a service of Android's" if driver.instance is not None else None,
        "--mode": "is how NNAPI executes" if is_mode_typed else None,
        "--backends": LACKING[door].get("--backends") if driver.backends is not None else None,
        **others,
    }
    for option, reason in reasons.items():
        if reason is not None:
            raise ConfigError(f"--device {door} runs models in LiteRT: {option} {reason}")


def check_pair_side(spec: Spec, option: str) -> None:
    """ConfigError for what a side of that device can't have. `option` gave it."""
    doors = [door for door in DOORS if door == spec.device]
    if not doors:
        return
    reasons = {
        "backends=": LACKING[doors[0]].get("--backends") if spec.backends else None,
        "hal=": "is a version of NNAPI's interface" if spec.hal.text else None,
        "mode=": "is how NNAPI executes" if spec.mode != "sync" else None,
        "instance=": "is for a service of Android's" if spec.instance is not None else None,
    }
    for word, reason in reasons.items():
        if reason is not None:
            raise ConfigError(f"{option}: {spec.device} runs models in LiteRT: {word} {reason}")
