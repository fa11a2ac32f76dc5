# SPDX-License-Identifier: Apache-2.0
"""A model's outputs on an engine."""

from collections.abc import Sequence

from halyard.engines.engine import Engine
from halyard.engines.workload import Workload
from halyard.model import Array
from halyard.proto import halyard_pb2 as pb


def outputs_of(engine: Engine, model: pb.Model, inputs: Sequence[Array]) -> list[Array]:
    with Workload.of(model, inputs) as work, engine.prepare(work) as prepared:
        return prepared.run()
