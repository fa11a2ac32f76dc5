# SPDX-License-Identifier: Apache-2.0
"""Writes the operators of TFLite and their options, as the importer reads them.

Usage: generate.py OPERATORS_JSON OPERATORS_H

operators.json has each operator's code and name, and the options of those that have any: the table
of the schema with its number in the union BuiltinOptions, the struct that a delegate is handed with
its size (LP64), and the fields of both. A field has its slot in the table and its default, and its
offset in the struct (none: the struct lacks it) with the bytes that it takes there. Of a list,
`count` is the offset of the number of its entries.

Kinds: bool, int8, int32, float and int32s are what they are called. The others are numbered
differently by the schema and by the struct, and read as the enums of model.h: padding, activation,
mirror_mode, tensor_type.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def constant(name: str) -> str:
    return "k" + "".join(word.capitalize() for word in name.split("_"))


def field(of: Mapping[str, Any]) -> str:
    default = of.get("default", 0)
    return (
        f'{{.name = "{of["name"]}", .kind = OptionKind::{of["kind"].upper()}, '
        f".slot = {of['slot']}, .defaultValue = {default}, .offset = {of.get('offset', -1)}, "
        f".width = {of.get('width', 4)}, .countOffset = {of.get('count', -1)}}}"
    )


def written(interface: Mapping[str, Any]) -> str:
    options: Mapping[str, Any] = interface["options"]
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "//",
        "// Written by importers/tflite/generate.py.",
        "",
        "#pragma once",
        "",
        '#include "importers/tflite/operator_options.h"',
        "",
        "namespace halyard::tflite {",
        "",
        "enum class OperatorCode : int32_t {",
        *(f"    {each['name']} = {each['code']}," for each in interface["operators"]),
        "};",
        "",
    ]
    for name, each in options.items():
        lines.append("// The options of an operator, by their places among its values.")
        lines.append(f"struct {name}Options {{")
        for place, one in enumerate(each["fields"]):
            lines.append(f"    static constexpr size_t {constant(one['name'])} = {place};")
        lines.append("};")
        lines.append(f"inline constexpr OptionField k{name}Fields[] = {{")
        lines.extend(f"        {field(one)}," for one in each["fields"])
        lines.append("};")
        lines.append("")
    lines.append("inline constexpr OperatorEntry kOperators[] = {")
    for each in interface["operators"]:
        of = each.get("options")
        if of is None:
            lines.append(f'        {{.code = {each["code"]}, .name = "{each["name"]}"}},')
        else:
            found = options[of]
            lines.append(
                f'        {{.code = {each["code"]}, .name = "{each["name"]}", '
                f'.schema = "{found["schema"]}", .unionNumber = {found["union"]}, '
                f".paramsSize = {found['size']}, .fields = k{of}Fields}},"
            )
    lines += ["};", "", "}  // namespace halyard::tflite", ""]
    return "\n".join(lines)


def main() -> None:
    interface, output = map(Path, sys.argv[1:])
    output.write_text(written(json.loads(interface.read_text())))


if __name__ == "__main__":
    main()
