# SPDX-License-Identifier: Apache-2.0
"""The command compare: one model on two sides."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.filled import filled
from halyard.cli.options.json import write_json
from halyard.cli.options.model import ModelChoice, model_options
from halyard.cli.options.reference import print_not_compared, reference_option
from halyard.cli.options.written import FILE, WrittenFiles, written_options
from halyard.comparison import choice
from halyard.comparison.agreement_statistics import Limits
from halyard.comparison.comparison import Comparison, Inputs, Settings, compare_sides
from halyard.comparison.comparison_text import print_comparison, verdict_of
from halyard.comparison.difference import Difference
from halyard.comparison.layers import Verdict
from halyard.comparison.opening import Sides
from halyard.comparison.records import record
from halyard.errors import ConfigError
from halyard.measurement.measurement_text import show_parts
from halyard.model.partitioned import PartitionedModel
from halyard.output_file import check_writable
from halyard.plots.layer_errors import LayerError, layer_errors
from halyard.plots.plot import WIDTH, Plot
from halyard.profiling.node_times import short_name
from halyard.terminal.console import Terminal

_LIMITS = filled(
    "limits",
    Limits,
    click.option(
        "--max-error", type=click.FloatRange(0), metavar="X", help="Absolute, in real values."
    ),
    click.option("--max-steps", type=click.IntRange(0), metavar="N", help="Of quantised outputs."),
    click.option(
        "--min-snr",
        "min_snr_db",
        type=float,
        metavar="DB",
        help="Signal to noise, in decibels.",
    ),
    click.option("--min-cosine", type=click.FloatRange(-1, 1), metavar="X"),
    click.option(
        "--min-top1",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Of rows whose best class is the same. Without any limit: what sums in another order "
        "may make of floats, and a step.",
    ),
)

_settings_options = filled(
    "settings",
    Settings,
    click.option(
        "--layers",
        is_flag=True,
        help="Compare every tensor, and name the first layer that diverges.",
    ),
    click.option(
        "--isolate",
        is_flag=True,
        help="And run each layer alone on B, on the inputs that it has on A: what diverges then "
        "does so by itself.",
    ),
    click.option(
        "--top-k",
        "k",
        default=5,
        show_default=True,
        type=click.IntRange(1, 1000),
        metavar="K",
    ),
    _LIMITS,
)


@dataclass(frozen=True)
class Sought:
    """The two sides, and what is made of them beside numbers."""

    a: str
    b: str
    seeds: int
    backend_dir: Path | None
    plot_path: Path | None
    require_reference: bool

    def __post_init__(self) -> None:
        if self.plot_path is not None:
            check_writable(self.plot_path)

    @property
    def words(self) -> str:
        return f"{self.a} and {self.b}"

    def chosen(self) -> list[choice.SideChoice]:
        """ConfigError for what names no side."""
        folder = str(self.backend_dir) if self.backend_dir is not None else ""
        return [choice.choose(text, folder) for text in (self.a, self.b)]


_sought_options = filled(
    "sought",
    Sought,
    click.argument("a", shell_complete=completions.side),
    click.argument("b", shell_complete=completions.side),
    click.option(
        "--seeds",
        default=1,
        show_default=True,
        type=click.IntRange(1, 1000),
        metavar="N",
        help="So many inputs, of the seed and those after it.",
    ),
    click.option(
        "--backend-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Shared libraries whose backends may be named, too (docs/backends.md).",
    ),
    click.option(
        "--plot",
        "plot_path",
        type=FILE,
        metavar="FILE",
        help="Draw the errors by layer: .svg, .png or .pdf. Takes --layers or --isolate.",
    ),
    reference_option,
)


@click.command(
    epilog=examples(
        "halyard compare CpuRef CpuAcc --model mobilenet_v2 --type quant8",
        "halyard compare litert vm:aidl4 model.tflite --isolate --plot errors.svg",
        "halyard compare CpuRef SERIAL:1.3:instance=vendor-accel --min-snr 30",
        "halyard compare CpuAcc:features=avx2 CpuAcc --seeds 5 --max-error 0",
    )
)
@_sought_options
@model_options
@_settings_options
@written_options()
def compare(
    *, sought: Sought, model: ModelChoice, settings: Settings, written: WrittenFiles
) -> None:
    """Runs a model on two sides and tells how far apart they are; A is the reference.

    A side is backends of the driver on this machine (CpuRef, CpuAcc:features=avx2), a device as for
    --device with what is wanted of it behind colons (vm, vm:aidl4, SERIAL:instance=NAME,
    vm:backends=CpuRef), litert, litert-reference or onnxruntime, or torch=FILE, a TorchScript file.
    """
    chosen = sought.chosen()
    if sought.plot_path is not None and not settings.wants_layers:
        raise ConfigError("--plot draws errors by layer: add --layers or --isolate")
    terminal = Terminal()
    benchmark_model = model.benchmark_model()
    _build(terminal, benchmark_model, settings)
    inputs = _inputs(benchmark_model, sought.seeds)
    with Sides() as sides:
        with terminal.step(f"Opening {sought.words}"):
            reference, other = (sides.open(each, benchmark_model) for each in chosen)
        with terminal.step(f"Comparing {sought.words}") as step:
            found = compare_sides(benchmark_model.runnable, reference, other, inputs, settings)
            step.failed = not found.ok
            layers = found.layers.layers if found.layers else ()
            step.unsure = len(found.not_compared) == len(layers) > 0
            document = record(benchmark_model, found)
            written.keep([document])
    print_comparison(terminal, found)
    total = len(found.sets) + len(layers)
    print_not_compared(terminal, found.not_compared, total, "comparison")
    terminal.line(verdict_of(found))
    if sought.plot_path is not None:
        _plot(f"{benchmark_model}: {sought.words}", found).write(sought.plot_path)
        terminal.line(f"drawn into {sought.plot_path}")
    write_json(written.json_path, document)
    if not found.ok or (sought.require_reference and found.not_compared):
        sys.exit(1)


def _build(
    terminal: Terminal, benchmark_model: BenchmarkModel | FileModel, settings: Settings
) -> None:
    """ConfigError where layers are asked for and NNAPI runs none."""
    with terminal.step(f"Building {benchmark_model}"):
        runnable = benchmark_model.runnable
    if not isinstance(runnable, PartitionedModel):
        return
    if settings.wants_layers and runnable.hosts == len(runnable.parts):
        raise ConfigError(f"--layers and --isolate: {runnable.words}, and NNAPI runs no layer")
    show_parts(terminal, benchmark_model)


def _inputs(benchmark_model: BenchmarkModel | FileModel, seeds: int) -> Sequence[Inputs]:
    if not benchmark_model.given:
        return [
            Inputs(f"seed {number}", replace(benchmark_model, seed=number).input_arrays())
            for number in range(benchmark_model.seed, benchmark_model.seed + seeds)
        ]
    if seeds != 1:
        raise ConfigError("--seeds is for inputs that are made, and --input gives them")
    return [Inputs(benchmark_model.given.title, benchmark_model.input_arrays())]


def _plot(title: str, found: Comparison) -> Plot:
    """As wide as the names of its layers want it."""
    layers = [
        LayerError(
            short_name(each.label),
            _share(each.chained),
            _share(each.isolated),
            each.verdict is Verdict.DIVERGES,
        )
        for each in (found.layers.layers if found.layers else ())
    ]
    width = max(WIDTH, 0.16 * len(layers))
    return layer_errors("layers", title, "max error / largest value", layers, width)


def _share(difference: Difference | None) -> float | None:
    if difference is None:
        return None
    return difference.max_abs_error / (difference.largest or 1.0)


COMMANDS = (compare,)
