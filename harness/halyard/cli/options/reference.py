# SPDX-License-Identifier: Apache-2.0
"""A result without a reference to be compared with is no success: it is told, and may be held
against a command."""

from collections import Counter
from collections.abc import Sequence

import click

from halyard.records.run import NotCompared
from halyard.terminal.console import Terminal, counted

# Reasons that are shown one by one.
_MOST = 8

reference_option = click.option(
    "--require-reference",
    is_flag=True,
    help="Exit with 1 where something was not compared, for want of a reference's values.",
)


def print_not_compared(
    terminal: Terminal, not_compared: Sequence[NotCompared], total: int, noun: str
) -> None:
    """Of what there are `total`: what was not compared, each with the reason. Nothing where all
    were."""
    if not not_compared:
        return
    terminal.line(f"not compared: {len(not_compared)} of {counted(total, noun)}")
    reasons = Counter(each.reason for each in not_compared)
    for reason, count in reasons.most_common(_MOST):
        [first, *_] = [each.what for each in not_compared if each.reason == reason]
        more = f" and {count - 1} more" if count > 1 else ""
        terminal.detail(f"{first}{more}: {reason}" if first else reason)
    if len(reasons) > _MOST:
        terminal.detail(f"and {len(reasons) - _MOST} more reasons; --json has them all")
