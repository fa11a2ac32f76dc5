# SPDX-License-Identifier: Apache-2.0
"""The formats that models are read from, by the extensions of their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from halyard import onnx, tflite, torch_nnapi
from halyard.conversion import halyard_file
from halyard.errors import HalyardError
from halyard.model import Conversion
from halyard.model.read_options import USUAL, ReadOptions

# A file is read as a whole; flatbuffers, and messages, end at 2 GiB anyway.
_MAX_BYTES = 2**31


@dataclass(frozen=True)
class Format:
    """`read` is given a file's bytes, and its path for messages and for the reference. It raises
    HalyardError for what is no such file, for a model that can be neither mapped nor cut, and for
    options that do not go with it."""

    name: str
    extensions: tuple[str, ...]
    read: Callable[[bytes, Path, ReadOptions], Conversion]
    # Whether its files may hold several models or graphs, of which one is named.
    has_names: bool = False


HALYARD = Format("Halyard", (".pb", ".halyard"), halyard_file.read_conversion)

FORMATS = (
    HALYARD,
    Format("TFLite", (".tflite", ".lite", ".task"), tflite.read_conversion, has_names=True),
    Format("ONNX", (".onnx",), onnx.read_conversion),
    Format("PyTorch NNAPI", (".pt", ".ptl", ".pth"), torch_nnapi.read_conversion),
)


def format_of(path: Path) -> Format:
    """Halyard's own for an extension that no format has: `halyard save` takes any name."""
    for each in FORMATS:
        if path.suffix.lower() in each.extensions:
            return each
    return HALYARD


def convert(path: Path, options: ReadOptions = USUAL) -> Conversion:
    """HalyardError for what can't be read."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise HalyardError(f"{path}: more than 2 GiB, which no model's file has")
        content = path.read_bytes()
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror}") from error
    if not content:
        raise HalyardError(f"{path}: the file is empty")
    chosen = format_of(path)
    if not chosen.has_names:
        options.refuse_names()
    return chosen.read(content, path, options)
