# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ structs and layout tables of the HIDL interfaces that Halyard speaks.

Usage: generate.py INTERFACES_JSON TYPES_H LAYOUTS_CC

interfaces.json maps package to its types and interfaces. Names of types are as in HIDL: bare in
the same package, "@1.0::Name" in another version of it, else full. Fields are [name, type, offset]
and arguments [name, type]. An enum that is a "code" is the driver's enum of that name. A method
that is "local" has a code but never travels.
"""

import json
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

NAMESPACES = {
    "android.hidl.base": "base",
    "android.hidl.manager": "manager",
    "android.hardware.neuralnetworks": "nn",
}
IBASE = "android.hidl.base@1.0::IBase"


@dataclass(frozen=True)
class Shape:
    """A type, as far as C++ and the layout tables need it."""

    cpp: str
    kind: str  # of TypeLayout::Kind
    size: int
    align: int
    walked: bool = False  # buffers hang off it, or it holds a safe_union


BUILTINS = {
    "bool": Shape("HidlBool", "BOOL", 1, 1),
    "int8_t": Shape("int8_t", "SIGNED", 1, 1),
    "uint8_t": Shape("uint8_t", "UNSIGNED", 1, 1),
    "int16_t": Shape("int16_t", "SIGNED", 2, 2),
    "uint16_t": Shape("uint16_t", "UNSIGNED", 2, 2),
    "int32_t": Shape("int32_t", "SIGNED", 4, 4),
    "uint32_t": Shape("uint32_t", "UNSIGNED", 4, 4),
    "int64_t": Shape("int64_t", "SIGNED", 8, 8),
    "uint64_t": Shape("uint64_t", "UNSIGNED", 8, 8),
    "float": Shape("float", "FLOAT", 4, 4),
    "string": Shape("HidlString", "STRING", 16, 8, walked=True),
    "handle": Shape("HidlHandle", "HANDLE", 16, 8, walked=True),
    "memory": Shape("HidlMemory", "MEMORY", 40, 8, walked=True),
    "interface": Shape("", "INTERFACE", 0, 1),
    "monostate": Shape("HidlMonostate", "STRUCT", 1, 1),
}


@dataclass
class Struct:
    size: int
    align: int
    fields: list[tuple[str, str, int]]  # name, full type, offset
    union: bool


@dataclass(frozen=True)
class Enumeration:
    storage: str
    values: dict[str, int]
    code: str = ""  # the driver's enum that it is


@dataclass
class Method:
    name: str
    code: int
    token: str
    oneway: bool
    local: bool
    arguments: list[tuple[str, str]]
    results: list[tuple[str, str]]


@dataclass
class Interface:
    descriptor: str
    parent: str
    digest: str
    methods: list[Method]  # those it declares


@dataclass
class Interfaces:
    """All packages; names are full."""

    structs: dict[str, Struct] = field(default_factory=dict)
    enums: dict[str, Enumeration] = field(default_factory=dict)
    interfaces: dict[str, Interface] = field(default_factory=dict)

    def chain(self, name: str) -> list[Interface]:
        """The interface and its ancestors, IBase last."""
        found = [self.interfaces[name]]
        while found[-1].parent:
            found.append(self.interfaces[found[-1].parent])
        return found

    def methods(self, name: str) -> list[Method]:
        """By ancestor, IBase's last, inherited ones before own."""
        *versions, base = self.chain(name)
        return [m for i in [*reversed(versions), base] for m in i.methods]


def full(package: str, type_name: str) -> str:
    """The full name of a type that `package` mentions; vec<> and arrays keep their shape."""
    if match := re.fullmatch(r"(vec|fmq_sync)<(.*)>", type_name):
        return f"{match[1]}<{full(package, match[2])}>"
    if match := re.fullmatch(r"(.*)\[(\d+)\]", type_name):
        return f"{full(package, match[1])}[{match[2]}]"
    if type_name in BUILTINS or not type_name:
        return type_name
    if type_name.startswith("@"):
        return package.partition("@")[0] + type_name
    return type_name if "::" in type_name else f"{package}::{type_name}"


