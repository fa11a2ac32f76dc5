// SPDX-License-Identifier: Apache-2.0
//
// Layer normalisation: rows of neighbours, each of which stays in the cache while it is gone
// through for its mean, its variance and its result.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/reduction/layer_norm.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/reference/kernels.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_LAYER_NORM_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_LAYER_NORM_CC_
namespace halyard::engine::cpu {

// One row, of the type of the form; gamma and beta are null where they are left out.
struct LayerRow {
    const void* from = nullptr;
    const void* gamma = nullptr;
    const void* beta = nullptr;
    void* to = nullptr;
    int64_t count = 0;
};

struct NormalizeLayer {
    void (*floats)(float epsilon, const LayerRow& row);
    void (*halves)(float epsilon, const LayerRow& row);
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE FloatVector thoseThere(FloatVector value, All /*all*/) {
    return value;
}
HWY_INLINE FloatVector thoseThere(FloatVector value, Some some) {
    return hn::IfThenElseZero(hn::FirstN(kFloats, some.count), value);
}

template <typename T>
void normalizeLayer(float epsilon, const LayerRow& row) {
    const auto* from = static_cast<const T*>(row.from);
    const auto* gamma = static_cast<const T*>(row.gamma);
    const auto* beta = static_cast<const T*>(row.beta);
    auto* to = static_cast<T*>(row.to);
    const FloatVector count = hn::Set(kFloats, static_cast<float>(row.count));
    FloatVector sum = hn::Zero(kFloats);
    // Lanes behind the last element are loaded as 0.
    forEachVector(row.count, [&](int64_t i, auto there)
                                     HWY_ATTR { sum = hn::Add(sum, loadFloats(from + i, there)); });
    const FloatVector mean = hn::Div(hn::SumOfLanes(kFloats, sum), count);
    FloatVector squares = hn::Zero(kFloats);
    forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
        const FloatVector distance = thoseThere(hn::Sub(loadFloats(from + i, there), mean), there);
        squares = hn::MulAdd(distance, distance, squares);
    });
    const FloatVector variance = hn::Div(hn::SumOfLanes(kFloats, squares), count);
    const FloatVector deviation = hn::Sqrt(hn::Add(variance, hn::Set(kFloats, epsilon)));
    const FloatVector inverse = hn::Div(hn::Set(kFloats, 1.0F), deviation);
    forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
        FloatVector result = hn::Mul(hn::Sub(loadFloats(from + i, there), mean), inverse);
        if (gamma != nullptr) {
            result = hn::Mul(result, loadFloats(gamma + i, there));
        }
        if (beta != nullptr) {
            result = hn::Add(result, loadFloats(beta + i, there));
        }
        storeFloats(result, to + i, there);
    });
}

}  // namespace

const NormalizeLayer* normalizeLayerForm() {
    static const NormalizeLayer kForm = {.floats = normalizeLayer<float>,
                                         .halves = normalizeLayer<Half>};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

// The longest row that is taken at once: the reference looks out for the checkpoint inside longer
// ones.
constexpr int64_t kLongestRow = 1 << 20;

Status normalize(const LayerNormalize& node, const NormalizeLayer& form, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    const int64_t length = countOf(Shape(x.extents().subspan(axis)));
    if (length > kLongestRow) {
        return ref::run(node, call);
    }
    const bool halves = call.output(0).type->type == DataType::FLOAT16;
    const int64_t size = halves ? 2 : 4;
    const auto weights = [&](size_t index) -> const void* {
        return call.input(index).present() ? call.input(index).data : nullptr;
    };
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    const void* gamma = weights(1);
    const void* beta = weights(2);
    return call.inParallel(
            countOf(x) / length, 64 + length, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t at = i * length * size;
                    (halves ? form.halves : form.floats)(node.epsilon, {.from = from + at,
                                                                        .gamma = gamma,
                                                                        .beta = beta,
                                                                        .to = to + at,
                                                                        .count = length});
                }
            });
}

}  // namespace

Status supports(const LayerNormalize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const LayerNormalize& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const NormalizeLayer* form = HALYARD_CPU_CHOOSE(target.set, normalizeLayerForm)();
    return plainKernel(arguments, toString(target.set),
                       [node, form](KernelCall& call) { return normalize(node, *form, call); });
}

}  // namespace halyard::engine::cpu
#endif
