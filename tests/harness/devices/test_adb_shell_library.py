# SPDX-License-Identifier: Apache-2.0
"""The parts of the adb-shell library that are used though they are not public."""

import ast
from pathlib import Path
from typing import Any

import pytest
from adb_shell.adb_device import AdbDevice
from adb_shell.transport.tcp_transport import TcpTransport

import halyard
from halyard.devices import adb_shell_library
from halyard.devices.adb_shell_library import PRIVATE, LibraryDevice

_SOURCES = sorted(Path(halyard.__file__).parent.rglob("*.py"))
_USED = [(kind, name) for kind, names in PRIVATE.items() for name in names]


def made(kind: type) -> Any:
    """One of the library's objects, connected to nothing."""
    transport = TcpTransport("nowhere", 1)
    if kind is TcpTransport:
        return transport
    if kind is LibraryDevice:
        return AdbDevice(transport)
    return kind(transport) if kind.__name__ == "_AdbIOManager" else kind()


@pytest.mark.parametrize(
    ("kind", "name"), _USED, ids=[f"{kind.__name__}.{name}" for kind, name in _USED]
)
def test_the_library_has_it(kind: type, name: str) -> None:
    assert hasattr(made(kind), name)


def test_what_it_overrides_and_reads_is_listed() -> None:
    tree = ast.parse(Path(adb_shell_library.__file__).read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own = {"__init__", "_is_spoilt", "_left", "_limit", "_stream", "_taken"}
    listed = {name for names in PRIVATE.values() for name in names}
    assert {name for name in used if name.startswith("_")} - own <= listed


def test_no_other_file_imports_what_is_private() -> None:
    guilty = [
        path.name
        for path in _SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adb_shell.")
        if any(alias.name.startswith("_") for alias in node.names)
    ]
    assert set(guilty) == {"adb_shell_library.py"}
