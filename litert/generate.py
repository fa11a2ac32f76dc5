# SPDX-License-Identifier: Apache-2.0
"""Writes the structs and enums of TFLite's C interface that a delegate is handed.

Usage: generate.py TFLITE_ABI_JSON TFLITE_ABI_H

tflite_abi.json has the enums with their values, and the structs with their size, and each field's
name, type and offset (LP64). Pointers that are not used are `void*`, functions among them. `spare`:
bytes of zeros behind a struct that is handed over by value, for hosts whose struct is longer.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def declared(name: str, kind: str) -> str:
    """A field, which may be an array or a pointer to a function."""
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})", 1)
    if kind.endswith("[]"):
        return f"{kind[:-2]} {name}[]"
    return f"{kind} {name}"


def enum(name: str, entries: Iterable[Sequence[Any]]) -> list[str]:
    return [
        # What a newer host has beyond these is a value of it, too.
        f"enum {name} : int32_t {{",
        *(f"    {entry} = {value}," for entry, value in entries),
        "};",
        "",
    ]


def struct(name: str, entry: Mapping[str, Any]) -> list[str]:
    spare = entry.get("spare", 0)
    size = entry["size"]
    lines = [f"struct {name} {{"]
    lines += [f"    {declared(field, kind)};" for field, kind, _ in entry["fields"]]
    if spare:
        lines.append(f"    unsigned char spare[{spare}];")
    lines += ["};", "#ifdef __LP64__", f"static_assert(sizeof({name}) == {size + spare});"]
    offsets = [(field, offset) for field, _, offset in entry["fields"]]
    if spare:
        offsets.append(("spare", size))
    lines += [f"static_assert(offsetof({name}, {field}) == {at});" for field, at in offsets]
    return [*lines, "#endif", ""]


def written(interface: Mapping[str, Any]) -> str:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "//",
        "// Written by litert/generate.py: TFLite's C interface, as far as delegates need it.",
        "",
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        "namespace halyard::litert {",
        "",
        *(f"struct {name};" for name in interface["structs"]),
        "",
    ]
    for name, entries in interface["enums"].items():
        lines += enum(name, entries)
    for name, entry in interface["structs"].items():
        lines += struct(name, entry)
    return "\n".join([*lines, "}  // namespace halyard::litert", ""])


def main(interface: str, output: str) -> None:
    path, text = Path(output), written(json.loads(Path(interface).read_text()))
    path.parent.mkdir(parents=True, exist_ok=True)
    # What has not changed is not written: nothing is compiled again for it.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
