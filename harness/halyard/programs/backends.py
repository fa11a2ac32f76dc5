# SPDX-License-Identifier: Apache-2.0
"""The driver's backends, by name, as a person lists them."""

import subprocess
from collections.abc import Sequence
from functools import cache

from halyard.errors import ConfigError, HalyardError
from halyard.programs import native


def parse(text: str | None, *, known: bool = True) -> list[str]:
    """The backends that --backends names, with commas between, each with its options behind colons;
    none where it is left out. ConfigError for a name that is empty or that, with `known`, the
    driver of this package does not know."""
    if text is None:
        return []
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ConfigError("--backends has an empty name")
    for name in names if known else ():
        backend = name.partition(":")[0]
        if backend not in built_in():
            raise ConfigError(f"--backends: no {backend!r}, there are {', '.join(built_in())}")
    return names


@cache
def built_in() -> Sequence[str]:
    """All that the driver of this package has a name for, whether or not it was built with them.
    HalyardError where it can't be asked."""
    program = native.program(native.RUNNER)
    done = subprocess.run([program, "--list-backends"], capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{program} --list-backends failed: {done.stderr.strip()}")
    return done.stdout.split()
