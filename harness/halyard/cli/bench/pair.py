# SPDX-License-Identifier: Apache-2.0
"""The command bench pair: two that take turns."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from halyard import zoo
from halyard.bench import cores as cpu_cores
from halyard.bench import peaks
from halyard.bench.bench_report import Report
from halyard.bench.benchmark_models import models_of
from halyard.bench.pair import Spec
from halyard.bench.pair_run import PairRun
from halyard.bench.series import site_of
from halyard.cli.bench.options import OURS, Form, cores_option, device_option, form_options, told
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.device import open_shown
from halyard.cli.options.driver import DriverChoice, driver_options
from halyard.cli.options.filled import filled
from halyard.cli.options.litert import check_pair_side
from halyard.cli.options.model import type_option
from halyard.cli.options.reference import reference_option
from halyard.cli.options.timing import timing_options
from halyard.cli.options.written import WrittenFiles, csv_option, written_options
from halyard.devices import conditions, place_of
from halyard.devices.config import DeviceConfig
from halyard.measurement.measurement_text import print_conditions
from halyard.measurement.timing_options import TimingOptions
from halyard.model import DataType
from halyard.runner.execution import EXECUTION_MODES
from halyard.terminal.console import Terminal
from halyard.transport import hal_version


@dataclass(frozen=True)
class Words:
    """Each side's settings; those it leaves out are as the other options say."""

    model: str
    type_name: str
    words_a: str
    words_b: str
    cores: Sequence[int]
    require_reference: bool


_word_options = filled(
    "words",
    Words,
    click.argument(
        "model",
        metavar="[MODEL]",
        default=zoo.NAMES[0],
        shell_complete=completions.model,
    ),
    type_option,
    click.option(
        "--a",
        "words_a",
        required=True,
        metavar="WORDS",
        help="Of model=, type=, device=, hal=, backends=, threads=, mode=, instance= and "
        "fast-math, with spaces between.",
    ),
    click.option("--b", "words_b", required=True, metavar="WORDS", help="The other one."),
    cores_option,
    reference_option,
)


@click.command(
    epilog=examples(
        "halyard bench pair resnet_50 --a backends=CpuRef --b backends=CpuAcc",
        "halyard bench pair --a model=model.tflite --b model=model.onnx --runs 100",
        "halyard bench pair mobilenet_v2 --a device=host --b device=SERIAL",
    )
)
@_word_options
@form_options
@device_option
@driver_options(
    *OURS,
    click.option(
        "--threads", default=1, show_default=True, type=click.IntRange(1, 64), help="Of ours."
    ),
)
@timing_options("--runs", "--num-runs", runs=50, most_s=10.0, several=False)
@written_options(csv_option("each side"))
def pair(
    *,
    words: Words,
    form: Form,
    name: str,
    driver: DriverChoice,
    timing: TimingOptions,
    written: WrittenFiles,
) -> None:
    """Times two that take turns on MODEL: backends, services, option sets or devices."""
    config = place_of(name)
    specs = _specs(words, form, name, config, driver)
    terminal = Terminal()
    with open_shown(terminal, name, config) as device:
        site = site_of(device, config, driver.mode, driver.instance, _hal(driver))
        print_conditions(terminal, device, conditions.read(device))
        report = Report(
            (),
            peaks.none([driver.threads]),
            driver.backends_on(config),
            timing.runs,
            fast_math=driver.fast_math,
            site=site,
            properties=device.properties(),
        )
        run = PairRun(
            terminal,
            site,
            name,
            timing.warm_up,
            timing.amount,
            timing.gate,
            form.reading,
            form.given,
        )
        with cpu_cores.pinned(words.cores), told(terminal, report, written, name):
            run.measure(specs, form.size, form.width, report)
    unsure = words.require_reference and bool(report.not_compared)
    if not report.ok or unsure:
        sys.exit(1)


def _specs(
    words: Words, form: Form, name: str, config: DeviceConfig, driver: DriverChoice
) -> list[Spec]:
    """ConfigError for what makes no sense."""
    zoo.check(form.size, form.width)
    cpu_cores.check(words.cores)
    driver.check_on(config)
    common = Spec(
        words.model,
        DataType(words.type_name),
        name,
        driver.backends_on(config),
        driver.threads,
        driver.fast_math,
        driver.mode,
        driver.instance,
        hal=_hal(driver),
    )
    specs = []
    for option, text in (("--a", words.words_a), ("--b", words.words_b)):
        spec = common.parse(text, option, list(EXECUTION_MODES))
        check_pair_side(spec, option)
        models_of(
            [spec.model],
            [spec.data_type],
            form.size,
            form.width,
            option=option,
            options=form.reading,
            given=form.given,
        )
        specs.append(spec)
    return specs


def _hal(driver: DriverChoice) -> hal_version.Choice:
    return hal_version.one_version(driver.hal)
