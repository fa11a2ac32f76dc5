# SPDX-License-Identifier: Apache-2.0
"""Extents of what a model takes, where its file leaves some open: from the command line, from the
file, and as usual."""

from __future__ import annotations

import ast
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from halyard.errors import ConfigError, HalyardError

MAX_EXTENT = 2**31 - 1
# Longer names are no sums of others.
_MAX_EXPRESSION = 200

# "batch * 4" is none.
_BATCH = re.compile(r"n|b|bs|nb|[\w .:/]*batch[\w .:/]*", re.IGNORECASE)
# A first dimension of such a name is no batch.
_LENGTH = re.compile(
    r"[tlshw]|.*(seq|len|time|frame|token|sample|word|char|height|width|step|chunk).*",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"h|w|.*(height|width).*", re.IGNORECASE)

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda above, below: above // below if below else -1,
}


class OpenDimensions(HalyardError):
    """Dimensions whose extents nothing tells. `options` are for the command line, and close them
    all, with extents that models of the kind often have."""

    def __init__(self, text: str, options: Sequence[str]) -> None:
        super().__init__(text)
        self.options = tuple(options)


@dataclass(frozen=True)
class Shapes:
    """A user's settings of a model's inputs: shapes by their names ("" for the only one), and
    extents by the names of dimensions."""

    of_inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()
    extents: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.of_inputs or self.extents)

    @classmethod
    def several(cls, shapes: Sequence[str], dims: Sequence[str]) -> list[Shapes]:
        """Of words that say some names several times: the first of each, the second, and so on.
        What is said once holds for all. ConfigError where the others are not as many."""
        said = [("--shape", word.rpartition("=")[0], word) for word in shapes]
        said += [
            ("--dim", each.rpartition("=")[0].strip(), each)
            for word in dims
            for each in word.split(",")
        ]
        return [
            cls.parse(
                [word for option, word in chosen if option == "--shape"],
                [word for option, word in chosen if option == "--dim"],
            )
            for chosen in turns(said)
        ]

    @classmethod
    def parse(cls, shapes: Sequence[str], dims: Sequence[str]) -> Shapes:
        """Of the words behind --shape and --dim. ConfigError for what is neither."""
        of_inputs: dict[str, tuple[int, ...]] = {}
        for word in shapes:
            name, _, extents = word.rpartition("=")
            if name in of_inputs:
                raise ConfigError(f"--shape {word}: {name or 'the input'} has a shape already")
            of_inputs[name] = _shape(word, extents)
        given: dict[str, int] = {}
        for word in dims:
            for each in word.split(","):
                name, equals, extent = each.rpartition("=")
                if not equals or not name:
                    raise ConfigError(f"--dim {word}: {each!r} is no NAME=EXTENT")
                value = _extent(f"--dim {word}", extent)
                if given.setdefault(name.strip(), value) != value:
                    raise ConfigError(f"--dim {word}: {name} is {given[name.strip()]} already")
        return cls(tuple(of_inputs.items()), tuple(given.items()))

    def words(self) -> list[str]:
        """As on the command line."""
        shapes = [shape_option(*each) for each in self.of_inputs]
        dims = ",".join(f"{name}={extent}" for name, extent in self.extents)
        return [word for each in shapes for word in each] + (["--dim", dims] if dims else [])


UNSAID = Shapes()


def turns(said: Sequence[tuple[str, str, str]]) -> list[list[tuple[str, str]]]:
    """Of (option, name, word): the options and words of each turn, the k-th of each name in the
    k-th. What is there once is in all."""
    by_name: dict[tuple[str, str], list[str]] = {}
    for option, name, word in said:
        by_name.setdefault((option, name), []).append(word)
    count = max(map(len, by_name.values()), default=1)
    for (option, name), words in by_name.items():
        if len(words) not in (1, count):
            raise ConfigError(
                f"{option}: {name or 'the input'} is there {len(words)} times and another {count} "
                "times: each once or as often"
            )
    return [
        [
            (option, words[turn] if len(words) > 1 else words[0])
            for (option, _), words in by_name.items()
        ]
        for turn in range(count)
    ]


def without_ones(several: Sequence[Shapes]) -> list[Shapes]:
    """The same where what is 1 in some and more in others is more in all: a dimension of 1 has
    less to be done, which does not do for others."""
    extents: dict[tuple[str, int], list[int]] = {}
    for said in several:
        for key, extent in _numbered(said):
            extents.setdefault(key, []).append(extent)
    most = {key: max(found) + 1 for key, found in extents.items() if max(found) > 1}

    def more(key: tuple[str, int], extent: int) -> int:
        return most.get(key, extent) if extent == 1 else extent

    return [
        Shapes(
            tuple(
                (name, tuple(more((name, axis), extent) for axis, extent in enumerate(shape)))
                for name, shape in said.of_inputs
            ),
            tuple((name, more((name, -1), extent)) for name, extent in said.extents),
        )
        for said in several
    ]


