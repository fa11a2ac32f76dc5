# SPDX-License-Identifier: Apache-2.0
"""Writes a file of golden cases as a spec: the base case of each example as a model with values,
and the others as what the spec language makes of it."""

import base64
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from halyard.model import dtype_of
from halyard.proto import halyard_pb2 as pb

Json = dict[str, Any]

# The default names of a DataTypeConverter, by the type of a target, in the order in which they win.
_DEFAULT_NAMES = {
    "TENSOR_QUANT8_SYMM_PER_CHANNEL": "channelQuant8",
    "TENSOR_QUANT8_ASYMM": "quant8",
    "TENSOR_QUANT8_ASYMM_SIGNED": "quant8_signed",
    "TENSOR_INT32": "int32",
    "TENSOR_FLOAT16": "float16",
}


class Inexpressible(Exception):
    """The golden data do not tell how the spec was written."""


def write(document: Json, folder: Path) -> Path:
    """The spec, in a folder of the version that the golden file's has."""
    version, _, name = document["spec"].rpartition("/")
    path = folder / version / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(_Writer(version).lines(document)) + "\n")
    return path


class _Writer:
    def __init__(self, version: str) -> None:
        self._version = version.removesuffix("_cts_only")
        self._declared: dict[str, str] = {}
        self._models = itertools.count()

    def lines(self, document: Json) -> Iterator[str]:
        for cases in _examples(document["cases"]):
            yield from self._example(cases)

    # ---- one example ----------------------------------------------------------------------------

    def _example(self, cases: list[Json]) -> Iterator[str]:
        groups = _groups(cases)
        feeds = sorted({case["feed"] for case in cases})
        bases = [_base(cases, groups, feed) for feed in feeds]
        base = bases[0]
        dropped = {name for case in cases for names in case["droppedVariants"] for name in names}
        vectors = "all_tensors_as_inputs" not in dropped
        referenced: list[str] = []
        for source in reversed(base["referenced"]):
            # Those that are referenced come behind those that reference them.
            model = f"m{next(self._models)}"
            referenced.insert(0, model)
            numbers = dict(enumerate(referenced, len(base["referenced"]) - len(referenced)))
            yield from self._model(source, model, None, numbers, vectors=False)
        model = f"m{next(self._models)}"
        numbers = dict(enumerate(referenced))
        yield from self._model(base["main"], model, base["model"], numbers, vectors)
        if base["isRelaxed"]:
            yield f"{model}.RelaxedExecution(True)"
        values = ", ".join(_feed(each) for each in bases)
        yield f"e = Example({values}, model={model}, name={base['example']!r})"
        for group in groups:
            yield f"e.{self._group(group, cases, base)}"
        if "all_outputs_as_internal" in dropped:
            yield "e.AddVariations(AllOutputsAsInternalCoverter())"
        if not dropped & {"all_inputs_as_internal", "all_tensors_as_inputs"}:
            yield "e.DisableLifeTimeVariation()"
        if base["expectFailure"]:
            yield "e.ExpectFailure()"
        if tolerance := base["expectedMultinomialDistributionTolerance"]:
            yield f"e.WithMultinomialDistributionTolerance({tolerance})"
        for case in cases:
            if case["halVersion"] != self._version:
                yield f"Example.SetVersion({case['halVersion']!r}, {case['name']!r})"

    # ---- models ---------------------------------------------------------------------------------

    def _model(
        self, source: Json, model: str, name: str | None, numbers: dict[int, str], vectors: bool
    ) -> Iterator[str]:
        operands = source["operands"]
        for operand in operands:
            yield from self._declare(operand, numbers, vectors)
        yield f"{model} = Model({name!r})"
        inputs, outputs = source["inputIndexes"], source["outputIndexes"]
        order = list(dict.fromkeys(_appearances(source)))
        if order != list(range(len(operands))):
            order = list(dict.fromkeys([*inputs, *outputs, *_appearances(source)]))
            if order != list(range(len(operands))):
                raise Inexpressible("the order of the operands")
            yield f"{model}.IdentifyInputs({_names(operands, inputs)})"
            yield f"{model}.IdentifyOutputs({_names(operands, outputs)})"
        for operation in source["operations"]:
            arguments = _names(operands, operation["inputs"])
            yield f"{model}.Operation({operation['type']!r}, {arguments})"
            yield f"{model}.To({_names(operands, operation['outputs'])})"

    def _declare(self, operand: Json, numbers: dict[int, str], vectors: bool) -> Iterator[str]:
        name, lifetime = operand["name"], operand["lifetime"]
        shared = lifetime == "CONSTANT_REFERENCE"
        fields = (operand[each] for each in ("type", "dimensions", "scale", "zeroPoint"))
        kind = repr(tuple(fields))
        extra = _extra(operand)
        if lifetime == "SUBGRAPH":
            [number] = np.frombuffer(base64.b64decode(operand["data"]), "<u4")
            declared = f"SubgraphReference({name!r}, {numbers[int(number)]})"
        elif lifetime in ("CONSTANT_COPY", "CONSTANT_REFERENCE", "NO_VALUE"):
            values = None if lifetime == "NO_VALUE" else _values(operand)
            vector = {"TENSOR_INT32": "Int32Vector", "TENSOR_FLOAT32": "Float32Vector"}
            plain = len(operand["dimensions"]) == 1 and not operand["scale"]
            if vectors and values and operand["type"] in vector and plain:
                declared = f"{vector[operand['type']]}({name!r}, {values})"
            else:
                declared = f"Parameter({name!r}, {kind}, {values}{extra})"
        else:
            ignored = "IgnoredOutput" if operand.get("isIgnored") else "Output"
            classes = {
                "SUBGRAPH_INPUT": "Input",
                "SUBGRAPH_OUTPUT": ignored,
                "TEMPORARY_VARIABLE": "Internal",
            }
            declared = f"{classes[lifetime]}({name!r}, {kind}{extra})"
        if not operand.get("mayBeInternal", True):
            declared += ".ShouldNeverBeInternal()"
        if self._declared.setdefault(name, declared) is not declared:
            if self._declared[name] == declared:
                return
            raise Inexpressible(f"operand {name} is there twice")
        if shared:
            yield "Configuration.use_shm_for_weights = True"
        yield f"{_variable(name)} = {declared}"
        if shared:
            yield "Configuration.use_shm_for_weights = False"

    # ---- variations -----------------------------------------------------------------------------

    def _group(self, group: list[Json | None], cases: list[Json], base: Json) -> str:
        """The call that adds a group of variations; None in it is a default without a name."""
        names = [None if each is None else each["name"] for each in group]
        kinds = {each["kind"] for each in group if each is not None} - {"default"}
        if kinds == {"layout"}:
            variant = _variant(cases, base, group, "nchw")
            return f"AddNchw({', '.join(_changed(base['main'], variant['main']))})"
        if kinds == {"activation"}:
            operands = _changed(base["main"], _variant(cases, base, group, "relu6")["main"])
            operands |= {
                _variable(base["main"]["operands"][index]["name"])
                for index in base["main"]["outputIndexes"]
            }
            return f"AddAllActivations({', '.join(sorted(operands))})"
        if kinds == {"axis"}:
            return self._axes(names, group, cases, base)
        default = "" if names[0] is None else ", includeDefault=False"
        wanted = [
            _conversion(name, _variant(cases, base, group, name), base)
            for name in names
            if name is not None
        ]
        return f"AddVariations({', '.join(wanted)}{default})"

    def _axes(
        self, names: list[str | None], group: list[Json | None], cases: list[Json], base: Json
    ) -> str:
        variant = _variant(cases, base, group, next(n for n in names if n and "dim1" in n))
        operands = ", ".join(sorted(_changed(base["main"], variant["main"])))
        if any(name and name.endswith("_neg") for name in names):
            scalars = [o["name"] for o in base["main"]["operands"] if o["type"] == "INT32"]
            return f"AddAllDimsAndAxis({', '.join({*operands.split(', '), _axis(scalars, cases)})})"
        if names[0] is None:
            ranks = [int(name[3]) for name in names if name is not None]
            return f"AddDims({ranks}, {operands})"
        return f"AddAllDims({operands})"


