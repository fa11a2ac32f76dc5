# SPDX-License-Identifier: Apache-2.0
"""TorchScript's pickles as plain data. A pickle is a program that may do anything: this one builds
tensors' descriptions, lists, dictionaries, numbers and strings, and runs nothing."""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from halyard.model.budget import excerpt


@dataclass(frozen=True)
class Name:
    """A placeholder for a class or a function: nothing is looked up by it."""

    text: str


@dataclass
class Record:
    """An object of a class of the file's own, by its attributes."""

    kind: str
    state: Any = None

    def get(self, name: str) -> Any:
        return self.state.get(name) if isinstance(self.state, dict) else None


@dataclass(frozen=True)
class Storage:
    kind: str  # "FloatStorage"
    key: str  # of the file in the archive
    count: int


@dataclass(frozen=True)
class Tensor:
    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0


_MARK = object()

# Objects that an opcode other than their value's pushes.
_PUSHED: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
    "NEWFALSE": lambda: False,
    "NEWTRUE": lambda: True,
    "NONE": lambda: None,
}
_VALUES = frozenset({"BINFLOAT", "BININT", "BININT1", "BININT2", "BINUNICODE", "LONG1", "LONG4"})
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def loads(content: bytes) -> Any:
    """ValueError for what is no pickle, or has more in it than data."""
    try:
        with warnings.catch_warnings():
            # Of escapes in names, which are no TorchScript's either.
            warnings.simplefilter("ignore")
            return _run(content)
    except (IndexError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"its pickle is damaged: {error}") from error


def _run(content: bytes) -> Any:
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name == "STOP":
            return machine.pop()
        machine.step(opcode.name, argument)
    raise ValueError("its pickle does not end")


class _Machine:
    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def pop(self) -> Any:
        return self._stack.pop()

    def step(self, name: str, argument: Any) -> None:
        if name in _PUSHED:
            self._stack.append(_PUSHED[name]())
        elif name in _VALUES:
            self._stack.append(argument)
        elif name in _TUPLES:
            count = _TUPLES[name]
            self._stack[-count:] = [tuple(self._stack[-count:])]
        elif name in ("BINPUT", "LONG_BINPUT"):
            self._memo[argument] = self._stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            self._stack.append(self._memo[argument])
        elif name in _STEPS:
            _STEPS[name](self, argument)
        elif name != "PROTO":
            raise ValueError(f"its pickle has {name}, which TorchScript does not write")

    def _above_mark(self) -> list[Any]:
        for place in range(len(self._stack) - 1, -1, -1):
            if self._stack[place] is _MARK:
                found = self._stack[place + 1 :]
                del self._stack[place:]
                return found
        raise ValueError("its pickle ends a list that it did not begin")

    def global_name(self, argument: str) -> None:
        self._stack.append(Name(argument.replace(" ", ".")))

    def make_tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._above_mark()))

    def append(self, _: Any) -> None:
        self._extend([self.pop()])

    def appends(self, _: Any) -> None:
        self._extend(self._above_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise TypeError("what is no list is appended to")
        target.extend(items)

    def set_item(self, _: Any) -> None:
        value, key = self.pop(), self.pop()
        self._update([key, value])

    def set_items(self, _: Any) -> None:
        self._update(self._above_mark())

    def _update(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise TypeError("what is no dictionary has items set")
        keys = items[::2]
        # To hash a tuple goes through all that is below it, however often that is one object.
        if not all(isinstance(key, (str, int, float)) for key in keys):
            raise TypeError("a key is neither a word nor a number")
        target.update(zip(keys, items[1::2], strict=True))

    def new_object(self, _: Any) -> None:
        arguments, kind = self.pop(), self.pop()
        if not isinstance(kind, Name):
            raise TypeError("an object is made of what is no class")
        if not kind.text.startswith("__torch__.") or arguments:
            raise ValueError(
                f"its pickle makes an object of {excerpt(kind.text)}, which is none of "
                "TorchScript's"
            )
        self._stack.append(Record(kind.text))

    def build(self, _: Any) -> None:
        state = self.pop()
        target = self._stack[-1]
        if not isinstance(target, Record):
            raise TypeError("what is no object is given a state")
        target.state = state

    def persistent(self, _: Any) -> None:
        match self.pop():
            case ("storage", Name(text), str(key), str(), int(count)) if count >= 0:
                self._stack.append(Storage(text.removeprefix("torch."), key, count))
            case _:
                raise ValueError("its pickle has data elsewhere that is no tensor's")

    def reduce(self, _: Any) -> None:
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise TypeError("what is no function is called")
        if function.text not in _FUNCTIONS:
            raise ValueError(f"its pickle calls {excerpt(function.text)}, which is not done")
        self._stack.append(_FUNCTIONS[function.text](*arguments))


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    for values in (shape, strides):
        if not isinstance(values, tuple) or not all(type(each) is int for each in values):
            raise ValueError("a tensor's shape or strides are no whole numbers")
    if not isinstance(storage, Storage) or type(offset) is not int or len(shape) != len(strides):
        raise ValueError("a tensor is described in another way than PyTorch's")
    return Tensor(storage, offset, shape, strides)


def _quantized(
    storage: Any, offset: Any, shape: Any, strides: Any, parameters: Any, *_: Any
) -> Tensor:
    plain = _tensor(storage, offset, shape, strides)
    match parameters:
        case (Name("torch.per_tensor_affine"), float(scale), int(zero_point)):
            return Tensor(storage, offset, shape, plain.strides, scale, zero_point)
        case _:
            raise ValueError("a tensor is quantised in another way than as a whole")


def _list(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise TypeError("a list is made of what is none")
    return items


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": dict,
    "torch._utils._rebuild_qtensor": _quantized,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch.jit._pickle.build_boollist": _list,
    "torch.jit._pickle.build_doublelist": _list,
    "torch.jit._pickle.build_intlist": _list,
    "torch.jit._pickle.build_tensorlist": _list,
    "torch.jit._pickle.restore_type_tag": lambda value, _: value,
}
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "BINPERSID": _Machine.persistent,
    "BUILD": _Machine.build,
    "GLOBAL": _Machine.global_name,
    "NEWOBJ": _Machine.new_object,
    "REDUCE": _Machine.reduce,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "TUPLE": _Machine.make_tuple,
}
