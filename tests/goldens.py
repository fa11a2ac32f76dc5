# SPDX-License-Identifier: Apache-2.0
"""Makes golden cases of the official specs, of a checkout of Android's NeuralNetworks module.

Usage: python -m tests.goldens CHECKOUT [FOLDER]

CHECKOUT is the module's folder, an Android tree that has it, or the folder of the specs itself.
Golden cases go to FOLDER; left out, to $HALYARD_GOLDENS or build/goldens, where tests look for
them. What lies there is replaced, if it was made here. A spec that can't be read is told and left
out; the exit code is 1 then, and 2 where nothing is made. A spec is Python, and is run.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from halyard import golden_folder, specs
from halyard.cases import golden, golden_writing
from halyard.errors import ConfigError, HalyardError

# In an Android tree; the last place is that of Android 11 and before.
_MODULES = ("packages/modules/NeuralNetworks", "frameworks/ml/nn")
_SPECS = "runtime/test/specs"
# Folders of specs, each named after the HAL version that its operations came with.
_VERSIONS = ("V1_*", "AIDL_V*")
_MADE = "made of specs by Halyard"

Json = dict[str, Any]


def spec_folder(checkout: Path) -> Path:
    """The folder of the specs' folders. ConfigError where there is none."""
    if not checkout.is_dir():
        raise ConfigError(f"{checkout} is no folder")
    places = (_SPECS, *(f"{module}/{_SPECS}" for module in _MODULES), ".")
    for place in places:
        if _version_folders(checkout / place):
            return checkout / place
    raise ConfigError(
        f"{checkout} is no checkout of Android's NeuralNetworks module: specs lie in folders like "
        f"V1_0 in its {_SPECS} (docs/conformance.md says how to get one)"
    )


def _version_folders(folder: Path) -> list[Path]:
    """Those that have specs."""
    found = {path for pattern in _VERSIONS for path in folder.glob(pattern) if path.is_dir()}
    return sorted(path for path in found if specs.files(path))


def is_replaceable(folder: Path) -> bool:
    """Whether nothing is there, or golden cases that were made here."""
    if not folder.exists():
        return True
    if not folder.is_dir():
        return False
    return is_made(folder) or not any(folder.iterdir())


def is_made(folder: Path) -> bool:
    """Whether golden cases were made of specs here."""
    try:
        index = json.loads((folder / "index.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(index, Mapping) and index.get("source") == _MADE


def make(checkout: Path, folder: Path) -> Iterator[str]:
    """Makes the golden cases, and says why a spec gives none, file by file. The folder is complete,
    or as it was. ConfigError for a checkout or a folder that can't be taken."""
    source = spec_folder(checkout)
    if not is_replaceable(folder):
        raise ConfigError(
            f"{folder} has files that were not made here, and is left alone: "
            f"{golden_folder.VARIABLE} names another folder"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    files = [file for version in _version_folders(source) for file in specs.files(version)]
    try:
        rows = []
        with ProcessPoolExecutor() as pool:
            for row, problem in pool.map(_make_one, _jobs(files, made), chunksize=4):
                if problem:
                    yield problem
                elif row["cases"]:
                    rows.append(row)
        if not rows:
            raise ConfigError(f"{source}: no spec there gives a case")
        index = {"schema": golden.SCHEMA, "source": _MADE, "specs": rows}
        (made / "index.json").write_text(json.dumps(index))
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _jobs(files: Sequence[Path], made: Path) -> Iterator[tuple[Path, Path]]:
    """Each spec, and the file of its golden cases."""
    for file in files:
        target = made / file.parent.name / f"{file.name.split('.', 1)[0]}.json.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        yield file, target


def _make_one(job: tuple[Path, Path]) -> tuple[Json, str]:
    """A row of the index, or why there is none."""
    file, target = job
    spec = f"{file.parent.name}/{file.name}"
    try:
        cases = specs.load(file)
    except HalyardError as error:
        return {}, str(error)
    if cases:
        golden_writing.write(target, spec, cases)
    return {"spec": spec, "file": f"{target.parent.name}/{target.name}", "cases": len(cases)}, ""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.goldens",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    given = parser.parse_args()
    named = os.environ.get(golden_folder.VARIABLE)
    folder = given.folder or Path(named or golden_folder.made())
    problems = []
    try:
        for problem in make(given.checkout, folder):
            problems.append(problem)
            print(problem, file=sys.stderr, flush=True)
    except (HalyardError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    rows = json.loads((folder / "index.json").read_text())["specs"]
    print(f"{sum(row['cases'] for row in rows)} golden cases of {len(rows)} specs in {folder}")
    if problems:
        print(f"{len(problems)} specs could not be read", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