def _axis(scalars: list[str], cases: list[Json]) -> str:
    """The INT32 that is not the same in all cases."""
    for name in scalars:
        values = {
            operand["data"]
            for case in cases
            for operand in case["main"]["operands"]
            if operand["name"] == name
        }
        if len(values) > 1:
            return _variable(name)
    raise Inexpressible("which operand is the axis")


# ---- structure of a file ------------------------------------------------------------------------


def _examples(cases: Iterable[Json]) -> Iterator[list[Json]]:
    """Cases that stem from one example. Another begins where a feed and a variation come again."""
    found: list[Json] = []
    seen: set[str] = set()
    last: Any = None
    for case in cases:
        identity = (case["model"], case["example"], _operands(case))
        key = f"{case['feed']} {case['variation']}"
        if found and (identity != last or key in seen):
            yield found
            found, seen = [], set()
        last = identity
        seen.add(key)
        found.append(case)
    if found:
        yield found


def _operands(case: Json) -> list[str]:
    return [operand["name"] for operand in case["main"]["operands"]]


def _variable(name: str) -> str:
    """The spec's variable for an operand, whose name may be a word of Python."""
    return f"o_{name}"


def _category(variation: Json) -> str:
    kind = {"default": "layout", "relaxed": "dataType"}.get(variation["kind"], variation["kind"])
    return str(kind)