def parse(data: dict[str, Any]) -> Interfaces:
    parsed = Interfaces()
    for package, content in data.items():
        for name, entry in content["types"].items():
            full_name = f"{package}::{name}"
            if "code" in entry:
                parsed.enums[full_name] = Enumeration("int32_t", {}, entry["code"])
            elif "enum" in entry:
                parsed.enums[full_name] = Enumeration(entry["enum"], entry["values"])
            else:
                union = "safe_union" in entry
                fields = [
                    (field_name, full(package, type_name), offset)
                    for field_name, type_name, offset in entry["safe_union" if union else "struct"]
                ]
                parsed.structs[full_name] = Struct(entry["size"], entry["align"], fields, union)
        for name, entry in content["interfaces"].items():
            descriptor = f"{package}::{name}"
            methods = [
                Method(
                    method["name"],
                    method["code"],
                    descriptor,
                    method.get("oneway", False),
                    method.get("local", False),
                    [(n, full(package, t)) for n, t in method.get("arguments", [])],
                    [(n, full(package, t)) for n, t in method.get("results", [])],
                )
                for method in entry["methods"]
            ]
            parsed.interfaces[descriptor] = Interface(
                descriptor, full(package, entry["parent"] or ""), entry["hash"], methods
            )
    return parsed


def cpp_scope(full_name: str) -> str:
    """The namespace below halyard::hal::hidl: nn::v1_2."""
    package, _, version = full_name.partition("::")[0].partition("@")
    return f"{NAMESPACES[package]}::v{version.replace('.', '_')}"


def local_name(full_name: str) -> str:
    return full_name.partition("::")[2]


class Types:
    """Answers about type expressions."""

    def __init__(self, interfaces: Interfaces) -> None:
        self.all = interfaces

    def element(self, name: str) -> str:
        """The element type of a vec, fmq or array; empty for other types."""
        if match := re.fullmatch(r"(?:vec|fmq_sync)<(.*)>|(.*)\[\d+\]", name):
            return match[1] or match[2]
        return ""

    def count(self, name: str) -> int:
        match = re.fullmatch(r".*\[(\d+)\]", name)
        return int(match[1]) if match else 0

    def shape(self, name: str) -> Shape:
        if name in BUILTINS:
            return BUILTINS[name]
        if element := self.element(name):
            inner = self.shape(element)
            if count := self.count(name):
                cpp = f"std::array<{inner.cpp}, {count}>"
                return Shape(cpp, "ARRAY", inner.size * count, inner.align, inner.walked)
            if name.startswith("vec"):
                return Shape(f"HidlVec<{inner.cpp}>", "VEC", 16, 8, walked=True)
            return Shape(f"HidlFmq<{inner.cpp}>", "FMQ", 32, 8, walked=True)
        cpp = f"{cpp_scope(name)}::{local_name(name).replace('.', '::')}"
        if enum := self.all.enums.get(name):
            return replace(BUILTINS[enum.storage], cpp=f"driver::{enum.code}" if enum.code else cpp)
        if name in self.all.interfaces:
            return Shape(cpp, "INTERFACE", 0, 1)
        struct = self.all.structs[name]
        walked = struct.union or any(self.shape(t).walked for _, t, _ in struct.fields)
        kind = "SAFE_UNION" if struct.union else "STRUCT"
        return Shape(cpp, kind, struct.size, struct.align, walked)

    def parts(self, name: str) -> list[str]:
        """The types whose layouts must exist before this one's."""
        if element := self.element(name):
            return [element]
        if struct := self.all.structs.get(name):
            return [t for _, t, _ in struct.fields]
        return []

    def identifier(self, name: str) -> str:
        """The name of the type's table in layouts.cc: kVecOfNnV1_0Operand."""
        return "k" + self._words(name)

    def _words(self, name: str) -> str:
        if element := self.element(name):
            if count := self.count(name):
                return f"Array{count}Of{self._words(element)}"
            return ("VecOf" if name.startswith("vec") else "FmqOf") + self._words(element)
        if name in BUILTINS:
            return name.removesuffix("_t").capitalize()
        scope = "".join(part[0].upper() + part[1:] for part in cpp_scope(name).split("::"))
        return scope + local_name(name).replace(".", "")

    def ordered(self, names: list[str]) -> list[str]:
        """The types and all their parts, parts first."""
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in found:
                for part in self.parts(name):
                    visit(part)
                found[name] = None

        for name in names:
            visit(name)
        return list(found)


def render_enum(name: str, enum: Enumeration) -> list[str]:
    values = [f"    {value} = {number}," for value, number in enum.values.items()]
    return [f"enum class {name} : {enum.storage} {{", *values, "};"]


