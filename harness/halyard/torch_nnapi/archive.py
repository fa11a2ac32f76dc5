# SPDX-License-Identifier: Apache-2.0
"""TorchScript's archives: a zip with the objects in a pickle, and a file for each tensor's data."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from halyard.model import Array
from halyard.model.budget import Budget, excerpt
from halyard.torch_nnapi import pickles
from halyard.torch_nnapi.pickles import Record, Tensor

_MODULE = "NnapiModule"
_BEGIN_OF_A_ZIP = b"PK\x03\x04"
_MAX_PICKLE_BYTES = 2**24

_ELEMENTS = {
    "BoolStorage": "u1",
    "ByteStorage": "u1",
    "CharStorage": "i1",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "IntStorage": "<i4",
    "QInt32Storage": "<i4",
    "QInt8Storage": "i1",
    "QUInt8Storage": "u1",
    "ShortStorage": "<i2",
}


class Archive:
    """ValueError, from all of it, for what is no such archive, or is damaged; OverBudget where it
    would come to far more than it is."""

    def __init__(self, content: bytes) -> None:
        self._budget = Budget(len(content))
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, NotImplementedError) as error:
            if content.startswith(_BEGIN_OF_A_ZIP):
                raise ValueError(f"it is cut off, at {len(content)} bytes, or damaged") from error
            raise ValueError(
                f"it is no zip archive, as TorchScript's files are: {error}"
            ) from error
        roots = [
            name.removesuffix("/data.pkl")
            for name in self._zip.namelist()
            if name.endswith("/data.pkl") and name.count("/") == 1
        ]
        if len(roots) != 1:
            raise ValueError("it has no data.pkl, as TorchScript's archives have")
        self._root = roots[0]
        if self._has("byteorder") and self._read("byteorder") != b"little":
            raise ValueError("its numbers are not little-endian")

    def module(self) -> Record:
        """The module that holds the NNAPI model."""
        content = self._read("data.pkl", _MAX_PICKLE_BYTES)
        found = [
            each
            for each in _records(pickles.loads(content))
            if each.kind.rpartition(".")[2] == _MODULE
        ]
        if not found:
            raise ValueError("none of its modules was converted by torch.backends._nnapi")
        if len(found) > 1:
            raise ValueError(f"{len(found)} of its modules are NNAPI models, and one is read")
        return found[0]

    def array(self, tensor: Tensor) -> Array:
        """A tensor's elements, in its order."""
        kind = tensor.storage.kind
        if kind not in _ELEMENTS:
            raise ValueError(f"a tensor's data are a {excerpt(kind)}, which NNAPI has no type for")
        dtype = np.dtype(_ELEMENTS[kind])
        values = np.frombuffer(self._read(f"data/{tensor.storage.key}"), dtype)
        numbers = (tensor.offset, *tensor.shape, *tensor.strides)
        last = tensor.offset + sum(
            (extent - 1) * stride
            for extent, stride in zip(tensor.shape, tensor.strides, strict=True)
        )
        if min(numbers) < 0 or last >= values.size:
            raise ValueError(f"a tensor lies outside of data/{excerpt(tensor.storage.key)}")
        # Strides of nothing make many elements of few, and many tensors may be of the same.
        size = math.prod(tensor.shape) * dtype.itemsize
        self._budget.take_bytes(size, "its tensors")
        return np.ascontiguousarray(
            np.lib.stride_tricks.as_strided(
                values[tensor.offset :],
                tensor.shape,
                [stride * dtype.itemsize for stride in tensor.strides],
                writeable=False,
            )
        )

    def _has(self, name: str) -> bool:
        return f"{self._root}/{name}" in self._zip.namelist()

    def _read(self, name: str, most: int = 2**31) -> bytes:
        try:
            info = self._zip.getinfo(f"{self._root}/{name}")
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name} is compressed, which PyTorch does not do")
            if info.file_size > most:
                raise ValueError(f"{name} takes {info.file_size} bytes, which is too much")
            return self._zip.read(info)
        except KeyError as error:
            raise ValueError(f"it has no {name}") from error
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            raise ValueError(f"{name} is damaged: {error}") from error


def _records(value: Any) -> Iterator[Record]:
    """All objects below one, which may be there several times, or below itself."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Record):
            yield each
            waiting.append(each.state)
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
