# SPDX-License-Identifier: Apache-2.0
"""The dev container's file: editors understand it, and what it names is there. No container is made
here."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / ".devcontainer" / "devcontainer.json"

# Of the specification (containers.dev): the properties of a container that is built, and those of
# `build`, with the types of their values.
_PROPERTIES: Mapping[str, type] = {
    "name": str,
    "build": dict,
    "postCreateCommand": str,
    "containerEnv": dict,
    "remoteUser": str,
    "mounts": list,
    "runArgs": list,
    "features": dict,
    "customizations": dict,
}
_OF_BUILD: Mapping[str, type] = {"dockerfile": str, "context": str, "args": dict, "target": str}


@pytest.fixture(scope="module")
def container() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(FILE.read_text())
    return content


def wrong(content: Mapping[str, Any], known: Mapping[str, type]) -> list[str]:
    """The properties that the specification has not, or has another type for."""
    return [
        name
        for name, value in content.items()
        if not isinstance(value, known.get(name, type(None)))
    ]


def test_has_properties_of_the_specification_alone(container: Mapping[str, Any]) -> None:
    assert wrong(container, _PROPERTIES) == []
    assert wrong(container["build"], _OF_BUILD) == []


def test_is_built_by_the_dockerfile_with_the_checkout_as_its_context(
    container: Mapping[str, Any],
) -> None:
    # Both are relative to the file.
    assert (FILE.parent / container["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (FILE.parent / container["build"]["context"]).resolve() == ROOT


def test_is_made_ready_by_a_target_of_the_makefile(container: Mapping[str, Any]) -> None:
    [target] = re.findall(r"make (\w+)", container["postCreateCommand"])
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_names_extensions_by_publisher(container: Mapping[str, Any]) -> None:
    extensions = container["customizations"]["vscode"]["extensions"]
    assert [each for each in extensions if not re.fullmatch(r"[\w-]+\.[\w-]+", each)] == []


def test_editors_find_the_environment_and_the_build_of_the_makefile(
    container: Mapping[str, Any],
) -> None:
    makefile = (ROOT / "Makefile").read_text()
    settings = container["customizations"]["vscode"]["settings"]
    [venv] = re.findall(r"^VENV := (.+)$", makefile, re.MULTILINE)
    [build] = re.findall(r"^BUILD := (.+)$", makefile, re.MULTILINE)
    assert settings["python.defaultInterpreterPath"] == f"{venv}/bin/python"
    assert settings["clangd.arguments"] == [f"--compile-commands-dir={build}"]


@pytest.mark.parametrize("content", [{"dockerFile": "Dockerfile"}, {"build": "Dockerfile"}])
def test_finds_what_the_specification_has_not(content: Mapping[str, Any]) -> None:
    assert wrong(content, _PROPERTIES) == list(content)
