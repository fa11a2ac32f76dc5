// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/recurrent/lstm_definition.h"

#include <algorithm>
#include <array>
#include <compare>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/backends/cpu/products/weights.h"
#include "engine/graph/lstm_gates.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

constexpr std::array kGates = {lstm::kInputGate, lstm::kForgetGate, lstm::kCellGate,
                               lstm::kOutputGate};

template <typename T>
const T* constantOrNull(const KernelArguments& arguments, std::optional<size_t> input) {
    if (!input.has_value() || arguments.node.inputs[*input] == kNoTensor) {
        return nullptr;
    }
    return reinterpret_cast<const T*>(
            arguments.graph.tensor(arguments.node.inputs[*input]).constant.bytes.data());
}

// Columns of `depth` weights each, some times a whole panel of lanes for each of the sources. A
// PackingRecipe, as the next is.
template <typename T>
struct PackedColumns {
    struct Source {
        const T* weights = nullptr;
        const T* bias = nullptr;  // null: zeros
        friend auto operator<=>(const Source&, const Source&) = default;
    };
    std::vector<Source> sources;
    int64_t columns = 0;  // of each source
    int64_t depth = 0;
    int64_t lanes = 1;

    friend auto operator<=>(const PackedColumns&, const PackedColumns&) = default;

    int64_t panels() const { return (columns + lanes - 1) / lanes; }
    Result<size_t> bytes() const {
        return packedBytes(panels() * static_cast<int64_t>(sources.size()),
                           lanes * (depth + 1) * static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        auto* panel = reinterpret_cast<float*>(to.data());
        for (int64_t i = 0; i < panels(); ++i) {
            for (const Source& source : sources) {
                HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
                for (int64_t lane = 0; lane < lanes; ++lane) {
                    const int64_t column = i * lanes + lane;
                    const bool real = column < columns;
                    panel[lane] =
                            real && source.bias != nullptr ? toReal(source.bias[column]) : 0.0F;
                    const T* from = source.weights + (real ? column * depth : 0);
                    for (int64_t k = 0; k < depth; ++k) {
                        panel[(k + 1) * lanes + lane] = real ? toReal(from[k]) : 0.0F;
                    }
                }
                panel += (depth + 1) * lanes;
            }
        }
        return {};
    }
};

// A column without weights for each source: vectors for all gates.
template <typename T>
struct PackedVectors {
    std::vector<const T*> sources;  // null: zeros
    int64_t count = 0;
    int64_t lanes = 1;

    friend auto operator<=>(const PackedVectors&, const PackedVectors&) = default;

    Result<size_t> bytes() const {
        return packedBytes((count + lanes - 1) / lanes * static_cast<int64_t>(sources.size()),
                           lanes * static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
        auto* vector = reinterpret_cast<float*>(to.data());
        for (int64_t first = 0; first < count; first += lanes) {
            for (const T* source : sources) {
                for (int64_t i = first; i < first + lanes; ++i) {
                    *vector++ = source != nullptr && i < count ? toReal(source[i]) : 0.0F;
                }
            }
        }
        return {};
    }
};

template <typename T>
class Packer {
  public:
    Packer(const KernelArguments& arguments, LstmDefinition& definition)
        : mArguments(arguments), mDefinition(definition) {}

    Status pack() {
        std::span<const lstm::GateInputs> gates = kGates;
        if (mDefinition.coupled) {
            gates = gates.subspan(1);
        }
        const bool normalizes = constant(lstm::kForgetGate.layerNorm) != nullptr;
        const bool peeps = constant(lstm::kForgetGate.peephole) != nullptr;
        Columns input = columns(mDefinition.units, mDefinition.inputSize);
        Columns recurrent = columns(mDefinition.units, mDefinition.outputSize);
        Vectors peepholes = vectors();
        Vectors norms = vectors();
        Vectors biases = vectors();
        for (const lstm::GateInputs& gate : gates) {
            const T* const bias = constant(gate.bias);
            input.sources.push_back(
                    {.weights = constant(gate.weights), .bias = normalizes ? nullptr : bias});
            recurrent.sources.push_back(
                    {.weights = constant(gate.recurrentWeights), .bias = nullptr});
            peepholes.sources.push_back(constant(gate.peephole));
            norms.sources.push_back(constant(gate.layerNorm));
            biases.sources.push_back(bias);
        }
        ConstantStore& store = mArguments.constants;
        HALYARD_ASSIGN_OR_RETURN(mDefinition.input, store.addOnce(std::move(input)));
        HALYARD_ASSIGN_OR_RETURN(mDefinition.recurrent, store.addOnce(std::move(recurrent)));
        if (peeps) {
            HALYARD_ASSIGN_OR_RETURN(mDefinition.peepholes, store.addOnce(std::move(peepholes)));
        }
        if (normalizes) {
            HALYARD_ASSIGN_OR_RETURN(mDefinition.layerNorm, store.addOnce(std::move(norms)));
            HALYARD_ASSIGN_OR_RETURN(mDefinition.biases, store.addOnce(std::move(biases)));
        }
        if (mDefinition.projects) {
            Columns projection = columns(mDefinition.outputSize, mDefinition.units);
            projection.sources.push_back({.weights = constant(lstm::kProjectionWeights),
                                          .bias = constant(lstm::kProjectionBias)});
            HALYARD_ASSIGN_OR_RETURN(mDefinition.projection, store.addOnce(std::move(projection)));
        }
        return {};
    }

  private:
    using Columns = PackedColumns<T>;
    using Vectors = PackedVectors<T>;

    Columns columns(int64_t count, int64_t depth) const {
        return {.sources = {}, .columns = count, .depth = depth, .lanes = mDefinition.lanes};
    }
    Vectors vectors() const {
        return {.sources = {}, .count = mDefinition.units, .lanes = mDefinition.lanes};
    }

    // Null where it was left out. The node reads it no more.
    const T* constant(std::optional<size_t> input) {
        const T* const data = constantOrNull<T>(mArguments, input);
        if (data != nullptr && std::ranges::find(mTaken, *input) == mTaken.end()) {
            mTaken.push_back(*input);
            mArguments.packed.push_back(mArguments.node.inputs[*input]);
        }
        return data;
    }

    const KernelArguments& mArguments;
    LstmDefinition& mDefinition;
    std::vector<size_t> mTaken;
};

}  // namespace

Status packWeights(const KernelArguments& arguments, LstmDefinition& definition) {
    return definition.halves ? Packer<Half>(arguments, definition).pack()
                             : Packer<float>(arguments, definition).pack();
}

}  // namespace halyard::engine::cpu
