# SPDX-License-Identifier: Apache-2.0
"""Where cases come from: folders and files of golden data, folders and files of specs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from halyard.cases import golden, variants
from halyard.cases.case import Case
from halyard.errors import ConfigError, HalyardError
from halyard.specs import loader


def collect(
    goldens: Sequence[Path],
    specs: Sequence[Path],
    *,
    derived: bool,
    rest: Sequence[Path] = (),
    problems: list[str] | None = None,
) -> list[Case]:
    """The cases, each followed by those that can be derived from it. Names are unique: a case that
    two sources have alike is there once, and the second of two that differ is named NAME_2.

    `rest`: files and folders of either kind. ConfigError for what is not there or of another kind,
    HalyardError for what is not understood; with `problems` that is added there, and the other
    files are read.
    """
    loads: list[tuple[Callable[[Path], list[Case]], Path]] = []
    for path in goldens:
        loads += [(golden.load, file) for file in golden_files(path)]
    for path in specs:
        loads += [(load_specs, file) for file in spec_files(path)]
    for path in rest:
        if _is_golden(path):
            loads += [(golden.load, file) for file in golden_files(path)]
        else:
            loads += [(load_specs, file) for file in spec_files(path)]
    own: list[Case] = []
    for load, path in loads:
        try:
            own += load(path)
        except HalyardError as error:
            if problems is None:
                raise
            problems.append(str(error))
    return expanded(own, derived=derived)


def expanded(cases: Sequence[Case], *, derived: bool) -> list[Case]:
    """The cases and what can be derived from them, each name once."""
    names = _Unique()
    own = [found for case in cases if (found := names.add(case)) is not None]
    if not derived:
        return own
    found_cases: list[Case] = []
    for case in own:
        found_cases.append(case)
        # A variant may be written down, too.
        variants_of = map(names.add, variants.derived(case))
        found_cases += [found for found in variants_of if found is not None]
    return found_cases


def is_spec(path: Path) -> bool:
    return path.name.endswith(loader.SUFFIX)


def _is_golden(path: Path) -> bool:
    return (path / "index.json").is_file() if path.is_dir() else ".json" in path.suffixes


def load_specs(path: Path) -> list[Case]:
    """The cases of a spec file, or of all that lie in a folder and its folders."""
    return [case for file in spec_files(path) for case in loader.load(file)]


def spec_files(path: Path) -> list[Path]:
    """The specs in a folder and its folders, or the one file. ConfigError where there is none."""
    if not path.exists():
        raise ConfigError(f"{path} is not there")
    if path.is_dir():
        found = loader.files(path)
        if not found:
            hint = ": name it as --goldens" if _is_golden(path) else ""
            raise ConfigError(f"{path}: no spec ({loader.SUFFIX}) lies there{hint}")
        return found
    if not is_spec(path):
        hint = ", and golden data is named by --goldens" if _is_golden(path) else ""
        raise ConfigError(f"{path}: a spec's name ends in {loader.SUFFIX}{hint}")
    return [path]


def golden_files(path: Path) -> list[Path]:
    """The files of golden data that a folder lists, or the one file. ConfigError where it can't be
    any."""
    if not path.exists():
        raise ConfigError(f"{path} is not there")
    if is_spec(path):
        raise ConfigError(f"{path} is a spec: name it without --goldens, or by --specs")
    if not path.is_dir():
        return [path]
    if not _is_golden(path):
        hint = ": specs lie there, which are named by --specs" if loader.files(path) else ""
        if _is_golden(path.resolve().parent):
            hint = (
                f", but in {path.parent}: --goldens {path.parent} takes all that it lists; single "
                "files can be named, too"
            )
        raise ConfigError(f"{path}: no golden data (index.json) lies there{hint}")
    return golden.files(path)


class _Unique:
    """Gives each case a name of its own."""

    def __init__(self) -> None:
        self._found: dict[str, Case] = {}

    def add(self, case: Case) -> Case | None:
        """The case, with a number if its name is taken; None if it is there already."""
        name, number = case.name, 1
        while (there := self._found.get(name)) is not None:
            if _content(there) == _content(case):
                return None
            number += 1
            name = f"{case.name}_{number}"
        self._found[name] = case if name == case.name else dataclasses.replace(case, name=name)
        return self._found[name]


def _content(case: Case) -> bytes:
    return case.test_case.SerializeToString(deterministic=True)
