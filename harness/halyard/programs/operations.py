# SPDX-License-Identifier: Apache-2.0
"""The driver's operation table, as the service prints it (--list-operations)."""

import difflib
import itertools
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from halyard.errors import ConfigError, HalyardError
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb

_NAMES = [each.name for each in pb.OperationType.DESCRIPTOR.values]

COLUMNS = ("operation", "from HAL", "types that it computes with, and the HAL version of each")


@dataclass(frozen=True)
class Parameter:
    """An input or an output of a form. `repeated`: it stands for one or more."""

    name: str
    types: frozenset[int]  # pb.OperandType; none: any
    repeated: bool = False
    column: int | None = None  # of the type rows, which say its type; None: the same in all


@dataclass(frozen=True)
class TypeRow:
    since: str  # the lowest HAL version that takes the types
    types: tuple[int, ...]  # pb.OperandType by column


@dataclass(frozen=True)
class Form:
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    since: str = ""

    def takes(self, inputs: Sequence[int]) -> bool:
        """Whether an operation whose inputs have these types is of this form."""
        try:
            places = _places(self.inputs, len(inputs))
        except ValueError:
            return False
        return all(
            not each.types or inputs[place] in each.types
            for each in self.inputs
            for place in places[each.name]
        )

    def takes_with(self, row: TypeRow, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
        """Whether an operation whose operands have these types is of this form and this row."""
        lists = ((self.inputs, inputs), (self.outputs, outputs))
        return all(_match(parameters, row, types) for parameters, types in lists)


@dataclass(frozen=True)
class TypedForm:
    """A form with a type row: what an operation's operands say that it is. There is at most one."""

    operation: str
    form: Form
    row: TypeRow

    @property
    def since(self) -> str:
        """The lowest HAL version that takes it."""
        return max(self.form.since, self.row.since)

    def __str__(self) -> str:
        names = ", ".join(each.name for each in self.form.inputs)
        outputs = len(self.form.outputs)
        types = [pb.OperandType.Name(code) for code in self.row.types]
        columns = ", ".join(name.removeprefix("OPERAND_TYPE_") for name in types)
        return f"{self.operation}({names}) -> {outputs}: {columns or 'no types'}, HAL {self.since}"


@dataclass(frozen=True)
class OperationRow:
    name: str
    since: str
    types: Sequence[tuple[str, str]]  # type, lowest version that takes it
    code: int = -1
    forms: tuple[Form, ...] = ()
    rows: tuple[TypeRow, ...] = ()

    def typed_forms(self) -> list[TypedForm]:
        return [TypedForm(self.name, *each) for each in itertools.product(self.forms, self.rows)]

    def typed_form(self, inputs: Sequence[int], outputs: Sequence[int]) -> TypedForm | None:
        """That of an operation whose operands have these types."""
        for each in self.typed_forms():
            if each.form.takes_with(each.row, inputs, outputs):
                return each
        return None

    def cells(self) -> tuple[str, str, str]:
        return self.name, self.since, ", ".join(f"{name} {since}" for name, since in self.types)


def parse(text: str) -> list[OperationRow]:
    try:
        return [
            OperationRow(
                item["name"],
                item["since"],
                _types(item["forms"], item["rows"]),
                item["code"],
                tuple(_form(form, item["rows"]) for form in item["forms"]),
                tuple(TypeRow(row["since"], _codes(row["types"])) for row in item["rows"]),
            )
            for item in json.loads(text)["operations"]
        ]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise HalyardError(f"the operation list is not understood: {error}") from error


@cache
def table() -> Mapping[str, OperationRow]:
    """By name, of the driver of this package."""
    program = native.program("service")
    done = subprocess.run([program, "--list-operations"], capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{program} --list-operations failed: {done.stderr.strip()}")
    return {row.name: row for row in parse(done.stdout)}


# ---- operands by name ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """Where the operands stand that a form names: of a name that the form has not, nowhere."""

    inputs: Mapping[str, Sequence[int]]
    outputs: Mapping[str, Sequence[int]]


@cache
def places(name: str, inputs: tuple[int, ...], outputs: int) -> Places:
    """Of an operation whose inputs have these types and that has so many outputs, of which the last
    ones may be left away. ValueError where the driver knows no such form."""
    of = form(name, inputs)
    return Places(_places(of.inputs, len(inputs)), _places(of.outputs, outputs, may_end_early=True))


@cache
def form(name: str, inputs: tuple[int, ...]) -> Form:
    """That of an operation whose inputs have these types. ValueError where there is none."""
    row = table().get(name)
    if row is None:
        raise ValueError(f"the driver has no operation {name}")
    for each in row.forms:
        if each.takes(inputs):
            return each
    raise ValueError(f"{name} has no form with {len(inputs)} inputs of these types")


def _places(
    parameters: Sequence[Parameter], count: int, *, may_end_early: bool = False
) -> dict[str, list[int]]:
    repeated = any(each.repeated for each in parameters)
    room = count - len(parameters) + 1
    fits = room >= 1 if repeated else count == len(parameters)
    if not (fits or may_end_early):
        raise ValueError(f"{count} operands")
    found: dict[str, list[int]] = {}
    at = 0
    for each in parameters:
        end = at + (room if each.repeated else 1)
        found[each.name] = [place for place in range(at, end) if place < count]
        at = end
    return found


def _match(parameters: Sequence[Parameter], row: TypeRow, types: Sequence[int]) -> bool:
    """Whether operands of these types can stand there with the types of the row."""
    try:
        places = _places(parameters, len(types))
    except ValueError:
        return False
    for each in parameters:
        wanted = each.types if each.column is None else {row.types[each.column]}
        if wanted and any(types[place] not in wanted for place in places[each.name]):
            return False
    return True


def _form(form: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Form:
    def parameter(given: Mapping[str, Any]) -> Parameter:
        names = [given["type"]] if "type" in given else []
        if "column" in given:
            names = [row["types"][given["column"]] for row in rows]
        codes = frozenset(_codes(names))
        return Parameter(given["name"], codes, "at_least" in given, given.get("column"))

    return Form(
        tuple(map(parameter, form["inputs"])),
        tuple(map(parameter, form["outputs"])),
        form["since"],
    )


def _codes(names: Sequence[str]) -> tuple[int, ...]:
    return tuple(pb.OperandType.Value(f"OPERAND_TYPE_{name}") for name in names)


# ---- names that people write --------------------------------------------------------------------


def check_name(name: str, option: str) -> None:
    """ConfigError for a name that is no operation's, with those that are like it."""
    known = [text.removeprefix("OPERATION_TYPE_") for text in _NAMES]
    if name.upper() not in known:
        raise ConfigError(f"{option}: no {name!r}{likely(name, known)}")


def likely(name: str, known: Sequence[str]) -> str:
    """The names that a wrong one may have meant, as the end of a sentence; all names, if they are
    few."""
    near = difflib.get_close_matches(name.upper(), known, n=4, cutoff=0.5)
    near += [each for each in known if name.upper() in each and each not in near][:4]
    if len(known) <= 20:
        return f"; there are {', '.join(known)}"
    return f"; there are {', '.join(near)} and others" if near else ""


def _types(
    forms: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """The types of the first input that may have one or another; of the first input where each has
    but one. A form goes with a row from the later of their versions on."""
    lowest: dict[str, str] = {}
    for form, row in itertools.product(forms, rows):
        inputs = form["inputs"]
        first = next((each for each in inputs if "column" in each), inputs[0])
        column = first.get("column")
        name = str(first.get("type", "any") if column is None else row["types"][column])
        name = name.removeprefix("TENSOR_")
        since = max(str(form["since"]), str(row["since"]))
        lowest[name] = min(since, lowest.get(name, since))
    return sorted(lowest.items(), key=lambda item: (item[1], item[0]))


def as_markdown(rows: Sequence[OperationRow]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows]
    return "\n".join(lines) + "\n"
