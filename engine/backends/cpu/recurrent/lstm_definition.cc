// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/recurrent/lstm_definition.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/backends/cpu/gemm/bfloat_weights.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/graph/lstm_gates.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

constexpr std::array kGates = {lstm::kInputGate, lstm::kForgetGate, lstm::kCellGate,
                               lstm::kOutputGate};

// Columns of `depth` weights each, some times a whole panel of lanes for each of the sources. A
// PackingRecipe, as the next is.
template <typename T>
struct PackedColumns {
    struct Source {
        ConstantSource<T> weights;
        ConstantSource<T> bias;  // left out: zeros

        HALYARD_FIELDS(weights, bias)
    };
    std::vector<Source> sources;
    InstructionSet set = InstructionSet::PORTABLE;
    int64_t columns = 0;  // of each source
    int64_t depth = 0;
    bool bfloats = false;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "lstm columns of halves" : "lstm columns";
    HALYARD_FIELDS(sources, set, columns, depth, bfloats)

    Result<size_t> bytes() const {
        const FloatGemm& form = floatGemm(set);
        return packedBytes(form.panels(columns) * static_cast<int64_t>(sources.size()),
                           form.panelLength(depth, bfloats) * static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        const FloatGemm& form = floatGemm(set);
        auto* panel = reinterpret_cast<float*>(to.data());
        for (int64_t first = 0; first < columns; first += form.lanes) {
            for (const Source& source : sources) {
                HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
                const int64_t count = std::min(form.lanes, columns - first);
                std::fill_n(panel, form.lanes, 0.0F);
                if (source.bias.present()) {
                    std::transform(source.bias.data + first, source.bias.data + first + count,
                                   panel, [](T element) { return toReal(element); });
                }
                layPanel<T>({.first = source.weights.data + first * depth,
                             .count = count,
                             .apart = depth,
                             .depth = depth},
                            bfloats, set, form.lanes, panel + form.lanes);
                panel += form.panelLength(depth, bfloats);
            }
        }
        return {};
    }
};

// A column without weights for each source: vectors for all gates.
template <typename T>
struct PackedVectors {
    std::vector<ConstantSource<T>> sources;  // left out: zeros
    int64_t count = 0;
    int64_t lanes = 1;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "lstm vectors of halves" : "lstm vectors";
    HALYARD_FIELDS(sources, count, lanes)

    Result<size_t> bytes() const {
        return packedBytes((count + lanes - 1) / lanes * static_cast<int64_t>(sources.size()),
                           lanes * static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
        auto* vector = reinterpret_cast<float*>(to.data());
        for (int64_t first = 0; first < count; first += lanes) {
            for (const ConstantSource<T>& source : sources) {
                for (int64_t i = first; i < first + lanes; ++i) {
                    *vector++ = source.present() && i < count ? toReal(source.data[i]) : 0.0F;
                }
            }
        }
        return {};
    }
};

template <typename T>
class Packer {
  public:
    Packer(const KernelArguments& arguments, InstructionSet set, LstmDefinition& definition)
        : mArguments(arguments), mSet(set), mDefinition(definition) {}

