# SPDX-License-Identifier: Apache-2.0
"""MediaPipe's .task files: zip files of models, which may lie in one another."""

from __future__ import annotations

import io
import zipfile
import zlib

from halyard.errors import HalyardError
from halyard.model.budget import Budget, OverBudget, excerpt

_MAGIC = b"PK\x03\x04"
_MODELS = (".tflite", ".lite")
_INNER = ".task"
_MOST_DEPTH = 3
_MOST_ENTRIES = 10_000


def is_bundle(content: bytes) -> bool:
    return content.startswith(_MAGIC)


def taken(content: bytes, member: str) -> bytes:
    """The model of that name, "inner.task/model.tflite" of one inside; the only one if none is
    named. HalyardError, with the names of all, where there is none of it, or several."""
    budget = Budget(len(content))
    models = _models(content, "", budget, 0)
    if member:
        if member not in models:
            raise HalyardError(f"--member {member}: {_listed(models)}")
        return _read(models[member], budget)
    if len(models) != 1:
        raise HalyardError(f"{_listed(models)}; --member NAME takes one of them")
    return _read(next(iter(models.values())), budget)


def _listed(models: dict[str, _Entry]) -> str:
    if not models:
        return "there is no model in this file"
    names = ", ".join(excerpt(each) for each in list(models)[:50])
    return f"the models in this file are {names}"


class _Entry:
    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self.archive = archive
        self.info = info


def _models(content: bytes, prefix: str, budget: Budget, depth: int) -> dict[str, _Entry]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise HalyardError(f"this is no .task file: {excerpt(str(error))}") from error
    entries = archive.infolist()
    budget.take_objects(len(entries))
    if len(entries) > _MOST_ENTRIES:
        raise HalyardError(f"this .task file has {len(entries)} files, which is too much")
    found: dict[str, _Entry] = {}
    for info in entries:
        name, entry = f"{prefix}{info.filename}", _Entry(archive, info)
        if info.filename.endswith(_MODELS):
            found[name] = entry
        elif info.filename.endswith(_INNER) and depth < _MOST_DEPTH:
            found |= _models(_read(entry, budget), f"{name}/", budget, depth + 1)
    return found


def _read(entry: _Entry, budget: Budget) -> bytes:
    """Its stated size is believed as a limit only."""
    size, name = entry.info.file_size, excerpt(entry.info.filename)
    try:
        budget.take_bytes(size, f"{name}, unpacked,")
    except OverBudget as error:
        raise HalyardError(str(error)) from error
    try:
        with entry.archive.open(entry.info) as stream:
            content = stream.read(size + 1)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise HalyardError(f"{name} can't be unpacked: {excerpt(str(error))}") from error
    if len(content) != size:
        raise HalyardError(f"{name} has not the {size} bytes that the .task file says")
    return content
