# SPDX-License-Identifier: Apache-2.0
"""The command convert: a model's file as Halyard's own, as text and as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from halyard import output_file, records
from halyard.cli.group import examples
from halyard.cli.options.json import json_option
from halyard.cli.options.reading import reading_options
from halyard.conversion import FORMATS, convert
from halyard.model import Conversion, NnapiPart, Part, TensorInfo, operation_name
from halyard.model.dot import dot
from halyard.model.drawing import DRAWINGS, check_drawable, drawn
from halyard.model.listing import listing
from halyard.model.read_options import ReadOptions
from halyard.output_file import check_writable
from halyard.records import convert as convert_records
from halyard.terminal.console import Terminal, counted
from halyard.transport import hal_version

_FILES = ", ".join(f"*{extension}" for each in FORMATS for extension in each.extensions)
_STDOUT = Path("-")


@click.command(
    name="convert",
    epilog=examples(
        "halyard convert model.tflite -o model.pb",
        "halyard convert model.onnx --text - --strict",
        "halyard convert model.onnx --dim batch=1,seqlen=32 -o model.pb",
        "halyard convert model.tflite --graph model.svg",
        "halyard convert model.tflite --graph - | dot -Tsvg >model.svg",
    ),
)
@click.argument(
    "source", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "-o",
    "--output",
    "output_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Halyard's own file of it. Of several parts each has its number in the name.",
)
@click.option(
    "--text",
    "text_path",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="What NNAPI runs, operation by operation. -: shown here.",
)
@click.option(
    "--graph",
    "graph_path",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="The graph, in Graphviz's language; .svg, .png, .pdf: drawn, by its dot. -: shown here.",
)
@reading_options
@click.option("--strict", is_flag=True, help="Fail if NNAPI has no word for an operator.")
@json_option
def convert_command(
    *,
    source: Path,
    output_path: Path | None,
    text_path: Path | None,
    graph_path: Path | None,
    strict: bool,
    reading: ReadOptions,
    json_path: Path | None,
) -> None:
    """Reads a model's file, says what NNAPI runs of it and why not the rest, and writes it in other
    forms."""
    written = [path for path in (output_path, text_path, graph_path, json_path) if path is not None]
    for path in written:
        if path != _STDOUT:
            check_writable(path)
    if graph_path is not None:
        check_drawable(source, graph_path)
    conversion = convert(source, reading)
    if strict:
        conversion.refuse_unmapped()
    # An invalid model is not written.
    hal = _lowest_hal(conversion)
    files = _write_parts(conversion, output_path)
    if text_path is not None:
        _write_text(text_path, _text(conversion.parts))
    if graph_path is not None:
        _write_graph(graph_path, dot(source.stem, conversion.parts))
    if json_path is not None:
        output_file.write(json_path, records.encode(_record(conversion, hal, files)))
    if _STDOUT not in (text_path, graph_path):
        _show(conversion, hal, files)


def _lowest_hal(conversion: Conversion) -> str:
    """HalyardError where what was mapped is no valid model."""
    if not conversion.model.main.operations:
        return ""
    return hal_version.format(hal_version.lowest_version(conversion.model))


def _write_text(path: Path, text: str) -> None:
    if path == _STDOUT:
        click.echo(text, nl=False)
    else:
        output_file.write(path, text.encode())


def _write_graph(path: Path, text: str) -> None:
    if path.suffix in DRAWINGS:
        output_file.write(path, drawn(text, path.suffix[1:]))
    else:
        _write_text(path, text)


def _write_parts(conversion: Conversion, path: Path | None) -> list[str]:
    """The names of their files; none are written unless a name is given."""
    if path is None:
        return [""] * len(conversion.parts)
    names = []
    for number, part in enumerate(conversion.parts):
        if isinstance(part, NnapiPart):
            suffix, content = path.suffix, part.model.SerializeToString()
        else:
            suffix, content = conversion.source.suffix, part.content
        alone = len(conversion.parts) == 1 and suffix == path.suffix
        target = path if alone else path.with_name(f"{path.stem}.{number + 1}{suffix}")
        output_file.write(target, content)
        names.append(str(target))
    return names


def _text(parts: Sequence[Part]) -> str:
    if len(parts) == 1 and isinstance(parts[0], NnapiPart):
        return listing(parts[0].model)
    texts = []
    for number, part in enumerate(parts):
        if isinstance(part, NnapiPart):
            texts.append(f"part {number + 1}, NNAPI\n{listing(part.model)}")
        else:
            operators = "".join(f"    {each}\n" for each in part.operators)
            texts.append(f"part {number + 1}, host\n{operators}")
    return "\n".join(texts)


def _operations(part: Part) -> list[str]:
    if isinstance(part, NnapiPart):
        return [operation_name(each.type) for each in part.model.main.operations]
    return list(part.operators)


def _show(conversion: Conversion, hal: str, files: Sequence[str]) -> None:
    terminal = Terminal()
    source = conversion.source
    needs = f", needs HAL {hal}" if hal else ""
    terminal.line(f"{source.path}: {source.format}{needs}")
    for side, infos in (("input", conversion.inputs), ("output", conversion.outputs)):
        for info in infos:
            terminal.detail(f"{side:9}  {info.name}: {info.dtype}{list(info.shape)}")
    for number, (part, file) in enumerate(zip(conversion.parts, files, strict=True)):
        runs_on = "NNAPI" if isinstance(part, NnapiPart) else "the host"
        count = len(_operations(part))
        where = f", in {file}" if file else ""
        terminal.detail(f"part {number + 1:<4}  {runs_on}: {counted(count, 'operation')}{where}")
    for each in conversion.unmapped:
        terminal.detail(f"unmapped   {each.text()}")
    for note in conversion.notes:
        terminal.detail(f"note       {note}")


def _record(conversion: Conversion, hal: str, files: Sequence[str]) -> convert_records.Convert:
    return convert_records.Convert(
        source=str(conversion.source.path),
        format=conversion.source.format,
        hal=hal,
        inputs=[_tensor(info) for info in conversion.inputs],
        outputs=[_tensor(info) for info in conversion.outputs],
        parts=[
            convert_records.Part(
                runs_on="NNAPI" if isinstance(part, NnapiPart) else "host",
                inputs=list(part.inputs),
                outputs=list(part.outputs),
                operations=_operations(part),
                file=file,
            )
            for part, file in zip(conversion.parts, files, strict=True)
        ],
        unmapped=[
            convert_records.Unmapped(operator=each.operator, reason=each.reason)
            for each in conversion.unmapped
        ],
        notes=list(conversion.notes),
    )


def _tensor(info: TensorInfo) -> convert_records.Tensor:
    return convert_records.Tensor(
        name=info.name,
        type=str(info.dtype),
        shape=list(info.shape),
        scale=info.scale,
        zero_point=info.zero_point,
    )


COMMANDS = (convert_command,)
