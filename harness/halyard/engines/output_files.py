# SPDX-License-Identifier: Apache-2.0
"""A model's inputs and outputs as .npz files: an array for each input or output under its name, in
the type and the shape that the model's own file has for it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from halyard import output_file
from halyard.benchmark_model import AnyModel, FileModel
from halyard.engines.original import original_inputs
from halyard.model import Array, TensorInfo
from halyard.model.fitting import fitted


def write_inputs(path: Path, benchmark_model: AnyModel, inputs: Sequence[Array]) -> None:
    """The inputs it ran on; --input takes the file."""
    infos = benchmark_model.runnable.inputs
    if isinstance(benchmark_model, FileModel):
        inputs, infos = (
            original_inputs(benchmark_model.conversion, inputs),
            benchmark_model.conversion.inputs,
        )
    _write(path, infos, inputs)


def write_outputs(path: Path, benchmark_model: AnyModel, outputs: Sequence[Array]) -> None:
    """In the order in which the model gives them."""
    infos = benchmark_model.runnable.outputs
    _write(
        path,
        benchmark_model.conversion.outputs if isinstance(benchmark_model, FileModel) else infos,
        outputs,
    )


def _write(path: Path, infos: Sequence[TensorInfo], arrays: Sequence[Array]) -> None:
    """As numpy.savez writes it, whatever they are called. Of two of a name the second has its
    number behind it."""
    held = io.BytesIO()
    taken: set[str] = set()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for number, (info, values) in enumerate(zip(infos, arrays, strict=True)):
            name = info.name or f"value_{number}"
            name = f"{name}#{number}" if name in taken else name
            taken.add(name)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, fitted(values, info), allow_pickle=False)
    output_file.write(path, held.getvalue())
