# SPDX-License-Identifier: Apache-2.0
"""Which model a command is for: one of the zoo, or of a file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from halyard import zoo
from halyard.benchmark_model import BenchmarkModel, DynamicModel, FileModel
from halyard.cli.options import completions
from halyard.cli.options.filled import filled
from halyard.cli.options.inputs import input_options
from halyard.cli.options.reading import reading_options
from halyard.conversion import FORMATS
from halyard.errors import ConfigError
from halyard.model import DataType
from halyard.model.input_files import SEEDED, InputFiles
from halyard.model.read_options import USUAL, ReadOptions
from halyard.model.shapes import UNSAID, Shapes

DEFAULT = "mobilenet_v2"
_FILES = ", ".join(f"*{extension}" for each in FORMATS for extension in each.extensions)


type_option = click.option(
    "--type",
    "type_name",
    default="float32",
    show_default=True,
    type=click.Choice([item.value for item in DataType]),
)
size_option = click.option(
    "--size",
    type=int,
    help="Of its image, in pixels, or its sequence, in steps. Left out: as published.",
)
width_option = click.option(
    "--width", default=1.0, show_default=True, help="Of its layers, as a factor."
)


@dataclass(frozen=True)
class ModelChoice:
    """The models that a user named. ConfigError for a model that is named twice."""

    model_argument: str | None
    model_option: str | None
    type_name: str
    size: int | None
    width: float
    seed: int
    strict: bool = False
    reading: ReadOptions = USUAL
    given: InputFiles = SEEDED
    # With --dynamic: the shapes and the files that it is executed with.
    several_shapes: Sequence[Shapes] = ()
    several_given: Sequence[InputFiles] = ()

    def __post_init__(self) -> None:
        if self.model_argument is not None and self.model_option is not None:
            raise ConfigError(
                f"--model {self.model_option}: {self.model_argument} is the model already"
            )

    @property
    def name(self) -> str:
        return self.model_argument or self.model_option or DEFAULT

    def dynamic(self) -> DynamicModel:
        """ConfigError for what can't be told several shapes."""
        plain = replace(self.reading, shapes=UNSAID)
        first = replace(self, reading=plain, given=SEEDED).benchmark_model()
        if not isinstance(first, FileModel):
            raise ConfigError("--dynamic is for files, not for models of the zoo")
        turns = _turns(self.several_shapes, self.several_given)
        if len(turns) < 2:
            raise ConfigError(
                "--dynamic takes several shapes: --shape, --dim or --input with the same name "
                "several times"
            )
        return DynamicModel(
            tuple(
                replace(first, options=replace(plain, shapes=shapes), given=given, dynamic=True)
                for shapes, given in turns
            )
        )

    def benchmark_model(self) -> BenchmarkModel | FileModel:
        """A name of the zoo; else a file. Options of the zoo's models have no say in a file's."""
        model = self.name
        if model in zoo.NAMES:
            zoo.check(self.size, self.width)
            zoo.check_type(model, DataType(self.type_name))
            if self.reading.shapes:
                raise ConfigError(
                    "--shape and --dim are for files, not for models of the zoo, which have --size"
                )
            self.reading.refuse_names()
            made = BenchmarkModel.of_zoo(
                model, DataType(self.type_name), self.size, self.width, self.seed
            )
            return replace(made, given=self.given)
        path = Path(model)
        if not path.is_file():
            raise ConfigError(
                f"--model {model}: neither a model of the zoo ({', '.join(zoo.NAMES)}) nor a file"
            )
        context = click.get_current_context()
        for option in ("type_name", "size", "width"):
            if context.get_parameter_source(option) == click.core.ParameterSource.COMMANDLINE:
                raise ConfigError(
                    f"--{option.partition('_')[0]} is for models of the zoo, not for files"
                )
        return FileModel(path, self.seed, self.strict, self.reading, self.given)


def _turns(
    several_shapes: Sequence[Shapes], several_given: Sequence[InputFiles]
) -> tuple[tuple[Shapes, InputFiles], ...]:
    """Files have their shapes with them, unless these are said."""
    count = max(len(several_shapes), len(several_given))
    if min(len(several_shapes), len(several_given)) not in (1, count):
        raise ConfigError(
            f"--dynamic: {len(several_shapes)} shapes and {len(several_given)} inputs"
        )
    found = []
    for number in range(count):
        shapes = several_shapes[number if len(several_shapes) > 1 else 0]
        given = several_given[number if len(several_given) > 1 else 0]
        found.append((shapes or given.shapes(), given))
    return tuple(found)


# The command gets a ModelChoice as `model`.
model_options = filled(
    "model",
    ModelChoice,
    click.argument(
        "model_argument", metavar="[MODEL]", required=False, shell_complete=completions.model
    ),
    click.option(
        "--model",
        "model_option",
        metavar="NAME|FILE",
        shell_complete=completions.model,
        help=f"MODEL by another way: of the zoo ({', '.join(zoo.NAMES)}), or a file "
        f"({_FILES}).  [default: {DEFAULT}]",
    ),
    type_option,
    size_option,
    width_option,
    reading_options,
    input_options,
    click.option(
        "--seed",
        default=0,
        show_default=True,
        type=click.IntRange(0, 2**32 - 1),
        help="Of the input, where it is made.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Refuse a file with operators that NNAPI has not, rather than run them on the host.",
    ),
)
