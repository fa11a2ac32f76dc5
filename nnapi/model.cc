// SPDX-License-Identifier: Apache-2.0

#include "nnapi/model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "driver/ops/lowest_version.h"
#include "nnapi/default_arguments.h"
#include "nnapi/memory.h"
#include "nnapi/operand_size.h"

namespace halyard::nnapi {
namespace {

using driver::OperandLifeTime;
using driver::OperandType;

// So that constants lie as kernels like to read them.
constexpr size_t kAlignment = 64;

template <typename... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};

std::string nameOf(int64_t operand) {
    return "operand " + std::to_string(operand);
}

// The values of constants, and what shares of them: of a model and of those inside it.
class Parts {
  public:
    driver::DataLocation append(const void* bytes, size_t length) {
        const size_t begin = align();
        const auto* const from = static_cast<const uint8_t*>(bytes);
        mValues.insert(mValues.end(), from, from + length);
        return {.poolIndex = 0, .offset = begin, .length = length};
    }
    uint32_t pool(const driver::SharedMemory& memory) {
        const auto found = std::ranges::find(mPools, memory);
        if (found == mPools.end()) {
            mPools.push_back(memory);
            return static_cast<uint32_t>(mPools.size() - 1);
        }
        return static_cast<uint32_t>(found - mPools.begin());
    }
    // The index of the model's main subgraph; those that it refers to are there, too.
    uint32_t subgraph(const std::shared_ptr<const FinishedModel>& finished) {
        const auto found = std::ranges::find(mKnown, finished.get(), &Known::model);
        if (found != mKnown.end()) {
            return found->index;
        }
        const driver::Model& model = finished->model;
        const size_t values = align();
        mValues.insert(mValues.end(), model.operandValues->begin(), model.operandValues->end());
        std::vector<uint32_t> pools;
        for (const driver::SharedMemory& memory : model.pools) {
            pools.push_back(pool(memory));
        }
        const auto first = static_cast<uint32_t>(mSubgraphs.size());
        for (const driver::Subgraph& inside : model.referenced) {
            mSubgraphs.push_back(moved(inside, values, pools, first));
        }
        mSubgraphs.push_back(moved(model.main, values, pools, first));
        for (const driver::ExtensionNameAndPrefix& extension : model.extensionNameToPrefix) {
            mExtensions.insert(extension.prefix);
        }
        const auto index = static_cast<uint32_t>(mSubgraphs.size() - 1);
        mKnown.push_back({finished.get(), index});
        return index;
    }
    void use(uint32_t code) {
        if (code >> 16 != 0) {
            mExtensions.insert(static_cast<uint16_t>(code >> 16));
        }
    }
    void finish(const ExtensionPrefixes& prefixes, driver::Model& model) && {
        model.operandValues = std::make_shared<const std::vector<uint8_t>>(std::move(mValues));
        model.pools = std::move(mPools);
        model.referenced = std::move(mSubgraphs);
        for (const uint16_t prefix : mExtensions) {
            model.extensionNameToPrefix.push_back(
                    {.name = prefixes.nameOf(prefix).value_or(""), .prefix = prefix});
        }
    }

  private:
    struct Known {
        const FinishedModel* model;
        uint32_t index;
    };

    size_t align() {
        mValues.resize((mValues.size() + kAlignment - 1) / kAlignment * kAlignment);
        return mValues.size();
    }
    static driver::Subgraph moved(driver::Subgraph subgraph, size_t values,
                                  std::span<const uint32_t> pools, uint32_t first) {
        for (driver::Operand& operand : subgraph.operands) {
            switch (operand.lifetime) {
                case OperandLifeTime::CONSTANT_COPY:
                    operand.location.offset += values;
                    break;
                case OperandLifeTime::CONSTANT_REFERENCE:
                    operand.location.poolIndex = pools[operand.location.poolIndex];
                    break;
                case OperandLifeTime::SUBGRAPH:
                    operand.location.offset += first;
                    break;
                default:
                    break;
            }
        }
        return subgraph;
    }

