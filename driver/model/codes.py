# SPDX-License-Identifier: Apache-2.0
"""Writes codes.h: enums of halyard.proto, NNAPI's above all, as C++ enums, with their names.

Usage: codes.py HALYARD_PROTO OUTPUT
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

# The enums that the driver takes from halyard.proto.
WANTED = (
    "OperandType",
    "OperationType",
    "OperandLifeTime",
    "ErrorStatus",
    "ExecutionPreference",
    "Priority",
    "DeviceType",
    "Rule",
)


@dataclass(frozen=True)
class Enumeration:
    name: str
    values: tuple[tuple[str, int], ...]


def parse(proto: str) -> list[Enumeration]:
    """The enums of a proto file, in order, with the type's prefix taken off each value."""
    found = []
    for name, body in re.findall(r"^enum (\w+) \{\n(.*?)^\}", proto, re.MULTILINE | re.DOTALL):
        prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() + "_"
        values = re.findall(r"^\s+(\w+) = (\d+);", body, re.MULTILINE)
        found.append(
            Enumeration(name, tuple((value.removeprefix(prefix), int(n)) for value, n in values))
        )
    return found


def render(enums: list[Enumeration]) -> str:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated from halyard.proto by driver/model/codes.py.",
        "#pragma once",
        "#include <cstdint>",
        "#include <string_view>",
        "namespace halyard::driver {",
    ]
    for enum in enums:
        lines.append(f"enum class {enum.name} : int32_t {{")
        lines += [f"    {value} = {number}," for value, number in enum.values]
        lines.append("};")
        lines.append("// Empty for a number that is none of the above.")
        lines.append(f"constexpr std::string_view nameOf({enum.name} value) {{")
        lines.append("    switch (value) {")
        lines += [
            f'        case {enum.name}::{value}: return "{value}";' for value, _ in enum.values
        ]
        lines += ["    }", "    return {};", "}"]
    lines.append("}  // namespace halyard::driver")
    return "\n".join(lines) + "\n"


def main() -> None:
    source, output = map(Path, sys.argv[1:])
    enums = [enum for enum in parse(source.read_text()) if enum.name in WANTED]
    missing = set(WANTED) - {enum.name for enum in enums}
    if missing:
        raise SystemExit(f"{source}: no enum {', '.join(sorted(missing))}")
    text = render(enums)
    # A file that has not changed keeps its time, so that another Python compiles nothing anew.
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
