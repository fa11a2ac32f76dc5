# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ structs of the stable AIDL interfaces that Halyard speaks, and their codec.

Usage: generate.py INTERFACES_JSON TYPES_H TYPES_CC

interfaces.json maps package to its types and interfaces. Names of types are as in AIDL: bare in
the same package, else full; "T[]" is an array, "byte[32]" bytes of a fixed number, "T?" may be
absent. "interface" is any binder object, "marked interface" one whose stability counts,
"descriptor" a ParcelFileDescriptor. Fields of a parcelable and members of a union are [name, type],
in parcel order. A type that is a "code" is the driver's enum of that name. "hashes" are those of
the package's versions, first to last; without them its interfaces have no versions. Codes of
android.os are those of Android 14.
"""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMESPACES = {
    "android.hardware.common": "hardware",
    "android.hardware.graphics.common": "graphics",
    "android.hardware.neuralnetworks": "nn",
    "android.os": "os",
}
# How C++ has them, and what they are before they are read.
BUILTINS = {
    "boolean": ("bool", " = false"),
    "int": ("int32_t", " = 0"),
    "long": ("int64_t", " = 0"),
    "char": ("char16_t", " = 0"),
    "float": ("float", " = 0.0F"),
    "String": ("std::string", ""),
    "byte[]": ("std::vector<uint8_t>", ""),
    "interface": ("ObjectRef", ""),
    "marked interface": ("MarkedObject", ""),
    "descriptor": ("BorrowedDescriptor", ""),
}
# Methods of every versioned interface.
META_METHODS = [
    {"name": "getInterfaceVersion", "code": 0xFFFFFF, "results": [["return", "int"]]},
    {"name": "getInterfaceHash", "code": 0xFFFFFE, "results": [["return", "String"]]},
]

Fields = list[tuple[str, str]]  # name, full type


@dataclass(frozen=True)
class Struct:
    fields: Fields
    union: bool


@dataclass(frozen=True)
class Method:
    name: str
    code: int
    since: int
    oneway: bool
    arguments: Fields
    results: Fields

    def struct_name(self) -> str:
        return self.name[0].upper() + self.name[1:]


@dataclass(frozen=True)
class Interface:
    methods: list[Method]
    hashes: list[str]


@dataclass
class Interfaces:
    """All packages; names are full."""

    structs: dict[str, Struct]
    codes: set[str]
    interfaces: dict[str, Interface]


def full(package: str, name: str) -> str:
    """The full name of a type that `package` mentions."""
    if name.endswith("?"):
        return full(package, name[:-1]) + "?"
    if name in BUILTINS or re.fullmatch(r"byte\[\d+\]", name):
        return name
    if name.endswith("[]"):
        return full(package, name[:-2]) + "[]"
    return name if "." in name else f"{package}.{name}"


def full_fields(package: str, fields: Iterable[list[str]]) -> Fields:
    return [(name, full(package, type_name)) for name, type_name in fields]


def parse(data: dict[str, Any]) -> Interfaces:
    parsed = Interfaces({}, set(), {})
    for package, content in data.items():
        hashes = content.get("hashes", [])
        for name, entry in content["types"].items():
            if "code" in entry:
                parsed.codes.add(f"{package}.{name}")
            else:
                union = "union" in entry
                fields = full_fields(package, entry["union" if union else "parcelable"])
                parsed.structs[f"{package}.{name}"] = Struct(fields, union)
        for name, methods in content["interfaces"].items():
            parsed.interfaces[f"{package}.{name}"] = Interface(
                [
                    Method(
                        method["name"],
                        method["code"],
                        method.get("since", 1),
                        method.get("oneway", False),
                        full_fields(package, method.get("arguments", [])),
                        full_fields(package, method.get("results", [])),
                    )
                    for method in [*methods, *(META_METHODS if hashes else [])]
                ],
                hashes,
            )
    return parsed


def scoped(full_name: str) -> str:
    """The C++ name below halyard::hal::aidl: nn::Model."""
    package, _, name = full_name.rpartition(".")
    return f"{NAMESPACES[package]}::{name}"


def namespace(full_name: str) -> str:
    return scoped(full_name).partition("::")[0]


def cpp_type(interfaces: Interfaces, name: str) -> str:
    if name.endswith("?"):
        return f"std::optional<{cpp_type(interfaces, name[:-1])}>"
    if name in BUILTINS:
        return BUILTINS[name][0]
    if match := re.fullmatch(r"byte\[(\d+)\]", name):
        return f"std::array<uint8_t, {match[1]}>"
    if name.endswith("[]"):
        return f"std::vector<{cpp_type(interfaces, name[:-2])}>"
    if name in interfaces.codes:
        return f"driver::{name.rpartition('.')[2]}"
    return scoped(name)


def initial(interfaces: Interfaces, name: str) -> str:
    if name in interfaces.codes:
        return " = {}"
    if name.startswith("byte[") and name not in BUILTINS:
        return " = {}"
    return BUILTINS[name][1] if name in BUILTINS else ""


def ordered(interfaces: Interfaces) -> list[str]:
    """The structs, each after those that it holds."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        name = name.removesuffix("?").removesuffix("[]")
        struct = interfaces.structs.get(name)
        if struct is not None and name not in found:
            for _, part in struct.fields:
                visit(part)
            found[name] = None

    for name in interfaces.structs:
        visit(name)
    return list(found)