    std::vector<uint8_t> mValues;
    std::vector<driver::SharedMemory> mPools;
    std::vector<driver::Subgraph> mSubgraphs;
    std::vector<Known> mKnown;
    std::set<uint16_t> mExtensions;
};

void countConsumers(driver::Subgraph& subgraph) {
    for (const driver::Operation& operation : subgraph.operations) {
        for (const uint32_t input : operation.inputs) {
            ++subgraph.operands[input].numberOfConsumers;
        }
    }
}

std::vector<driver::Operand> operandsOf(const driver::Subgraph& subgraph,
                                        std::span<const uint32_t> indexes) {
    std::vector<driver::Operand> operands;
    for (const uint32_t index : indexes) {
        operands.push_back(subgraph.operands[index]);
    }
    return operands;
}

}  // namespace

Answer ModelBuilder::checkOpen() const {
    return mIsClosed ? badState("the model is finished") : Answer();
}

Answer ModelBuilder::checkFinished() const {
    return mFinished != nullptr
                   ? Answer()
                   : badState(mIsClosed ? "the model is invalid" : "the model is not finished");
}

Answer ModelBuilder::checkIndex(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(mOperands.size())
                   ? Answer()
                   : badData("there is no operand " + std::to_string(index) + " among " +
                             std::to_string(mOperands.size()));
}

Answer ModelBuilder::checkIndexes(std::span<const uint32_t> indexes, std::string_view role) const {
    for (const uint32_t index : indexes) {
        HALYARD_RETURN_UNLESS_OK(checkIndex(index).withContext(role));
    }
    return {};
}

Answer ModelBuilder::addOperand(const ANeuralNetworksOperandType& type) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (mOperands.size() >= std::numeric_limits<int32_t>::max()) {
        return badData("there are too many operands");
    }
    driver::Operand operand;
    HALYARD_RETURN_UNLESS_OK(readOperandType(type, mPrefixes, mLevel, operand)
                                     .withContext(nameOf(static_cast<int64_t>(mOperands.size()))));
    mOperands.push_back(std::move(operand));
    mValues.emplace_back(Temporary());
    return {};
}

Answer ModelBuilder::checkConstant(int32_t index, size_t length) const {
    const driver::Operand& operand = mOperands[static_cast<size_t>(index)];
    if (operand.type == OperandType::SUBGRAPH) {
        return badData(nameOf(index) + " is a model, and takes one as its value");
    }
    const std::optional<uint64_t> size = byteSizeOf(operand, operand.dimensions, mPrefixes);
    if (!size.has_value()) {
        return badData(nameOf(index) + ": a constant has no unspecified dimension");
    }
    // Nobody knows the size of OEM's types.
    if (length != *size && operand.type != OperandType::OEM &&
        operand.type != OperandType::TENSOR_OEM_BYTE) {
        return badData(nameOf(index) + " takes " + std::to_string(*size) + " bytes, not " +
                       std::to_string(length));
    }
    if (length > std::numeric_limits<uint32_t>::max()) {
        return badData(nameOf(index) + ": a value of more bytes than 32 bits count");
    }
    return {};
}

Answer ModelBuilder::setValue(int32_t index, const void* buffer, size_t length) {
    if (buffer == nullptr && length > 0) {
        return unexpectedNull("buffer");
    }
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    HALYARD_RETURN_UNLESS_OK(checkIndex(index));
    Value& value = mValues[static_cast<size_t>(index)];
    if (buffer == nullptr) {
        value = Omitted();
        return {};
    }
    if (length == 0) {
        return badData(nameOf(index) + ": there is a value of no bytes");
    }
    HALYARD_RETURN_UNLESS_OK(checkConstant(index, length));
    if (length > ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES) {
        value = Pointed{.bytes = buffer, .length = length};
        return {};
    }
    value = Copied{.offset = mCopied.size(), .length = length};
    const auto* const bytes = static_cast<const uint8_t*>(buffer);
    mCopied.insert(mCopied.end(), bytes, bytes + length);
    return {};
}

Answer ModelBuilder::setValueFromMemory(int32_t index, const ANeuralNetworksMemory& memory,
                                        size_t offset, size_t length) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    HALYARD_RETURN_UNLESS_OK(checkIndex(index));
    HALYARD_RETURN_UNLESS_OK(checkConstant(index, length));
    if (memory.shared() == nullptr) {
        return badData(nameOf(index) + ": a device's memory holds no constants");
    }
    HALYARD_RETURN_UNLESS_OK(memory.checkRange(offset, length).withContext(nameOf(index)));
    mValues[static_cast<size_t>(index)] =
            InMemory{.memory = memory.shared(), .offset = offset, .length = length};
    return {};
}

