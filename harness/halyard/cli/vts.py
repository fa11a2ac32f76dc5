# SPDX-License-Identifier: Apache-2.0
"""The command `halyard vts`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from halyard import golden_folder, hal_version
from halyard.backends import parse as parse_backends
from halyard.cli.group import INTERRUPTED, examples
from halyard.cli.options import completions
from halyard.cli.options.device import METAVAR as DEVICES
from halyard.cli.options.json import json_option
from halyard.cli.options.results import keep, results_option
from halyard.conformance.collection import collect
from halyard.conformance.driver import Driver
from halyard.conformance.run import SECONDS_PER_CASE, RunSettings
from halyard.devices import check_there, config_of
from halyard.devices.config import check_instance
from halyard.errors import ConfigError, HalyardError
from halyard.hal_version import METAVAR, NEWEST
from halyard.output_file import check_writable
from halyard.progress import Progress
from halyard.terminal import Terminal
from halyard.vts.checks import all_checks
from halyard.vts.outcome import Outcome, Status
from halyard.vts.plan import Unit, make_plan, official
from halyard.vts.reports import Report, print_report, write_json, write_junit
from halyard.vts.run import jobs_on, newest_version, run_checks
from halyard.vts.selection import Wanted

_EXISTING = click.Path(exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog=examples(
        "halyard vts --device vm --hal 1.0..1.3 --json vts.json",
        "halyard vts --device vm --hal aidl --filter 'GeneratedTest.*' --sample 100",
        "halyard vts --device 0123456789 --instance vendor-npu",
        "halyard vts my_op.mod.py -k 'DynamicOutputShape or Fenced'",
    )
)
@click.argument("files", nargs=-1, type=_EXISTING, metavar="[FILE]...")
@click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=DEVICES,
    shell_complete=completions.device,
    help="Where the driver is.",
)
@click.option("--instance", metavar="NAME", help="Check the service of this name; start none.")
@click.option("--hal", metavar=METAVAR, help=f"HAL versions to check through. {NEWEST}")
@click.option(
    "--goldens",
    multiple=True,
    type=_EXISTING,
    help="Golden cases: a folder or a file. Where no cases are named: those of the folder "
    "$HALYARD_GOLDENS, or of a checkout, build/goldens or ../shared/conformance.",
)
@click.option("--specs", multiple=True, type=_EXISTING, help="Specs: a folder or a file.")
@click.option(
    "-k", "expression", default="", metavar="EXPR", help="By name: 'Fenced and not lstm'."
)
@click.option(
    "--filter", "patterns", default="", metavar="PATTERNS", help="By name, as --gtest_filter does."
)
@click.option(
    "--sample",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="So many cases of each kind, at random.",
)
@click.option("--seed", default=0, show_default=True, type=int, help="Of the sample.")
@click.option(
    "--backends",
    metavar="NAMES",
    shell_complete=completions.backend_list,
    help="In order of preference.",
)
@click.option(
    "--jobs",
    default=0,
    type=click.IntRange(0, 256),
    help="Cases at a time. 0: one per processor in-process, 4 on the virtual device, 1 on a phone.",
)
@click.option(
    "--timeout",
    default=SECONDS_PER_CASE,
    show_default=True,
    type=click.FloatRange(0.001, 3600),
    help="Seconds after which a check counts as hung.",
)
@json_option
@click.option("--junit", "junit_path", type=_FILE, metavar="FILE")
@results_option
def vts(
    *,
    files: tuple[Path, ...],
    name: str,
    instance: str | None,
    hal: str | None,
    goldens: tuple[Path, ...],
    specs: tuple[Path, ...],
    expression: str,
    patterns: str,
    sample: int,
    seed: int,
    backends: str | None,
    jobs: int,
    timeout: float,
    json_path: Path | None,
    junit_path: Path | None,
    results_path: Path | None,
) -> None:
    """Checks a device as the vendor test suite (VTS) does.

    Tests are named as there: GeneratedTest.Test/add_SYNC is what VTS does to the case `add` with
    synchronous calls. Ends with exit code 0 only if nothing failed.
    """
    for path in (json_path, junit_path):
        if path is not None:
            check_writable(path)
    config = config_of(name)
    choice = hal_version.choose(hal)
    wanted = Wanted(expression, patterns, sample, seed)
    wanted.matcher()
    chosen_backends = parse_backends(backends, known=config.kind != "adb")
    if instance is not None:
        if config.kind == "host":
            raise ConfigError("--instance needs a service, and so a device")
        if chosen_backends:
            raise ConfigError("--backends is for a service that is started here, not --instance")
        check_instance(instance, "--instance")
    check_there(config)
    if not (files or goldens or specs):
        folder = golden_folder.find()
        if folder is None:
            raise ConfigError(
                f"name cases: FILEs, --goldens or --specs; {golden_folder.HOW_TO_GET}"
            )
        goldens = (folder,)
    terminal = Terminal()
    problems: list[str] = []
    with terminal.step("Reading cases") as step:
        cases = official(collect(goldens, specs, derived=False, rest=files, problems=problems))
        step.outcome = str(len(cases))
        step.failed = bool(problems)
    for problem in problems:
        terminal.detail(problem)
    with ExitStack() as stack:
        with terminal.step(f"Opening {name}") as step:
            driver = stack.enter_context(
                Driver.open(
                    config,
                    backends=chosen_backends,
                    instance=instance,
                    wires=choice.wires,
                    on_stage=lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"),
                )
            )
            versions = choice.versions or (newest_version(driver),)
            spoken = ", ".join(map(hal_version.format, versions))
            step.outcome = f"{driver.device.serial}, {driver.targets}, HAL {spoken}"
        units = make_plan(cases, versions, all_checks(), wanted)
        if not units:
            raise (HalyardError if problems else ConfigError)("no test is left to be made")
        settings = RunSettings(seconds_per_case=timeout, jobs=jobs or jobs_on(config))
        if driver.device.is_emulated and not sample:
            terminal.line(_how_many(units))
        report, error = _run(terminal, driver, units, settings)
        report = replace(
            report, unreadable=problems, hal=[hal_version.format(each) for each in versions]
        )
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


def _how_many(units: Sequence[Unit]) -> str:
    """Of a device on which each takes a while."""
    checks = sum(len(unit.checks) for unit in units)
    return f"{checks} checks of an emulated device: --sample N makes fewer, of N cases of each kind"


def _run(
    terminal: Terminal, driver: Driver, units: list[Unit], settings: RunSettings
) -> tuple[Report, BaseException | None]:
    """What came out, also of a run that was ended before its end, and by what it was."""
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
    ended = str(error).partition("\n")[0] if isinstance(error, HalyardError) else "interrupted"
    report = Report(
        device=driver.device.serial,
        target=driver.targets,
        driver=version,
        hal=(),
        outcomes=outcomes,
        seconds=time.monotonic() - begin,
        planned=planned,
        ended=ended if error is not None else "",
    )
    return report, error
