// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/vector_load.h"

#include <algorithm>

#include "engine/backends/gpu/programs/define.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// Bytes that a device fetches at once.
constexpr int32_t kVectorBytes = 16;

}  // namespace

std::string VectorLoad::defines() const {
    return define("VECTOR_ELEMENTS", elements) + define("PACK", pack) +
           define("VECTOR_WORDS", words()) + (gathers ? define("GATHERS") : "");
}

VectorLoad vectorLoadFor(DataType type, int32_t rowLength, bool packsHalves) {
    const auto size = static_cast<int32_t>(elementSize(type));
    VectorLoad form;
    form.pack = isQuantized(type) ? 4 : type == DataType::FLOAT16 && packsHalves ? 2 : 1;
    // Halves that become floats come four at a time.
    const int32_t longest = form.pack == 1 ? 4 : kVectorBytes / size;
    for (int32_t elements = longest; elements >= std::max(form.pack, 4); elements /= 2) {
        if (rowLength % elements == 0) {
            form.elements = elements;
            return form;
        }
    }
    form.elements = 1;
    return form;
}

}  // namespace halyard::engine::gpu