    Status pack() {
        std::span<const lstm::GateInputs> gates = kGates;
        if (mDefinition.coupled) {
            gates = gates.subspan(1);
        }
        const bool normalizes = constant(lstm::kForgetGate.layerNorm).present();
        const bool peeps = constant(lstm::kForgetGate.peephole).present();
        Columns input = columns(mDefinition.units, mDefinition.inputSize, mDefinition.inputBfloats);
        Columns recurrent = columns(mDefinition.units, mDefinition.outputSize, mDefinition.bfloats);
        Vectors peepholes = vectors();
        Vectors norms = vectors();
        Vectors biases = vectors();
        for (const lstm::GateInputs& gate : gates) {
            const ConstantSource<T> bias = constant(gate.bias);
            input.sources.push_back({.weights = constant(gate.weights),
                                     .bias = normalizes ? ConstantSource<T>() : bias});
            recurrent.sources.push_back({.weights = constant(gate.recurrentWeights), .bias = {}});
            peepholes.sources.push_back(constant(gate.peephole));
            norms.sources.push_back(constant(gate.layerNorm));
            biases.sources.push_back(bias);
        }
        ConstantStore& store = mArguments.constants;
        HALYARD_ASSIGN_OR_RETURN(mDefinition.input, store.add(std::move(input)));
        HALYARD_ASSIGN_OR_RETURN(mDefinition.recurrent, store.add(std::move(recurrent)));
        if (peeps) {
            HALYARD_ASSIGN_OR_RETURN(mDefinition.peepholes, store.add(std::move(peepholes)));
        }
        if (normalizes) {
            HALYARD_ASSIGN_OR_RETURN(mDefinition.layerNorm, store.add(std::move(norms)));
            HALYARD_ASSIGN_OR_RETURN(mDefinition.biases, store.add(std::move(biases)));
        }
        if (mDefinition.projects) {
            Columns projection =
                    columns(mDefinition.outputSize, mDefinition.units, mDefinition.bfloats);
            projection.sources.push_back({.weights = constant(lstm::kProjectionWeights),
                                          .bias = constant(lstm::kProjectionBias)});
            HALYARD_ASSIGN_OR_RETURN(mDefinition.projection, store.add(std::move(projection)));
        }
        return {};
    }

  private:
    using Columns = PackedColumns<T>;
    using Vectors = PackedVectors<T>;

    Columns columns(int64_t count, int64_t depth, bool bfloats) const {
        return {.sources = {}, .set = mSet, .columns = count, .depth = depth, .bfloats = bfloats};
    }
    Vectors vectors() const {
        return {.sources = {}, .count = mDefinition.units, .lanes = mDefinition.lanes};
    }

    // The node reads it no more.
    ConstantSource<T> constant(std::optional<size_t> input) {
        if (!input.has_value()) {
            return {};
        }
        const ConstantSource<T> source = constantOf<T>(mArguments, *input);
        if (source.present() && std::ranges::find(mTaken, *input) == mTaken.end()) {
            mTaken.push_back(*input);
            mArguments.packed.push_back(mArguments.node.inputs[*input]);
        }
        return source;
    }

    const KernelArguments& mArguments;
    const InstructionSet mSet;
    LstmDefinition& mDefinition;
    std::vector<size_t> mTaken;
};

}  // namespace

Result<bool> areBfloats(const KernelArguments& arguments, const LstmDefinition& definition) {
    const auto holds = [&](size_t input, int64_t columns, int64_t depth) -> Result<bool> {
        const ConstantSource<float> weights = constantOf<float>(arguments, input);
        if (!weights.present()) {
            return true;
        }
        return arguments.constants.holds(
                AreBfloat16{.filter = {.channels = columns, .runLength = depth, .paddedRun = depth},
                            .weights = weights});
    };
    bool all = true;
    for (const lstm::GateInputs& gate : kGates) {
        HALYARD_ASSIGN_OR_RETURN(const bool input,
                                 holds(gate.weights, definition.units, definition.inputSize));
        HALYARD_ASSIGN_OR_RETURN(
                const bool recurrent,
                holds(gate.recurrentWeights, definition.units, definition.outputSize));
        all = all && input && recurrent;
    }
    HALYARD_ASSIGN_OR_RETURN(const bool projection, holds(lstm::kProjectionWeights,
                                                          definition.outputSize, definition.units));
    return all && projection;
}

Status packWeights(const KernelArguments& arguments, InstructionSet set,
                   LstmDefinition& definition) {
    return definition.halves ? Packer<Half>(arguments, set, definition).pack()
                             : Packer<float>(arguments, set, definition).pack();
}

}  // namespace halyard::engine::cpu
