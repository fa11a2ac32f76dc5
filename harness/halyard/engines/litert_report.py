# SPDX-License-Identifier: Apache-2.0
"""The report that Halyard writes of what it took in LiteRT, as the result of a case has it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from halyard.engines.parts import HOST
from halyard.errors import HalyardError
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb

# What refuses an operator, beside the backends that do.
HALYARD = "Halyard"
_ABSENT = "it is not in this build, or not on this machine"


class Part(msgspec.Struct, frozen=True):
    """`nodes`: of the engine, by backend; operators that became one node are counted once there."""

    runs_on: str
    operations: Sequence[str]
    nodes: Mapping[str, int] = {}
    copied_bytes: int | None = None


class Unmapped(msgspec.Struct, frozen=True):
    operator: str
    reason: str


class Graph(msgspec.Struct, frozen=True):
    operators: int
    taken: int
    parts: Sequence[Part]
    unmapped: Sequence[Unmapped] = ()
    backends: Sequence[str] = ()  # those that are there; none: it does not tell

    def missing(self, asked: Sequence[str]) -> list[str]:
        names = [name.partition(":")[0] for name in asked]
        return [name for name in names if self.backends and name not in self.backends]


class Report(msgspec.Struct, frozen=True):
    """Of each graph of a model: `halyard` is the version that took it."""

    halyard: str
    graphs: Sequence[Graph]
    copied_bytes: int = 0  # by a run, of no part alone

    @classmethod
    def read(cls, path: Path) -> Report:
        """HalyardError where there is none."""
        try:
            return cls.decode(path.read_bytes())
        except (OSError, msgspec.MsgspecError) as error:
            raise HalyardError(f"Halyard gave no report of what it took: {error}") from error

    @classmethod
    def decode(cls, content: bytes) -> Report:
        return msgspec.json.decode(content, type=cls)

    def write(self, path: Path, copied_bytes: int) -> None:
        path.write_bytes(
            msgspec.json.encode(msgspec.structs.replace(self, copied_bytes=copied_bytes))
        )

    def into(self, result: pb.CaseResult, asked: Sequence[str]) -> None:
        """Of a model of which nothing was taken, the result is a failure: what ran is not
        Halyard."""
        result.version_string = f"Halyard {self.halyard}, LiteRT {result.version_string}"
        for graph in self.graphs:
            self._place(graph, result, asked)
        result.partitions = sum(len(graph.parts) for graph in self.graphs)
        result.bytes_between_partitions = self.copied_bytes + sum(
            part.copied_bytes or 0 for graph in self.graphs for part in graph.parts
        )
        if not failures(result) and not any(graph.taken for graph in self.graphs):
            del result.examples[:]
            result.failed_stage = pb.STAGE_PREPARE
            result.message = self.nothing(asked)

    def _place(self, graph: Graph, result: pb.CaseResult, asked: Sequence[str]) -> None:
        """A row for each operator."""
        left: dict[str, deque[Unmapped]] = {}
        for each in graph.unmapped:
            left.setdefault(_kind(each.operator), deque()).append(each)
        missing = graph.missing(asked)
        partition = max((row.partition + 1 for row in result.placement), default=0)
        for number, part in enumerate(graph.parts, partition):
            for operator in part.operations:
                row = result.placement.add(node=operator, label=operator, partition=number)
                if part.runs_on == HALYARD:
                    row.backend = "+".join(part.nodes) or HALYARD
                    for name in missing:
                        row.refusals.add(backend=name, reason=_ABSENT)
                    continue
                row.backend = HOST
                if left.get(operator):
                    unmapped = left[operator].popleft()
                    row.label = unmapped.operator
                    row.refusals.add(backend=HALYARD, reason=unmapped.reason)

    def nothing(self, asked: Sequence[str] = ()) -> str:
        """That nothing was taken, and why."""
        total = sum(graph.operators for graph in self.graphs)
        reasons = dict.fromkeys(
            f"{name}: {_ABSENT}" for graph in self.graphs for name in graph.missing(asked)
        )
        reasons |= dict.fromkeys(
            f"{_kind(each.operator)}: {each.reason}"
            for graph in self.graphs
            for each in graph.unmapped
        )
        said = f": {'; '.join(reasons)}" if reasons else ""
        what = "the model's operator" if total == 1 else f"any of the model's {total} operators"
        return f"Halyard did not take {what}{said}"


def _kind(operator: str) -> str:
    """ "ADD", of "operator 3 (ADD)"."""
    return operator.partition("(")[2].removesuffix(")") or operator
