// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/mapper.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/graph/verifier.h"
#include "importers/tflite/constants.h"

namespace halyard::tflite {
namespace {

using engine::ConstantData;
using engine::DataType;
using engine::kNoTensor;
using engine::Shape;
using engine::TensorType;

// Each time that a subgraph is used it is mapped, with those inside.
constexpr size_t kMostSubgraphs = 256;
constexpr std::string_view kComputed = " is computed, and a constant is wanted";

Surroundings counted(Surroundings surroundings) {
    if (surroundings.mapped == nullptr) {
        surroundings.mapped = std::make_shared<size_t>(0);
    }
    return surroundings;
}

template <typename T>
std::vector<uint8_t> bytesOf(T value) {
    std::vector<uint8_t> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// Without quantisation.
TensorType plain(DataType type, const Shape& shape) {
    return {.type = type, .shape = shape, .quantization = {}};
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

// ---- Values -------------------------------------------------------------------------------------

bool Mapper::isKnown(int32_t index) const {
    return tensor(index).isConstant() || mKnown.contains(index);
}

Result<TensorId> Mapper::addConstant(int32_t index) {
    if (const auto known = mKnown.find(index); known != mKnown.end()) {
        return mGraph.addConstant(known->second.first, known->second.second, mCopies);
    }
    HALYARD_ASSIGN_OR_RETURN(auto constant,
                             engineConstant(tensor(index), shown(index), mOptions.memory));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId id,
            mGraph.addConstant(std::move(constant.first), std::move(constant.second), mCopies));
    mGraph.setName(id, tensor(index).name);
    return id;
}

Result<TensorId> Mapper::read(int32_t index) {
    if (const auto updated = mUpdated.find(index); updated != mUpdated.end()) {
        return updated->second;
    }
    if (const auto found = mTensors.find(index); found != mTensors.end()) {
        return found->second;
    }
    TensorId id = kNoTensor;
    if (isKnown(index)) {
        HALYARD_ASSIGN_OR_RETURN(id, addConstant(index));
    } else {
        HALYARD_ASSIGN_OR_RETURN(TensorType type, engineType(tensor(index), shown(index)));
        if (const auto given = mSurroundings.shapes.find(index);
            given != mSurroundings.shapes.end()) {
            type.shape = given->second;
        }
        id = mGraph.addTensor(std::move(type), tensor(index).name);
        mExternal.push_back(index);
    }
    mTensors[index] = id;
    return id;
}

Result<TensorId> Mapper::readInput(size_t place) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, input(place));
    return read(index);
}

Result<TensorId> Mapper::readOptional(size_t place) {
    if (!has(place)) {
        return kNoTensor;
    }
    return read(mOperator->inputs[place]);
}

Result<TensorId> Mapper::readWidened(int32_t index) {
    if (const auto found = mWidened.find(index); found != mWidened.end()) {
        return found->second;
    }
    HALYARD_ASSIGN_OR_RETURN(auto constant,
                             realConstant(tensor(index), shown(index), mOptions.memory));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId id,
            mGraph.addConstant(std::move(constant.first), std::move(constant.second), mCopies));
    mGraph.setName(id, tensor(index).name);
    mWidened[index] = id;
    return id;
}

Result<TensorId> Mapper::readWeights(size_t place, int32_t activations) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, input(place));
    const ElementType type = tensor(index).type;
    const bool isHybrid =
            tensor(activations).type == ElementType::FLOAT32 && type != ElementType::FLOAT32;
    if (!isHybrid) {
        return read(index);
    }
    if (!tensor(index).isConstant()) {
        return unsupported(shown(index) + " is " + toString(type) +
                           ", where its activations are FLOAT32, and" + std::string(kComputed));
    }
    return readWidened(index);
}

Result<TensorId> Mapper::readSymmetric(size_t place) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, input(place));
    if (!tensor(index).isConstant() || tensor(index).type != ElementType::INT8) {
        return unsupported(shown(index) + " is no constant of INT8");
    }
    HALYARD_ASSIGN_OR_RETURN(auto constant,
                             engineConstant(tensor(index), shown(index), mOptions.memory));
    if (constant.first.type != DataType::QUANT8_ASYMM_SIGNED ||
        constant.first.quantization.zeroPoint != 0) {
        return unsupported(shown(index) + " has scales per channel or a zero point");
    }
    constant.first.type = DataType::QUANT8_SYMM;
    return mGraph.addConstant(std::move(constant.first), std::move(constant.second), mCopies);
}

Result<std::vector<int32_t>> Mapper::extents(TensorId id) const {
    const Shape& shape = typeOf(id).shape;
    if (!shape.isFullyKnown()) {
        return unsupported("'" + mGraph.tensor(id).name + "' has the shape " + shape.toString() +
                           ", which only a run tells");
    }
    return std::vector<int32_t>(shape.extents().begin(), shape.extents().end());
}

