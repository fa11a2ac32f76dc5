# SPDX-License-Identifier: Apache-2.0
"""The process of LiteRT for arm64, in an arm64 Python that has nothing but numpy and LiteRT:
`python litert_invocations.py MODEL INPUTS`.

INPUTS has the bytes of all inputs, one after the other. The model is executed once, and then COUNT
times for each line "run COUNT ..." of standard input, which one system call reads.
"""

import os
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def main() -> None:
    model, inputs = sys.argv[1:]
    interpreter = Interpreter(model_path=model, num_threads=1)
    interpreter.allocate_tensors()
    with open(inputs, "rb") as file:  # noqa: PTH123 (pathlib is a slow import, emulated)
        for detail in interpreter.get_input_details():
            count = int(np.prod(detail["shape"]))
            values = np.fromfile(file, detail["dtype"], count)
            interpreter.set_tensor(detail["index"], values.reshape(detail["shape"]))
    interpreter.invoke()
    while line := os.read(0, 4096):
        for _ in range(int(line.split()[1])):
            interpreter.invoke()


if __name__ == "__main__":
    main()
