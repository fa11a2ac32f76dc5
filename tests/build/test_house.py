# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a machine can check."""

import re
import subprocess
from pathlib import Path

from .soong import parse

ROOT = Path(__file__).parents[2]

# A room may include only itself and the rooms named here; what is generated for it may also be made
# from proto/, which lies below all of them.
MAY_INCLUDE = {
    "include": {"halyard"},
    "engine": {"engine", "halyard"},
    "driver": {"driver", "engine"},
    "hal": {"hal", "driver", "engine"},
    "importers": {"importers", "engine"},
    "library": {"library", "importers", "engine", "halyard"},
    "litert": {"litert", "importers", "engine"},
    "nnapi": {"nnapi", "hal", "driver", "engine"},
}

# The same of the rooms of the Android edge. What lies in hal/ itself is the service, which may
# include all.
HAL_MAY_INCLUDE = {
    "descriptors": {"engine/base"},
    "binder": {"engine/base", "hal/descriptors"},
    "memory": {"engine/base", "driver", "hal/descriptors"},
    "service": {"engine/base", "engine/plan", "driver", "hal/descriptors", "hal/binder"},
    "client": {"engine/base", "driver", "hal/memory"},
    "aidl": {
        "engine/base",
        "driver",
        "hal/client",
        "hal/descriptors",
        "hal/binder",
        "hal/memory",
        "hal/service",
    },
    "hidl": {
        "engine/base",
        "driver",
        "hal/client",
        "hal/descriptors",
        "hal/binder",
        "hal/memory",
        "hal/service",
    },
}


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_includes_point_down() -> None:
    upward = []
    for file in tracked("*.cc", "*.h", "*.hpp", "*.inc"):
        allowed = MAY_INCLUDE.get(file.parts[0])
        if allowed is None:
            continue
        targets = re.findall(r'^#include "(\w+)/', (ROOT / file).read_text(), re.MULTILINE)
        upward.extend(f"{file} includes {target}/" for target in targets if target not in allowed)
    assert upward == []


def test_what_is_generated_is_made_from_below() -> None:
    modules = parse((ROOT / "Android.bp").read_text())
    rules = [module for module in modules if module.kind == "genrule"]
    assert rules
    upward = []
    for rule in rules:
        for output in rule.strings("out"):
            room = Path(output).parts[0]
            allowed = {*MAY_INCLUDE[room], "proto"}
            upward.extend(
                f"{output} is made from {source}"
                for source in rule.strings("srcs")
                if Path(source).parts[0] not in allowed
            )
    assert upward == []


def test_the_rooms_of_hal_know_only_those_below() -> None:
    rooms = {file.parts[1] for file in tracked("hal/**") if len(file.parts) > 2}
    assert rooms == set(HAL_MAY_INCLUDE)
    upward = []
    for file in tracked("hal/**/*.cc", "hal/**/*.h"):
        if len(file.parts) == 2:
            continue
        allowed = {*HAL_MAY_INCLUDE[file.parts[1]], f"hal/{file.parts[1]}"}
        upward.extend(
            f"{file} includes {target}"
            for target in re.findall(
                r'^#include "((?:engine|driver|hal)/[^"]+)"',
                (ROOT / file).read_text(),
                re.MULTILINE,
            )
            if not any(target.startswith(f"{room}/") for room in allowed)
        )
    assert upward == []


CPP_ROOTS = (
    "engine",
    "driver",
    "hal",
    "harness",
    "importers",
    "library",
    "litert",
    "nnapi",
    "samples",
    "tests",
)


def unit_of(file: Path) -> Path:
    """A header and its source, and what a source is compiled from more than once, are one unit."""
    return file.with_name(file.stem.removesuffix("-inl"))


def include_graph() -> dict[Path, set[Path]]:
    """By unit, those that it includes; names go from the root, or from the file's own folder."""
    files = set(tracked(*(f"{root}/**.{end}" for root in CPP_ROOTS for end in ("cc", "h", "inc"))))
    graph: dict[Path, set[Path]] = {unit_of(file): set() for file in files}
    for file in files:
        for name in re.findall(r'^#include "([^"]+)"', (ROOT / file).read_text(), re.MULTILINE):
            for target in (Path(name), file.parent / name):
                if target in files and unit_of(target) != unit_of(file):
                    graph[unit_of(file)].add(unit_of(target))
                    break
    return graph


def cycles(graph: dict[Path, set[Path]]) -> list[str]:
    """The edges left once all that includes nothing, or only such, is taken away from both ends."""
    left = {node: set(targets) for node, targets in graph.items()}
    while True:
        named = set().union(*left.values())
        ends = {node for node, targets in left.items() if not targets or node not in named}
        if not ends:
            return sorted(
                f"{node} includes {target}" for node, all_of in left.items() for target in all_of
            )
        left = {node: all_of - ends for node, all_of in left.items() if node not in ends}


def folders_of(graph: dict[Path, set[Path]]) -> dict[Path, set[Path]]:
    folders: dict[Path, set[Path]] = {unit.parent: set() for unit in graph}
    for unit, targets in graph.items():
        folders[unit.parent] |= {target.parent for target in targets} - {unit.parent}
    return folders


def test_finds_cycles_and_nothing_beside_them() -> None:
    a, b, c, d = (Path(name) for name in "abcd")
    assert cycles({a: {b}, b: {c}, c: set(), d: {b, c}}) == []
    assert cycles({a: {b}, b: {c}, c: {b}, d: set()}) == ["b includes c", "c includes b"]


def test_no_unit_or_folder_includes_itself_by_way_of_others() -> None:
    graph = include_graph()
    assert set(CPP_ROOTS) == {unit.parts[0] for unit in graph}
    assert cycles(graph) == []
    assert cycles(folders_of(graph)) == []