Result<std::vector<int32_t>> Mapper::integers(int32_t index, std::string_view what) const {
    std::vector<int32_t> values;
    if (const auto known = mKnown.find(index); known != mKnown.end()) {
        const auto& [type, data] = known->second;
        if (type.type != DataType::INT32) {
            return unsupported("its " + std::string(what) + " is " + type.toString());
        }
        values.resize(data.bytes.size() / sizeof(int32_t));
        std::memcpy(values.data(), data.bytes.data(), values.size() * sizeof(int32_t));
        return values;
    }
    if (!tensor(index).isConstant()) {
        return unsupported("its " + std::string(what) + std::string(kComputed));
    }
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int64_t> found,
                             integersOf(tensor(index), shown(index)));
    for (const int64_t each : found) {
        values.push_back(static_cast<int32_t>(each));
        if (values.back() != each) {
            return unsupported("its " + std::string(what) + " is " + std::to_string(each) +
                               ", and the engine's integers have 32 bits");
        }
    }
    return values;
}

Result<int32_t> Mapper::oneInteger(int32_t index, std::string_view what) const {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> found, integers(index, what));
    if (found.size() != 1) {
        return unsupported("its " + std::string(what) + " has " + std::to_string(found.size()) +
                           " values, and one is wanted");
    }
    return found.front();
}

Result<TensorType> Mapper::declared(int32_t index) const {
    const auto isKnownInput = [&](int32_t input) { return input == kOmitted || isKnown(input); };
    if (tensor(index).type == ElementType::INT64 &&
        std::ranges::all_of(mOperator->inputs, isKnownInput)) {
        return plain(DataType::INT32, Shape::unknownRank());
    }
    HALYARD_ASSIGN_OR_RETURN(TensorType type, engineType(tensor(index), shown(index)));
    type.shape = Shape::unknownRank();
    return type;
}

// ---- Nodes --------------------------------------------------------------------------------------

Result<TensorId> Mapper::constant(TensorType type, std::vector<uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(ConstantData data, ownedConstant(std::move(bytes), mOptions.memory));
    return mGraph.addConstant(std::move(type), std::move(data), mCopies);
}

TensorId Mapper::int32Constant(std::span<const int32_t> values) {
    std::vector<uint8_t> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    TensorType type = plain(DataType::INT32, {static_cast<int32_t>(values.size())});
    // As many bytes as the type says: it can't fail.
    return *mGraph.addConstant(std::move(type), {.owner = owner, .bytes = *owner});
}

Result<TensorId> Mapper::scalar(const TensorType& type, double value) {
    TensorType one = type;
    one.shape = {};
    switch (type.type) {
        case DataType::FLOAT32:
            return constant(one, bytesOf(static_cast<float>(value)));
        case DataType::FLOAT16:
            return constant(one, bytesOf(toHalf(static_cast<float>(value))));
        case DataType::INT32:
            return constant(one, bytesOf(static_cast<int32_t>(value)));
        case DataType::BOOL8:
            return constant(one, {static_cast<uint8_t>(value != 0.0)});
        case DataType::QUANT8_ASYMM:
        case DataType::QUANT8_ASYMM_SIGNED: {
            const double steps =
                    std::nearbyint(value / type.quantization.scale) + type.quantization.zeroPoint;
            if (!(steps >= engine::minValue(type.type) && steps <= engine::maxValue(type.type))) {
                return unsupported("its quantisation has no " + std::to_string(value));
            }
            return constant(one, {static_cast<uint8_t>(static_cast<int32_t>(steps))});
        }
        default:
            return unsupported("a number is wanted of type " + type.toString());
    }
}

Result<TensorId> Mapper::zeroBias(const TensorType& activations, int32_t channels) {
    TensorType type = plain(engine::isFloat(activations.type) ? activations.type : DataType::INT32,
                            {channels});
    HALYARD_ASSIGN_OR_RETURN(const size_t size, type.byteSize());
    return constant(std::move(type), std::vector<uint8_t>(size));
}

