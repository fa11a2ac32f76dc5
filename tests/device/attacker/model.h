// SPDX-License-Identifier: Apache-2.0
//
// Models and requests of HAL 1.3 as they go over the wire, with the memory that they point to.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "hal/hidl/types.h"

namespace halyard::attacker {

namespace wire = hal::hidl::nn::v1_3;
using driver::OperandLifeTime;
using driver::OperandType;
using driver::OperationType;

// A pool that a parcel can carry: a descriptor under a name of hidl_memory.
struct Pool {
    int fd = -1;
    uint64_t size = 0;  // as the parcel says, whatever the file has
    // Of the kind of memory: ashmem, mmap_fd or an unknown one.
    std::string name = "ashmem";

    // A memfd of `bytes`, sparse.
    static Result<Pool> make(uint64_t bytes, unsigned flags = 0);
};

// One subgraph being put together.
struct Graph {
    std::vector<wire::Operand> operands;
    std::vector<wire::Operation> operations;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
};

// Owns all that its wire form points to. Not copied, so that the form stays good.
class ModelBuilder {
  public:
    ModelBuilder() : mGraphs(1) {}
    ModelBuilder(const ModelBuilder&) = delete;
    ModelBuilder& operator=(const ModelBuilder&) = delete;

    // Which subgraph the calls below add to: 0 is the main one.
    void select(size_t graph);

    uint32_t tensor(std::vector<uint32_t> dimensions,
                    OperandType type = OperandType::TENSOR_FLOAT32);
    uint32_t input(std::vector<uint32_t> dimensions,
                   OperandType type = OperandType::TENSOR_FLOAT32);
    uint32_t output(std::vector<uint32_t> dimensions,
                    OperandType type = OperandType::TENSOR_FLOAT32);
    // Zeros that are copied with the model.
    uint32_t copied(std::vector<uint32_t> dimensions,
                    OperandType type = OperandType::TENSOR_FLOAT32);
    // A part of a pool.
    uint32_t inPool(std::vector<uint32_t> dimensions, uint32_t pool, uint32_t offset);
    uint32_t scalar(int32_t value);
    // A reference to subgraph 1 or later.
    uint32_t subgraph(uint32_t graph);
    void operation(OperationType type, const std::vector<uint32_t>& inputs,
                   const std::vector<uint32_t>& outputs);
    void pool(const Pool& pool) { mPools.push_back(pool); }

    // Valid until the next call.
    const wire::Model& finish();

  private:
    uint32_t add(std::vector<uint32_t> dimensions, OperandType type, OperandLifeTime lifetime,
                 hal::hidl::nn::v1_0::DataLocation location);
    Graph& graph() { return mGraphs[mSelected]; }
    template <typename T>
    hal::hidl::HidlVec<T> keep(std::vector<T> elements);

    std::vector<Graph> mGraphs;
    size_t mSelected = 0;
    std::vector<uint8_t> mValues;
    std::vector<Pool> mPools;
    std::deque<std::shared_ptr<void>> mKept;
    std::vector<hal::hidl::HidlMemory> mMemories;
    std::vector<wire::Subgraph> mReferenced;
    wire::Model mModel;
};

// hidl_memory of a pool; `kept` holds what it points to.
hal::hidl::HidlMemory memoryOf(const Pool& pool, std::deque<std::shared_ptr<void>>& kept);

// A request with one input and one output of `elements` floats each in one pool, and any number of
// further pools that it does not use.
class RequestBuilder {
  public:
    RequestBuilder(const Pool& pool, uint32_t inputBytes, uint32_t outputBytes,
                   const std::vector<Pool>& unused = {});
    RequestBuilder(const RequestBuilder&) = delete;
    RequestBuilder& operator=(const RequestBuilder&) = delete;
    const wire::Request& request() const { return mRequest; }

  private:
    std::deque<std::shared_ptr<void>> mKept;
    std::vector<hal::hidl::nn::v1_0::RequestArgument> mInputs;
    std::vector<hal::hidl::nn::v1_0::RequestArgument> mOutputs;
    std::vector<wire::Request::MemoryPool> mPools;
    wire::Request mRequest;
};

// ---- models that the attacks and the honest client use ------------------------------------------

// output = input + constant, of `elements` floats. The constant is copied with the model.
void addModel(ModelBuilder& model, uint32_t elements);
// A WHILE whose condition is always true: as long as the loop timeout allows.
void endlessModel(ModelBuilder& model);
// 1x`side`x`side`x`depth` floats through `layers` convolutions of 3x3, with weights in pool 0,
// which the caller adds (depth * depth * 9 floats, and depth floats of bias).
void convolutionModel(ModelBuilder& model, uint32_t side, uint32_t depth, uint32_t layers);
// `ifs` IFs, both branches of each being the same chain of `operations` additions: little to send,
// and much to prepare.
void branchingModel(ModelBuilder& model, uint32_t ifs, uint32_t operations);
// `operations` additions, one after the other, of `elements` floats; the constant is shared.
void chainModel(ModelBuilder& model, uint32_t operations, uint32_t elements);

}  // namespace halyard::attacker