def test_samples_take_what_is_installed_alone() -> None:
    taken: dict[str, set[str]] = {"backend": set(), "engine": set()}
    for file in tracked("samples/*.c", "samples/*.cc", "samples/*.h"):
        taken[file.parts[1]] |= {
            target
            for target in re.findall(
                r'^#include "([^"]+)"', (ROOT / file).read_text(), re.MULTILINE
            )
            if not target.startswith("samples/")
        }
    assert taken == {
        "backend": {"halyard/backend.h"},
        "engine": {"halyard/halyard.h", "halyard/halyard.hpp"},
    }


def test_headers_that_are_installed_take_no_others() -> None:
    headers = tracked("include/**")
    assert {file.parent for file in headers} == {Path("include/halyard")}
    taken = {
        target
        for file in headers
        for target in re.findall(r'^#include "([^"]+)"', (ROOT / file).read_text(), re.MULTILINE)
    }
    assert taken <= {f"halyard/{file.name}" for file in headers}


def test_no_hal_version_in_the_preprocessor() -> None:
    for file in tracked("engine/**", "driver/**"):
        assert not re.search(
            r"^#if.*(HAL(?!YARD)|V1_[0-3])", (ROOT / file).read_text(), re.MULTILINE
        ), file


def test_sources_carry_a_licence_line() -> None:
    sources = tracked(
        "*.c",
        "*.cc",
        "*.cmake",
        "*.h",
        "*.hpp",
        "*.inc",
        "*.py",
        "*.sh",
        "*.proto",
        "*.bp",
        "CMakeLists.txt",
    )
    missing = [
        file
        for file in sources
        if "SPDX-License-Identifier: Apache-2.0" not in (ROOT / file).read_text()[:200]
    ]
    assert sources
    assert missing == []


def test_names_tell_what_a_file_is() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "misc", "manager2"}
    named = [file for file in tracked() if vague & {part.split(".")[0] for part in file.parts}]
    assert named == []


def test_no_file_of_the_harness_is_long() -> None:
    sources = tracked("harness/*.py", "harness/*.cc", "harness/*.h")
    assert sources
    assert [file for file in sources if (ROOT / file).read_text().count("\n") >= 500] == []


def test_nothing_tracked_is_a_link_or_ignored() -> None:
    # A link may lead to a place that only one machine has.
    def listed(*options: str) -> list[str]:
        done = subprocess.run(
            ["git", "ls-files", *options], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    entries = listed("--cached", "--stage")
    assert entries
    assert [entry for entry in entries if not entry.startswith("100")] == []
    assert listed("--cached", "--ignored", "--exclude-standard") == []


def mapped_folders(page: str) -> set[Path]:
    """The folder map: four spaces before a top-level folder, six before one inside it."""
    folders: set[Path] = set()
    top = Path()
    for indent, name in re.findall(r"^( {4}| {6})([a-z][\w/-]*)/ {2,}", page, re.MULTILINE):
        if len(indent) == 4:
            top = Path(name)
            folders.add(top)
        else:
            folders.add(top / name)
    return folders


def test_the_docs_map_the_folders() -> None:
    mapped = mapped_folders((ROOT / "docs" / "architecture.md").read_text())
    there = {file.parts[0] for file in tracked() if len(file.parts) > 1} - {".ci", ".devcontainer"}
    for top in ("engine", "driver", "hal", "harness"):
        there |= {
            "/".join(file.parts[:2])
            for file in tracked(f"{top}/**")
            if len(file.parts) > 2 and file.parts[1] != "backends"
        }
    for backend in (ROOT / "engine" / "backends").iterdir():
        there.add(f"engine/backends/{backend.name}")
    assert {str(folder) for folder in mapped} == there


# The version is stated here alone.
_VERSION = ROOT / "engine" / "base" / "version.h"

_TOP = (
    "include|library|proto|engine|driver|hal|harness|tests|docs|samples|device-configs|benchmarks"
)


def test_pages_name_files_that_there_are() -> None:
    """NAME, TARGET and X_Y stand for any."""
    missing = [
        f"{page}: {name}"
        for page in tracked("*.md")
        for name in re.findall(rf"`((?:{_TOP})/[\w./*@-]*)`", (ROOT / page).read_text())
        if not any(ROOT.glob(re.sub("TARGET|NAME|X_Y", "*", name)))
    ]
    assert missing == []


def test_sources_name_pages_that_there_are() -> None:
    found = [
        f"{file}: {name}"
        for file in tracked("*.h", "*.hpp", "*.cc", "*.c", "*.py", "*.cmake", "Makefile")
        for name in re.findall(r"\bdocs/[\w-]+\.md\b", (ROOT / file).read_text())
        if not (ROOT / name).is_file()
    ]
    assert found == []


def test_the_changelog_begins_with_the_version_that_is_built() -> None:
    made = re.search(r'HALYARD_VERSION "([\d.]+)"', _VERSION.read_text())
    told = re.search(r"\n## .*?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text())
    assert made is not None
    assert told is not None
    assert told[1] == made[1]


def test_the_version_is_stated_once() -> None:
    """Beside the changelog, which is its history."""
    [made] = re.findall(r'HALYARD_VERSION "([\d.]+)"', _VERSION.read_text())
    stated = re.compile(rf"version\W.*(?<![\d.]){re.escape(made)}(?![\d.])", re.IGNORECASE)
    builds = [Path("CMakeLists.txt"), Path("Android.bp"), Path("pyproject.toml"), Path("Makefile")]
    sources = tracked("engine/**", "driver/**", "hal/**", "harness/**")
    found = [file for file in (*builds, *sources) if stated.search((ROOT / file).read_text())]
    assert found == [Path("engine/base/version.h")]
