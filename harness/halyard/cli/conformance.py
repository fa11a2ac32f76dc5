# SPDX-License-Identifier: Apache-2.0
"""The command `halyard conformance`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import click

from halyard.cases.case import Case
from halyard.cli.fleet import Places, Several, run_several
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
from halyard.cli.reporting import conclude, ended_by, write_reports
from halyard.conformance.conformance_text import print_report
from halyard.conformance.driver import Driver
from halyard.conformance.expectations import Expectations
from halyard.conformance.history import History
from halyard.conformance.outcome import Outcome, Status, outcome_of
from halyard.conformance.plan import Plan, make_plan, parse_versions
from halyard.conformance.reports import Report, write_json, write_junit
from halyard.conformance.run import RunSettings, run
from halyard.conformance.selection import Selection
from halyard.errors import ConfigError, HalyardError
from halyard.terminal.console import Terminal
from halyard.terminal.progress import Progress
from halyard.transport.hal_version import METAVAR, NEWEST


@dataclass(frozen=True)
class Chosen:
    """Which of the cases. ConfigError for words that mean nothing."""

    expression: str
    operations: str
    types: str
    derived: str
    last_failed: bool

    def __post_init__(self) -> None:
        _ = self.selection

    @property
    def selection(self) -> Selection:
        return Selection.of(self.expression, self.operations, self.types)


_chosen_options = filled(
    "chosen",
    Chosen,
    click.option(
        "--derived",
        default="all",
        show_default=True,
        type=click.Choice(["all", "none"]),
        help="The cases that the official suite derives from each case.",
    ),
    click.option(
        "-k", "expression", default="", metavar="EXPR", help="By name: 'conv and not relu'."
    ),
    click.option(
        "--operations", default="", metavar="NAMES", help="Cases with any of them: CONV_2D."
    ),
    click.option(
        "--types", default="", metavar="NAMES", help="Cases with any of them: QUANT8_ASYMM."
    ),
    click.option("--last-failed", is_flag=True, help="What did not pass last time on the device."),
)

_fleet_options = filled(
    "places",
    Places,
    click.option(
        "--device",
        "name",
        default="host",
        show_default=True,
        metavar=DEVICES,
        shell_complete=completions.devices,
        help="Where the driver is; several with commas between: vm:1,vm:2.",
    ),
    click.option(
        "--shard", is_flag=True, help="Divide the cases among the devices. Left out: each runs all."
    ),
    click.option(
        "--dask",
        metavar="ADDRESS",
        help="Of a Dask scheduler: the devices are those of its workers' machines; DEVICE@WORKER "
        "says whose.",
    ),
    click.option(
        "--dask-plain",
        is_flag=True,
        help="Speak with a scheduler and workers of other machines without TLS: who is on the "
        "network between can run code on both ends.",
    ),
)


@click.command(
    epilog=examples(
        "halyard conformance my_op.mod.py",
        "halyard conformance --device vm --specs DIR --hal 1.2..1.3 --junit out.xml",
        "halyard conformance --device vm --goldens DIR --hal aidl",
        "halyard conformance --goldens DIR -k 'conv2d and not relu' --last-failed",
        "halyard conformance --goldens DIR --device vm:1,vm:2 --shard",
    )
)
@case_options()
@_fleet_options
@driver_options(
    hal_option(
        "HAL versions: each case runs through each that can carry it, or the lowest that can. "
        f"{NEWEST}",
        f"{METAVAR}|lowest",
    ),
    backends_option("In order of preference.", letter=False),
    instance_option("Use the service of this name, and start none."),
)
@_chosen_options
@pace_options("Cases at a time.", "case")
@written_options(junit_option)
def conformance(
    *,
    files: CaseFiles,
    places: Places,
    driver: DriverChoice,
    chosen: Chosen,
    settings: RunSettings,
    written: WrittenFiles,
) -> None:
    """Runs conformance cases on a device: FILEs, specs (my_op.mod.py) and golden data.

    Ends with exit code 0 only if nothing failed.
    """
    targets = places.targets()
    versions = parse_versions(driver.hal)
    configs = [target.config for target in targets]
    backends = driver.backends_on(*configs)
    driver.check_on(*configs)
    if driver.instance is not None and backends:
        raise ConfigError("--backends is for a service that is started here, not --instance")
    files.check()
    terminal = Terminal()
    problems: list[str] = []
    cases = _cases(terminal, files, chosen, problems)
    several = Several(targets, versions, backends, driver.instance, settings, places)
    if several.are_several:
        plan = several.plan(cases)
        if chosen.last_failed:
            names = frozenset().union(*(History(target.name).failed() for target in targets))
            plan = _only(plan, names, terminal)
        run_several(terminal, several, _not_empty(plan), problems, written)
    else:
        _run_one(terminal, several, cases, chosen, problems, written)


def _cases(
    terminal: Terminal, files: CaseFiles, chosen: Chosen, problems: list[str]
) -> Sequence[Case]:
    """`problems` grows by what can't be read. ConfigError, or HalyardError where that is why, if no
    case is left."""
    with terminal.step("Reading cases") as step:
        cases = files.cases(problems, derived=chosen.derived == "all")
        wanted = chosen.selection.of_cases(cases)
        step.outcome = f"{len(wanted)} of {len(cases)}"
        step.failed = bool(problems)
    for problem in problems:
        terminal.detail(problem)
    if not wanted:
        raise (HalyardError if problems else ConfigError)("no case is left to run")
    return wanted


def _not_empty(plan: Plan) -> Plan:
    if not plan.runs:
        raise ConfigError("no case is left to run")
    return plan


def _run_one(
    terminal: Terminal,
    several: Several,
    cases: Sequence[Case],
    chosen: Chosen,
    problems: Sequence[str],
    written: WrittenFiles,
) -> None:
    """On the one device that is named. Exits with 1 unless all is good."""
    [target] = several.targets
    history = History(target.name)
    with ExitStack() as stack:
        driver = stack.enter_context(several.opening(target).open(terminal))
        plan = make_plan(cases, several.versions, driver.newest)
        if chosen.last_failed:
            plan = _only(plan, history.failed(), terminal)
        expectations = Expectations(target.config.expected_failures)
        report, error = _run(terminal, driver, _not_empty(plan), expectations, several.settings)
        report = replace(report, unreadable=problems)
    history.keep(report.outcomes)
    written.keep([report.record()], target.name)
    print_report(terminal, report)
    write_reports(
        terminal,
        written,
        lambda path: write_json(path, report),
        lambda path: write_junit(path, report),
    )
    conclude(error, is_good=report.is_good)


def _only(plan: Plan, names: frozenset[str], terminal: Terminal) -> Plan:
    """The runs of the plan that failed last time; all of it where nothing did."""
    left = tuple(planned for planned in plan.runs if planned.name in names)
    if not left:
        terminal.line("Nothing of this failed last time on the device: running all")
        return plan
    return Plan(left, plan.left_out)


def _run(
    terminal: Terminal,
    driver: Driver,
    plan: Plan,
    expectations: Expectations,
    settings: RunSettings,
) -> tuple[Report, BaseException | None]:
    """The outcome, also of a run that was ended before its end, and by what it was."""
    outcomes: list[Outcome] = []
    version = ""
    error: BaseException | None = None
    progress = Progress(terminal, len(plan.runs), Status)
    begin = time.monotonic()
    with progress.shown():
        try:
            for planned, result in run(driver, plan.runs, settings):
                version = version or result.version_string
                outcome = outcome_of(planned.case, planned.name, result)
                outcome = expectations.judged(planned.case.name, outcome)
                words = driver.last_words() if outcome.status is Status.CRASHED else []
                outcomes.append(replace(outcome, log="\n".join(words)))
                progress.add(outcome)
                for line in words:
                    terminal.detail(line)
        except (HalyardError, KeyboardInterrupt, SystemExit) as caught:
            error = caught
    report = Report(
        device=driver.device.serial,
        target=driver.targets,
        driver=version,
        outcomes=outcomes,
        seconds=time.monotonic() - begin,
        planned=len(plan.runs),
        left_out=len(plan.left_out),
        ended=ended_by(error),
    )
    return report, error


COMMANDS = (conformance,)
