# SPDX-License-Identifier: Apache-2.0
"""The command doctor: why is my driver not there?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import click

from halyard import output_file, records
from halyard.cli.group import examples
from halyard.cli.options.device import device_option
from halyard.cli.options.json import json_option
from halyard.cli.options.results import keep, results_option
from halyard.devices import config_of, open_config
from halyard.devices.config import check_instance
from halyard.doctor.examination import examine, record
from halyard.doctor.finding import Finding, Verdict
from halyard.output_file import check_writable
from halyard.terminal.console import Terminal, counted

_MARKS = {
    Verdict.OK: "ok      ",
    Verdict.WARNING: "warning ",
    Verdict.PROBLEM: "PROBLEM ",
    Verdict.UNKNOWN: "unknown ",
}


@click.command(
    epilog=examples(
        "halyard doctor --device vm",
        "halyard doctor --device SERIAL --instance google-edgetpu --json doctor.json",
    )
)
@device_option
@click.option(
    "--instance",
    metavar="NAME",
    help="The service's. Left out: as the device's configuration has it, or halyard-default.",
)
@click.option("-q", "--quiet", is_flag=True, help="Leave out what is as it should be.")
@json_option
@results_option
def doctor(
    *,
    name: str,
    instance: str | None,
    quiet: bool,
    json_path: Path | None,
    results_path: Path | None,
) -> None:
    """Says why a driver is not there, and what to type.

    Looks at adb, root, binder, the service managers, the program, its libraries, the .rc file, the
    VINTF manifest, the process, what is registered, SELinux, properties and backends. Exit code: 1
    where there is a problem.
    """
    config = config_of(name)
    if instance is not None:
        check_instance(instance, "--instance")
    if json_path is not None:
        check_writable(json_path)
    chosen = instance or config.service.instance
    terminal = Terminal()
    findings: list[Finding] = []
    found = examine(config, name, chosen, lambda: open_config(config))
    for check, group in groupby(_kept(found, findings), lambda finding: finding.check):
        show(terminal, check, list(group), quiet=quiet)
    document = record(name, chosen, findings)
    keep(results_path, [document], name)
    _conclude(terminal, findings, name)
    if json_path is not None:
        output_file.write(json_path, records.encode(document))
        terminal.line(f"report: {json_path}")
    if not document.ok:
        sys.exit(1)


def _kept(found: Iterator[Finding], findings: list[Finding]) -> Iterator[Finding]:
    for finding in found:
        findings.append(finding)
        yield finding


def show(terminal: Terminal, check: str, findings: Sequence[Finding], *, quiet: bool) -> None:
    """A line for each finding; below what is not as it should be, what mends it."""
    for finding in findings:
        if quiet and finding.verdict is Verdict.OK:
            continue
        terminal.line(f"{_MARKS[finding.verdict]} {check}: {finding.seen}")
        if finding.fix:
            terminal.detail(f"     fix: {finding.fix}")
        if finding.command:
            terminal.command(f"     $ {finding.command}")


def _conclude(terminal: Terminal, findings: Sequence[Finding], name: str) -> None:
    """The first problem is what to begin with: checks stand in the order of causes."""
    problems = [each for each in findings if each.verdict is Verdict.PROBLEM]
    terminal.line()
    if not problems:
        terminal.line(f"{name}: nothing keeps the driver from being there")
        return
    first = problems[0]
    count = counted(len(problems), "problem")
    terminal.line(f"{name}: {count}; begin with {first.check}: {first.seen}")
    if first.command:
        terminal.command(f"$ {first.command}")


COMMANDS = (doctor,)