def member(name: str) -> str:
    """A field's name in C++, where some of AIDL's mean something else."""
    return "result" if name == "return" else name


def render_members(interfaces: Interfaces, fields: Fields) -> list[str]:
    lines = [f"{cpp_type(interfaces, t)} {member(n)}{initial(interfaces, t)};" for n, t in fields]
    visits = [f'HALYARD_RETURN_IF_ERROR(visit("{n}", self.{member(n)}));' for n, _ in fields]
    if not fields:
        self, visit = "Self& /*self*/", "Visit&& /*visit*/"
    else:
        self, visit = "Self& self", "Visit&& visit"
    return [
        *lines,
        "template <typename Self, typename Visit>",
        f"static Status forEachField({self}, {visit}) {{",
        *visits,
        "return {};",
        "}",
    ]


def render_struct(interfaces: Interfaces, name: str) -> list[str]:
    struct = interfaces.structs[name]
    lines = [f"namespace {namespace(name)} {{", f"struct {name.rpartition('.')[2]} {{"]
    if struct.union:
        alternatives = ", ".join(cpp_type(interfaces, t) for _, t in struct.fields)
        names = ", ".join(f'"{n}"' for n, _ in struct.fields)
        lines += [
            "static constexpr bool kIsUnion = true;",
            f"static constexpr std::string_view kMembers[] = {{{names}}};",
            f"std::variant<{alternatives}> value;",
        ]
    else:
        lines += ["static constexpr bool kIsParcelable = true;"]
        lines += render_members(interfaces, struct.fields)
    return [*lines, "};", "}"]


def render_interface(interfaces: Interfaces, name: str) -> list[str]:
    lines = [f"namespace {namespace(name)} {{", f"struct {name.rpartition('.')[2]} {{"]
    lines.append("static const InterfaceInfo& info();")
    for method in interfaces.interfaces[name].methods:
        lines += [
            f"struct {method.struct_name()} {{",
            f"using Interface = {name.rpartition('.')[2]};",
            f"static constexpr uint32_t kCode = {method.code};",
            f'static constexpr std::string_view kName = "{method.name}";',
        ]
        for part, fields in (("Arguments", method.arguments), ("Results", method.results)):
            lines += [f"struct {part} {{", *render_members(interfaces, fields), "};"]
        lines.append("};")
    return [*lines, "};", "}"]


