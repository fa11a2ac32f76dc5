# SPDX-License-Identifier: Apache-2.0
"""IF and WHILE."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halyard.proto import halyard_pb2 as pb
from halyard.reference.tensor import Tensor

Run = Callable[[pb.Subgraph, Sequence[Tensor | None]], list[Tensor]]

# A loop of a test ends long before.
_MOST_ROUNDS = 100_000


class EndlessLoop(Exception):
    """A WHILE whose condition stays true."""


def branch(
    condition: Tensor,
    then: pb.Subgraph,
    otherwise: pb.Subgraph,
    inputs: Sequence[Tensor | None],
    run: Run,
) -> list[Tensor]:
    """The outputs of the branch that the condition takes."""
    return run(then if condition.stored.reshape(()) else otherwise, inputs)


def repeat(
    condition: pb.Subgraph,
    body: pb.Subgraph,
    inputs: Sequence[Tensor | None],
    outputs: int,
    run: Run,
) -> list[Tensor]:
    """WHILE: inputs are input-output, state-only and input-only operands. Both subgraphs take all
    of them; the body gives the first two kinds anew, and the first kind are the outputs."""
    state = list(inputs)
    for _ in range(_MOST_ROUNDS):
        [goes_on] = run(condition, state)
        if not goes_on.stored.reshape(()):
            results = [value for value in state[:outputs] if value is not None]
            assert len(results) == outputs
            return results
        renewed = run(body, state)
        state[: len(renewed)] = renewed
    raise EndlessLoop
