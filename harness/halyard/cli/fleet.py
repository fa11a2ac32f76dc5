# SPDX-License-Identifier: Apache-2.0
"""`halyard conformance` on several devices: how they are named, what is shown and written."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.cases.case import Case
from halyard.cli.group import INTERRUPTED
from halyard.cli.options.results import keep
from halyard.conformance.console import print_differences, print_report, print_schedule
from halyard.conformance.fleet import Fleet, Mode, Share, differences
from halyard.conformance.history import History
from halyard.conformance.lane import DeviceLane, Lane, Post
from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.plan import Plan, VersionChoice, make_plan
from halyard.conformance.reports import Report, write_json, write_junit
from halyard.conformance.run import RunSettings
from halyard.devices import check_there, config_of
from halyard.devices.config import DeviceConfig
from halyard.errors import ConfigError, HalyardError
from halyard.hal_version import newest_of
from halyard.progress import Progress
from halyard.proto import halyard_pb2 as pb
from halyard.terminal import Terminal, counted


@dataclass(frozen=True)
class Target:
    """A device of the command line, and the worker that has it, where it says so."""

    name: str
    config: DeviceConfig
    worker: str = ""


def parse_targets(text: str) -> list[Target]:
    """Of `vm:1,vm:2`, and with workers `vm:1@machine`. ConfigError for what names none, and for a
    device that is named twice."""
    found: list[Target] = []
    for word in text.split(","):
        name, at, worker = word.strip().partition("@")
        if at and not worker:
            raise ConfigError(f"--device {text}: no worker is named behind {name}@")
        if any((each.name, each.worker) == (name, worker) for each in found):
            hint = "; vm:1 and vm:2 are two virtual devices" if name.startswith("vm") else ""
            raise ConfigError(f"--device {text}: {name} is there twice{hint}")
        found.append(Target(name, config_of(name), worker))
    return found


def check_here(targets: Sequence[Target]) -> None:
    """ConfigError for phones that are not there, and for workers without --dask."""
    for target in targets:
        if target.worker:
            raise ConfigError(f"--device {target.name}@{target.worker} needs --dask ADDRESS")
        check_there(target.config)


@dataclass(frozen=True)
class Several:
    """The devices, and how each is to run cases."""

    targets: Sequence[Target]
    versions: VersionChoice
    backends: Sequence[str]
    instance: str | None
    settings: RunSettings
    dask: str | None
    dask_plain: bool = False

    def plan(self, cases: Sequence[Case]) -> Plan:
        """The cases that all of the devices can carry: every one of them may have to."""
        is_host = all(target.config.kind == "host" for target in self.targets)
        newest = pb.HAL_VERSION_UNSPECIFIED if is_host else newest_of(self.versions.wires)
        return make_plan(cases, self.versions, newest)

    def lanes(self, stack: contextlib.ExitStack) -> list[Lane]:
        posts = [
            Post(
                target.name if not target.worker else f"{target.name}@{target.worker}",
                target.config,
                tuple(self.backends),
                self.instance,
                tuple(self.versions.wires),
                self.settings,
            )
            for target in self.targets
        ]
        if self.dask is None:
            return [DeviceLane(post) for post in posts]
        # Its package is there only where it is wanted.
        from halyard.conformance.dask_lanes import Cluster

        cluster = stack.enter_context(Cluster(self.dask, plain=self.dask_plain))
        workers = [target.worker for target in self.targets]
        return list(cluster.lanes(posts, workers))


def run_several(
    terminal: Terminal,
    several: Several,
    plan: Plan,
    shard: bool,
    unreadable: Sequence[str],
    json_path: Path | None,
    junit_path: Path | None,
    results_path: Path | None,
) -> None:
    """Runs the plan, prints and writes what came out. Exits with 1 unless all is good."""
    mode: Mode = "shard" if shard else "all"
    error: BaseException | None = None
    count = len(plan.runs) * (1 if shard else len(several.targets))
    progress = Progress(terminal, count, Status)
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        fleet = Fleet(several.lanes(stack), mode)
        names = ", ".join(share.name for share in fleet.shares)
        terminal.line(
            f"{counted(count, 'case')} on {names}, {'divided' if shard else 'all on each'}"
        )
        running = fleet.run(plan.runs)
        with progress.shown():
            try:
                for share, event in running:
                    if isinstance(event, Outcome):
                        progress.add(event)
                    else:
                        terminal.line(f"{share.name} has dropped out: {event}")
            except (HalyardError, KeyboardInterrupt, SystemExit) as caught:
                error = caught
            finally:
                # Each device ends its case, and its service.
                running.close()
    seconds = time.monotonic() - begin
    ended = str(error).partition("\n")[0] if isinstance(error, HalyardError) else "interrupted"
    ended = ended if error is not None else ""
    reports = _reports(fleet, plan, mode, seconds, ended, unreadable)
    for share in fleet.shares:
        History(share.name).keep(share.outcomes.values())
    # Cases that were divided have a document for each device, too: each knows what it ran.
    for share in fleet.shares:
        report = _report([share], plan, share.busy, ended, unreadable, of_whole=not shard)
        keep(results_path, [report.record()], share.name)
    for report in reports:
        print_report(terminal, report)
    if not shard:
        print_differences(terminal, differences(fleet.shares))
    print_schedule(terminal, fleet.shares, seconds)
    if json_path is not None:
        write_json(json_path, *reports)
        terminal.line(f"report: {json_path}")
    if junit_path is not None:
        write_junit(junit_path, *reports)
        terminal.line(f"report: {junit_path}")
    if isinstance(error, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if error is not None:
        raise error
    if not all(report.is_good for report in reports):
        sys.exit(1)


def _reports(
    fleet: Fleet,
    plan: Plan,
    mode: Mode,
    seconds: float,
    ended: str,
    unreadable: Sequence[str],
) -> list[Report]:
    """Of cases that were divided one; else one for each device."""
    groups = [list(fleet.shares)] if mode == "shard" else [[share] for share in fleet.shares]
    return [_report(group, plan, seconds, ended, unreadable) for group in groups]


def _report(
    shares: list[Share],
    plan: Plan,
    seconds: float,
    ended: str,
    unreadable: Sequence[str],
    *,
    of_whole: bool = True,
) -> Report:
    """`of_whole`: whether all of the plan was theirs, not just what they ran of it."""
    merged = {name: each for share in shares for name, each in share.outcomes.items()}
    outcomes = [merged[planned.name] for planned in plan.runs if planned.name in merged]
    lost = [f"{share.name} was lost: {share.lost}" for share in shares if share.lost]
    planned = len(plan.runs) if of_whole else len(outcomes)
    is_whole = len(outcomes) == planned and (of_whole or not (ended or lost))
    return Report(
        device=", ".join(share.name for share in shares),
        target=", ".join(dict.fromkeys(s.place.target for s in shares if s.place.target)),
        driver=", ".join(dict.fromkeys(s.version for s in shares if s.version)),
        outcomes=outcomes,
        seconds=seconds,
        planned=planned,
        left_out=len(plan.left_out),
        ended="" if is_whole else ended or "; ".join(lost),
        unreadable=unreadable,
        shares=shares,
    )
