// SPDX-License-Identifier: Apache-2.0
//
// Functions of one element.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/elementwise/activations.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/exponential-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include "engine/backends/cpu/elementwise/byte_lookup.h"
#include "engine/backends/cpu/kernels/chunks.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/numerics/byte_tables.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_ACTIVATIONS_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_ACTIVATIONS_CC_
namespace halyard::engine::cpu {

struct ActivateFloats {
    void (*floats)(const Activate& node, const float* from, float* to, int64_t count);
    void (*halves)(const Activate& node, const Half* from, Half* to, int64_t count);
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

template <typename T, typename Function>
HWY_INLINE void forEachElement(const T* from, T* to, int64_t count, Function function) {
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        storeFloats(function(loadFloats(from + i, there)), to + i, there);
    });
}

template <typename T>
void activate(const Activate& node, const T* from, T* to, int64_t count) {
    const auto clamp = [&](float low, float high) HWY_ATTR {
        const FloatVector least = hn::Set(kFloats, low);
        const FloatVector most = hn::Set(kFloats, high);
        forEachElement(from, to, count,
                       [&](FloatVector x) HWY_ATTR { return clampLanes(x, least, most); });
    };
    switch (node.function) {
        case Activate::Function::RELU:
            clamp(0.0F, std::numeric_limits<float>::infinity());
            break;
        case Activate::Function::RELU1:
            clamp(-1.0F, 1.0F);
            break;
        case Activate::Function::RELU6:
            clamp(0.0F, 6.0F);
            break;
        case Activate::Function::LOGISTIC:
            forEachElement(from, to, count, [](FloatVector x) HWY_ATTR { return logistic(x); });
            break;
        case Activate::Function::TANH:
            forEachElement(from, to, count,
                           [](FloatVector x) HWY_ATTR { return hyperbolicTangent(x); });
            break;
        case Activate::Function::ELU: {
            const FloatVector alpha = hn::Set(kFloats, node.alpha);
            forEachElement(from, to, count, [&](FloatVector x) HWY_ATTR {
                return hn::IfThenElse(hn::Gt(x, hn::Zero(kFloats)), x,
                                      hn::Mul(alpha, exponentialMinusOne(x)));
            });
            break;
        }
        case Activate::Function::HARD_SWISH: {
            const FloatVector three = hn::Set(kFloats, 3.0F);
            const FloatVector six = hn::Set(kFloats, 6.0F);
            const FloatVector sixth = hn::Set(kFloats, 1.0F / 6.0F);
            forEachElement(from, to, count, [&](FloatVector x) HWY_ATTR {
                const FloatVector gate = keepWithin(hn::Add(x, three), hn::Zero(kFloats), six);
                return hn::Mul(x, hn::Mul(gate, sixth));
            });
            break;
        }
        case Activate::Function::SWISH: {
            const FloatVector alpha = hn::Set(kFloats, node.alpha);
            forEachElement(from, to, count, [&](FloatVector x) HWY_ATTR {
                return hn::Mul(x, logistic(hn::Mul(alpha, x)));
            });
            break;
        }
        case Activate::Function::HARD_SIGMOID: {
            const FloatVector three = hn::Set(kFloats, 3.0F);
            const FloatVector six = hn::Set(kFloats, 6.0F);
            const FloatVector sixth = hn::Set(kFloats, 1.0F / 6.0F);
            forEachElement(from, to, count, [&](FloatVector x) HWY_ATTR {
                return hn::Mul(keepWithin(hn::Add(x, three), hn::Zero(kFloats), six), sixth);
            });
            break;
        }
        case Activate::Function::GELU:
            forEachElement(from, to, count,
                           [](FloatVector x) HWY_ATTR { return hn::Mul(x, normalShare(x)); });
            break;
        case Activate::Function::GELU_TANH:
            forEachElement(from, to, count, [](FloatVector x) HWY_ATTR {
                // Half of 1 + tanh(y) is the logistic function of 2 y, and 2 sqrt(2 / pi)
                // is 1.59...
                const FloatVector factor = hn::Set(kFloats, 1.59576912F);
                const FloatVector cube = hn::Set(kFloats, 0.044715F * 1.59576912F);
                const FloatVector squares = hn::Mul(x, x);
                return hn::Mul(x, logistic(hn::Mul(x, hn::MulAdd(squares, cube, factor))));
            });
            break;
    }
}

}  // namespace

const ActivateFloats* activateFloats() {
    static const ActivateFloats kForm = {.floats = activate<float>, .halves = activate<Half>};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

Status activate(const Activate& node, const ActivateFloats& form, KernelCall& call) {
    constexpr int64_t kOperations = kChunk;
    const void* from = call.input(0).data;
    void* to = call.output(0).data;
    if (call.output(0).type->type == DataType::FLOAT16) {
        return forEachChunk(call, kOperations, [&](int64_t first, int64_t count) {
            form.halves(node, static_cast<const Half*>(from) + first,
                        static_cast<Half*>(to) + first, count);
        });
    }
    return forEachChunk(call, kOperations, [&](int64_t first, int64_t count) {
        form.floats(node, static_cast<const float*>(from) + first, static_cast<float*>(to) + first,
                    count);
    });
}

}  // namespace

Status supports(const Activate& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Activate& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& x = inputType(arguments.graph, arguments.node);
    if (isOfBytes(x.type)) {
        return byteLookupKernel(
                arguments, activationTable(node, x, outputType(arguments.graph, arguments.node)),
                target.set);
    }
    const ActivateFloats* form = HALYARD_CPU_CHOOSE(target.set, activateFloats)();
    return plainKernel(arguments, toString(target.set),
                       [node, form](KernelCall& call) { return activate(node, *form, call); });
}

EpilogueStage stageOf(const Activate& node, const TensorType& x, const TensorType& output,
                      InstructionSet set) {
    if (isOfBytes(x.type)) {
        return [table = activationTable(node, x, output), form = lookUpBytes(set)](
                       std::byte* elements, const std::byte* /*addend*/, int64_t count) {
            auto* bytes = reinterpret_cast<uint8_t*>(elements);
            form(table, bytes, bytes, count);
        };
    }
    const ActivateFloats* form = HALYARD_CPU_CHOOSE(set, activateFloats)();
    if (x.type == DataType::FLOAT16) {
        return [node, form](std::byte* elements, const std::byte* /*addend*/, int64_t count) {
            auto* halves = reinterpret_cast<Half*>(elements);
            form->halves(node, halves, halves, count);
        };
    }
    return [node, form](std::byte* elements, const std::byte* /*addend*/, int64_t count) {
        auto* floats = reinterpret_cast<float*>(elements);
        form->floats(node, floats, floats, count);
    };
}

}  // namespace halyard::engine::cpu
#endif