Answer ModelBuilder::setValueFromModel(int32_t index, const ModelBuilder& value) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    HALYARD_RETURN_UNLESS_OK(value.checkFinished().withContext("the value"));
    HALYARD_RETURN_UNLESS_OK(checkIndex(index));
    if (mOperands[static_cast<size_t>(index)].type != OperandType::SUBGRAPH) {
        return badData(nameOf(index) + " takes no model as its value");
    }
    mValues[static_cast<size_t>(index)] = value.mFinished;
    return {};
}

Answer ModelBuilder::setChannelQuantization(
        int32_t index, const ANeuralNetworksSymmPerChannelQuantParams& parameters) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    HALYARD_RETURN_UNLESS_OK(checkIndex(index));
    driver::Operand& operand = mOperands[static_cast<size_t>(index)];
    if (operand.type != OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        return badData(nameOf(index) + " has no scales for channels");
    }
    if (parameters.scales == nullptr && parameters.scaleCount > 0) {
        return badData(nameOf(index) + ": the scales are null");
    }
    if (parameters.channelDim >= operand.dimensions.size()) {
        return badData(nameOf(index) + ": there is no dimension " +
                       std::to_string(parameters.channelDim) + " of channels");
    }
    const uint32_t channels = operand.dimensions[parameters.channelDim];
    if (channels == 0 || channels != parameters.scaleCount) {
        return badData(nameOf(index) + ": " + std::to_string(parameters.scaleCount) +
                       " scales for " + std::to_string(channels) + " channels");
    }
    std::vector<float> scales(parameters.scales, parameters.scales + parameters.scaleCount);
    if (!std::ranges::all_of(scales, [](float scale) {
            return scale > 0.0F && scale <= std::numeric_limits<float>::max();
        })) {
        return badData(nameOf(index) + ": a scale is not positive");
    }
    operand.extraParams = driver::SymmPerChannelQuantParams{.scales = std::move(scales),
                                                            .channelDim = parameters.channelDim};
    return {};
}

Answer ModelBuilder::setExtensionData(int32_t index, const void* data, size_t length) {
    if (data == nullptr && length > 0) {
        return unexpectedNull("data");
    }
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    HALYARD_RETURN_UNLESS_OK(checkIndex(index));
    driver::Operand& operand = mOperands[static_cast<size_t>(index)];
    if (!driver::extensionPrefix(operand.type).has_value()) {
        return badData(nameOf(index) + " is of no extension's type");
    }
    if (length > std::numeric_limits<uint32_t>::max()) {
        return badData(nameOf(index) + ": data of more bytes than 32 bits count");
    }
    if (data == nullptr) {
        operand.extraParams = std::monostate();
        return {};
    }
    const auto* const bytes = static_cast<const uint8_t*>(data);
    operand.extraParams = std::vector<uint8_t>(bytes, bytes + length);
    return {};
}

Answer ModelBuilder::addOperation(int32_t type, std::span<const uint32_t> inputs,
                                  std::span<const uint32_t> outputs) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    const auto code = static_cast<driver::OperationType>(type);
    if (const std::optional<uint16_t> prefix = driver::extensionPrefix(code);
        type < 0 || (prefix.has_value() && !mPrefixes.nameOf(*prefix).has_value())) {
        return badData("no extension has operation " + std::to_string(type));
    } else if (!prefix.has_value() &&
               (!driver::introducedIn(code).has_value() || !driver::knows(mLevel, code))) {
        return badData("there is no operation " + std::to_string(type));
    }
    const std::string name = driver::describe(code);
    HALYARD_RETURN_UNLESS_OK(checkIndexes(inputs, name + ", input"));
    HALYARD_RETURN_UNLESS_OK(checkIndexes(outputs, name + ", output"));
    mOperations.push_back({.type = code,
                           .inputs = {inputs.begin(), inputs.end()},
                           .outputs = {outputs.begin(), outputs.end()}});
    return {};
}

