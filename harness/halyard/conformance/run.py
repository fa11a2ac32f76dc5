# SPDX-License-Identifier: Apache-2.0
"""Running cases on a driver, whatever they do to it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from halyard.conformance.driver import Driver
from halyard.conformance.plan import Planned
from halyard.errors import HalyardError, RunnerDied, TargetUnreachable
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import stream_cases
from halyard.transport import hal_version

SECONDS_PER_CASE = 60.0

# Of one bundle: what is pushed at once, and lost if the device goes.
_MOST_CASES = 1000
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class RunSettings:
    seconds_per_case: float = SECONDS_PER_CASE
    jobs: int = 0  # at a time; 0: as many as suits the target
    mode: pb.ExecutionMode = pb.EXECUTION_MODE_ASYNC


def run(
    driver: Driver, runs: Sequence[Planned], settings: RunSettings | None = None
) -> Generator[tuple[Planned, pb.CaseResult], None, None]:
    """The results as the cases end. A case that brings the driver, or the runner, down has a result
    that says so, and the others run. DeviceError for a device that is gone, a service that can't be
    started and a runner that can't run. Closing it ends the runner."""
    for version in sorted({planned.version for planned in runs}):
        for bundle in _bundles(planned for planned in runs if planned.version == version):
            yield from _Bundle(driver, bundle, version, settings or RunSettings()).run()


def _bundles(runs: Iterable[Planned]) -> Iterator[list[Planned]]:
    bundle: list[Planned] = []
    size = 0
    for planned in runs:
        more = planned.case.test_case.ByteSize()
        if bundle and (len(bundle) == _MOST_CASES or size + more > _MOST_BYTES):
            yield bundle
            bundle, size = [], 0
        bundle.append(planned)
        size += more
    if bundle:
        yield bundle


class _Bundle:
    """Some cases through one version, in as many runners as it takes."""

    def __init__(
        self,
        driver: Driver,
        bundle: Sequence[Planned],
        version: pb.HalVersion,
        settings: RunSettings,
    ) -> None:
        self._driver = driver
        self._target = driver.target(version)
        self._left = {planned.name: planned for planned in bundle}
        self._jobs = settings.jobs
        self._options = pb.RunOptions(
            hal_version=version, mode=settings.mode, timeout_s=settings.seconds_per_case
        )

    def run(self) -> Iterator[tuple[Planned, pb.CaseResult]]:
        vain = 0  # runners, one after the other, that did not run a case
        while self._left:
            before = len(self._left)
            died: RunnerDied | None = None
            unreachable: TargetUnreachable | None = None
            try:
                yield from self._run_on()
            except RunnerDied as error:
                died = error
            except TargetUnreachable as error:
                unreachable = error
            if not self._left:
                return
            if died is not None and self._one_at_a_time():
                yield self._blame(died)
            else:
                vain = vain + 1 if len(self._left) == before else 0
                if vain > 1:
                    raise unreachable or HalyardError(
                        f"{self._driver.device.serial}: the service is gone whenever a case begins"
                    )
            if unreachable is not None and not self._driver.is_restarted:
                raise unreachable
            if self._driver.is_restarted:
                self._driver.restart()

    def _run_on(self) -> Iterator[tuple[Planned, pb.CaseResult]]:
        """All that are left, in one runner, until it ends."""
        order = list(self._left.values())
        driver = self._driver
        results = stream_cases(
            driver.device,
            [planned.case.test_case for planned in order],
            self._options,
            self._target,
            driver=DriverOptions(driver.backends),
            jobs=self._jobs,
            until_crash=driver.is_restarted,
        )
        for result in results:
            planned = order[result.index]
            self._check_origin(planned, result)
            del self._left[planned.name]
            yield planned, result

    def _one_at_a_time(self) -> bool:
        """Whether it was known which case the runner died of: from now on it is."""
        known = self._jobs == 1 or (self._jobs == 0 and self._driver.device.has_binder)
        self._jobs = 1
        return known

    def _blame(self, died: RunnerDied) -> tuple[Planned, pb.CaseResult]:
        """The first case that is left was running when the runner died."""
        planned = self._left.pop(next(iter(self._left)))
        result = pb.CaseResult(
            name=planned.case.test_case.name,
            failed_stage=pb.STAGE_CRASH,
            status=pb.ERROR_STATUS_GENERAL_FAILURE,
            message=died.message,
            target=self._target.name,
            hal_version=planned.version,
        )
        return planned, result

    def _check_origin(self, planned: Planned, result: pb.CaseResult) -> None:
        """A result from elsewhere than was asked for proves nothing."""
        target = self._target.name
        asked = planned.version in (pb.HAL_VERSION_UNSPECIFIED, result.hal_version)
        if result.target != target or not asked or result.name != planned.case.test_case.name:
            ran = f"{result.name}, {result.target}, HAL {hal_version.format(result.hal_version)}"
            raise HalyardError(
                f"{planned.name}: {ran} ran instead of {target}, "
                f"HAL {hal_version.format(planned.version)}"
            )