def _groups(cases: list[Json]) -> list[list[Json | None]]:
    """The groups of variations, in order; each with what is chosen of it, in order."""
    longest = max((case["variation"] for case in cases), key=len)
    categories = [_category(each) for each in longest]
    if len(set(categories)) != len(categories):
        raise Inexpressible("two groups of one kind")
    groups: dict[str, list[Json | None]] = {each: [] for each in categories}
    for case in cases:
        chosen = {_category(each): each for each in case["variation"]}
        if not chosen.keys() <= groups.keys():
            raise Inexpressible("groups that are never chosen from together")
        for category, group in groups.items():
            if chosen.get(category) not in group:
                group.append(chosen.get(category))
    return list(groups.values())


def _base(cases: list[Json], groups: list[list[Json | None]], feed: int) -> Json:
    """The case of the feed that converters turn into the others."""
    wanted = []
    for group in groups:
        names = [each["name"] for each in group if each is not None]
        if None in group:
            continue
        ranks = [name for name in names if re.fullmatch(r"dim\d_axis0", name)]
        chosen = max(ranks) if any("_neg" in name for name in names) else names[0]
        wanted.append(next(e for e in group if e is not None and e["name"] == chosen))
    for case in cases:
        if case["feed"] == feed and case["variation"] == wanted:
            return case
    raise Inexpressible("there is no base case")


def _variant(cases: list[Json], base: Json, group: list[Json | None], name: str | None) -> Json:
    """The case that differs from the base in this variation alone."""
    rest = [each for each in base["variation"] if each not in group]
    for case in cases:
        others = [each for each in case["variation"] if each not in group]
        chosen = [each["name"] for each in case["variation"] if each in group]
        if case["feed"] == base["feed"] and others == rest and chosen == [name]:
            return case
    raise Inexpressible(f"no case has {name} alone")


# ---- what a variation changes -------------------------------------------------------------------


