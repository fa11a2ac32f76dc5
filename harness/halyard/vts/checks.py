# SPDX-License-Identifier: Apache-2.0
"""The checks that the runner has, and what each is for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from halyard.cases import variants
from halyard.cases.case import Case
from halyard.errors import HalyardError
from halyard.model import is_tensor, operation_name
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version


@dataclass(frozen=True)
class Check:
    """A test of the vendor test suite; of several that it makes one after the other, the one that
    `variant` names."""

    suite: str
    name: str
    variant: str
    scope: str  # "device", or which cases it is for
    since: pb.HalVersion
    until: pb.HalVersion

    @property
    def id(self) -> str:
        """The runner's name of it."""
        return self._named("")

    def test_name(self, case: str) -> str:
        """Of the check of a case, as gtest has it: "GeneratedTest.Test/add_SYNC". That of a check
        of the device has no case: ""."""
        return self._named(case and f"/{case}")

    def _named(self, case: str) -> str:
        return f"{self.suite}.{self.name}{case}" + (self.variant and f"_{self.variant}")

    def is_of(self, version: pb.HalVersion) -> bool:
        return self.since <= version <= self.until

    def is_for(self, case: Case) -> bool:
        return self.scope in _SCOPES and _SCOPES[self.scope](case)


def _is_endless(case: Case) -> bool:
    return "infiniteLoop" in case.tags


def _is_ordinary(case: Case) -> bool:
    return not case.expect_failure and not _is_endless(case)


def _is_shaped(case: Case) -> bool:
    main = case.test_case.model.main
    types = [main.operands[index].type for index in main.output_indexes]
    return _is_ordinary(case) and all(map(is_tensor, types))


def _is_coupled(case: Case) -> bool:
    model = case.test_case.model
    subgraphs = (model.main, *model.referenced)
    return _is_ordinary(case) and len(model.main.operations) == 1 and any(map(_couples, subgraphs))


def _couples(subgraph: pb.Subgraph) -> bool:
    """Whether it computes with unsigned bytes in a way in which signed ones are to be computed."""
    used = {
        index
        for operation in subgraph.operations
        if operation_name(operation.type) not in variants.NOT_SIGNED
        for index in (*operation.inputs, *operation.outputs)
    }
    return any(
        subgraph.operands[index].type == pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM for index in used
    )


_SCOPES: Mapping[str, Callable[[Case], bool]] = {
    "any_case": lambda _: True,
    "each_case": _is_ordinary,
    "failing_case": lambda case: case.expect_failure,
    "infinite_loop_case": _is_endless,
    "shaped_case": _is_shaped,
    "coupled_case": _is_coupled,
}


@cache
def all_checks(program: Path | None = None) -> Sequence[Check]:
    """A runner's checks; left out: this machine's."""
    program = program or native.program(native.RUNNER)
    done = subprocess.run([program, "--list-checks"], capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{program} --list-checks failed: {done.stderr.strip()}")
    return tuple(
        Check(
            suite=row["suite"],
            name=row["name"],
            variant=row["variant"],
            scope=row["scope"],
            since=hal_version.parse(row["since"]),
            until=hal_version.parse(row["until"]),
        )
        for row in json.loads(done.stdout)
    )
