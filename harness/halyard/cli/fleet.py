# SPDX-License-Identifier: Apache-2.0
"""`halyard conformance` on several devices: how they are named, what is shown and written."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from halyard.cases.case import Case
from halyard.cli.options.written import WrittenFiles
from halyard.cli.reporting import Opening, conclude, ended_by, write_reports
from halyard.conformance.conformance_text import print_differences, print_report, print_schedule
from halyard.conformance.device_worker import DeviceWorker, Post, Worker
from halyard.conformance.fleet import Fleet, Mode, Share, differences
from halyard.conformance.history import History
from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.plan import Plan, VersionChoice, make_plan
from halyard.conformance.reports import Report, write_json, write_junit
from halyard.conformance.run import RunSettings
from halyard.devices import check_there, config_of
from halyard.devices.config import DeviceConfig
from halyard.errors import ConfigError, HalyardError
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal, counted
from halyard.terminal.progress import Progress
from halyard.transport.hal_version import newest_of


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
class Places:
    """The devices that a command line names, and how cases are divided among them."""

    name: str
    shard: bool = False
    dask: str | None = None
    dask_plain: bool = False

    def targets(self) -> list[Target]:
        """ConfigError for what makes no sense, and for phones of this machine that are not
        there."""
        targets = parse_targets(self.name)
        if self.shard and len(targets) == 1:
            raise ConfigError("--shard divides cases among several devices: --device vm:1,vm:2")
        if self.dask is None:
            if self.dask_plain:
                raise ConfigError("--dask-plain is about --dask ADDRESS, which is not there")
            check_here(targets)
        return targets


@dataclass(frozen=True)
class Several:
    """The devices, and how each is to run cases."""

    targets: Sequence[Target]
    versions: VersionChoice
    backends: Sequence[str]
    instance: str | None
    settings: RunSettings
    places: Places

    @property
    def are_several(self) -> bool:
        return len(self.targets) > 1 or self.places.dask is not None

    def opening(self, target: Target) -> Opening:
        return Opening(
            target.name, target.config, self.backends, self.instance, self.versions.wires
        )

    def plan(self, cases: Sequence[Case]) -> Plan:
        """The cases that all of the devices can carry: every one of them may have to."""
        is_host = all(target.config.kind == "host" for target in self.targets)
        newest = pb.HAL_VERSION_UNSPECIFIED if is_host else newest_of(self.versions.wires)
        return make_plan(cases, self.versions, newest)

    def workers(self, stack: contextlib.ExitStack) -> list[Worker]:
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
        if self.places.dask is None:
            return [DeviceWorker(post) for post in posts]
        # Its package is there only where it is wanted.
        from halyard.conformance.dask_workers import Cluster

        cluster = stack.enter_context(Cluster(self.places.dask, plain=self.places.dask_plain))
        workers = [target.worker for target in self.targets]
        return list(cluster.device_workers(posts, workers))


def run_several(
    terminal: Terminal,
    several: Several,
    plan: Plan,
    unreadable: Sequence[str],
    written: WrittenFiles,
) -> None:
    """Runs the plan, prints and writes what came out. Exits with 1 unless all is good."""
    shard = several.places.shard
    begin = time.monotonic()
    fleet, error = _run(terminal, several, plan)
    ending = Ending(plan, time.monotonic() - begin, ended_by(error), unreadable)
    for share in fleet.shares:
        History(share.name).keep(share.outcomes.values())
    # Cases that were divided have a document for each device, too: each knows what it ran.
    for share in fleet.shares:
        own = replace(ending, seconds=share.busy)
        written.keep([_report([share], own, of_whole=not shard).record()], share.name)
    # Of cases that were divided one report; else one for each device.
    groups = [list(fleet.shares)] if shard else [[share] for share in fleet.shares]
    reports = [_report(group, ending) for group in groups]
    for report in reports:
        print_report(terminal, report)
    if not shard:
        print_differences(terminal, differences(fleet.shares))
    print_schedule(terminal, fleet.shares, ending.seconds)
    write_reports(
        terminal,
        written,
        lambda path: write_json(path, *reports),
        lambda path: write_junit(path, *reports),
    )
    conclude(error, is_good=all(report.is_good for report in reports))


def _run(terminal: Terminal, several: Several, plan: Plan) -> tuple[Fleet, BaseException | None]:
    """The devices' results, also where the run was ended before its end, and by what it was."""
    shard = several.places.shard
    mode: Mode = "shard" if shard else "all"
    error: BaseException | None = None
    count = len(plan.runs) * (1 if shard else len(several.targets))
    progress = Progress(terminal, count, Status)
    with contextlib.ExitStack() as stack:
        fleet = Fleet(several.workers(stack), mode)
        names = ", ".join(share.name for share in fleet.shares)
        divided = "divided" if shard else "all on each"
        terminal.line(f"{counted(count, 'case')} on {names}, {divided}")
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
    return fleet, error


@dataclass(frozen=True)
class Ending:
    """The part that all reports of a run share. `ended`: why it did not come to its end."""

    plan: Plan
    seconds: float
    ended: str
    unreadable: Sequence[str]


def _report(shares: list[Share], ending: Ending, *, of_whole: bool = True) -> Report:
    """`of_whole`: whether all of the plan was theirs, not just what they ran of it."""
    plan, ended = ending.plan, ending.ended
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
        seconds=ending.seconds,
        planned=planned,
        left_out=len(plan.left_out),
        ended="" if is_whole else ended or "; ".join(lost),
        unreadable=ending.unreadable,
        shares=shares,
    )