Result<std::vector<TensorId>> Mapper::addNode(engine::NodeDescriptor descriptor,
                                              std::vector<TensorId> inputs,
                                              std::vector<TensorType> outputs,
                                              std::span<const std::string> names) {
    HALYARD_RETURN_IF_ERROR(mOptions.checkpoint.check("while the model was read"));
    std::vector<engine::KnownInput> known;
    for (const TensorId id : inputs) {
        known.push_back(id == kNoTensor ? engine::KnownInput{}
                                        : engine::KnownInput{
                                                  .type = &mGraph.tensor(id).type,
                                                  .data = mGraph.tensor(id).constant.bytes.data()});
    }
    engine::Node node{.descriptor = std::move(descriptor),
                      .inputs = std::move(inputs),
                      .outputs = {},
                      .label = subgraph().label(mIndex),
                      .sources = {static_cast<uint32_t>(mIndex)}};
    node.outputs.resize(outputs.size());
    const Status inferred = engine::inferShapes(node, known, outputs);
    if (!inferred.ok()) {
        // It names the node, as the caller does.
        std::string_view message = inferred.message();
        if (message.starts_with(node.label + ": ")) {
            message.remove_prefix(node.label.size() + 2);
        }
        return unsupported(std::string(message));
    }
    for (const TensorType& type : outputs) {
        if (type.shape.isFullyKnown() && !type.byteSize().ok()) {
            return unsupported(std::string(type.byteSize().status().message()));
        }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        node.outputs[i] = mGraph.addTensor(std::move(outputs[i]),
                                           i < names.size() ? names[i] : std::string());
    }
    std::vector<TensorId> ids = node.outputs;
    mGraph.addNode(std::move(node));
    return ids;
}

Status Mapper::checkFree(int32_t index) const {
    if (index == kOmitted) {
        return unsupported("an output of it is left out");
    }
    return isKnown(index) || find(index).has_value()
                   ? unsupported(shown(index) + " is there already")
                   : Status();
}

Status Mapper::emitTo(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                      std::span<const int32_t> tensors) {
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const int32_t index : tensors) {
        HALYARD_RETURN_IF_ERROR(checkFree(index));
        HALYARD_ASSIGN_OR_RETURN(TensorType type, declared(index));
        types.push_back(std::move(type));
        names.push_back(tensor(index).name);
    }
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> ids,
            addNode(std::move(descriptor), std::move(inputs), std::move(types), names));
    for (size_t i = 0; i < ids.size(); ++i) {
        mTensors[tensors[i]] = ids[i];
    }
    return {};
}

Status Mapper::emit(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs) {
    return emitTo(std::move(descriptor), std::move(inputs), mOperator->outputs);
}

Result<std::vector<TensorId>> Mapper::emitInnerN(engine::NodeDescriptor descriptor,
                                                 std::vector<TensorId> inputs,
                                                 std::vector<TensorType> outputs) {
    for (TensorType& type : outputs) {
        type.shape = Shape::unknownRank();
    }
    return addNode(std::move(descriptor), std::move(inputs), std::move(outputs), {});
}

Result<TensorId> Mapper::emitInner(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                                   TensorType output) {
    std::vector<TensorType> outputs;
    outputs.push_back(std::move(output));
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> ids,
            emitInnerN(std::move(descriptor), std::move(inputs), std::move(outputs)));
    return ids.front();
}

Status Mapper::define(int32_t index, TensorType type, std::vector<uint8_t> bytes) {
    HALYARD_RETURN_IF_ERROR(checkFree(index));
    HALYARD_ASSIGN_OR_RETURN(const TensorId id, constant(std::move(type), std::move(bytes)));
    mTensors[index] = id;
    return {};
}

Status Mapper::defineIntegers(int32_t index, const Shape& shape, std::span<const int32_t> values) {
    const ElementType wanted = tensor(index).type;
    if (wanted != ElementType::INT32 && wanted != ElementType::INT64) {
        return unsupported(shown(index) + " is " + toString(wanted) + ", not INT32 or INT64");
    }
    std::vector<uint8_t> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return define(index, plain(DataType::INT32, shape), std::move(bytes));
}

Status Mapper::alias(int32_t index, TensorId id) {
    HALYARD_RETURN_IF_ERROR(checkFree(index));
    HALYARD_ASSIGN_OR_RETURN(TensorType type, declared(index));
    type.shape = typeOf(id).shape;
    if (!(type == typeOf(id))) {
        return unsupported(shown(index) + " is " + type.toString() + ", and what it is made of " +
                           typeOf(id).toString());
    }
    mTensors[index] = id;
    return {};
}

Result<TensorId> Mapper::sameBytes(TensorId id, TensorType type) {
    return mGraph.addConstant(std::move(type), mGraph.tensor(id).constant, mCopies);
}

Status Mapper::emitReshape(TensorId id, std::span<const int32_t> extents, int32_t output) {
    const TensorId shape = int32Constant(extents);
    return emitTo(engine::Reshape{}, {id, shape}, std::span(&output, 1));
}

Result<TensorId> Mapper::reshaped(TensorId id, std::span<const int32_t> extents) {
    const TensorId shape = int32Constant(extents);
    return emitInner(engine::Reshape{}, {id, shape}, typeOf(id));
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
