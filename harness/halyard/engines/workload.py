# SPDX-License-Identifier: Apache-2.0
"""A model with its inputs, in the forms that engines take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from halyard import onnx, paths, tflite
from halyard.benchmark_model import AnyModel, FileModel
from halyard.errors import NotExpressible
from halyard.model import Array, Conversion, RunnableModel, Tensors
from halyard.model.imported import ImportedModel
from halyard.model.partitioned import PartitionedModel
from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb


class Workload:
    """Each file is written when it is first asked for, and gone when the context is left."""

    def __init__(
        self,
        model: RunnableModel,
        inputs: Sequence[Array],
        name: str = "",
        conversion: Conversion | None = None,
    ) -> None:
        """`conversion`: what the model was read from, where it was read and is told."""
        self.model = model
        self.inputs = inputs
        self.conversion = conversion
        self.name = name or model.name
        self._held: paths.Temporary | None = None
        self._files: dict[str, Path] = {}

    @classmethod
    def of(cls, model: pb.Model, inputs: Sequence[Array]) -> Self:
        return cls(RunnableModel.of(model), inputs)

    @classmethod
    def of_model(cls, benchmark_model: AnyModel) -> Self:
        """With the inputs that it has."""
        return cls(
            benchmark_model.runnable,
            benchmark_model.input_arrays(),
            str(benchmark_model),
            benchmark_model.conversion if isinstance(benchmark_model, FileModel) else None,
        )

    @classmethod
    def seeded(cls, model: RunnableModel, seed: int, name: str = "") -> Self:
        """With the inputs that the seed gives."""
        return cls(model, model.input_arrays(seed), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is not None:
            self._held.close()
        self._held = None
        self._files.clear()

    @property
    def tensors(self) -> Tensors:
        return Tensors(self.model.inputs, self.model.outputs)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the inputs."""
        return [info.shape for info in self.model.inputs]

    @property
    def example(self) -> pb.Example:
        return self.model.example_of(self.inputs)

    @property
    def case(self) -> pb.TestCase:
        return pb.TestCase(name=self.name, model=self.model.model, examples=[self.example])

    # ---- files ----------------------------------------------------------------------------------

    def tflite(self) -> Path:
        """NotExpressible where TFLite has no word for a part of the model."""
        return self._original("TFLite") or self.file(
            "tflite", lambda: tflite.write(self.model.model)
        )

    def onnx(self) -> Path:
        """NotExpressible where it is not written as ONNX."""
        return self._original("ONNX") or self.file("onnx", lambda: onnx.write(self.model.model))

    def _original(self, name: str) -> Path | None:
        """The file that the model was read from, if it is of that format. NotExpressible for
        another that is run in parts: what NNAPI runs of it is not the model."""
        model = self.model
        if not isinstance(model, ImportedModel | PartitionedModel):
            return None
        if model.format != name:
            if isinstance(model, PartitionedModel):
                raise NotExpressible(
                    f"a model that runs in parts is not written as {name}: its file is "
                    f"{model.format}"
                )
            return None
        content = model.content
        return model.original if content is None else self.file("original", lambda: content)

    def bundle(self) -> Path:
        """The model and its inputs for our runner."""
        return self.file("bundle", lambda: protobuf_stream.write([self.case]))

    def inputs_alone(self) -> Path:
        """A bundle for those who have the model from another file."""
        return self.file("inputs", lambda: inputs_bundle(self.inputs, self.shapes))

    def file(self, name: str, write: Callable[[], bytes]) -> Path:
        """One that an engine needs beside."""
        if name not in self._files:
            content = write()
            if self._held is None:
                self._held = paths.Temporary("workload")
            path = self._held.path / name
            path.write_bytes(content)
            self._files[name] = path
        return self._files[name]


def inputs_bundle(inputs: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> bytes:
    """A case of no model."""
    example = pb.Example(
        inputs=[
            pb.InputValue(data=array.tobytes(), dimensions=shape)
            for array, shape in zip(inputs, shapes, strict=True)
        ]
    )
    return protobuf_stream.write([pb.TestCase(examples=[example])])
