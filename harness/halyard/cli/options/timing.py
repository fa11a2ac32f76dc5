# SPDX-License-Identifier: Apache-2.0
"""Options of commands that measure time: how often, how long, and how cool a device is before."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from halyard.bench.turns import Amount
from halyard.conditions import THROTTLING, Gate
from halyard.engines.served import Stretch
from halyard.errors import ConfigError

F = TypeVar("F", bound=Callable[..., None])

_SECONDS = click.FloatRange(0, 86_400)


@dataclass(frozen=True)
class Timing:
    """What the options say."""

    runs: int
    warmup: int
    warmup_s: float
    least_s: float
    most_s: float

    @property
    def amount(self) -> Amount:
        return Amount(self.runs, self.least_s, self.most_s or math.inf)

    @property
    def stretch(self) -> Stretch:
        """Of the warm-up."""
        return Stretch(self.warmup, self.warmup_s, self.most_s)


def timing_options(*names: str, runs: int, most_s: float) -> Callable[[F], F]:
    """`names` are those of the option that says how many executions count; `most_s`: 0 is no
    limit. The command gets a `timing`."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def collected(
            *,
            runs: int,
            warmup: int,
            warmup_secs: float,
            min_secs: float,
            max_secs: float,
            **more: Any,
        ) -> None:
            if max_secs and min_secs > max_secs:
                raise ConfigError(
                    f"--min-secs {min_secs:g} is more than --max-secs {max_secs:g}: raise that"
                )
            function(timing=Timing(runs, warmup, warmup_secs, min_secs, max_secs), **more)

        options = (
            click.option(
                *names,
                "runs",
                default=runs,
                show_default=True,
                type=click.IntRange(1, 100_000),
                help="Executions that count. Slow ones are fewer, by --max-secs.",
            ),
            click.option(
                "--warmup",
                default=1,
                show_default=True,
                type=click.IntRange(0, 100_000),
                help="Executions before them.",
            ),
            click.option(
                "--warmup-secs", default=0.0, type=_SECONDS, help="Warm up for so long at least."
            ),
            click.option(
                "--min-secs",
                default=0.0,
                type=_SECONDS,
                help="Count executions for so long at least.",
            ),
            click.option(
                "--max-secs",
                default=most_s,
                show_default=bool(most_s),
                type=_SECONDS,
                help="Count executions for so long at most, but three of them. 0: no limit.",
            ),
        )
        for option in reversed(options):
            collected = option(collected)
        return collected  # type: ignore[return-value]

    return decorate


sustained_option = click.option(
    "--sustained",
    default=0.0,
    type=_SECONDS,
    metavar="SECONDS",
    help="Also a load of ours for so long, and how its pace changes.",
)


def cooling_options(function: F) -> F:
    """The command gets a `gate`, and a `cool_down` in seconds."""

    @functools.wraps(function)
    def collected(
        *, max_temperature: float | None, max_throttling: str | None, patience: float, **more: Any
    ) -> None:
        function(gate=Gate(max_temperature, max_throttling, patience), **more)

    options = (
        click.option(
            "--max-temperature",
            type=click.FloatRange(-20, 150),
            metavar="CELSIUS",
            help="Before each measurement, wait until no part of the device is hotter.",
        ),
        click.option(
            "--max-throttling",
            type=click.Choice(THROTTLING),
            metavar="LEVEL",
            help=f"The same for Android's thermal status: {', '.join(THROTTLING)}.",
        ),
        click.option(
            "--cool-secs",
            "patience",
            default=300.0,
            show_default=True,
            type=_SECONDS,
            help="Wait for that no longer than so many seconds.",
        ),
        click.option(
            "--cool-down",
            default=0.0,
            type=_SECONDS,
            metavar="SECONDS",
            help="Pause before each measurement but the first.",
        ),
    )
    for option in reversed(options):
        collected = option(collected)
    return collected  # type: ignore[return-value]


class Percent(click.ParamType[float]):
    """A share: "5%" or "5" is 0.05."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            share = float(str(value).removesuffix("%")) / 100
        except ValueError:
            self.fail(f"{value!r} is no percentage, as 5% is", param, ctx)
        if not 0 <= share < 100:
            self.fail(f"{value!r} is not between 0% and 10000%", param, ctx)
        return share


def baseline_options(function: F) -> F:
    for option in (
        click.option(
            "--fail-above",
            type=Percent(),
            metavar="PERCENT",
            help="Exit with 1 where a model is slower by more than that, and not by chance.",
        ),
        click.option(
            "--baseline",
            type=click.Path(dir_okay=False, exists=True, path_type=Path),
            metavar="FILE",
            help="Compare with an earlier --json.",
        ),
    ):
        function = option(function)
    return function


def check_baseline(baseline: Path | None, fail_above: float | None) -> None:
    if fail_above is not None and baseline is None:
        raise ConfigError("--fail-above needs something to compare with: --baseline FILE")
