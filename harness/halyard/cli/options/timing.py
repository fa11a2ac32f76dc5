# SPDX-License-Identifier: Apache-2.0
"""Options of commands that measure time: how often, how long, and how cool a device is before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from halyard.bench import baseline, timed
from halyard.cli.options.filled import filled
from halyard.devices.conditions import THROTTLING, Gate
from halyard.errors import ConfigError
from halyard.measurement.timing_options import TimingOptions
from halyard.terminal.console import Terminal

F = TypeVar("F", bound=Callable[..., None])

_SECONDS = click.FloatRange(0, 86_400)


_SUSTAINED = click.option(
    "--sustained",
    "sustained_s",
    default=0.0,
    type=_SECONDS,
    metavar="SECONDS",
    help="Also a load of ours for so long, and how its pace changes.",
)

_GATE = filled(
    "gate",
    Gate,
    click.option(
        "--max-temperature",
        "most_c",
        type=click.FloatRange(-20, 150),
        metavar="CELSIUS",
        help="Before each measurement, wait until no part of the device is hotter.",
    ),
    click.option(
        "--max-throttling",
        "most_throttling",
        type=click.Choice(THROTTLING),
        metavar="LEVEL",
        help=f"The same for Android's thermal status: {', '.join(THROTTLING)}.",
    ),
    click.option(
        "--cool-secs",
        "patience_s",
        default=300.0,
        show_default=True,
        type=_SECONDS,
        help="Wait for that no longer than so many seconds.",
    ),
)

_COOL_DOWN = click.option(
    "--cool-down",
    default=0.0,
    type=_SECONDS,
    metavar="SECONDS",
    help="Pause before each measurement but the first.",
)


def timing_options(*names: str, runs: int, most_s: float, several: bool = True) -> Callable[[F], F]:
    """`names` are those of the option that says how many executions count; `most_s`: 0 is no
    limit. The command gets TimingOptions as `timing`. `several`: it measures one after the other,
    and each may have a load of its own."""
    options = [
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
            "--warmup-secs",
            "warmup_s",
            default=0.0,
            type=_SECONDS,
            help="Warm up for so long at least.",
        ),
        click.option(
            "--min-secs",
            "least_s",
            default=0.0,
            type=_SECONDS,
            help="Count executions for so long at least.",
        ),
        click.option(
            "--max-secs",
            "most_s",
            default=most_s,
            show_default=bool(most_s),
            type=_SECONDS,
            help="Count executions for so long at most, but three of them. 0: no limit.",
        ),
    ]
    if several:
        options += [_SUSTAINED, _GATE, _COOL_DOWN]
    else:
        options.append(_GATE)
    return filled("timing", TimingOptions, *options)


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


fail_above_option = click.option(
    "--fail-above",
    type=Percent(),
    metavar="PERCENT",
    help="Exit with 1 where a model is slower by more than that, and not by chance.",
)


@dataclass(frozen=True)
class Baseline:
    """An earlier run's measurements, and by how much this one may be slower."""

    path: Path | None = None
    fail_above: float | None = None

    def __post_init__(self) -> None:
        if self.fail_above is not None and self.path is None:
            raise ConfigError("--fail-above needs something to compare with: --baseline FILE")

    def read(self) -> timed.Documents | None:
        """HalyardError for a file that is none. To be read before anything is measured."""
        return timed.read(self.path) if self.path is not None else None

    def is_slower(
        self, terminal: Terminal, earlier: timed.Documents | None, now: timed.Documents
    ) -> bool:
        """Prints the two beside each other."""
        if earlier is None:
            return False
        terminal.heading("Beside the baseline")
        return baseline.judge(terminal, earlier, now, self.fail_above)


# The command gets a Baseline as `baseline`.
baseline_options = filled(
    "baseline",
    Baseline,
    click.option(
        "--baseline",
        "path",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE",
        help="Compare with an earlier --json.",
    ),
    fail_above_option,
)
