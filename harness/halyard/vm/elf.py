# SPDX-License-Identifier: Apache-2.0
"""The files that a dynamically linked program needs beside itself."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from halyard.errors import VmError


def needs(path: Path, elf_machine: str) -> tuple[str | None, list[str], list[str]]:
    """The interpreter, the names of the libraries and the program's own library folders."""
    interpreter: str | None = None
    libraries: list[str] = []
    folders: list[str] = []
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf["e_machine"] != elf_machine:
                raise VmError(f"{path} is for {elf['e_machine']}, not {elf_machine}")
            for segment in elf.iter_segments():
                if isinstance(segment, InterpSegment):
                    interpreter = segment.get_interp_name()
                elif isinstance(segment, DynamicSegment):
                    for tag in segment.iter_tags():
                        # The text of a tag is an attribute named after it: needed, runpath, rpath.
                        name = str(tag.entry.d_tag).removeprefix("DT_").lower()
                        if name == "needed":
                            libraries.append(getattr(tag, name))
                        elif name in {"runpath", "rpath"}:
                            text = getattr(tag, name).replace("$ORIGIN", str(path.parent))
                            folders += text.split(":")
    except (ELFError, OSError) as error:
        raise VmError(f"{path}: {error}") from error
    return interpreter, libraries, folders


def closure(
    programs: Iterable[Path],
    elf_machine: str,
    library_folders: Sequence[str],
    root: Path = Path("/"),
) -> dict[str, Path]:
    """All that the programs need, by the path under which their loader looks for it.

    `root` is where the libraries of that machine lie; "/" for this machine's own.
    """
    found: dict[str, Path] = {}
    waiting = list(programs)
    while waiting:
        path = waiting.pop()
        interpreter, libraries, own = needs(path, elf_machine)
        if interpreter and interpreter not in found:
            found[interpreter] = _existing(root, interpreter, path)
            waiting.append(found[interpreter])
        for library in libraries:
            folders = [*own, *library_folders]
            candidates = [f"{folder}/{library}" for folder in folders if folder]
            there = next((name for name in candidates if _in(root, name).is_file()), None)
            if there is None:
                raise VmError(f"{path} needs {library}, which is in none of {', '.join(folders)}")
            if there not in found:
                found[there] = _in(root, there)
                waiting.append(found[there])
    return found


def _in(root: Path, name: str) -> Path:
    return root / name.lstrip("/")


def _existing(root: Path, name: str, program: Path) -> Path:
    path = _in(root, name)
    if not path.is_file():
        raise VmError(f"{program} needs the loader {name}, which is not installed")
    return path