def _conversion(name: str, variant: Json, base: Json) -> str:
    whole = all(
        old["type"] not in ("TENSOR_FLOAT32", "FLOAT32") or new["type"] != old["type"]
        for old, new in zip(base["main"]["operands"], variant["main"]["operands"], strict=True)
    )
    if name == "relaxed" or (name == "float16" and whole):
        return repr(name)
    targets = _targets(base["main"], variant["main"], base, variant)
    if targets == "{}":
        # The base itself: something becomes what it is.
        operand = next(
            o for o in base["main"]["operands"] if o["type"].startswith("TENSOR_QUANT8_A")
        )
        kind = (operand["type"], operand["scale"], operand["zeroPoint"])
        targets = f"{{{_variable(operand['name'])}: {kind}}}"
    types = re.findall(r"\('(\w+)'", targets)
    default = next((n for written, n in _DEFAULT_NAMES.items() if written in types), "float32")
    title = "" if name == default else f"name={name!r}"
    return f"DataTypeConverter({title}).Identify({targets})"


def _targets(before: Json, after: Json, base: Json, variant: Json) -> str:
    found = []
    scales = _channel_scales(after)
    for old, new in zip(before["operands"], after["operands"], strict=True):
        if old["type"] == "SUBGRAPH":
            [number] = np.frombuffer(base64.b64decode(old["data"]), "<u4")
            nested = _targets(
                base["referenced"][number], variant["referenced"][number], base, variant
            )
            if nested != "{}":
                found.append(f"{_variable(old['name'])}: DataTypeConverter().Identify({nested})")
        elif any(old.get(f) != new.get(f) for f in ("type", "scale", "zeroPoint", "channelQuant")):
            target = [repr(new["type"]), repr(new["scale"]), repr(new["zeroPoint"])]
            if "channelQuant" in new:
                target.append(_params(new["channelQuant"]))
            elif new["type"] == "TENSOR_INT32" and not new["scale"] and scales:
                # A bias, whose scales the model does not have.
                target.append(_params({"channelDim": 0, "scales": scales}, ", hide=True"))
            found.append(f"{_variable(old['name'])}: ({', '.join(target)})")
    return f"{{{', '.join(found)}}}"


def _channel_scales(subgraph: Json) -> list[float]:
    """The scales of a bias: that of the input times those of the filters."""
    for operand in subgraph["operands"]:
        if "channelQuant" in operand:
            return [
                scale * subgraph["operands"][0]["scale"]
                for scale in operand["channelQuant"]["scales"]
            ]
    return []


def _params(channel_quant: Json, hide: str = "") -> str:
    dim, scales = channel_quant["channelDim"], channel_quant["scales"]
    return f"SymmPerChannelQuantParams({dim}, {scales}{hide})"


def _extra(operand: Json) -> str:
    return f", extraParams={_params(operand['channelQuant'])}" if "channelQuant" in operand else ""


def _changed(before: Json, after: Json) -> set[str]:
    """The operands that are not the same."""
    return {
        _variable(old["name"])
        for old, new in zip(before["operands"], after["operands"], strict=True)
        if any(old[key] != new[key] for key in ("dimensions", "data"))
    }


# ---- text ---------------------------------------------------------------------------------------


def _appearances(source: Json) -> Iterator[int]:
    for operation in source["operations"]:
        yield from operation["inputs"]
        yield from operation["outputs"]


def _names(operands: list[Json], indexes: Iterable[int]) -> str:
    return ", ".join(_variable(operands[index]["name"]) for index in indexes)


def _values(operand: Json) -> str:
    dtype = dtype_of(pb.OperandType.Value(f"OPERAND_TYPE_{operand['type']}"))
    values = np.frombuffer(base64.b64decode(operand["data"]), dtype)
    text = repr(values.tolist())
    return re.sub(r"\b(nan|inf)\b", r"float('\1')", text)


def _feed(case: Json) -> str:
    main = case["main"]
    fed = [main["operands"][i] for i in (*main["inputIndexes"], *main["outputIndexes"])]
    values = [f"{_variable(each['name'])}: {_values(each)}" for each in fed]
    return f"{{{', '.join(values)}}}"
