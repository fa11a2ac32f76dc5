# SPDX-License-Identifier: Apache-2.0
"""Where cases come from: folders and files of golden data, folders and files of specs."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from halyard.conformance import golden, variants
from halyard.conformance.case import Case
from halyard.errors import ConfigError, HalyardError

SPEC_SUFFIX = ".mod.py"


def collect(
    goldens: Sequence[Path], specs: Sequence[Path], *, derived: bool, rest: Sequence[Path] = ()
) -> list[Case]:
    """The cases, each followed by those that can be derived from it. Names are unique: a case that
    two sources have alike is there once, and the second of two that differ is named NAME@SPEC.

    `rest`: files and folders of either kind. HalyardError for what is not there or not understood.
    """
    own = [case for path in goldens for case in golden.load(path)]
    own += [case for path in specs for case in load_specs(path)]
    for path in rest:
        own += golden.load(path) if _is_golden(path) else load_specs(path)
    own = _unique(own)
    if not derived:
        return own
    return _unique(each for case in own for each in (case, *variants.derived(case)))


def is_spec(path: Path) -> bool:
    return path.name.endswith(SPEC_SUFFIX)


def _is_golden(path: Path) -> bool:
    return (path / "index.json").is_file() if path.is_dir() else ".json" in path.suffixes


def load_specs(path: Path) -> list[Case]:
    """The cases of a spec file, or of all that lie in a folder and its folders."""
    load, files = _spec_loader()
    if not path.exists():
        raise ConfigError(f"{path} is not there")
    if path.is_dir():
        found = files(path)
        if not found:
            raise ConfigError(f"{path}: no spec ({SPEC_SUFFIX}) lies there")
        return [case for file in found for case in load(file)]
    if not is_spec(path):
        raise ConfigError(f"{path}: a spec's name ends in {SPEC_SUFFIX}")
    return load(path)


def _spec_loader() -> tuple[Callable[[Path], list[Case]], Callable[[Path], list[Path]]]:
    try:
        module = importlib.import_module("halyard.specs")
    except ModuleNotFoundError as error:
        raise HalyardError("this halyard reads no specs: halyard.specs is missing") from error
    return (
        cast(Callable[[Path], list[Case]], module.load),
        cast(Callable[[Path], list[Path]], module.files),
    )


def _unique(cases: Iterable[Case]) -> list[Case]:
    found: dict[str, Case] = {}
    for case in cases:
        there = found.get(case.name)
        if there is None:
            found[case.name] = case
        elif _content(there) != _content(case):
            name = f"{case.name}@{case.spec}"
            found[name] = dataclasses.replace(case, name=name)
    return list(found.values())


def _content(case: Case) -> bytes:
    return case.test_case.SerializeToString(deterministic=True)
