# SPDX-License-Identifier: Apache-2.0
"""Which models a benchmark is for: of the zoo, each in several types, and of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from halyard import zoo
from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.errors import ConfigError
from halyard.model import DataType
from halyard.model.input_files import SEEDED, InputFiles
from halyard.model.read_options import USUAL, ReadOptions


def models_of(
    names: Sequence[str],
    data_types: Sequence[DataType],
    size: int | None,
    width: float,
    *,
    option: str,
    options: ReadOptions = USUAL,
    given: InputFiles = SEEDED,
) -> list[BenchmarkModel | FileModel]:
    """A file comes in the type that it has, and is read with the options. ConfigError for a name
    that is neither, and for options where there is no file."""
    benchmark_models: list[BenchmarkModel | FileModel] = []
    for name in names:
        if name in zoo.NAMES:
            benchmark_models += [
                replace(BenchmarkModel.of_zoo(name, each, size, width), given=given)
                for each in data_types
            ]
        elif Path(name).is_file():
            benchmark_models.append(FileModel(Path(name), options=options, given=given))
        else:
            raise ConfigError(
                f"{option}: no {name!r}, there are {', '.join(zoo.NAMES)}; nor is it a file"
            )
    if any(isinstance(each, FileModel) for each in benchmark_models):
        return benchmark_models
    options.refuse_names()
    if options.shapes:
        raise ConfigError(
            "--shape and --dim are for files, not for models of the zoo, which have --size"
        )
    return benchmark_models
