# SPDX-License-Identifier: Apache-2.0
# Rows of whole numbers and of bytes, of rank 2 and 3: looked up twice, at both ends, and in vain.

import numpy as np

values = np.arange(3 * 2 * 2).reshape(3, 2, 2) + 1
TYPES = {
    "int32": ("TENSOR_INT32", ()),
    "quant8": ("TENSOR_QUANT8_ASYMM", (0.5, 3)),
    "float32": ("TENSOR_FLOAT32", ()),
}
for name, (kind, quantization) in TYPES.items():
    for rank in (2, 3):
        shape = [3, 2, 2][:rank] if rank == 3 else [3, 4]
        rows = values.reshape(shape)
        x = Input("x", (kind, shape, *quantization))
        keys = Parameter("keys", "TENSOR_INT32", "{3}", [-7, 0, 100])
        wanted = Parameter("wanted", "TENSOR_INT32", "{4}", [100, 1, -7, 100])
        z = Output("z", (kind, [4, *shape[1:]], *quantization))
        hits = Output("hits", "TENSOR_QUANT8_ASYMM", "{4}, 1.0f, 0")
        Model(f"hashtable_{name}_{rank}").IntroducedIn("V1_0").Operation(
            "HASHTABLE_LOOKUP", wanted, keys, x
        ).To(z, hits)
        found = np.stack([rows[2], 0 * rows[0], rows[0], rows[2]])
        Example({x: rows.ravel().tolist(), z: found.ravel().tolist(), hits: [1, 0, 1, 1]})
        if name == "float32":
            continue  # EMBEDDING_LOOKUP of 1.0
        wanted = Parameter("wanted", "TENSOR_INT32", "{3}", [2, 0, 2])
        z = Output("z", (kind, [3, *shape[1:]], *quantization))
        Model(f"embedding_{name}_{rank}").Operation("EMBEDDING_LOOKUP", wanted, x).To(z)
        Example({x: rows.ravel().tolist(), z: rows[[2, 0, 2]].ravel().tolist()})
