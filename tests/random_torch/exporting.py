# SPDX-License-Identifier: Apache-2.0
"""From a module to a file, by each of the ways that PyTorch has: what Halyard reads of them."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.backends._nnapi.prepare import convert_model_to_nnapi

from tests.random_torch import data_movement, elementwise, layers, nnapi, sequences, sketch  # noqa: F401
from tests.random_torch.sketch import RandomNet

# By number; torch.export takes ten times as long as TorchScript.
WAYS = ("script", "nnapi", "script", "export", "script", "nnapi_8_bits", "script", "nnapi")


@dataclass(frozen=True)
class Exported:
    way: str
    path: Path
    content: bytes
    net: RandomNet
    expected: list[Any]
    # In double precision, which tells how far float's last bits go; the same where there is none.
    exact: list[Any]


class NotExported(Exception):
    """PyTorch can't write it."""


def generate(seed: int, number: int, way: str) -> RandomNet:
    """The same for the same numbers and the same version of PyTorch."""
    for attempt in range(1000):
        random = np.random.default_rng([seed, number, attempt, zlib.crc32(way.encode())])
        torch.manual_seed(int(random.integers(2**31)))
        try:
            if way == "nnapi_8_bits":
                return nnapi.quantized(random)
            return nnapi.drawn(random) if way == "nnapi" else sketch.drawn(random)
        except ValueError:
            continue
    raise AssertionError("nothing was drawn that makes a module")


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """The exporters write of their work."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
                yield
    finally:
        logging.disable(logging.NOTSET)


def exported(seed: int, number: int, way: str) -> Exported:
    """NotExported where PyTorch has no way to write what was drawn."""
    random = np.random.default_rng([seed, number, 1])
    with silence():
        net = generate(seed, number, way)
        expected = _outputs(net.net, net.inputs)
        try:
            content = _content(net, way, random)
        # Its exceptions have no class of their own in common.
        except Exception as error:
            raise NotExported(f"{type(error).__name__}: {error}") from error
        exact = expected if way == "nnapi_8_bits" else _in_doubles(seed, number, way)
    suffix = ".pt" if way.startswith("nnapi") else ".onnx"
    return Exported(way, Path(f"random{suffix}"), content, net, expected, exact)


def _outputs(net: Any, inputs: tuple[Any, ...]) -> list[Any]:
    found = net(*inputs)
    return list(found) if isinstance(found, tuple) else [found]


def _in_doubles(seed: int, number: int, way: str) -> list[Any]:
    """Of the module made anew: one that was exported may be changed."""
    net = generate(seed, number, way)
    inputs = tuple(each.double() if each.is_floating_point() else each for each in net.inputs)
    return _outputs(net.net.double(), inputs)


def _content(net: RandomNet, way: str, random: np.random.Generator) -> bytes:
    made = io.BytesIO()
    if way.startswith("nnapi"):
        traced = torch.jit.trace(net.net, list(net.inputs), check_trace=False)
        inputs = list(net.inputs)
        torch.jit.save(convert_model_to_nnapi(traced, inputs), made)
    elif way == "script":
        opset = int(random.integers(11, 20))
        torch.onnx.export(net.net, net.inputs, made, dynamo=False, opset_version=opset)
    else:
        chosen = random.choice([0, 0, 0, 18, 20, 21, 23])
        more = {"opset_version": int(chosen)} if chosen else {}
        program = torch.onnx.export(net.net, net.inputs, dynamo=True, verbose=False, **more)
        assert program is not None
        return bytes(program.model_proto.SerializeToString())
    return made.getvalue()