def argument_types(interfaces: Interfaces) -> list[str]:
    return [
        f"{scoped(name)}::{method.struct_name()}::{part}"
        for name, interface in interfaces.interfaces.items()
        for method in interface.methods
        for part in ("Arguments", "Results")
    ]


def render_header(interfaces: Interfaces) -> list[str]:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated from interfaces.json by hal/aidl/generate.py.",
        "#pragma once",
        *(f"#include <{h}>" for h in ("array", "cstdint", "optional", "string", "string_view")),
        *(f"#include <{h}>" for h in ("variant", "vector")),
        '#include "driver/model/codes.h"',
        '#include "engine/base/status.h"',
        '#include "hal/aidl/interface.h"',
        '#include "hal/aidl/parcel.h"',
        "namespace halyard::hal::aidl {",
    ]
    for name in ordered(interfaces):
        lines += render_struct(interfaces, name)
    for name in interfaces.interfaces:
        lines += render_interface(interfaces, name)
    for name in ordered(interfaces):
        lines += [
            f"Status read(AidlReader& reader, {scoped(name)}& value);",
            f"void write(AidlWriter& writer, const {scoped(name)}& value);",
        ]
    for name in argument_types(interfaces):
        lines += [
            f"Status readFields(AidlReader& reader, {name}& fields);",
            f"void writeFields(AidlWriter& writer, const {name}& fields);",
        ]
    lines.append("// Calls `visit`, a template, with an empty value of each method.")
    lines.append("template <typename Visit> void forEachMethod(Visit&& visit) {")
    lines += [
        f"visit({scoped(name)}::{method.struct_name()}());"
        for name, interface in interfaces.interfaces.items()
        for method in interface.methods
    ]
    return [*lines, "}", "}"]


def render_info(name: str, interface: Interface) -> list[str]:
    scope = scoped(name)
    rows = [
        f'{{.name = "{m.name}", .code = {m.code}, .since = {m.since}, '
        f".oneway = {str(m.oneway).lower()}}},"
        for m in interface.methods
    ]
    lines = [f"const InterfaceInfo& {scope}::info() {{", "static constexpr MethodInfo kMethods[] ="]
    lines += ["{", *rows, "};"]
    hashes = ", ".join(f'"{h}"' for h in interface.hashes)
    if hashes:
        lines.append(f"static constexpr std::string_view kHashes[] = {{{hashes}}};")
    lines.append(f'static constexpr InterfaceInfo kInfo{{.descriptor = "{name}",')
    lines.append(f".methods = kMethods, .hashes = {'kHashes' if hashes else '{}'}}};")
    return [*lines, "return kInfo;", "}"]


def render_source(interfaces: Interfaces) -> list[str]:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated from interfaces.json by hal/aidl/generate.py.",
        '#include "hal/aidl/types.h"',
        '#include "hal/aidl/codec.h"',
        "namespace halyard::hal::aidl {",
    ]
    for name in ordered(interfaces):
        kind = "Union" if interfaces.structs[name].union else "Parcelable"
        lines += [
            f"Status read(AidlReader& reader, {scoped(name)}& value) "
            "{ return readStruct(reader, value); }",
            f"void write(AidlWriter& writer, const {scoped(name)}& value) "
            f"{{ write{kind}(writer, value); }}",
        ]
    for name in argument_types(interfaces):
        lines += [
            f"Status readFields(AidlReader& reader, {name}& fields) "
            "{ return readEach(reader, fields); }",
            f"void writeFields(AidlWriter& writer, const {name}& fields) "
            "{ writeEach(writer, fields); }",
        ]
    for name, interface in interfaces.interfaces.items():
        lines += render_info(name, interface)
    return [*lines, "}"]


def main() -> None:
    source, header, codec = map(Path, sys.argv[1:])
    interfaces = parse(json.loads(source.read_text()))
    for path, lines in ((header, render_header(interfaces)), (codec, render_source(interfaces))):
        text = "\n".join(lines) + "\n"
        # A file that has not changed keeps its time, so that another Python compiles nothing anew.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