Answer ModelBuilder::identifyInputsAndOutputs(std::span<const uint32_t> inputs,
                                              std::span<const uint32_t> outputs) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    std::set<uint32_t> known;
    for (const auto& [indexes, role] : {std::pair(inputs, "input"), std::pair(outputs, "output")}) {
        HALYARD_RETURN_UNLESS_OK(checkIndexes(indexes, role));
        for (const uint32_t index : indexes) {
            if (!std::holds_alternative<Temporary>(mValues[index])) {
                return badData(nameOf(index) + " has a value, and is an " + role);
            }
            if (!known.insert(index).second) {
                return badData(nameOf(index) + " is an input or output twice");
            }
        }
    }
    mInputs.assign(inputs.begin(), inputs.end());
    mOutputs.assign(outputs.begin(), outputs.end());
    return {};
}

Answer ModelBuilder::relaxFloats(bool allow) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    mRelaxed = allow;
    return {};
}

Answer ModelBuilder::extensionCode(std::string_view extension, uint16_t code, int32_t& type) {
    const std::optional<uint16_t> prefix = mPrefixes.prefixOf(extension);
    if (!prefix.has_value()) {
        return badData("no device has the extension " + std::string(extension));
    }
    type = static_cast<int32_t>(uint32_t{*prefix} << 16 | code);
    return {};
}

Answer ModelBuilder::freeze(FinishedModel& finished) const {
    driver::Model& model = finished.model;
    driver::Subgraph& main = model.main;
    HALYARD_RETURN_UNLESS_OK(executionOrder(mOperations, mOperands.size(), finished.added));
    Parts parts;
    main.operands = mOperands;
    for (const uint32_t input : mInputs) {
        main.operands[input].lifetime = OperandLifeTime::SUBGRAPH_INPUT;
    }
    for (const uint32_t output : mOutputs) {
        main.operands[output].lifetime = OperandLifeTime::SUBGRAPH_OUTPUT;
    }
    for (size_t i = 0; i < mOperands.size(); ++i) {
        driver::Operand& operand = main.operands[i];
        parts.use(static_cast<uint32_t>(operand.type));
        const auto copied = [&](const void* bytes, size_t length) {
            operand.lifetime = OperandLifeTime::CONSTANT_COPY;
            operand.location = parts.append(bytes, length);
        };
        std::visit(Overloaded{[](Temporary) {},
                              [&](Omitted) { operand.lifetime = OperandLifeTime::NO_VALUE; },
                              [&](const Copied& value) {
                                  copied(mCopied.data() + value.offset, value.length);
                              },
                              [&](const Pointed& value) { copied(value.bytes, value.length); },
                              [&](const InMemory& value) {
                                  operand.lifetime = OperandLifeTime::CONSTANT_REFERENCE;
                                  operand.location = {.poolIndex = parts.pool(value.memory),
                                                      .offset = value.offset,
                                                      .length = value.length};
                              },
                              [&](const SubModel& value) {
                                  operand.lifetime = OperandLifeTime::SUBGRAPH;
                                  operand.location = {.poolIndex = 0,
                                                      .offset = parts.subgraph(value)};
                              }},
                   mValues[i]);
    }
    for (const uint32_t added : finished.added) {
        parts.use(static_cast<uint32_t>(mOperations[added].type));
        main.operations.push_back(mOperations[added]);
    }
    main.inputIndexes = mInputs;
    main.outputIndexes = mOutputs;
    countConsumers(main);
    model.relaxComputationFloat32toFloat16 = mRelaxed;
    std::move(parts).finish(mPrefixes, model);
    HALYARD_RETURN_UNLESS_OK(answerOf(validateForVersion(model, mLevel)));
    dropDefaultArguments(model);
    finished.inputs = operandsOf(main, mInputs);
    finished.outputs = operandsOf(main, mOutputs);
    return {};
}

Answer ModelBuilder::finish() {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    mIsClosed = true;
    if (mOperations.empty()) {
        return badData("the model has no operation");
    }
    auto finished = std::make_shared<FinishedModel>();
    HALYARD_RETURN_UNLESS_OK(freeze(*finished));
    mFinished = std::move(finished);
    mCopied = {};
    return {};
}

}  // namespace halyard::nnapi
