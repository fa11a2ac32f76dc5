# SPDX-License-Identifier: Apache-2.0
"""Makes the list of operators that `halyard bench operators` times, of the real models.

`python -m tests.real.operators FILE` fetches what is not there yet, as test-real does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from halyard.bench import operators
from halyard.conversion import convert
from halyard.errors import HalyardError
from halyard.model import NnapiPart
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import Shapes
from halyard.records.operators import Operator
from tests.real import catalog, packages
from tests.real.catalog import Model


def of_real_model(model: Model) -> list[Operator]:
    """Those of the parts that NNAPI runs. HalyardError for a file that can't be read."""
    shapes = Shapes(
        tuple((name, tuple(shape)) for name, shape in model.shapes.items()),
        tuple(model.dims.items()),
    )
    conversion = convert(packages.model_file(model), ReadOptions(shapes=shapes))
    parts = [part for part in conversion.parts if isinstance(part, NnapiPart)]
    return [each for part in parts for each in operators.of_model(part.model)]


def main(file: Path) -> int:
    found: list[Operator] = []
    for model in catalog.read():
        if model.fails:
            continue
        try:
            found += of_real_model(model)
        except (HalyardError, packages.Unreachable) as error:
            print(f"{model.name}: {error}", file=sys.stderr)
            return 1
    file.write_bytes(operators.as_json(operators.heaviest(operators.distinct(found))))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
