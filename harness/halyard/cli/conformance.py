# SPDX-License-Identifier: Apache-2.0
"""The command `halyard conformance`."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from halyard.backends import parse as parse_backends
from halyard.cli.fleet import Several, check_here, parse_targets, run_several
from halyard.cli.group import INTERRUPTED, examples
from halyard.cli.options import completions
from halyard.cli.options.device import METAVAR as DEVICES
from halyard.cli.options.json import json_option
from halyard.cli.options.results import keep, results_option
from halyard.conformance.collection import collect
from halyard.conformance.console import print_report
from halyard.conformance.driver import Driver
from halyard.conformance.expectations import Expectations
from halyard.conformance.history import History
from halyard.conformance.outcome import Outcome, Status, outcome_of
from halyard.conformance.plan import Plan, make_plan, parse_versions
from halyard.conformance.reports import Report, write_json, write_junit
from halyard.conformance.run import SECONDS_PER_CASE, RunSettings, run
from halyard.conformance.selection import Selection
from halyard.devices.config import check_instance
from halyard.errors import ConfigError, HalyardError
from halyard.hal_version import METAVAR, NEWEST
from halyard.output_file import check_writable
from halyard.progress import Progress
from halyard.terminal import Terminal

_EXISTING = click.Path(exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog=examples(
        "halyard conformance my_op.mod.py",
        "halyard conformance --device vm --specs DIR --hal 1.2..1.3 --junit out.xml",
        "halyard conformance --device vm --goldens DIR --hal aidl",
        "halyard conformance --goldens DIR -k 'conv2d and not relu' --last-failed",
        "halyard conformance --goldens DIR --device vm:1,vm:2 --shard",
    )
)
@click.argument("files", nargs=-1, type=_EXISTING, metavar="[FILE]...")
@click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=DEVICES,
    shell_complete=completions.devices,
    help="Where the driver is; several with commas between: vm:1,vm:2.",
)
@click.option(
    "--shard", is_flag=True, help="Divide the cases among the devices. Left out: each runs all."
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Of a Dask scheduler: the devices are those of its workers' machines; DEVICE@WORKER says "
    "whose.",
)
@click.option(
    "--dask-plain",
    is_flag=True,
    help="Speak with a scheduler and workers of other machines without TLS: who is on the network "
    "between can run code on both ends.",
)
@click.option("--goldens", multiple=True, type=_EXISTING, help="Golden cases: a folder or a file.")
@click.option("--specs", multiple=True, type=_EXISTING, help="Specs: a folder or a file.")
@click.option(
    "--hal",
    metavar=f"{METAVAR}|lowest",
    help="HAL versions: each case runs through each that can carry it, or the lowest that can. "
    f"{NEWEST}",
)
@click.option(
    "--backends",
    metavar="NAMES",
    shell_complete=completions.backend_list,
    help="In order of preference.",
)
@click.option(
    "--derived",
    default="all",
    show_default=True,
    type=click.Choice(["all", "none"]),
    help="The cases that the official suite derives from each case.",
)
@click.option("-k", "expression", default="", metavar="EXPR", help="By name: 'conv and not relu'.")
@click.option("--operations", default="", metavar="NAMES", help="Cases with any of them: CONV_2D.")
@click.option("--types", default="", metavar="NAMES", help="Cases with any of them: QUANT8_ASYMM.")
@click.option("--last-failed", is_flag=True, help="What did not pass last time on the device.")
@click.option("--jobs", default=0, type=click.IntRange(0, 256), help="Cases at a time.")
@click.option(
    "--timeout",
    default=SECONDS_PER_CASE,
    show_default=True,
    type=click.FloatRange(0.001, 3600),
    help="Seconds after which a case counts as hung.",
)
@click.option("--instance", metavar="NAME", help="Use the service of this name, and start none.")
@json_option
@click.option("--junit", "junit_path", type=_FILE, metavar="FILE")
@results_option
def conformance(
    *,
    files: tuple[Path, ...],
    name: str,
    shard: bool,
    dask: str | None,
    dask_plain: bool,
    goldens: tuple[Path, ...],
    specs: tuple[Path, ...],
    hal: str | None,
    backends: str | None,
    derived: str,
    expression: str,
    operations: str,
    types: str,
    last_failed: bool,
    jobs: int,
    timeout: float,
    instance: str | None,
    json_path: Path | None,
    junit_path: Path | None,
    results_path: Path | None,
) -> None:
    """Runs conformance cases on a device: FILEs, specs (my_op.mod.py) and golden data.

    Ends with exit code 0 only if nothing failed.
    """
    for path in (json_path, junit_path):
        if path is not None:
            check_writable(path)
    targets = parse_targets(name)
    configs = [target.config for target in targets]
    if shard and len(targets) == 1:
        raise ConfigError("--shard divides cases among several devices: --device vm:1,vm:2")
    versions = parse_versions(hal)
    selection = Selection.of(expression, operations, types)
    known = all(config.kind != "adb" for config in configs)
    chosen_backends = parse_backends(backends, known=known)
    if instance is not None:
        if any(config.kind == "host" for config in configs):
            raise ConfigError("--instance needs a service, and so a device")
        if chosen_backends:
            raise ConfigError("--backends is for a service that is started here, not --instance")
        check_instance(instance, "--instance")
    if dask is None:
        if dask_plain:
            raise ConfigError("--dask-plain is about --dask ADDRESS, which is not there")
        check_here(targets)
    if not (files or goldens or specs):
        raise ConfigError("name cases: FILEs, --goldens or --specs")
    terminal = Terminal()
    problems: list[str] = []
    with terminal.step("Reading cases") as step:
        cases = collect(goldens, specs, derived=derived == "all", rest=files, problems=problems)
        wanted = selection.of_cases(cases)
        step.outcome = f"{len(wanted)} of {len(cases)}"
        step.failed = bool(problems)
    for problem in problems:
        terminal.detail(problem)
    if not wanted:
        raise (HalyardError if problems else ConfigError)("no case is left to run")
    settings = RunSettings(seconds_per_case=timeout, jobs=jobs)
    if len(targets) > 1 or dask is not None:
        several = Several(targets, versions, chosen_backends, instance, settings, dask, dask_plain)
        plan = several.plan(wanted)
        if last_failed:
            failed = frozenset().union(*(History(target.name).failed() for target in targets))
            plan = _only(plan, failed, terminal)
        if not plan.runs:
            raise ConfigError("no case is left to run")
        run_several(terminal, several, plan, shard, problems, json_path, junit_path, results_path)
        return
    [config] = configs
    history = History(name)
    with ExitStack() as stack:
        with terminal.step(f"Opening {name}") as step:
            driver = stack.enter_context(
                Driver.open(
                    config,
                    backends=chosen_backends,
                    instance=instance,
                    wires=versions.wires,
                    on_stage=lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"),
                )
            )
            step.outcome = f"{driver.device.serial}, {driver.targets}"
        plan = make_plan(wanted, versions, driver.newest)
        if last_failed:
            plan = _only(plan, history.failed(), terminal)
        if not plan.runs:
            raise ConfigError("no case is left to run")
        expectations = Expectations(config.expected_failures)
        report, error = _run(terminal, driver, plan, expectations, settings)
        report = replace(report, unreadable=problems)
    history.keep(report.outcomes)
    keep(results_path, [report.record()], name)
    print_report(terminal, report)
    for write, path in ((write_json, json_path), (write_junit, junit_path)):
        if path is not None:
            write(path, report)
            terminal.line(f"report: {path}")
    if isinstance(error, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if error is not None:
        raise error
    if not report.is_good:
        sys.exit(1)


def _only(plan: Plan, names: frozenset[str], terminal: Terminal) -> Plan:
    """What failed last time, of the plan; all of it where nothing did."""
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
    """What came out, also of a run that was ended before its end, and by what it was."""
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
    ended = str(error).partition("\n")[0] if isinstance(error, HalyardError) else "interrupted"
    report = Report(
        device=driver.device.serial,
        target=driver.targets,
        driver=version,
        outcomes=outcomes,
        seconds=time.monotonic() - begin,
        planned=len(plan.runs),
        left_out=len(plan.left_out),
        ended=ended if error is not None else "",
    )
    return report, error