def render_struct(types: Types, name: str, struct: Struct, nested: list[str]) -> list[str]:
    """Padding is spelled out, so that none carries what lay on the stack to another process."""
    own_name = local_name(name).rpartition(".")[2]
    lines = [f"struct {own_name} {{", *nested]
    end = 0

    def pad(to: int) -> None:
        if to > end:
            lines.append(f"    uint8_t pad{end}[{to - end}] = {{}};")

    if struct.union:
        members = ", ".join(member for member, _, _ in struct.fields)
        start = struct.fields[0][2]
        lines.append(f"    enum class Member : uint8_t {{ {members} }};")
        lines.append("    Member member = {};")
        end = 1
        pad(start)
        lines.append("    union {")
        lines.append(f"        uint8_t bytes[{struct.size - start}];")
        lines += [f"        {types.shape(t).cpp} {member};" for member, t, _ in struct.fields]
        lines += ["    };", f"    {own_name}() : bytes{{}} {{}}"]
    else:
        for field_name, type_name, offset in struct.fields:
            pad(offset)
            lines.append(f"    {types.shape(type_name).cpp} {field_name} = {{}};")
            end = offset + types.shape(type_name).size
        pad(struct.size)
    return [*lines, "};"]


def render_checks(types: Types, name: str, struct: Struct) -> list[str]:
    cpp = types.shape(name).cpp
    lines = [
        f"static_assert(sizeof({cpp}) == {struct.size} && alignof({cpp}) == {struct.align} && "
        f"std::is_trivially_copyable_v<{cpp}>);"
    ]
    lines += [f"static_assert(offsetof({cpp}, {f}) == {o});" for f, _, o in struct.fields]
    return lines


def render_interface(interfaces: Interfaces, name: str, nested: list[str]) -> list[str]:
    """A struct that only gives names: the codes of the methods, and where its tables are."""
    lines = [f"struct {local_name(name)} {{", *nested, "    enum Method : uint32_t {"]
    lines += [
        f"        {method.name} = {method.code},"
        for method in interfaces.methods(name)
        if name == IBASE or method.token != IBASE
    ]
    return [*lines, "    };", "    static const InterfaceLayout& layout();", "};"]


def declaration_order(types: Types) -> list[str]:
    """Top-level types and interfaces, each after what it holds."""
    all_types = types.all
    names = [*all_types.enums, *all_types.structs]
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        top = top_of(name)
        if top in order:
            return
        for member in [n for n in names if top_of(n) == top]:
            for part in types.ordered([member]):
                if part in names and top_of(part) != top:
                    visit(part)
        order[top] = None

    for name in [*names, *all_types.interfaces]:
        visit(top_of(name))
    return list(order)


def top_of(name: str) -> str:
    """The outermost type that a nested one lies in."""
    package, _, local = name.partition("::")
    return f"{package}::{local.partition('.')[0]}"


def render_types(types: Types) -> list[str]:
    interfaces = types.all
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated from interfaces.json by hal/hidl/generate.py.",
        "#pragma once",
        "#include <array>",
        "#include <cstddef>",
        "#include <cstdint>",
        "#include <type_traits>",
        '#include "driver/model/codes.h"',
        '#include "hal/hidl/layout.h"',
        "namespace halyard::hal::hidl {",
    ]
    for top in declaration_order(types):
        nested: list[str] = []
        for name in [n for n in (*interfaces.enums, *interfaces.structs) if top_of(n) == top]:
            if name == top:
                continue
            if enum := interfaces.enums.get(name):
                nested += render_enum(local_name(name).rpartition(".")[2], enum)
            else:
                nested += render_struct(types, name, interfaces.structs[name], [])
        if enum := interfaces.enums.get(top):
            if enum.code:
                continue
            body = render_enum(local_name(top), enum)
        elif struct := interfaces.structs.get(top):
            body = render_struct(types, top, struct, nested)
        else:
            body = render_interface(interfaces, top, nested)
        lines += [f"namespace {cpp_scope(top)} {{", *body, "}"]
    for name, struct in interfaces.structs.items():
        lines += render_checks(types, name, struct)
    lines += [
        f"template <> const TypeLayout& layoutOf<{types.shape(name).cpp}>();"
        for name in accessible(types)
    ]
    return [*lines, "}  // namespace halyard::hal::hidl"]


def argument_types(types: Types) -> list[str]:
    return [
        type_name
        for interface in types.all.interfaces.values()
        for method in interface.methods
        for _, type_name in [*method.arguments, *method.results]
    ]


def accessible(types: Types) -> list[str]:
    """The types with a layoutOf(): those that travel as a buffer, and all structs."""
    wanted = types.ordered([*types.all.structs, *argument_types(types)])
    buffers = ("STRING", "MEMORY", "FMQ", "VEC", "ARRAY", "STRUCT", "SAFE_UNION")
    return [
        name
        for name in wanted
        if types.shape(name).kind in buffers
        and name != "monostate"
        and types.shape(types.element(name) or "bool").kind != "INTERFACE"
    ]


