# SPDX-License-Identifier: Apache-2.0
# Two functions of three bits over three rows, whose weights are given or not: every type of rows,
# of which the bytes are hashed, with either type of seeds. The bits are those of the numpy
# reference. A whole number may be off by one in the official check, but not where EQUAL compares.

SEEDS = [0.125, -0.5, 0.75, 0.25, -0.875, 0.625]
ROWS = [1, 2, 3, 4, 5, 6]
WEIGHTS = [0.5, -1.0, 2.0]
DENSE, SPARSE = 2, 3
# The bits with weights and without.
BITS = {
    "TENSOR_FLOAT32": ([0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]),
    "TENSOR_FLOAT16": ([1, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1]),
    "TENSOR_INT32": ([1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0]),
    "TENSOR_QUANT8_ASYMM": ([0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 1, 1]),
}


def signatures(bits):
    """The bits of a function as a number; those of the second function come behind the first's."""
    first, second = (4 * b[0] + 2 * b[1] + b[2] for b in (bits[:3], bits[3:]))
    return [first, 8 + second]


for seeds in ("TENSOR_FLOAT32", "TENSOR_FLOAT16"):
    for rows, (weighted, plain) in BITS.items():
        title = "_".join(kind.removeprefix("TENSOR_").lower() for kind in (seeds, rows))
        hashes = Parameter("hashes", (seeds, [2, 3]), SEEDS)
        x = Input("x", (rows, [3, 2], 0.5, 3) if "QUANT8" in rows else (rows, [3, 2]))
        weights = Parameter("weights", (seeds, [3]), WEIGHTS)
        none = Parameter("none", (seeds, [3]), None)
        dense, sparse = Output("z", ("TENSOR_INT32", [6])), Internal("s", ("TENSOR_INT32", [2]))
        since = "V1_2" if "FLOAT16" in seeds + rows else "V1_0"
        Model(f"{title}_dense").IntroducedIn(since).Operation(
            "LSH_PROJECTION", hashes, x, weights, DENSE
        ).To(dense)
        Example({x: ROWS, dense: weighted})
        compared = Model(f"{title}_sparse").IntroducedIn("V1_2")
        compared.Operation("LSH_PROJECTION", hashes, x, none, SPARSE).To(sparse)
        equal = Output("equal", ("TENSOR_BOOL8", [2]))
        wanted = Int32Vector("wanted", signatures(plain))
        compared.Operation("EQUAL", sparse, wanted).To(equal)
        Example({x: ROWS, equal: [True, True]})
