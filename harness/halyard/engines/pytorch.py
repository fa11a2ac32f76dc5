# SPDX-License-Identifier: Apache-2.0
"""PyTorch, on a GPU through CUDA, in the modes that people use it in.

Times are as an app sees them: from inputs in the host's memory to outputs in the host's memory,
both pinned, with the device synchronised.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halyard.engines.engine import EngineMissing, EngineRefused, Library, Loaded, Shapes
from halyard.engines.in_process import imported, timed
from halyard.engines.torch_module import module_of
from halyard.errors import NotExpressible
from halyard.model import Array, RunnableModel, Tensors
from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halyard.engines.workload import Workload

HINT = "pip install 'halyard[torch]' (or torch)"
# Where it computes; unless this says otherwise, on the GPU.
DEVICE_VARIABLE = "HALYARD_TORCH_DEVICE"
_DEVICE = "cuda"
# Executions before the first that counts: a graph is captured after some.
_WARMUP = 3


class Mode(enum.Enum):
    EAGER = "eager"
    GRAPH = "graph"
    COMPILE = "compile"
    AUTOTUNE = "autotune"

    @property
    def title(self) -> str:
        return {
            Mode.EAGER: "eager",
            Mode.GRAPH: "CUDA graph",
            Mode.COMPILE: "compile",
            Mode.AUTOTUNE: "compile max-autotune",
        }[self]

    @property
    def inductor(self) -> str:
        """torch.compile()'s name of the mode; empty where it is not asked."""
        return {Mode.COMPILE: "reduce-overhead", Mode.AUTOTUNE: "max-autotune"}.get(self, "")


class Precision(enum.Enum):
    STRICT = "strict"
    TF32 = "tf32"
    FLOAT16 = "float16"

    @property
    def title(self) -> str:
        return {
            Precision.STRICT: "strict float32",
            Precision.TF32: "TF32",
            Precision.FLOAT16: "float16",
        }[self]


@dataclass(frozen=True)
class Way:
    mode: Mode
    precision: Precision

    @property
    def name(self) -> str:
        """ "torch-compile-strict": as --peers takes it."""
        return f"torch-{self.mode.value}-{self.precision.value}"

    def title(self, version: str = "") -> str:
        """ "PyTorch 2.11 compile, strict float32"."""
        short = ".".join(version.split("+")[0].split(".")[:2])
        words = ["PyTorch", short, f"{self.mode.title}, {self.precision.title}"]
        return " ".join(word for word in words if word)

    @property
    def is_relaxed(self) -> bool:
        return self.precision is not Precision.STRICT


WAYS = tuple(Way(mode, precision) for mode in Mode for precision in Precision)
# Tuning takes minutes for each model: only where it is asked for.
USUAL_WAYS = tuple(way for way in WAYS if way.mode is not Mode.AUTOTUNE)


class PyTorch(Library):
    def __init__(self, threads: int = 1, *, way: Way) -> None:
        """EngineMissing where the device is not there, too."""
        self._torch: Any = imported("torch", HINT)
        self._threads = threads
        self._way = way
        self.version = str(self._torch.__version__)
        self._device = os.environ.get(DEVICE_VARIABLE) or _DEVICE
        if self._is_cuda and not self._torch.cuda.is_available():
            raise EngineMissing(f"PyTorch {self.version} finds no CUDA device here")

    @property
    def title(self) -> str:
        return self._way.title(self.version)

    @property
    def _is_cuda(self) -> bool:
        return self._device.startswith("cuda")

    def load(self, path: Path, shapes: Shapes = ()) -> _Model:  # noqa: ARG002
        """A bundle with the model, as our runner takes it. With all that the mode needs before it
        runs at its pace: it is compiled, or captured. Shapes are the model's."""
        torch, way = self._torch, self._way
        torch.set_num_threads(self._threads)
        torch.set_grad_enabled(False)
        loose = way.precision is Precision.TF32
        torch.backends.cuda.matmul.allow_tf32 = loose
        torch.backends.cudnn.allow_tf32 = loose
        torch.backends.cudnn.benchmark = True
        dtype = torch.float16 if way.precision is Precision.FLOAT16 else torch.float32
        [case] = protobuf_stream.read(path.read_bytes(), pb.TestCase)
        if way.mode is Mode.GRAPH and not self._is_cuda:
            raise EngineRefused("a CUDA graph takes a CUDA device")
        try:
            module = module_of(torch, case.model, dtype).eval().to(self._device)
        except NotExpressible as error:
            raise EngineRefused(str(error)) from error
        if way.mode.inductor and self._is_cuda:
            module = torch.compile(module, mode=way.mode.inductor)
        elif way.mode.inductor:
            module = torch.compile(module)
        model = RunnableModel.of(case.model)
        try:
            return _Model(
                torch,
                module,
                Tensors(model.inputs, model.outputs),
                self._device,
                captures=way.mode is Mode.GRAPH,
            )
        # Whatever a compiler or a kernel stumbles over; what they raise has no class in common.
        except Exception as error:
            first = str(error).strip().splitlines() or [type(error).__name__]
            raise EngineRefused(f"PyTorch does not take the model: {first[0]}") from error

    def prepare(self, work: Workload) -> _Model:
        loaded = self.load(work.bundle(), work.shapes)
        loaded.bind([array.tobytes() for array in work.inputs])
        return loaded


class _Model(Loaded):
    """Copies of inputs and outputs are part of an execution, as they are of ours."""

    def __init__(
        self, torch: Any, module: Any, tensors: Tensors, device: str, *, captures: bool
    ) -> None:
        self._torch = torch
        self._module = module
        self._tensors = tensors
        self._is_cuda = device.startswith("cuda")
        self._inputs = [self._host(info.shape, info.dtype) for info in tensors.inputs]
        self._outputs = [self._host(info.shape, info.dtype) for info in tensors.outputs]
        # Also what a graph reads, which stays where it is.
        self._given = [torch.empty_like(each, device=device) for each in self._inputs]
        self._graph: Any = None
        self._captured: Sequence[Any] = ()
        for _ in range(_WARMUP):
            self.execute()
        if captures:
            self._capture()

    def _host(self, shape: Sequence[int], dtype: Any) -> Any:
        zeros = self._torch.from_numpy(np.zeros(shape, dtype))
        return zeros.pin_memory() if self._is_cuda else zeros

    def _capture(self) -> None:
        torch = self._torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARMUP):
                self._module(*self._given)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._captured = self._module(*self._given)
        self._graph = graph

    @property
    def tensors(self) -> Tensors:
        return self._tensors

    def bind(self, inputs: Sequence[bytes]) -> None:
        try:
            for held, info, data in zip(self._inputs, self._tensors.inputs, inputs, strict=True):
                values = np.frombuffer(data, info.dtype).reshape(info.shape)
                held.copy_(self._torch.from_numpy(values.copy()))
        except ValueError as error:
            raise EngineRefused(f"PyTorch does not take the inputs: {error}") from error

    def execute(self) -> None:
        for given, held in zip(self._given, self._inputs, strict=True):
            given.copy_(held, non_blocking=True)
        if self._graph is not None:
            self._graph.replay()
            results = self._captured
        else:
            results = self._module(*self._given)
        for held, result in zip(self._outputs, results, strict=True):
            held.copy_(result, non_blocking=True)
        if self._is_cuda:
            self._torch.cuda.synchronize()

    def run(self) -> list[Array]:
        self.execute()
        return [held.numpy().copy() for held in self._outputs]

    def time(self, count: int, warmup: int = 0) -> list[int]:
        return timed(self.execute, count, warmup)
