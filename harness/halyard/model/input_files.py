# SPDX-License-Identifier: Apache-2.0
"""Inputs of a model from files: arrays, raw bytes, and images as arrays."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from halyard.errors import ConfigError, HalyardError
from halyard.model.fitting import fitted
from halyard.model.operands import Array
from halyard.model.pixels import SUFFIXES, Pixels, read_image
from halyard.model.shapes import Shapes, turns
from halyard.model.tensors import TensorInfo


@dataclass(frozen=True)
class InputFiles:
    """`words` are those behind --input: FILE, for the inputs in their order, or NAME=FILE. An .npz
    has several, by their names."""

    words: tuple[str, ...] = ()
    pixels: Pixels = field(default_factory=Pixels)

    def __bool__(self) -> bool:
        return bool(self.words)

    @property
    def title(self) -> str:
        return ", ".join(Path(word.rpartition("=")[2]).name for word in self.words)

    def check(self) -> None:
        """ConfigError for what can be told without a model."""
        if self.pixels and not self.words:
            raise ConfigError("--layout, --mean and --scale are for images, and --input gives them")
        for word in self.words:
            if not Path(word).is_file() and not any(
                Path(file).is_file() for _, file in _partitions(word)
            ):
                raise ConfigError(f"--input {word}: there is no such file")

    def several(self) -> list[InputFiles]:
        """Where files are given several times: the first of each, the second, and so on."""
        said = [("--input", _name_of(word), word) for word in self.words]
        return [replace(self, words=tuple(word for _, word in chosen)) for chosen in turns(said)]

    def shapes(self) -> Shapes:
        """Those that arrays have, by the names behind --input or in an .npz."""
        found: list[tuple[str, tuple[int, ...]]] = []
        for word in self.words:
            name = _name_of(word)
            path = Path(word.removeprefix(f"{name}=") if name else word)
            if path.suffix.lower() == ".npy":
                found.append((name, tuple(_array(path).shape)))
            elif path.suffix.lower() == ".npz":
                found += [(each, tuple(values.shape)) for each, values in _opened(path).items()]
        return Shapes(tuple(found))

    def arrays(
        self, inputs: Sequence[TensorInfo], originals: Mapping[str, TensorInfo] | None = None
    ) -> list[Array]:
        """A value for each input. `originals` are the inputs as the model's file has them, where
        they have other types or shapes there, or are not read by anything. HalyardError names the
        file and what the input takes."""
        known = {info.name: info for info in inputs}
        wanted = {**known, **(originals or {})}
        found: dict[str, Array] = {}
        images = 0
        for name, path in self._files(list(wanted)):
            if name in found:
                raise ConfigError(f"--input {name}={path}: {name} has a file already")
            if path.suffix.lower() == ".npz":
                for each, values in _arrays(path, wanted).items():
                    if each in found:
                        raise ConfigError(f"--input {path}: {each} has a file already")
                    found[each] = _checked(path, values, wanted[each], known.get(each))
                continue
            images += path.suffix.lower() in SUFFIXES
            found[name] = self._read(path, wanted[name], known.get(name))
        missing = [name for name in known if name not in found]
        if missing:
            given = f"{len(found)} of {len(known)} inputs have files"
            raise ConfigError(
                f"--input: {given}, and {', '.join(map(repr, missing))} has none: --input "
                f"{missing[0]}=FILE"
            )
        if self.pixels and not images:
            raise ConfigError("--layout, --mean and --scale are for images, and no input is one")
        return [found[info.name] for info in inputs]

    def _files(self, names: Sequence[str]) -> list[tuple[str, Path]]:
        """By the inputs that they are for; an .npz that is for several has no name."""
        named: list[tuple[str, Path]] = []
        unnamed: list[Path] = []
        for word in self.words:
            if Path(word).is_file():
                unnamed.append(Path(word))
                continue
            pairs = [(name, Path(file)) for name, file in _partitions(word) if Path(file).is_file()]
            fitting = [pair for pair in pairs if pair[0] in names]
            if not fitting and pairs:
                listed = ", ".join(map(repr, names))
                raise ConfigError(f"--input {word}: no input {pairs[0][0]!r}, there are {listed}")
            if not fitting:
                raise ConfigError(f"--input {word}: there is no such file")
            if fitting[0][1].suffix.lower() == ".npz":
                raise ConfigError(
                    f"--input {word}: an .npz has the names of its inputs in it: --input "
                    f"{fitting[0][1]}"
                )
            named.append(fitting[0])
        taken = {name for name, _ in named}
        left = [name for name in names if name not in taken]
        lone = [path for path in unnamed if path.suffix.lower() != ".npz"]
        if len(lone) > len(left):
            raise ConfigError(
                f"--input: {len(named) + len(lone)} files, and the model has {len(names)} inputs"
            )
        several = [("", path) for path in unnamed if path not in lone]
        return [*named, *zip(left, lone, strict=False), *several]

    def _read(self, path: Path, info: TensorInfo, ours: TensorInfo | None) -> Array:
        try:
            if path.suffix.lower() == ".npy":
                return _checked(path, _array(path), info, ours)
            if path.suffix.lower() in SUFFIXES:
                return _ours(path, read_image(path, info, self.pixels), ours or info)
            content = path.read_bytes()
        except OSError as error:
            raise HalyardError(f"{path}: {error.strerror or error}") from error
        return _raw(path, content, info, ours)


def _name_of(word: str) -> str:
    """Of the input that a word names; empty where it names a file alone."""
    if Path(word).is_file():
        return ""
    return next((name for name, file in _partitions(word) if Path(file).is_file()), "")


# Values that are made, and from no file.
SEEDED = InputFiles()


def _partitions(word: str) -> list[tuple[str, str]]:
    """Names have = in them, and so have files."""
    places = [place for place, sign in enumerate(word) if sign == "="]
    return [(word[:place], word[place + 1 :]) for place in places]


def _arrays(path: Path, wanted: Mapping[str, TensorInfo]) -> dict[str, Array]:
    found = _opened(path)
    strange = [name for name in found if name not in wanted]
    if strange:
        listed = ", ".join(map(repr, wanted))
        raise HalyardError(f"{path}: no input {strange[0]!r}, there are {listed}")
    return found


def _opened(path: Path) -> dict[str, Array]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError, TypeError) as error:
        raise HalyardError(f"{path}: these are no arrays of numpy's: {error}") from error
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror or error}") from error


def _array(path: Path) -> Array:
    try:
        values: Array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise HalyardError(f"{path}: this is no array of numpy's: {error}") from error
    if not isinstance(values, np.ndarray):
        raise HalyardError(f"{path}: this is no array of numpy's, but several: name it .npz")
    return values


def _checked(path: Path, values: Array, info: TensorInfo, ours: TensorInfo | None) -> Array:
    """Of its type, or of another of whole numbers whose values fit."""
    is_whole = values.dtype.kind in "biu" and info.dtype.kind in "biu" and not info.quantized
    takes = (info.dtype, *((ours.dtype,) if ours is not None else ()))
    if values.dtype not in takes and not is_whole:
        raise _unfit(path, info, f"elements of type {values.dtype}")
    if values.size != int(np.prod(info.shape)):
        raise _unfit(path, info, f"the shape {list(values.shape)}")
    if info.dtype == np.bool_ and not np.isin(values, (0, 1)).all():
        raise _unfit(path, info, "values that are neither 0 nor 1")
    # In the file's type first, which may hold less.
    return _ours(path, _ours(path, values, info), ours or info)


def _ours(path: Path, values: Array, info: TensorInfo) -> Array:
    """In the type that the device holds it in."""
    try:
        return fitted(values, info)
    except HalyardError as error:
        raise HalyardError(f"{path}: {error}") from error


def _raw(path: Path, content: bytes, info: TensorInfo, ours: TensorInfo | None) -> Array:
    """In the type of the file, or of the device."""
    count = int(np.prod(info.shape))
    expected = info.dtype.itemsize * count
    if len(content) == expected:
        return _checked(path, np.frombuffer(content, info.dtype), info, ours)
    if ours is not None and len(content) == ours.dtype.itemsize * count:
        return _checked(path, np.frombuffer(content, ours.dtype), info, ours)
    raise _unfit(path, info, f"{len(content)} bytes, not {expected}")


def _unfit(path: Path, info: TensorInfo, what: str) -> HalyardError:
    return HalyardError(
        f"{path} has {what}; the input {info.name or 'of the model'} takes "
        f"{info.dtype}{list(info.shape)}"
    )
