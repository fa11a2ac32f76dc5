# SPDX-License-Identifier: Apache-2.0
"""Conformance cases as pytest items. `halyard.pytest_plugin` brings it in when it is wanted."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import pytest

from halyard.cases import golden
from halyard.cases.case import Case
from halyard.conformance.case_runner import CaseFailed, CaseRunner
from halyard.conformance.collection import (
    expanded,
    golden_files,
    is_spec,
    load_specs,
    spec_files,
)
from halyard.conformance.driver import Driver
from halyard.conformance.expectations import Expectations
from halyard.conformance.outcome import Outcome, Status, outcome_of
from halyard.conformance.plan import Planned, make_plan, parse_versions
from halyard.conformance.run import run
from halyard.devices import config_of
from halyard.errors import (
    ConfigError,
    DeviceUnreachable,
    HalyardError,
    ProgramMissing,
    VmError,
)
from halyard.programs.backends import parse as parse_backends
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import printable
from halyard.transport.hal_version import newest_of

# As of the command `halyard`; pytest's own code for it is that of an interruption.
_WRONG_COMMAND = 2


class CaseSession:
    """The run that a session's options ask for. The device is opened when the first test needs
    it."""

    def __init__(
        self,
        *,
        config: pytest.Config,
        device: str,
        others: Sequence[str] = (),
        goldens: Sequence[Path],
        specs: Sequence[Path],
        hal: str | None,
        backends: str,
        derived: bool,
    ) -> None:
        self._pytest = config
        self.device = device
        self.others = tuple(others)
        self.goldens = [path.resolve() for path in goldens]
        self.specs = [path.resolve() for path in specs]
        self.derived = derived
        try:
            self._config = config_of(device)
            for other in others:
                config_of(other)
            self.versions = parse_versions(hal)
            known = self._config.kind != "adb"
            self._backends = parse_backends(backends or None, known=known)
            for path in self.goldens:
                golden_files(path)
            for path in self.specs:
                spec_files(path)
        except HalyardError as error:
            raise pytest.UsageError(str(error)) from error
        self.expectations = Expectations(self._config.expected_failures)
        self._opened: Driver | None = None

    @cached_property
    def driver(self) -> Driver:
        try:
            self._opened = Driver.open(
                self._config, backends=self._backends, wires=self.versions.wires
            )
        except (ConfigError, DeviceUnreachable, ProgramMissing, VmError) as error:
            if self.others:
                self.drop_out(str(error))
            # No test that needs the device can run, and none is to blame.
            pytest.exit(f"--device={self.device}: {error}", _WRONG_COMMAND)
        return self._opened

    def case_runner(self) -> CaseRunner:
        newest = max(self.versions.versions, default=pb.HAL_VERSION_UNSPECIFIED)
        return CaseRunner(self.driver, newest)

    def planned(self, cases: Sequence[Case]) -> Sequence[Planned]:
        # Which versions a service offers is not asked before it runs.
        is_host = self._config.kind == "host"
        newest = pb.HAL_VERSION_UNSPECIFIED if is_host else newest_of(self.versions.wires)
        return make_plan(cases, self.versions, newest).runs

    def drop_out(self, reason: str) -> NoReturn:
        """Of several devices this one is gone, and with it this worker of pytest-xdist."""
        # Which is there only where there are workers.
        from halyard.conformance.xdist_devices import drop_out

        drop_out(self._pytest, reason, self.close)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


class CaseItem(pytest.Item):
    """A case through a HAL version."""

    def __init__(self, *, planned: Planned, **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]
        # Two sources may have cases of the same name.
        self.planned = Planned(self.nodeid, planned.case, planned.version)

    def runtest(self) -> None:
        plugin = self.config.pluginmanager.get_plugin("halyard-cases")
        assert isinstance(plugin, CasePlugin)
        outcome = plugin.outcome(self)
        if outcome.status is Status.UNSUPPORTED:
            pytest.skip(printable(outcome.message))
        if outcome.status is Status.XFAILED:
            pytest.xfail(printable(outcome.message))
        if not outcome.status.is_good:
            raise CaseFailed(outcome)

    def repr_failure(  # type: ignore[override]
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> object:
        if isinstance(excinfo.value, HalyardError):
            return printable(str(excinfo.value))
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class CaseFile(pytest.File):
    """A spec, golden data, or the index of a folder of golden data."""

    def collect(self) -> Iterator[CaseItem]:
        plugin = self.config.pluginmanager.get_plugin("halyard-cases")
        assert isinstance(plugin, CasePlugin)
        session = plugin.session
        try:
            if is_spec(self.path):
                cases = load_specs(self.path)
            elif self.path.name == "index.json":
                cases = golden.load(self.path.parent)
            else:
                cases = golden.load(self.path)
            plan = session.planned(expanded(cases, derived=session.derived))
        except HalyardError as error:
            raise self.CollectError(str(error)) from error
        for planned in plan:
            yield CaseItem.from_parent(self, name=planned.name, planned=planned)


class _NoModule(pytest.File):
    """Stands where pytest would import a spec as a Python module."""

    def collect(self) -> list[pytest.Item]:
        return []


class CasePlugin:
    """Collects cases, and runs all that are selected together when the first of them is due."""

    def __init__(self, config: pytest.Config, session: CaseSession) -> None:
        self.session = session
        self._is_worker = hasattr(config, "workerinput")  # of pytest-xdist
        self._items: list[CaseItem] = []
        self._outcomes: dict[str, Outcome] = {}
        self._stream: Generator[tuple[Planned, pb.CaseResult], None, None] | None = None
        self._error: HalyardError | None = None
        sources = [path / "index.json" if path.is_dir() else path for path in session.goldens]
        self._goldens = frozenset(sources)
        named = [str(path) for path in (*sources, *session.specs)]
        for path in named:
            if not Path(path).exists():
                raise pytest.UsageError(f"{path} is not there")
        # Without paths on the command line the cases are all that is wanted.
        if config.args_source is not pytest.Config.ArgsSource.ARGS and named:
            config.args[:] = []
        config.args += named

    def pytest_report_header(self) -> str:
        devices = ", ".join((self.session.device, *self.session.others))
        return f"halyard: device{'s' if self.session.others else ''} {devices}"

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        wanted = file_path in self._goldens or (
            is_spec(file_path)
            and (
                parent.session.isinitpath(file_path)
                or any(file_path.is_relative_to(path) for path in self.session.specs)
            )
        )
        return CaseFile.from_parent(parent, path=file_path) if wanted else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        return _NoModule.from_parent(parent, path=module_path) if is_spec(module_path) else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._items = [item for item in session.items if isinstance(item, CaseItem)]

    def outcome(self, item: CaseItem) -> Outcome:
        """The outcome of the item's case; the others run on meanwhile."""
        name = item.planned.name
        while name not in self._outcomes:
            if self._error is not None:
                raise self._error
            if self._stream is None:
                # A worker has the whole selection, and is given some of it by and by.
                items = [item] if self._is_worker else self._items
                left = [each.planned for each in items if each.planned.name not in self._outcomes]
                self._stream = run(self.session.driver, left)
            try:
                planned, result = next(self._stream)
            except StopIteration:
                self._stream = None
            except DeviceUnreachable as error:
                if self.session.others:
                    self.session.drop_out(str(error))
                self._error = error
            except HalyardError as error:
                self._error = error
            else:
                outcome = outcome_of(planned.case, planned.case.name, result)
                judged = self.session.expectations.judged(planned.case.name, outcome)
                self._outcomes[planned.name] = judged
        return self._outcomes[name]

    def pytest_sessionfinish(self) -> None:
        # Ends the runner where the session ends before the cases do.
        if self._stream is not None:
            self._stream.close()
