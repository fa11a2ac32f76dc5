# SPDX-License-Identifier: Apache-2.0
"""Writes what LiteRT's vendor interface is declared and exported by.

Usage: generate.py LITERT_ABI_JSON OPERATORS_JSON FOLDER

litert_abi.json has handles, enums and structs (LP64); the tables of functions that LiteRT hands
over, as far as they are used, with each slot's offset and parameters; the tables that the dispatch
library hands back, with spare slots of zeros behind them for hosts that know more; and the getter
of each option of an operator. In place of a getter stands how an option without one is known:

@default                 files have the default
@default_without_int16   files have the default, unless the operator touches 16-bit integers
@input_type              it is the element type of the first input
@output_type             it is that of the first output

Written are:

vendor_abi.h        the declarations, with assertions of where everything lies
option_getters.h    a row for each option of each operator, in the order of operators.json
plugin.map          the version scripts of the two libraries
dispatch.map
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER_BYTES = 8
WORD = 8
# By the kinds of operators.json: what the getter of an option writes.
WRITTEN = {
    "bool": "BOOL",
    "float": "FLOAT",
    "int32": "INT32",
    "int8": "UINT32",
    "int32s": "INT32S",
    "padding": "UINT32",
    "activation": "UINT32",
    "mirror_mode": "UINT32",
    "tensor_type": "UINT32",
}


def declared(name: str, kind: str) -> str:
    """A field, which may be an array."""
    base, bracket, extent = kind.partition("[")
    return f"{base} {name}{bracket}{extent}"


def enum(name: str, entries: Iterable[Sequence[Any]]) -> list[str]:
    # What a newer host has beyond these is a value of it, too.
    return [
        f"enum class {name} : int32_t {{",
        *(f"    {entry} = {value}," for entry, value in entries),
        "};",
        "",
    ]


def layout(name: str, size: int, offsets: Iterable[tuple[str, int]]) -> list[str]:
    return [
        "#ifdef __LP64__",
        f"static_assert(sizeof({name}) == {size});",
        *(f"static_assert(offsetof({name}, {field}) == {at});" for field, at in offsets),
        "#endif",
        "",
    ]


def struct(name: str, entry: Mapping[str, Any]) -> list[str]:
    return [
        f"struct {name} {{",
        *(f"    {declared(field, kind)};" for field, kind, _ in entry["fields"]),
        "};",
        *layout(name, entry["size"], [(field, at) for field, _, at in entry["fields"]]),
    ]


def member(name: str) -> str:
    return name[0].lower() + name[1:]


def slot(name: str, parameters: Sequence[str]) -> str:
    return f"    Status (*{member(name)})({', '.join(parameters)});"


def table(name: str, entry: Mapping[str, Any]) -> list[str]:
    """One that LiteRT hands over: what is not used of it stands as words."""
    lines = [f"struct {name} {{", "    AbiHeader header;"]
    at = HEADER_BYTES
    for function, offset, parameters in entry["slots"]:
        if offset > at:
            lines.append(f"    void* unusedAt{at}[{(offset - at) // WORD}];")
        lines.append(slot(function, parameters))
        at = offset + WORD
    lines += ["};"]
    lines += layout(name, at, [(member(f), offset) for f, offset, _ in entry["slots"]])
    upper = name[0].lower() + name[1:]
    lines.append(f"inline constexpr uint16_t k{name}Major = {entry['major']};")
    lines.append(f"inline constexpr TableSlot {upper}Slots[] = {{")
    lines += [f'        {{"{function}", {offset}}},' for function, offset, _ in entry["slots"]]
    return [*lines, "};", ""]


def interface(name: str, entry: Mapping[str, Any]) -> list[str]:
    """One that LiteRT is handed. Nothing says how long it is: what a newer host looks for behind
    its end is null."""
    slots = entry["slots"]
    return [
        f"struct {name} {{",
        *(slot(function, parameters) for function, _, parameters in slots),
        f"    void* spare[{entry['spare']}];",
        "};",
        *layout(
            name,
            (len(slots) + entry["spare"]) * WORD,
            [(function, offset) for function, offset, _ in slots],
        ),
    ]


def abi(known: Mapping[str, Any]) -> str:
    major, minor, patch = known["api_version"]
    lines = [
        LICENSE + "//\n// Written by litert/vendor/generate.py: LiteRT's vendor interface,",
        "// as far as it is used.",
        "",
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        "namespace halyard::vendor::abi {",
        "",
        "using Status = int32_t;",
        *(f"using {name} = struct {name}Object*;" for name in known["handles"]),
        "struct CompilerTable;",
        "struct RuntimeTable;",
        "struct DispatchInterface;",
        "struct AsyncInterface;",
        "struct TableSlot {",
        "    const char* name;",
        "    size_t offset;",
        "};",
        "union AnyValue {",
        "    bool boolean;",
        "    int64_t integer;",
        "    double real;",
        "    const char* text;",
        "    const void* pointer;",
        "};",
        "",
    ]
    for name, entries in known["enums"].items():
        lines += enum(name, entries)
    for name, entry in known["structs"].items():
        lines += struct(name, entry)
    lines.append(f"inline constexpr ApiVersion kApiVersion = {{{major}, {minor}, {patch}}};")
    lines.append("")
    for name, entry in known["tables"].items():
        lines += table(name, entry)
    for name, entry in known["interfaces"].items():
        lines += interface(name, entry)
    return "\n".join([*lines, "}  // namespace halyard::vendor::abi", ""])


def getter(known: Mapping[str, Any], option: Mapping[str, Any], source: str) -> str:
    if source.startswith("@"):
        rule = source.removeprefix("@").upper()
        return f".source = OptionSource::{rule}"
    offset = known["option_slots"][source]
    written = WRITTEN[option["kind"]]
    return (
        f".source = OptionSource::GETTER, .written = OptionWritten::{written}, "
        f'.offset = {offset}, .name = "{source}"'
    )


def getters(known: Mapping[str, Any], importer: Mapping[str, Any]) -> str:
    lines = [
        LICENSE + "//\n// Written by litert/vendor/generate.py.",
        "",
        "#pragma once",
        "",
        '#include "litert/vendor/plugin/operator_getters.h"',
        "",
        "namespace halyard::vendor {",
        "",
    ]
    rows = []
    unused = set(known["option_getters"])
    for operator in importer["operators"]:
        name = operator["name"]
        sources = known["option_getters"].get(name)
        if sources is None:
            continue
        unused.discard(name)
        fields = importer["options"][operator["options"]]["fields"]
        missing = {field["name"] for field in fields} ^ set(sources)
        if missing:
            sys.exit(f"{name}: options without a getter, or getters without an option: {missing}")
        lines.append(f"inline constexpr OptionGetter k{name}Getters[] = {{")
        lines += [
            f"        {{{getter(known, field, sources[field['name']])}}}," for field in fields
        ]
        lines.append("};")
        rows.append(f"        {{.code = {operator['code']}, .options = k{name}Getters}},")
    if unused:
        sys.exit(f"getters of operators that there are not: {unused}")
    lines += ["", "inline constexpr OperatorGetters kOperatorGetters[] = {", *rows, "};", ""]
    return "\n".join([*lines, "}  // namespace halyard::vendor", ""])


def version_script(exports: Iterable[str]) -> str:
    names = "".join(f"        {name};\n" for name in exports)
    return f"{{\n    global:\n{names}    local:\n        *;\n}};\n"


def write(path: Path, text: str) -> None:
    """What has not changed is not written: nothing is compiled again for it."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(interface_path: str, operators_path: str, folder: str) -> None:
    known = json.loads(Path(interface_path).read_text())
    importer = json.loads(Path(operators_path).read_text())
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    write(into / "vendor_abi.h", abi(known))
    write(into / "option_getters.h", getters(known, importer))
    for library, exports in known["exports"].items():
        write(into / f"{library}.map", version_script(exports))


if __name__ == "__main__":
    main(*sys.argv[1:])