def _numbered(said: Shapes) -> Iterator[tuple[tuple[str, int], int]]:
    """Extents by input and dimension; -1 for those that have a name."""
    for name, shape in said.of_inputs:
        for axis, extent in enumerate(shape):
            yield (name, axis), extent
    for name, extent in said.extents:
        yield (name, -1), extent


def shape_option(name: str, shape: Sequence[int]) -> tuple[str, str]:
    extents = ",".join(map(str, shape))
    return "--shape", f"{name}={extents}" if name else extents


def _shape(word: str, text: str) -> tuple[int, ...]:
    if not text.strip():
        if "=" not in word:
            raise ConfigError("--shape: there are no extents")
        return ()
    return tuple(_extent(f"--shape {word}", each) for each in text.split(","))


def _extent(option: str, text: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or int(text) > MAX_EXTENT:
        raise ConfigError(f"{option}: {text!r} is no extent, a whole number from 0 to {MAX_EXTENT}")
    return int(text)


@dataclass(frozen=True)
class Declared:
    """An input as its file declares it: each dimension an extent, or the name of an open one, which
    may be empty. No dimensions: the file does not say how many. `hints` are extents of open
    dimensions that something else in the file tells."""

    name: str
    dims: tuple[int | str, ...] | None
    hints: Mapping[int, int] = field(default_factory=dict)

    def text(self) -> str:
        if self.dims is None:
            return f"{self.name!r} (of any rank)"
        words = [
            str(self.hints.get(axis, "?")) if dim == "" else str(dim)
            for axis, dim in enumerate(self.dims)
        ]
        return f"{self.name!r} [{', '.join(words)}]"


@dataclass
class Closing:
    """The inputs' shapes, and what the names of dimensions have come to stand for."""

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    extents: dict[str, int] = field(default_factory=dict)


def closed(inputs: Sequence[Declared], said: Shapes) -> Closing:
    """A batch is one where no other size is given. HalyardError where what is said contradicts
    the file; OpenDimensions, which names all of them, where something stays open."""
    closing = Closing(extents=_extents(inputs, said))
    given = _given(inputs, said)
    for each in inputs:
        if each.name in given:
            _take(closing, each, given[each.name])
    _hint(closing, inputs)
    # A batch that was given to one input is that of the others.
    batches = {
        closing.shapes[each.name][0]
        for each in inputs
        if each.name in given and each.dims and _is_batch(each.dims, 0)
    }
    batch = batches.pop() if len(batches) == 1 else 1
    for each in inputs:
        for axis, dim in enumerate(each.dims or ()):
            if isinstance(dim, str) and dim and _is_batch(each.dims or (), axis):
                closing.extents.setdefault(dim, batch)
    still_open: list[tuple[Declared, list[int | str]]] = []
    for each in inputs:
        if each.name not in closing.shapes:
            found = [
                _found(each, axis, closing.extents, batch) for axis in range(len(each.dims or ()))
            ]
            if each.dims is None or any(isinstance(extent, str) for extent in found):
                still_open.append((each, found))
            else:
                closing.shapes[each.name] = tuple(map(int, found))
    if still_open:
        raise _open(still_open, closing.extents, alone=len(inputs) == 1)
    return closing


def _extents(inputs: Sequence[Declared], said: Shapes) -> dict[str, int]:
    names = {dim for each in inputs for dim in each.dims or () if isinstance(dim, str) and dim}
    parts = {part for name in names for part in _names_in(name)}
    for name, _ in said.extents:
        if name not in names | parts:
            known = ", ".join(sorted(names))
            raise HalyardError(
                f"--dim {name}: no open dimension of its inputs has this name; "
                + (f"there are {known}" if known else "none has a name, and --shape gives them")
            )
    return dict(said.extents)


def _given(inputs: Sequence[Declared], said: Shapes) -> dict[str, tuple[int, ...]]:
    names = [each.name for each in inputs]
    listed = ", ".join(map(repr, names))
    given = {}
    for name, shape in said.of_inputs:
        word = " ".join(shape_option(name, shape))
        if name and name not in names:
            raise HalyardError(f"{word}: it has no input {name!r}; there are {listed}")
        if not name and len(names) != 1:
            raise HalyardError(f"{word}: it has {len(names)} inputs, so say which: {listed}")
        if (name or names[0]) in given:
            raise HalyardError(f"{word}: {names[0]!r} has a shape already")
        given[name or names[0]] = shape
    return given


def _take(closing: Closing, declared: Declared, shape: tuple[int, ...]) -> None:
    word = " ".join(shape_option(declared.name, shape))
    closing.shapes[declared.name] = shape
    if declared.dims is None:
        return
    if len(shape) != len(declared.dims):
        raise HalyardError(
            f"{word}: {len(shape)} dimensions, and the file has {declared.text()}, which are "
            f"{len(declared.dims)}"
        )
    for axis, (dim, extent) in enumerate(zip(declared.dims, shape, strict=True)):
        if isinstance(dim, int):
            if dim != extent:
                raise HalyardError(
                    f"{word}: the file fixes dimension {axis} of {declared.name!r} to {dim}"
                )
        elif dim:
            known = _evaluated(dim, closing.extents)
            if known is None:
                closing.extents[dim] = extent
            elif known != extent:
                raise HalyardError(
                    f"{word}: dimension {axis} of {declared.name!r} is {dim}, which is {known}"
                )


def _hint(closing: Closing, inputs: Sequence[Declared]) -> None:
    for each in inputs:
        for axis, extent in each.hints.items():
            dim = (each.dims or ())[axis]
            if isinstance(dim, str) and dim:
                closing.extents.setdefault(dim, extent)


def _is_batch(dims: Sequence[int | str], axis: int) -> bool:
    dim = dims[axis]
    if not isinstance(dim, str):
        return False
    if _BATCH.fullmatch(dim):
        return True
    # A sum of others is what they make it.
    return axis == 0 and not _LENGTH.fullmatch(dim) and _names_in(dim) <= {dim}


def _found(declared: Declared, axis: int, extents: Mapping[str, int], batch: int) -> int | str:
    dim = (declared.dims or ())[axis]
    if isinstance(dim, int):
        return dim
    known = _evaluated(dim, extents)
    if known is not None:
        return known
    if axis in declared.hints:
        return declared.hints[axis]
    return batch if _is_batch(declared.dims or (), axis) else dim


# ---- names that are sums of others, as exporters of language models write them ------------------


def _tree(name: str) -> ast.expr | None:
    if len(name) > _MAX_EXPRESSION:
        return None
    try:
        return ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names_in(name: str) -> set[str]:
    tree = _tree(name)
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} if tree else set()


