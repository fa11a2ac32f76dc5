# SPDX-License-Identifier: Apache-2.0
"""How the package's files import each other: downwards, and never in a circle."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

import halyard

_ROOT = Path(halyard.__file__).parent

# The files and folders of the package, the lowest first. An arrow points to a lower layer, or to
# another unit of the same one.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "proto", "terminal"}),
    frozenset({"output_file", "paths", "programs"}),
    frozenset({"golden_folder", "litert"}),
    frozenset({"model", "plots", "vm"}),
    frozenset({"cases", "onnx", "reference", "tflite", "timing"}),
    frozenset({"records", "zoo"}),
    frozenset({"devices", "store"}),
    frozenset({"html", "runner", "transport"}),
    frozenset({"specs", "torch_nnapi"}),
    frozenset({"conversion", "doctor"}),
    frozenset({"benchmark_model", "deploy"}),
    frozenset({"engines"}),
    frozenset({"conformance", "counting", "profiling"}),
    frozenset({"comparison", "vts"}),
    frozenset({"measurement"}),
    frozenset({"bench"}),
    frozenset({"cli", "pytest_plugin"}),
    frozenset({"__main__"}),
)

# Folders whose files may be named as one another's and as a file elsewhere: each has a view of its
# own of the same thing. An operator's reading, graph, reference and network; a command's options,
# record, page, plot and check.
_VIEWS: tuple[frozenset[str], ...] = (
    frozenset({"onnx", "onnx.reading", "tflite", "tflite.reading", "reference", "zoo"}),
    frozenset({"cli", "cli.bench", "cli.options", "doctor", "html", "plots", "records"}),
)

# Files that lie in no folder: each of the others lies in the folder of what it is about.
_MOST_AT_THE_ROOT = 12

Arrows = Mapping[str, frozenset[str]]

_NAME = "halyard"


def arrows_of(sources: Mapping[str, str]) -> Arrows:
    """Which modules each module names in imports, from the modules' sources by their names.

    Imports inside functions count: they hide a circle until the function is called. Those under
    TYPE_CHECKING count: files that can't be understood without each other are one file. So does
    import_module() of a name that is written there. That a module of a folder has the folder's
    __init__ run before it does not count, or every folder that gives out its names were a circle.
    """
    return {name: frozenset(_named(text, sources) - {name}) for name, text in sources.items()}


def _named(text: str, modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute in this package"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                found.add(inside if inside in modules else str(node.module))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
    return {name for name in found if name.partition(".")[0] == _NAME}


def circles(arrows: Arrows) -> list[list[str]]:
    """Of each circle one way around it, its first module at both ends."""
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
            return
        if name not in done:
            for each in sorted(arrows.get(name, ())):
                visit(each, [*path, name])
            done.add(name)

    for name in sorted(arrows):
        visit(name, [])
    return found


def unit_of(name: str) -> str:
    """The file or folder right below the package that a module is, or lies in."""
    return name.split(".")[1] if "." in name else name


def by_unit(arrows: Arrows) -> Arrows:
    units: dict[str, set[str]] = {}
    for name, targets in arrows.items():
        own = unit_of(name)
        units.setdefault(own, set()).update({unit_of(each) for each in targets} - {own})
    return {name: frozenset(targets) for name, targets in units.items()}


def upward(units: Arrows, layers: tuple[frozenset[str], ...] = LAYERS) -> list[str]:
    level = {unit: number for number, layer in enumerate(layers) for unit in layer}
    return [
        f"{unit} imports {each}"
        for unit, targets in sorted(units.items())
        for each in sorted(targets)
        if level.get(each, 0) > level.get(unit, 0)
    ]


def called_alike(names: Iterable[str]) -> list[list[str]]:
    """The modules of each name that several have, without those that are views of one thing."""
    found: dict[str, list[str]] = {}
    for name in names:
        folder, _, own = name.removeprefix(f"{_NAME}.").rpartition(".")
        if not any(folder in views for views in _VIEWS):
            found.setdefault(own, []).append(name)
    return [alike for alike in found.values() if len(alike) > 1]


def package() -> dict[str, str]:
    """The sources by the modules' names, but for the messages, which are generated."""
    found = {}
    for path in sorted(_ROOT.rglob("*.py")):
        parts = [_NAME, *path.relative_to(_ROOT).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        if not parts[-1].endswith("_pb2"):
            found[".".join(parts)] = path.read_text()
    return found


@pytest.fixture(scope="module")
def arrows() -> Arrows:
    return arrows_of(package())


def test_no_file_imports_itself_by_way_of_others(arrows: Arrows) -> None:
    assert [" -> ".join(circle) for circle in circles(arrows)] == []


def test_no_folder_imports_itself_by_way_of_others(arrows: Arrows) -> None:
    assert [" -> ".join(circle) for circle in circles(by_unit(arrows))] == []


def test_no_arrow_points_up(arrows: Arrows) -> None:
    assert upward(by_unit(arrows)) == []


def test_every_file_and_folder_has_its_layer(arrows: Arrows) -> None:
    named = [unit for layer in LAYERS for unit in layer]
    assert len(named) == len(set(named))
    assert set(by_unit(arrows)) - {_NAME} | {"proto"} == set(named)


def test_few_files_lie_at_the_root() -> None:
    assert len(list(_ROOT.glob("*.py"))) <= _MOST_AT_THE_ROOT


def test_modules_of_different_things_have_different_names() -> None:
    modules = [name for name in package() if not (_ROOT.parent / name.replace(".", "/")).is_dir()]
    assert called_alike(modules) == []


def test_the_reference_knows_nothing_that_could_be_wrong_alike(arrows: Arrows) -> None:
    """Of the driver it has the names of operands; no device, no engine, no network."""
    named = {
        target
        for name, targets in arrows.items()
        if unit_of(name) == "reference"
        for target in targets
        if unit_of(target) not in ("reference", "model", "proto")
    }
    assert named <= {"halyard.programs.operations"}


@pytest.mark.parametrize(
    "text",
    [
        "import halyard.b",
        "from halyard import b",
        "from halyard.b import thing",
        "def late():\n    from halyard.b import thing",
        "if TYPE_CHECKING:\n    from halyard.b import thing",
        "importlib.import_module('halyard.b')",
    ],
)
def test_finds_a_circle_however_it_is_written(text: str) -> None:
    found = arrows_of({"halyard.a": text, "halyard.b": "from halyard import a"})
    assert circles(found) == [["halyard.a", "halyard.b", "halyard.a"]]


def test_finds_a_circle_of_folders_whose_files_make_none() -> None:
    found = arrows_of(
        {
            "halyard.a.x": "import halyard.b.x",
            "halyard.b.x": "",
            "halyard.b.y": "import halyard.a.x",
        }
    )
    assert circles(found) == []
    assert circles(by_unit(found)) == [["a", "b", "a"]]


def test_finds_an_arrow_that_points_up() -> None:
    layers = (frozenset({"a"}), frozenset({"b"}))
    assert upward(by_unit({"halyard.a": frozenset({"halyard.b"})}), layers) == ["a imports b"]
    assert upward(by_unit({"halyard.b": frozenset({"halyard.a"})}), layers) == []


def test_finds_modules_that_are_called_alike() -> None:
    assert called_alike(["halyard.a.run", "halyard.cli.run", "halyard.html.run"]) == []
    alike = ["halyard.a.run", "halyard.b.run"]
    assert called_alike([*alike, "halyard.cli.run", "halyard.b.c"]) == [alike]
