# SPDX-License-Identifier: Apache-2.0
"""Loads files in the NNAPI spec language.

A spec is Python code, and loading it runs it: with this process's rights, and all that it may
import. Load only specs that you trust.
"""

from __future__ import annotations

import dataclasses
import re
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType

from halyard.cases.case import Case
from halyard.errors import HalyardError
from halyard.proto import halyard_pb2 as pb
from halyard.specs import converters, declared_operands, expansion
from halyard.specs.example import Example
from halyard.specs.model import Model, SubgraphReference
from halyard.specs.operand_type import SymmPerChannelQuantParams
from halyard.specs.session import Session, SpecError, running
from halyard.transport import hal_version

SUFFIX = ".mod.py"

# Says the lowest HAL version of each model.
LowestVersions = Callable[[Sequence[pb.Model]], list[pb.HalVersion]]

_LANGUAGE: dict[str, object] = {
    **{
        each.__name__: each
        for each in (
            Model,
            Example,
            SymmPerChannelQuantParams,
            declared_operands.Operand,
            declared_operands.Input,
            declared_operands.Output,
            declared_operands.IgnoredOutput,
            declared_operands.Internal,
            declared_operands.Parameter,
            declared_operands.Int32Scalar,
            declared_operands.Float16Scalar,
            declared_operands.Float32Scalar,
            declared_operands.BoolScalar,
            declared_operands.Int32Vector,
            declared_operands.Float32Vector,
            SubgraphReference,
            converters.DataTypeConverter,
            converters.RelaxedModeConverter,
            converters.DataLayoutConverter,
            converters.ActivationConverter,
            converters.AllTensorsAsInputsConverter,
            converters.AllInputsAsInternalConverter,
            converters.AllOutputsAsInternalConverter,
        )
    },
    # So the language spells them.
    "AllInputsAsInternalCoverter": converters.AllInputsAsInternalConverter,
    "AllOutputsAsInternalCoverter": converters.AllOutputsAsInternalConverter,
}


def files(folder: Path) -> list[Path]:
    """The specs in a folder and the folders below it, in order."""
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.is_file())


def load(path: Path | str, lowest: LowestVersions = hal_version.lowest_versions) -> list[Case]:
    """The cases of one spec, which is run.

    The folder says the HAL version of its cases (V1_2/softmax.mod.py). Where it does not, `lowest`
    is asked. Cases that need a version beyond those of pb.HalVersion are left out.

    HalyardError, with file and line, for a spec that cannot be read, fails, or makes no sense.
    """
    path = Path(path)
    session = _session(path)
    with running(session):
        _run(path, session)
        try:
            cases = list(expansion.cases(session, _title(path, session)))
        except SpecError as error:
            raise _located(path, error.line, str(error)) from None
    return _with_versions(cases, lowest)


def _session(path: Path) -> Session:
    found = re.findall(r"/(V\d_\d|AIDL_V\d)(?:_cts_only)?/", str(path.absolute()))
    return Session(
        file=str(path),
        spec=path.name.split(".", 1)[0],
        version=found[0] if len(found) == 1 else None,
    )


def _title(path: Path, session: Session) -> str:
    return path.name if session.version is None else f"{path.absolute().parent.name}/{path.name}"


def _run(path: Path, session: Session) -> None:
    """Runs the spec, with nothing in sight but the language."""
    code = _compiled(path)
    names = {
        **_LANGUAGE,
        "Configuration": session.configuration,
        "__name__": session.spec,
        "__file__": session.file,
    }
    try:
        exec(code, names)
    except SpecError as error:
        raise _located(path, error.line or _line(error, path), str(error)) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the user's code: anything
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise _located(path, _line(error, path), what) from None


def _compiled(path: Path) -> CodeType:
    try:
        source = path.read_bytes()
        with warnings.catch_warnings():
            # A compiler's warnings about the user's style are not shown.
            warnings.simplefilter("ignore")
            return compile(source, str(path), "exec")
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror or error}") from error
    except SyntaxError as error:
        raise _located(path, error.lineno or 0, f"{type(error).__name__}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise HalyardError(f"{path}: {error or type(error).__name__}") from None


def _line(error: BaseException, path: Path) -> int:
    """The innermost line of the spec at which it failed; 0 if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == str(path)), 0)


def _located(path: Path, line: int, what: str) -> HalyardError:
    return HalyardError(f"{path}:{line}: {what}" if line else f"{path}: {what}")


def _with_versions(cases: list[Case], lowest: LowestVersions) -> list[Case]:
    """`lowest` is asked once, for the cases that are of no version. The newest for a model that is
    valid in none."""
    open_ended = [each for each in cases if each.hal_version == pb.HAL_VERSION_UNSPECIFIED]
    if not open_ended:
        return cases
    versions = lowest([each.test_case.model for each in open_ended])
    known = {
        each.name: version or hal_version.AIDL[-1]
        for each, version in zip(open_ended, versions, strict=True)
    }
    return [
        dataclasses.replace(each, hal_version=known.get(each.name, each.hal_version))
        for each in cases
    ]