def _evaluated(name: str, extents: Mapping[str, int]) -> int | None:
    """The extent that a name stands for, as itself or as "past + 1"."""
    if name in extents:
        return extents[name]
    tree = _tree(name)
    value = _value(tree, extents) if tree is not None else None
    return value if value is not None and 0 <= value <= MAX_EXTENT else None


def _value(tree: ast.expr, extents: Mapping[str, int]) -> int | None:
    if isinstance(tree, ast.Constant) and type(tree.value) is int and tree.value <= MAX_EXTENT:
        return tree.value
    if isinstance(tree, ast.Name):
        return extents.get(tree.id)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        left, right = _value(tree.left, extents), _value(tree.right, extents)
        if left is not None and right is not None:
            return _OPERATORS[type(tree.op)](left, right)
    return None


# ---- what stays open ----------------------------------------------------------------------------


def _open(
    left: Sequence[tuple[Declared, list[int | str]]], known: Mapping[str, int], *, alone: bool
) -> OpenDimensions:
    told: list[str] = []
    usual = _Usual(known)
    shapes: list[tuple[str, str]] = []
    named: set[str] = set()  # in inputs that no shape is given of
    for declared, found in left:
        name = "" if alone else declared.name
        if declared.dims is None:
            told.append(declared.text())
            shapes.append(shape_option(name, (1,)))
            continue
        names = {axis: each for axis, each in enumerate(found) if isinstance(each, str)}
        words = [each or f"dimension {axis}" for axis, each in names.items()]
        told.append(f"{declared.text()}: {_and(list(dict.fromkeys(words)))}")
        said = [usual.extent(each, axis, len(found)) for axis, each in enumerate(found)]
        if not all(_can_be_said(each) for each in names.values()):
            shapes.append(shape_option(name, said))
        else:
            named |= {part for each in names.values() for part in (each, *_names_in(each))}
    dims = ",".join(f"{name}={extent}" for name, extent in usual.chosen.items() if name in named)
    options = [*(("--dim", dims) if dims else ()), *(word for each in shapes for word in each)]
    return OpenDimensions(
        f"the extents of these dimensions are not known: {'; '.join(told)}. Say them, for "
        f"instance with {shlex.join(options)}",
        options,
    )


def _can_be_said(name: str) -> bool:
    """Behind --dim, where commas stand between."""
    return bool(name) and name == name.strip() and not set(name) & set(",=")


class _Usual:
    """Extents that models of the kind often have, the same of each name."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self._known = dict(known)
        self.chosen: dict[str, int] = {}  # for --dim

    def extent(self, found: int | str, axis: int, rank: int) -> int:
        if isinstance(found, int):
            return found
        if not found:
            return _usual(found, axis, rank)
        # A sum has its parts closed.
        for part in _names_in(found) or {found}:
            if part not in self._known:
                self._known[part] = _usual(part, axis, rank)
                if _can_be_said(part):
                    self.chosen[part] = self._known[part]
        value = _evaluated(found, self._known)
        if value is None:
            value = self._known[found] = _usual(found, axis, rank)
            if _can_be_said(found):
                self.chosen[found] = value
        return value


def _usual(name: str, axis: int, rank: int) -> int:
    if _BATCH.fullmatch(name):
        return 1
    if _IMAGE.fullmatch(name) or (rank == 4 and axis >= 2):
        return 224
    if rank == 4:
        return 3
    return 128


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
