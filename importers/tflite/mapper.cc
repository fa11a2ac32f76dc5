// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/mapper.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/graph/verifier.h"

namespace halyard::tflite {
namespace {

using engine::TensorType;

// Each time that a subgraph is used it is mapped, with those inside.
constexpr size_t kMostSubgraphs = 256;

Surroundings counted(Surroundings surroundings) {
    if (surroundings.mapped == nullptr) {
        surroundings.mapped = std::make_shared<size_t>(0);
    }
    return surroundings;
}

}  // namespace

Mapper::Mapper(const Model& model, size_t subgraph, const ImportOptions& options,
               const KnownConstants& known, Surroundings surroundings)
    : mModel(model),
      mSubgraph(subgraph),
      mOptions(options),
      mKnown(known),
      mSurroundings(counted(std::move(surroundings))),
      mCopies(options.memory, options.checkpoint) {
    mGraph.setRelaxedFloat(options.relaxed);
}

Status Mapper::map(size_t op) {
    mIndex = op;
    mOperator = &subgraph().operators[op];
    mRead.assign(mOperator->options.size(), false);
    const auto mapOne = [&]() -> Status {
        const Handler handler = findHandler(mOperator->code);
        if (handler == nullptr) {
            return unsupported("the engine has no such operator");
        }
        if (!mOperator->unreadable.empty()) {
            return unsupported(mOperator->unreadable);
        }
        HALYARD_RETURN_IF_ERROR(handler(*this));
        return checkOptions();
    };
    const std::map<int32_t, TensorId> updated = mUpdated;
    const Status status = mapOne();
    if (!status.ok()) {
        for (const int32_t output : mOperator->outputs) {
            mTensors.erase(output);
        }
        mUpdated = updated;
    }
    return status;
}

std::optional<TensorId> Mapper::find(int32_t tensor) const {
    const auto found = mTensors.find(tensor);
    return found == mTensors.end() ? std::nullopt : std::optional(found->second);
}

// ---- The operator -------------------------------------------------------------------------------

bool Mapper::has(size_t place) const {
    return place < mOperator->inputs.size() && mOperator->inputs[place] != kOmitted;
}

Result<int32_t> Mapper::input(size_t place) const {
    if (!has(place)) {
        return unsupported("its input " + std::to_string(place) + " is left out");
    }
    return mOperator->inputs[place];
}

Result<int32_t> Mapper::output(size_t place) const {
    if (place >= mOperator->outputs.size() || mOperator->outputs[place] == kOmitted) {
        return unsupported("its output " + std::to_string(place) + " is left out");
    }
    return mOperator->outputs[place];
}

std::string Mapper::shown(int32_t index) const {
    const std::string& name = tensor(index).name;
    return name.empty() ? "tensor " + std::to_string(index) : "'" + name.substr(0, 120) + "'";
}

Status Mapper::checkInputCount(size_t least, size_t most) const {
    const size_t count = mOperator->inputs.size();
    if (count < least || count > most) {
        return unsupported("it has " + std::to_string(count) + " inputs");
    }
    return {};
}

Status Mapper::checkOutputCount(size_t least, size_t most) const {
    const size_t count = mOperator->outputs.size();
    if (count < least || count > most) {
        return unsupported("it has " + std::to_string(count) + " outputs");
    }
    return {};
}

// ---- Options ------------------------------------------------------------------------------------

int32_t Mapper::integer(size_t option) {
    mRead[option] = true;
    return static_cast<int32_t>(mOperator->options[option].integer);
}

float Mapper::real(size_t option) {
    mRead[option] = true;
    return mOperator->options[option].real;
}

const std::vector<int32_t>& Mapper::list(size_t option) {
    mRead[option] = true;
    return mOperator->options[option].list;
}

Result<engine::PaddingScheme> Mapper::padding(size_t option) {
    switch (const int32_t found = integer(option); static_cast<Padding>(found)) {
        case Padding::SAME:
            return engine::PaddingScheme::SAME;
        case Padding::VALID:
            return engine::PaddingScheme::VALID;
        default:
            return unsupported("its padding is " + std::to_string(found));
    }
}

Result<engine::Activation> Mapper::activation(size_t option) {
    const int32_t found = integer(option);
    switch (const auto given = static_cast<FusedActivation>(found)) {
        case FusedActivation::TANH:
        case FusedActivation::SIGN_BIT:
            return unsupported(std::string("its fused activation is ") +
                               (given == FusedActivation::TANH ? "TANH" : "SIGN_BIT") +
                               ", which TFLite's kernels leave away");
        default:
            if (const auto activation = fused(given)) {
                return *activation;
            }
            return unsupported("its fused activation is " + std::to_string(found));
    }
}

Result<FusedActivation> Mapper::fusedActivation(size_t option) {
    const int32_t found = integer(option);
    const auto activation = static_cast<FusedActivation>(found);
    if (fused(activation).has_value()) {
        return activation;
    }
    if (activation == FusedActivation::TANH || activation == FusedActivation::SIGMOID) {
        // What is quantised between the two is not said anywhere.
        HALYARD_ASSIGN_OR_RETURN(const int32_t of, output());
        HALYARD_ASSIGN_OR_RETURN(const TensorType type, declared(of));
        if (engine::isFloat(type.type)) {
            return activation;
        }
    }
    return unsupported("its fused activation is " + std::to_string(found));
}

std::optional<engine::Activation> Mapper::fused(FusedActivation activation) {
    switch (activation) {
        case FusedActivation::NONE:
            return engine::Activation::NONE;
        case FusedActivation::RELU:
            return engine::Activation::RELU;
        case FusedActivation::RELU_N1_TO_1:
            return engine::Activation::RELU1;
        case FusedActivation::RELU6:
            return engine::Activation::RELU6;
        default:
            return std::nullopt;
    }
}

Status Mapper::checkOptions() const {
    const OperatorEntry& entry = *findOperator(mOperator->code);
    for (size_t i = 0; i < mRead.size(); ++i) {
        const OptionField& field = entry.fields[i];
        if (!mRead[i] && !(mOperator->options[i] == defaultOf(field))) {
            return unsupported("its option " + std::string(field.name) +
                               " is set, which has no meaning here");
        }
    }
    return {};
}

// ---- Subgraphs ----------------------------------------------------------------------------------

Result<engine::NestedGraph> Mapper::nested(int32_t index, std::span<const TensorId> values,
                                           size_t results) {
    const std::string named = "its subgraph " + std::to_string(index);
    if (index < 0 || static_cast<size_t>(index) >= mModel.subgraphs.size()) {
        return unsupported("it names subgraph " + std::to_string(index) + ", of which there are " +
                           std::to_string(mModel.subgraphs.size()));
    }
    Surroundings inner = {.callers = mSurroundings.callers,
                          .shapes = {},
                          .mapped = mSurroundings.mapped,
                          .import = mSurroundings.import};
    inner.callers.push_back(mSubgraph);
    const auto subgraph = static_cast<size_t>(index);
    if (std::ranges::find(inner.callers, subgraph) != inner.callers.end()) {
        return unsupported(named + " has it inside");
    }
    if (inner.callers.size() >= engine::kMaxNesting) {
        return unsupported("it lies in " + std::to_string(inner.callers.size()) + " subgraphs");
    }
    if (++*inner.mapped > kMostSubgraphs) {
        return unsupported("subgraphs are used more than " + std::to_string(kMostSubgraphs) +
                           " times");
    }
    const Subgraph& called = mModel.subgraphs[subgraph];
    if (called.inputs.size() != values.size() || called.outputs.size() != results) {
        return unsupported(named + " has " + std::to_string(called.inputs.size()) + " inputs and " +
                           std::to_string(called.outputs.size()) + " outputs, not " +
                           std::to_string(values.size()) + " and " + std::to_string(results));
    }
    for (size_t i = 0; i < values.size(); ++i) {
        inner.shapes[called.inputs[i]] = typeOf(values[i]).shape;
    }
    HALYARD_ASSIGN_OR_RETURN(ImportedGraph imported,
                             mSurroundings.import(mModel, subgraph, mOptions, std::move(inner)));
    if (imported.inputs != called.inputs || !imported.states.empty()) {
        return unsupported(named + " keeps a state, or reads what it is not given");
    }
    return engine::NestedGraph{std::make_shared<const engine::Graph>(std::move(imported.graph))};
}

}  // namespace halyard::tflite
