# SPDX-License-Identifier: Apache-2.0
"""The command operations: those that the driver runs."""

from pathlib import Path

import click

from halyard.cli.group import examples
from halyard.cli.options.json import json_option, write_json
from halyard.programs import operations
from halyard.records.listing import Operation, Operations
from halyard.terminal.console import Terminal


@click.command(
    name="operations",
    epilog=examples("halyard operations", "halyard operations --json - | jq '.operations[].name'"),
)
@click.option("--markdown", is_flag=True, help="As the table in docs/operations.md.")
@json_option
def list_operations(*, markdown: bool, json_path: Path | None) -> None:
    """Lists the operations that the driver runs."""
    rows = list(operations.table().values())
    if markdown:
        click.echo(operations.as_markdown(rows), nl=False)
    else:
        Terminal().table(operations.COLUMNS, [row.cells() for row in rows])
    listed = [
        Operation(name=row.name, code=row.code, since=row.since, types=dict(row.types))
        for row in rows
    ]
    write_json(json_path, Operations(operations=listed))


COMMANDS = (list_operations,)
