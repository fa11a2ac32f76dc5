# SPDX-License-Identifier: Apache-2.0
"""How often and how long a model executes, and how cool its device is before."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from halyard.devices.conditions import Gate
from halyard.engines.served import Executions
from halyard.errors import ConfigError
from halyard.timing.turns import Amount


@dataclass(frozen=True)
class TimingOptions:
    """Seconds of 0 are no limit. ConfigError where `least_s` is more than `most_s`."""

    runs: int  # executions that count
    warmup: int = 1  # executions before them
    warmup_s: float = 0.0  # the warm-up lasts as long at least
    least_s: float = 0.0  # what counts lasts as long at least
    most_s: float = 0.0  # and as long at most
    sustained_s: float = 0.0  # a load of as many seconds afterwards
    gate: Gate = field(default_factory=Gate)  # before each measurement
    cool_down: float = 0.0  # seconds between two measurements

    def __post_init__(self) -> None:
        if self.most_s and self.least_s > self.most_s:
            raise ConfigError(
                f"--min-secs {self.least_s:g} is more than --max-secs {self.most_s:g}: raise that"
            )

    @property
    def amount(self) -> Amount:
        return Amount(self.runs, self.least_s, self.most_s or math.inf)

    @property
    def warm_up(self) -> Executions:
        return Executions(self.warmup, self.warmup_s, self.most_s)
