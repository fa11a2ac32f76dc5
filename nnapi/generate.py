# SPDX-License-Identifier: Apache-2.0
"""Writes what NNAPI's C interface is declared and exported by.

Usage: generate.py INTERFACES_JSON FOLDER

interfaces.json has the functions with the feature level that brought each and the rules of their
result codes, the enums, the structs with their offsets (LP64), and the table of a support library.
Of a rule N is UNEXPECTED_NULL, S BAD_STATE, D BAD_DATA. Written are:

android/NeuralNetworks.h    the public header, for C and C++
android/SupportLibrary.h    what a support library's only export gives
exports.map                 the version script of libneuralnetworks.so
support_library.map         the version script of a support library
support_library_functions.h the functions that stand in the table alone
support_library_slots.inc   HALYARD_SLOT_5(NAME) for each of NNAPI's functions in level 5's table,
                            HALYARD_SLOT_8(NAME) for what that of level 8 adds
support_library_table.inc   what fills the newest table: each slot with the function of its name
functions.inc               HALYARD_FUNCTION(NAME) for each function of libneuralnetworks.so
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"
# Android's releases and API levels, by the feature level that each brought.
RELEASES = {
    1: "Android 8.1, API 27",
    2: "Android 9, API 28",
    3: "Android 10, API 29",
    4: "Android 11, API 30",
    5: "Android 12, API 31",
    6: "NNAPI's update of 2021",
    7: "NNAPI's update of 2022",
    8: "Android 14",
}
# Of no use in C but to name what they are: NDK's own header has them under no type's name either.
ANONYMOUS = ("ANEURALNETWORKS_MAX_SIZE_OF", "ANEURALNETWORKS_BYTE_SIZE_OF", "OEM")


@dataclass(frozen=True)
class Function:
    name: str
    returns: str
    parameters: Sequence[tuple[str, str]]  # name, type
    level: int = 0
    extension: bool = False
    rules: Sequence[str] = ()

    def declaration(self) -> str:
        words = ", ".join(declared(name, kind) for name, kind in self.parameters)
        return f"{self.returns} {self.name}({words or 'void'})"

    def pointer(self) -> str:
        words = ", ".join(declared(name, kind) for name, kind in self.parameters)
        return f"{self.returns} (*{self.name})({words or 'void'})"


@dataclass(frozen=True)
class Interfaces:
    opaque: list[str]
    enums: dict[str, list[Any]]
    structs: dict[str, Any]
    functions: list[Function]
    library_functions: list[Function]
    callbacks: list[Function]
    tables: dict[str, Any]


def declared(name: str, kind: str) -> str:
    """A parameter, or the pointer to a function that one is."""
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})")
    return f"{kind} {name}"


def function(entry: dict[str, Any]) -> Function:
    parameters = [(name, kind) for name, kind in entry["parameters"]]
    return Function(**(entry | {"parameters": parameters}))


def read(path: Path) -> Interfaces:
    data = json.loads(path.read_text())
    library = data["support_library"]
    return Interfaces(
        opaque=data["opaque"],
        enums=data["enums"],
        structs=data["structs"],
        functions=[function(each) for each in data["functions"]],
        library_functions=[function(each) for each in library["functions"]],
        callbacks=[function(each) for each in library["callbacks"]],
        tables=library["tables"],
    )


def enum(name: str, entries: Iterable[Sequence[Any]]) -> str:
    lines = [
        f"    {entry[0]} = {entry[1]},"
        + (f"  // feature level {entry[2]}" if len(entry) > 2 and entry[2] > 1 else "")
        for entry in entries
    ]
    body = "\n".join(lines)
    if name.startswith(ANONYMOUS):
        return f"enum {{\n{body}\n}};\n"
    return f"typedef enum {{\n{body}\n}} {name};\n"


def struct(name: str, fields: Iterable[Sequence[Any]]) -> str:
    body = "\n".join(f"    {declared(field[0], field[1])};" for field in fields)
    return f"typedef struct {name} {{\n{body}\n}} {name};\n"


def layout(name: str, entry: Any) -> str:
    """Assertions of where the fields lie, for C++ on LP64."""
    fields = [
        f"static_assert(offsetof({name}, {field[0]}) == {field[2]});" for field in entry["fields"]
    ]
    return "\n".join([f"static_assert(sizeof({name}) == {entry['size']});", *fields])


def documented(each: Function) -> str:
    lines = [f"// Feature level {each.level} ({RELEASES[each.level]})."]
    lines += [f"//   {rule}" for rule in each.rules]
    return "\n".join([*lines, f"ANEURALNETWORKS_API {each.declaration()};"])


OPENING = """
#ifdef __cplusplus
extern "C" {
#endif
"""
CLOSING = """
#ifdef __cplusplus
}
#endif
"""


def asserted(structs: dict[str, Any]) -> str:
    lines = "\n".join(layout(name, entry) for name, entry in structs.items())
    return f"\n#if defined(__cplusplus) && defined(__LP64__)\n{lines}\n#endif\n"


def public_header(known: Interfaces) -> str:
    enums = {name: entries for name, entries in known.enums.items() if not is_of_library(name)}
    structs = {name: entry for name, entry in known.structs.items() if not is_of_library(name)}
    parts = [
        LICENSE,
        "//\n// NNAPI, the C interface of the Android Neural Networks API, feature levels 1 to 8.\n"
        "// Of what a function answers: N is ANEURALNETWORKS_UNEXPECTED_NULL, S is\n"
        "// ANEURALNETWORKS_BAD_STATE, D is ANEURALNETWORKS_BAD_DATA.\n"
        "\n#ifndef ANDROID_NEURAL_NETWORKS_H\n#define ANDROID_NEURAL_NETWORKS_H\n"
        "\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        "\n#ifndef ANEURALNETWORKS_API\n"
        '#define ANEURALNETWORKS_API __attribute__((visibility("default")))\n#endif\n',
        OPENING,
        "\n".join(enum(name, entries) for name, entries in enums.items()),
        "typedef int32_t ANeuralNetworksOperationType;\n"
        "typedef struct AHardwareBuffer AHardwareBuffer;\n"
        + "".join(f"typedef struct {name} {name};\n" for name in known.opaque),
        "\n".join(struct(name, entry["fields"]) for name, entry in structs.items()),
        "\n\n".join(documented(each) for each in known.functions),
        CLOSING,
        asserted(structs),
        "\n#endif\n",
    ]
    return "\n".join(parts)


def is_of_library(name: str) -> bool:
    return name.startswith(("SL_", "ANeuralNetworksDiagnostic"))


def support_library_header(known: Interfaces) -> str:
    enums = {name: entries for name, entries in known.enums.items() if is_of_library(name)}
    structs = {name: entry for name, entry in known.structs.items() if is_of_library(name)}
    by_name = {each.name: each for each in [*known.functions, *known.library_functions]}
    infos = ("ANeuralNetworksDiagnosticCompilationInfo", "ANeuralNetworksDiagnosticExecutionInfo")
    parts = [
        LICENSE,
        "//\n// The support library form of NNAPI: a table of functions, which the library's only\n"
        "// export gives. Tables of feature levels 5, 6 and 7 are alike.\n"
        "\n#ifndef ANDROID_NEURAL_NETWORKS_SUPPORT_LIBRARY_H\n"
        "#define ANDROID_NEURAL_NETWORKS_SUPPORT_LIBRARY_H\n"
        "\n#include <android/NeuralNetworks.h>\n",
        OPENING,
        "\n".join(enum(name, entries) for name, entries in enums.items()),
        "\n".join(struct(name, entry["fields"]) for name, entry in structs.items()),
        "".join(f"typedef struct {name} {name};\n" for name in infos)
        + "".join(f"typedef {each.pointer()};\n" for each in known.callbacks),
        "typedef struct NnApiSLDriverImpl {\n    int64_t implFeatureLevel;\n} NnApiSLDriverImpl;\n",
        tables(known, by_name),
        "ANEURALNETWORKS_API NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl(void);",
        CLOSING,
        asserted(structs),
        "\n#if defined(__cplusplus) && defined(__LP64__)\n"
        + "\n".join(table_layout(known, name) for name in known.tables)
        + "\n#endif\n",
        "\n#endif\n",
    ]
    return "\n".join(parts)


def tables(known: Interfaces, by_name: dict[str, Function]) -> str:
    """The struct of each table; that of level 8 begins with that of level 5."""
    texts = []
    base = "NnApiSLDriverImpl"
    for name, table in known.tables.items():
        slots = "\n".join(f"    {by_name[slot].pointer()};" for slot, _ in table["slots"])
        texts.append(f"typedef struct {name} {{\n    {base} base;\n{slots}\n}} {name};\n")
        base = name
    return "\n".join(texts)


def table_layout(known: Interfaces, name: str) -> str:
    table = known.tables[name]
    return layout(name, {"size": table["size"], "fields": [[s, "", o] for s, o in table["slots"]]})


def exports(known: Interfaces) -> str:
    public = "".join(f"        {each.name};\n" for each in known.functions if not each.extension)
    others = "".join(f"        {each.name};\n" for each in known.functions if each.extension)
    return (
        f"LIBNEURALNETWORKS {{\n    global:\n{public}    local:\n        *;\n}};\n\n"
        f"LIBNEURALNETWORKS_PLATFORM {{\n    global:\n{others}}} LIBNEURALNETWORKS;\n"
    )


def filled(known: Interfaces) -> str:
    text = "{.implFeatureLevel = 0}"
    for table in known.tables.values():
        slots = "".join(f".{slot} = {slot},\n" for slot, _ in table["slots"])
        text = f"{{.base = {text},\n{slots}}}"
    return f"{text}\n"


def write(path: Path, text: str) -> None:
    """What has not changed is not written: nothing is compiled again for it."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(interfaces: str, folder: str) -> None:
    known = read(Path(interfaces))
    into = Path(folder)
    (into / "android").mkdir(parents=True, exist_ok=True)
    write(into / "android" / "NeuralNetworks.h", public_header(known))
    write(into / "android" / "SupportLibrary.h", support_library_header(known))
    write(into / "exports.map", exports(known))
    write(
        into / "support_library.map",
        "{\n    global:\n        ANeuralNetworks_getSLDriverImpl;\n    local:\n        *;\n};\n",
    )
    public = {each.name for each in known.functions}
    write(
        into / "support_library_slots.inc",
        LICENSE
        + "".join(
            f"HALYARD_SLOT_{name[-1]}({slot})\n"
            for name, table in known.tables.items()
            for slot, _ in table["slots"]
            if slot in public
        ),
    )
    declarations = "".join(f"{each.declaration()};\n" for each in known.library_functions)
    write(
        into / "support_library_functions.h",
        f"{LICENSE}\n#pragma once\n\n#include <android/SupportLibrary.h>\n\n"
        f'extern "C" {{\n\n{declarations}\n}}  // extern "C"\n',
    )
    write(into / "support_library_table.inc", LICENSE + filled(known))
    write(
        into / "functions.inc",
        LICENSE + "".join(f"HALYARD_FUNCTION({each.name})\n" for each in known.functions),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
