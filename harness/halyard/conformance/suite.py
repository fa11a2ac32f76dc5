# SPDX-License-Identifier: Apache-2.0
"""A folder of golden cases as a suite: which cases a driver has to pass, by name; the cases derived
from them; and running some of them on a device, in one bundle.

Loading all cases takes seconds, and a run often wants a few. So what a suite knows of every case is
only its name and operations, which are kept in a cache; a file is loaded when one of its cases is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.cases import assembly, golden, names, variants
from halyard.cases.case import Case
from halyard.cases.check import Verdict
from halyard.devices import Device
from halyard.errors import HalyardError
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from halyard.transport import hal_version

SECONDS_PER_CASE = 60.0


@dataclass(frozen=True, order=True)
class Way:
    """How a case reaches the driver."""

    version: pb.HalVersion = pb.HAL_VERSION_UNSPECIFIED
    mode: pb.ExecutionMode = pb.EXECUTION_MODE_ASYNC

    def __str__(self) -> str:
        mode = pb.ExecutionMode.Name(self.mode).removeprefix("EXECUTION_MODE_").lower()
        return f"HAL {hal_version.format(self.version)} {mode}"


# executeSynchronously came with 1.2.
WAYS = (
    *(Way(version) for version in hal_version.ALL),
    Way(pb.HAL_VERSION_1_2, pb.EXECUTION_MODE_SYNC),
    Way(pb.HAL_VERSION_1_3, pb.EXECUTION_MODE_SYNC),
)


@dataclass(frozen=True)
class Entry:
    """A case that is not loaded."""

    name: str
    operations: frozenset[str]
    file: str  # below the suite's folder
    base: str  # the golden case that it is derived from; its own name if it is one


class Suite:
    """The golden cases of a folder, and all that can be derived from them, by name."""

    def __init__(self, folder: Path, entries: Iterable[Entry]) -> None:
        self.folder = folder
        # A variant may have the name of a golden case, as a signed twin that is written down: that
        # one is meant.
        self._entries: dict[str, Entry] = {}
        for entry in sorted(entries, key=lambda entry: entry.name != entry.base):
            self._entries.setdefault(entry.name, entry)
        self._loaded: dict[str, dict[str, Case]] = {}

    @classmethod
    def open(cls, folder: Path, cache: Path | None = None) -> Suite:
        """The suite of a folder with an index.json. `cache`: a folder that keeps the names.

        HalyardError where there are no golden cases, or none that can be read.
        """
        files = golden.files(folder)
        if cache is None:
            return cls(folder, _entries(folder, files))
        try:
            kept = cache / f"{_fingerprint(folder, files)}.json"
        except OSError as error:
            raise HalyardError(f"{folder}: {error}") from error
        try:
            entries = [Entry(name, frozenset(ops), *rest) for name, ops, *rest in _read(kept)]
        except (OSError, ValueError, TypeError):
            entries = _entries(folder, files)
            _keep(kept, entries)
        return cls(folder, entries)

    def golden(self, operations: Collection[str]) -> list[str]:
        """The names of the golden cases with no other operations than these."""
        return [
            entry.name
            for entry in self._entries.values()
            if entry.base == entry.name and entry.operations <= set(operations)
        ]

    def derived(self, operations: Collection[str]) -> list[str]:
        """The names of the cases derived from those of `golden`, with no operation that none of
        them has: a variant may bring in an ADD."""
        bases = set(self.golden(operations))
        known = {name for base in bases for name in self._entries[base].operations}
        return [
            entry.name
            for entry in self._entries.values()
            if entry.base != entry.name and entry.base in bases and entry.operations <= known
        ]

    def operations(self, name: str) -> frozenset[str]:
        return self._entries[name].operations

    def load(self, names: Iterable[str]) -> list[Case]:
        """The cases of these names, in order."""
        return [self._case(self._entries[name]) for name in names]

    def _case(self, entry: Entry) -> Case:
        file = self._loaded.get(entry.file)
        if file is None:
            file = {case.name: case for case in golden.load(self.folder / entry.file)}
            self._loaded[entry.file] = file
        if entry.name not in file:
            file.update(
                (case.name, case)
                for case in variants.derived(file[entry.base])
                if self._entries[case.name].base == entry.base
            )
        return file[entry.name]


def _entries(folder: Path, files: Sequence[Path]) -> list[Entry]:
    entries = []
    for path in files:
        file = str(path.relative_to(folder))
        for case in golden.load(path):
            entries += [
                Entry(each.name, each.operations, file, case.name)
                for each in (case, *variants.derived(case))
            ]
    return entries


def _fingerprint(folder: Path, files: Sequence[Path]) -> str:
    """Of all that the names follow from: the files, and the code that reads and derives."""
    found = hashlib.sha256(str(folder.resolve()).encode())
    code = [Path(str(module.__file__)) for module in (assembly, golden, names, variants)]
    for path in (*files, *code, Path(__file__)):
        status = path.stat()
        found.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()[:32]


def _read(kept: Path) -> list[list[str]]:
    rows = json.loads(kept.read_text())
    if not isinstance(rows, list):
        raise TypeError(f"{kept}: not a list")
    return rows


def _keep(kept: Path, entries: Iterable[Entry]) -> None:
    """Only the newest is kept. Where nothing can be written, nothing is."""
    rows = [[e.name, sorted(e.operations), e.file, e.base] for e in entries]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        for old in kept.parent.glob("*.json"):
            old.unlink()
        kept.write_text(json.dumps(rows))
    except OSError:
        return


# ---- running ------------------------------------------------------------------------------------


def lowest_versions(cases: Sequence[Case]) -> dict[str, pb.HalVersion]:
    """The lowest HAL version that can carry each case, by the case's name: the official one, or a
    later one where the driver says so."""
    versions = hal_version.lowest_versions([case.test_case.model for case in cases])
    return {
        case.name: max(case.hal_version, version)
        for case, version in zip(cases, versions, strict=True)
    }


def judge(device: Device, target: Target, cases: Sequence[Case], way: Way) -> dict[str, Verdict]:
    """Runs the cases one way, as one bundle: the official check of each, by its name."""
    options = pb.RunOptions(hal_version=way.version, mode=way.mode, timeout_s=SECONDS_PER_CASE)
    results = run_cases(device, [case.test_case for case in cases], options, target)
    return {
        case.name: _verdict(case, target, way, result)
        for case, result in zip(cases, results, strict=True)
    }


def judge_each(
    device: Device, target: Target, cases: Sequence[Case], ways: Mapping[str, Way]
) -> dict[str, Verdict]:
    """Each case its own way (by name): a bundle for every way."""
    verdicts: dict[str, Verdict] = {}
    for way in sorted({ways[case.name] for case in cases}):
        bundle = [case for case in cases if ways[case.name] == way]
        for name, verdict in judge(device, target, bundle, way).items():
            reason = verdict.reason and f"{way}: {verdict.reason}"
            verdicts[name] = dataclasses.replace(verdict, reason=reason)
    return verdicts


def _verdict(case: Case, target: Target, way: Way, result: pb.CaseResult) -> Verdict:
    """A result from elsewhere than was asked for proves nothing."""
    asked = way.version in (pb.HAL_VERSION_UNSPECIFIED, result.hal_version)
    if result.target != target.name or not asked:
        ran = f"{result.target}, HAL {hal_version.format(result.hal_version)}"
        raise HalyardError(f"{case.name}: ran on {ran} instead of {target.name}, {way}")
    return case.check(result)
