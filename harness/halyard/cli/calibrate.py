# SPDX-License-Identifier: Apache-2.0
"""The command calibrate: what a driver may claim of a device."""

from pathlib import Path

import click

from halyard import output_file
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.device import device_option, open_shown
from halyard.cli.options.json import json_option, write_json
from halyard.devices import config_of
from halyard.errors import HalyardError
from halyard.measurement.calibration import Extent, as_text
from halyard.measurement.calibration import calibrate as measure
from halyard.output_file import check_writable
from halyard.programs.backends import parse as parse_backends
from halyard.programs.driver_options import DriverOptions
from halyard.records.made import Calibration, Ratio
from halyard.terminal.console import Terminal


@click.command(
    epilog=examples(
        "halyard calibrate",
        "halyard calibrate --device SERIAL --output capabilities.txt",
    )
)
@device_option
@click.option(
    "-c",
    "--backends",
    metavar="NAMES",
    shell_complete=completions.backend_list,
    help="Of the driver, in order of preference. Left out: as by default.",
)
@click.option(
    "--threads",
    default=0,
    type=click.IntRange(0, 64),
    help="That the driver computes with. Left out: as many as the device has cores.",
)
@click.option("--runs", default=20, show_default=True, type=click.IntRange(1, 100_000))
@click.option(
    "--size",
    default=Extent().size,
    show_default=True,
    type=click.IntRange(1, 1024),
    help="Of the images that are computed on, in pixels.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="For the service's --capabilities. Left out: nothing is written.",
)
@json_option
def calibrate(
    *,
    name: str,
    backends: str | None,
    threads: int,
    runs: int,
    size: int,
    output: Path | None,
    json_path: Path | None,
) -> None:
    """Measures the driver beside the reference kernels on one thread, per operand type."""
    config = config_of(name)
    chosen = tuple(parse_backends(backends))
    if output is not None:
        check_writable(output)
    terminal = Terminal()
    with open_shown(terminal, name, config) as device:
        if threads == 0:
            said = device.shell("nproc").check().stdout.strip()
            if not said.isdigit():
                raise HalyardError(f"the device does not say how many cores it has: {said!r}")
            threads = min(int(said), 64)
        driver = DriverOptions(backends=chosen, threads=threads)
        with terminal.step("Measuring"):
            ratios = measure(device, driver, Extent(size=size), runs)
        serial = device.serial
    terminal.table(
        ("type", "time", "power"),
        [
            (name, f"{ratio.exec_time:.3g}", f"{ratio.power_usage:.3g}")
            for name, ratio in ratios.items()
        ],
    )
    terminal.line("Ratios to the reference kernels on one thread: below 1 is better.")
    if output is not None:
        remark = f"{serial}: {' '.join(driver.words())}"
        output_file.write(output, as_text(ratios, [remark]).encode())
    ratio_records = {
        kind: Ratio(exec_time=ratio.exec_time, power_usage=ratio.power_usage)
        for kind, ratio in ratios.items()
    }
    document = Calibration(
        device=serial,
        driver=list(driver.words()),
        ratios=ratio_records,
        file=str(output) if output is not None else "",
    )
    write_json(json_path, document)


COMMANDS = (calibrate,)
