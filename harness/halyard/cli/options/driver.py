# SPDX-License-Identifier: Apache-2.0
"""Options about the driver: which backends, how many threads, through which HAL version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click

from halyard.cli.options import completions
from halyard.cli.options.filled import Decorator, filled
from halyard.devices.config import DeviceConfig, check_instance
from halyard.errors import ConfigError
from halyard.programs.backends import parse
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import EXECUTION_MODES
from halyard.transport import hal_version

F = TypeVar("F", bound=Callable[..., None])


@dataclass(frozen=True)
class DriverChoice:
    """A command line's options of the driver; the defaults set none. ConfigError for an instance
    whose name is none."""

    hal: str | None = None
    backends: str | None = None
    threads: int = 0  # 0: one per core
    fast_math: bool = False
    mode: str = "sync"
    instance: str | None = None  # a service that is there; None: one is started

    def __post_init__(self) -> None:
        if self.instance is not None:
            check_instance(self.instance, "--instance")

    def backends_on(self, *configs: DeviceConfig) -> Sequence[str]:
        """ConfigError for those that are not built in. A phone may have a service of its own, which
        knows what it has."""
        known = all(config.kind != "adb" for config in configs)
        return parse(self.backends, known=known)

    def check_on(self, *configs: DeviceConfig) -> None:
        """ConfigError where an instance is asked for and no service can be there."""
        if self.instance is not None and any(config.kind == "host" for config in configs):
            raise ConfigError("--instance needs a service, and so a device")

    @property
    def execution_mode(self) -> pb.ExecutionMode:
        return EXECUTION_MODES[self.mode]


def driver_options(*options: Decorator) -> Callable[[F], F]:
    """Of those below. The command gets a DriverChoice as `driver`."""
    return filled("driver", DriverChoice, *options)


def backends_option(text: str, *, letter: bool = True) -> Callable[[F], F]:
    return click.option(
        *(["-c"] if letter else []),
        "--backends",
        metavar="NAMES",
        shell_complete=completions.backend_list,
        help=text,
    )


def hal_option(text: str, metavar: str = hal_version.METAVAR) -> Callable[[F], F]:
    return click.option("--hal", metavar=metavar, help=text)


def threads_option(text: str = "0: one per core.") -> Callable[[F], F]:
    return click.option("--threads", type=click.IntRange(0, 64), default=0, help=text)


def fast_math_option(text: str) -> Callable[[F], F]:
    return click.option("-a", "--enable-fast-math", "fast_math", is_flag=True, help=text)


def mode_option(text: str, default: str) -> Callable[[F], F]:
    return click.option(
        "--mode",
        default=default,
        show_default=True,
        type=click.Choice(list(EXECUTION_MODES)),
        help=text,
    )


def instance_option(text: str) -> Callable[[F], F]:
    return click.option("--instance", metavar="NAME", help=text)