def render_type_layout(types: Types, name: str) -> list[str]:
    identifier = types.identifier(name)
    struct = types.all.structs.get(name)
    lines = []
    if struct and struct.fields:
        lines.append(f"constexpr FieldLayout {identifier}Fields[] = {{")
        lines += [
            f'    {{.name = "{f}", .offset = {o}, .type = &{types.identifier(t)}}},'
            for f, t, o in struct.fields
        ]
        lines.append("};")
    parts = [
        f".kind = TypeLayout::Kind::{types.shape(name).kind}",
        f'.name = "{name}"',
        f".size = {types.shape(name).size}",
    ]
    if struct and struct.fields:
        parts.append(f".fields = {identifier}Fields")
    if element := types.element(name):
        parts.append(f".element = &{types.identifier(element)}")
    if count := types.count(name):
        parts.append(f".count = {count}")
    if types.shape(name).walked:
        parts.append(".walked = true")
    return [*lines, f"constexpr TypeLayout {identifier}{{{', '.join(parts)}}};"]


def render_arguments(types: Types, name: str, arguments: list[tuple[str, str]]) -> list[str]:
    if not arguments:
        return []
    rows = [f'    {{.name = "{n}", .type = &{types.identifier(t)}}},' for n, t in arguments]
    return [f"constexpr ArgumentLayout {name}[] = {{", *rows, "};"]


def method_identifier(types: Types, method: Method) -> str:
    return types.identifier(method.token) + method.name[0].upper() + method.name[1:]


def render_interface_layout(types: Types, name: str) -> list[str]:
    identifier = types.identifier(name)
    chain = types.all.chain(name)
    lines = [f"constexpr std::string_view {identifier}Chain[] = {{"]
    lines += [f'    "{ancestor.descriptor}",' for ancestor in chain]
    lines += ["};", f"constexpr std::array<uint8_t, 32> {identifier}Hashes[] = {{"]
    for ancestor in chain:
        digest = ", ".join(str(byte) for byte in bytes.fromhex(ancestor.digest))
        lines.append(f"    {{{digest}}},")
    lines += ["};", f"constexpr MethodLayout {identifier}Methods[] = {{"]
    for method in types.all.methods(name):
        if method.local:
            continue
        parts = [f'.name = "{method.name}"', f".code = {method.code}", f'.token = "{method.token}"']
        if method.oneway:
            parts.append(".oneway = true")
        if method.arguments:
            parts.append(f".arguments = {method_identifier(types, method)}Arguments")
        if method.results:
            parts.append(f".results = {method_identifier(types, method)}Results")
        lines.append(f"    {{{', '.join(parts)}}},")
    lines += ["};", f'constexpr InterfaceLayout {identifier}Layout{{.descriptor = "{name}",']
    lines.append(f"    .chain = {identifier}Chain, .hashes = {identifier}Hashes,")
    return [*lines, f"    .methods = {identifier}Methods}};"]


def render_layouts(types: Types) -> list[str]:
    interfaces = types.all.interfaces
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated from interfaces.json by hal/hidl/generate.py.",
        '#include "hal/hidl/types.h"',
        "namespace halyard::hal::hidl {",
        "namespace {",
    ]
    for name in types.ordered([*types.all.structs, *argument_types(types)]):
        lines += render_type_layout(types, name)
    for interface in interfaces.values():
        for method in interface.methods:
            identifier = method_identifier(types, method)
            lines += render_arguments(types, identifier + "Arguments", method.arguments)
            lines += render_arguments(types, identifier + "Results", method.results)
    for name in interfaces:
        lines += render_interface_layout(types, name)
    lines.append("}  // namespace")
    lines += [
        f"template <> const TypeLayout& layoutOf<{types.shape(name).cpp}>() "
        f"{{ return {types.identifier(name)}; }}"
        for name in accessible(types)
    ]
    lines += [
        f"const InterfaceLayout& {types.shape(name).cpp}::layout() "
        f"{{ return {types.identifier(name)}Layout; }}"
        for name in interfaces
    ]
    lines.append("const InterfaceLayout* findInterface(std::string_view descriptor) {")
    lines += [
        f"    if (descriptor == {types.identifier(name)}Layout.descriptor) "
        f"return &{types.identifier(name)}Layout;"
        for name in interfaces
    ]
    return [*lines, "    return nullptr;", "}", "}  // namespace halyard::hal::hidl"]


def main() -> None:
    source, header, tables = map(Path, sys.argv[1:])
    types = Types(parse(json.loads(source.read_text())))
    for path, lines in ((header, render_types(types)), (tables, render_layouts(types))):
        text = "\n".join(lines) + "\n"
        # A file that has not changed keeps its time, so that another Python compiles nothing anew.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
