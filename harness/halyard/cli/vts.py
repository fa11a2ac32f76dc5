# SPDX-License-Identifier: Apache-2.0
"""The command `halyard vts`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import click

from halyard import golden_folder
from halyard.cases.case import Case
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.cases import CaseFiles, case_options, pace_options
from halyard.cli.options.device import METAVAR as DEVICES
from halyard.cli.options.driver import (
    DriverChoice,
    backends_option,
    driver_options,
    hal_option,
    instance_option,
)
from halyard.cli.options.filled import filled
from halyard.cli.options.written import WrittenFiles, junit_option, written_options
from halyard.cli.reporting import Opening, conclude, ended_by, write_reports
from halyard.conformance.driver import Driver
from halyard.conformance.run import RunSettings
from halyard.devices import check_there, config_of
from halyard.errors import ConfigError, HalyardError
from halyard.terminal.console import Terminal
from halyard.terminal.progress import Progress
from halyard.transport import hal_version
from halyard.transport.hal_version import NEWEST
from halyard.vts.check_outcome import Outcome, Status
from halyard.vts.check_plan import Unit, make_plan, official
from halyard.vts.check_reports import Report, print_report, write_json, write_junit
from halyard.vts.check_run import jobs_on, newest_version, run_checks
from halyard.vts.check_selection import Wanted
from halyard.vts.checks import all_checks

_wanted_options = filled(
    "wanted",
    Wanted,
    click.option(
        "-k", "expression", default="", metavar="EXPR", help="By name: 'Fenced and not lstm'."
    ),
    click.option(
        "--filter", default="", metavar="PATTERNS", help="By name, as --gtest_filter does."
    ),
    click.option(
        "--sample",
        default=0,
        type=click.IntRange(0),
        metavar="N",
        help="So many cases of each kind, at random.",
    ),
    click.option("--seed", default=0, show_default=True, type=int, help="Of the sample."),
)


@click.command(
    epilog=examples(
        "halyard vts --device vm --hal 1.0..1.3 --json vts.json",
        "halyard vts --device vm --hal aidl --filter 'GeneratedTest.*' --sample 100",
        "halyard vts --device 0123456789 --instance vendor-npu",
        "halyard vts my_op.mod.py -k 'DynamicOutputShape or Fenced'",
    )
)
@case_options(
    "Golden cases: a folder or a file. Where no cases are named: those of the folder "
    "$HALYARD_GOLDENS, or of a checkout, build/goldens or ../shared/conformance."
)
@click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=DEVICES,
    shell_complete=completions.device,
    help="Where the driver is.",
)
@driver_options(
    instance_option("Check the service of this name; start none."),
    hal_option(f"HAL versions to check through. {NEWEST}"),
    backends_option("In order of preference.", letter=False),
)
@_wanted_options
@pace_options(
    "Cases at a time. 0: one per processor in-process, 4 on the virtual device, 1 on a phone.",
    "check",
)
@written_options(junit_option)
def vts(
    *,
    files: CaseFiles,
    name: str,
    driver: DriverChoice,
    wanted: Wanted,
    settings: RunSettings,
    written: WrittenFiles,
) -> None:
    """Checks a device as the vendor test suite (VTS) does.

    Tests are named as there: GeneratedTest.Test/add_SYNC is what VTS does to the case `add` with
    synchronous calls. Ends with exit code 0 only if nothing failed.
    """
    config = config_of(name)
    choice = hal_version.choose(driver.hal)
    wanted.matcher()
    backends = driver.backends_on(config)
    driver.check_on(config)
    if driver.instance is not None and backends:
        raise ConfigError("--backends is for a service that is started here, not --instance")
    check_there(config)
    if not files:
        folder = golden_folder.find()
        if folder is None:
            raise ConfigError(
                f"name cases: FILEs, --goldens or --specs; {golden_folder.HOW_TO_GET}"
            )
        files = CaseFiles(goldens=(folder,))
    terminal = Terminal()
    problems: list[str] = []
    cases = _cases(terminal, files, problems)
    opening = Opening(name, config, backends, driver.instance, choice.wires)
    with opening.open(terminal, lambda opened: f", HAL {_spoken(choice, opened)}") as opened:
        versions = choice.versions or (newest_version(opened),)
        units = make_plan(cases, versions, all_checks(), wanted)
        if not units:
            raise (HalyardError if problems else ConfigError)("no test is left to be made")
        if opened.device.is_emulated and not wanted.sample:
            terminal.line(_how_many(units))
        settings = replace(settings, jobs=settings.jobs or jobs_on(config))
        report, error = _run(terminal, opened, units, settings)
        report = replace(
            report, unreadable=problems, hal=[hal_version.format(each) for each in versions]
        )
    written.keep([report.record()], name)
    print_report(terminal, report)
    write_reports(
        terminal,
        written,
        lambda path: write_json(path, report),
        lambda path: write_junit(path, report),
    )
    conclude(error, is_good=report.is_good)


def _cases(terminal: Terminal, files: CaseFiles, problems: list[str]) -> list[Case]:
    """`problems` grows by what can't be read."""
    with terminal.step("Reading cases") as step:
        cases = official(files.cases(problems, derived=False))
        step.outcome = str(len(cases))
        step.failed = bool(problems)
    for problem in problems:
        terminal.detail(problem)
    return cases


def _spoken(choice: hal_version.Choice, driver: Driver) -> str:
    return ", ".join(map(hal_version.format, choice.versions or (newest_version(driver),)))


def _how_many(units: Sequence[Unit]) -> str:
    """Of a device on which each takes a while."""
    checks = sum(len(unit.checks) for unit in units)
    return f"{checks} checks of an emulated device: --sample N makes fewer, of N cases of each kind"


def _run(
    terminal: Terminal, driver: Driver, units: list[Unit], settings: RunSettings
) -> tuple[Report, BaseException | None]:
    """The outcome, also of a run that was ended before its end, and by what it was."""
    outcomes: list[Outcome] = []
    version = ""
    error: BaseException | None = None
    planned = sum(len(unit.checks) for unit in units)
    progress = Progress(terminal, planned, Status)
    begin = time.monotonic()
    with progress.shown():
        try:
            for outcome, told in run_checks(driver, units, settings):
                version = version or told
                outcomes.append(outcome)
                progress.add(outcome)
        except (HalyardError, KeyboardInterrupt, SystemExit) as caught:
            error = caught
    report = Report(
        device=driver.device.serial,
        target=driver.targets,
        driver=version,
        hal=(),
        outcomes=outcomes,
        seconds=time.monotonic() - begin,
        planned=planned,
        ended=ended_by(error),
    )
    return report, error


COMMANDS = (vts,)
