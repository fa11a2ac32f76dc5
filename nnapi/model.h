// SPDX-License-Identifier: Apache-2.0
//
// A model as a program builds it, call by call, and what devices are given once it is finished.

#pragma once

#include <android/NeuralNetworks.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/model/model.h"
#include "nnapi/answer.h"
#include "nnapi/extension_prefixes.h"

namespace halyard::nnapi {

// Immutable, thread-safe.
struct FinishedModel {
    // Valid at the runtime's feature level, its operations in an order of execution.
    driver::Model model;
    // The place of each operation of the main subgraph among those that were added.
    std::vector<uint32_t> added;
    // What programs may see of the operands that cross its boundary.
    std::vector<driver::Operand> inputs;
    std::vector<driver::Operand> outputs;
};

// For one thread at a time until it is finished; then any number may read it.
class ModelBuilder {
  public:
    ModelBuilder(ExtensionPrefixes& prefixes, driver::HalVersion level)
        : mPrefixes(prefixes), mLevel(level) {}

    // Each answers BAD_STATE once finish() was called.
    Answer addOperand(const ANeuralNetworksOperandType& type);
    // `buffer` of more than 128 bytes is read by finish(). Null and 0: the operand is left out.
    Answer setValue(int32_t index, const void* buffer, size_t length);
    Answer setValueFromMemory(int32_t index, const ANeuralNetworksMemory& memory, size_t offset,
                              size_t length);
    Answer setValueFromModel(int32_t index, const ModelBuilder& value);
    Answer setChannelQuantization(int32_t index,
                                  const ANeuralNetworksSymmPerChannelQuantParams& parameters);
    Answer setExtensionData(int32_t index, const void* data, size_t length);
    Answer addOperation(int32_t type, std::span<const uint32_t> inputs,
                        std::span<const uint32_t> outputs);
    Answer identifyInputsAndOutputs(std::span<const uint32_t> inputs,
                                    std::span<const uint32_t> outputs);
    Answer relaxFloats(bool allow);
    Answer extensionCode(std::string_view extension, uint16_t code, int32_t& type);
    // BAD_DATA names the operation or the operand, and the rule; the model is of no use then.
    Answer finish();

    // Null until finish() has succeeded.
    const std::shared_ptr<const FinishedModel>& finished() const { return mFinished; }
    // BAD_STATE unless it is finished.
    Answer checkFinished() const;

  private:
    struct Temporary {};
    struct Omitted {};
    struct Copied {  // in mCopied
        size_t offset = 0;
        size_t length = 0;
    };
    struct Pointed {
        const void* bytes = nullptr;
        size_t length = 0;
    };
    struct InMemory {
        driver::SharedMemory memory;
        size_t offset = 0;
        size_t length = 0;
    };
    using SubModel = std::shared_ptr<const FinishedModel>;
    using Value = std::variant<Temporary, Omitted, Copied, Pointed, InMemory, SubModel>;

    Answer checkOpen() const;
    Answer checkIndex(int64_t index) const;
    Answer checkIndexes(std::span<const uint32_t> indexes, std::string_view role) const;
    // Of a value that is to be set.
    Answer checkConstant(int32_t index, size_t length) const;
    Answer freeze(FinishedModel& finished) const;

    ExtensionPrefixes& mPrefixes;
    const driver::HalVersion mLevel;
    bool mIsClosed = false;
    std::vector<driver::Operand> mOperands;
    std::vector<Value> mValues;  // one for each operand
    std::vector<driver::Operation> mOperations;
    std::vector<uint32_t> mInputs;
    std::vector<uint32_t> mOutputs;
    std::vector<uint8_t> mCopied;
    bool mRelaxed = false;
    std::shared_ptr<const FinishedModel> mFinished;
};

// An order in which each operation comes after those whose results it reads, that of `operations`
// where there are several. BAD_DATA: there is none, or two write one operand.
Answer executionOrder(std::span<const driver::Operation> operations, size_t operands,
                      std::vector<uint32_t>& order);

}  // namespace halyard::nnapi

struct ANeuralNetworksModel final : halyard::nnapi::ModelBuilder {
    using ModelBuilder::ModelBuilder;
};
