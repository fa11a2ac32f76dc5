// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/model.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace halyard::attacker {

namespace {

using hal::hidl::HidlMemory;
using hal::hidl::HidlVec;
using hal::hidl::nn::v1_0::DataLocation;
using hal::hidl::nn::v1_0::RequestArgument;

constexpr uint32_t kFloat = sizeof(float);

template <typename T>
HidlVec<T> vecOf(const std::vector<T>& elements) {
    HidlVec<T> vec;
    vec.address = elements.empty() ? 0 : reinterpret_cast<uintptr_t>(elements.data());
    vec.count = static_cast<uint32_t>(elements.size());
    return vec;
}

uint32_t elementSize(OperandType type) {
    return type == OperandType::TENSOR_BOOL8 || type == OperandType::TENSOR_QUANT8_ASYMM ? 1
                                                                                         : kFloat;
}

uint32_t bytesOf(const std::vector<uint32_t>& dimensions, OperandType type) {
    return std::accumulate(dimensions.begin(), dimensions.end(), elementSize(type),
                           std::multiplies<>());
}

}  // namespace

Result<Pool> Pool::make(uint64_t bytes, unsigned flags) {
    const int fd = memfd_create("pool", MFD_CLOEXEC | flags);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
        return internalError(std::string("memfd: ") + strerror(errno));
    }
    Pool pool;
    pool.fd = fd;
    pool.size = bytes;
    return pool;
}

void ModelBuilder::select(size_t graph) {
    mSelected = graph;
    if (mGraphs.size() <= graph) {
        mGraphs.resize(graph + 1);
    }
}

template <typename T>
HidlVec<T> ModelBuilder::keep(std::vector<T> elements) {
    auto kept = std::make_shared<std::vector<T>>(std::move(elements));
    mKept.push_back(kept);
    return vecOf(*kept);
}

uint32_t ModelBuilder::add(std::vector<uint32_t> dimensions, OperandType type,
                           OperandLifeTime lifetime, DataLocation location) {
    wire::Operand operand;
    operand.type = type;
    operand.dimensions = keep(std::move(dimensions));
    operand.lifetime = lifetime;
    operand.location = location;
    graph().operands.push_back(operand);
    return static_cast<uint32_t>(graph().operands.size() - 1);
}

uint32_t ModelBuilder::tensor(std::vector<uint32_t> dimensions, OperandType type) {
    return add(std::move(dimensions), type, OperandLifeTime::TEMPORARY_VARIABLE, {});
}

uint32_t ModelBuilder::input(std::vector<uint32_t> dimensions, OperandType type) {
    graph().inputs.push_back(add(std::move(dimensions), type, OperandLifeTime::SUBGRAPH_INPUT, {}));
    return graph().inputs.back();
}

uint32_t ModelBuilder::output(std::vector<uint32_t> dimensions, OperandType type) {
    graph().outputs.push_back(
            add(std::move(dimensions), type, OperandLifeTime::SUBGRAPH_OUTPUT, {}));
    return graph().outputs.back();
}

uint32_t ModelBuilder::copied(std::vector<uint32_t> dimensions, OperandType type) {
    const uint32_t length = bytesOf(dimensions, type);
    const auto offset = static_cast<uint32_t>(mValues.size());
    mValues.resize((mValues.size() + length + 3) / 4 * 4);
    return add(std::move(dimensions), type, OperandLifeTime::CONSTANT_COPY,
               {.poolIndex = 0, .offset = offset, .length = length});
}

uint32_t ModelBuilder::inPool(std::vector<uint32_t> dimensions, uint32_t pool, uint32_t offset) {
    const uint32_t length = bytesOf(dimensions, OperandType::TENSOR_FLOAT32);
    return add(std::move(dimensions), OperandType::TENSOR_FLOAT32,
               OperandLifeTime::CONSTANT_REFERENCE,
               {.poolIndex = pool, .offset = offset, .length = length});
}

uint32_t ModelBuilder::scalar(int32_t value) {
    const auto offset = static_cast<uint32_t>(mValues.size());
    mValues.resize(mValues.size() + sizeof(value));
    std::memcpy(mValues.data() + offset, &value, sizeof(value));
    return add({}, OperandType::INT32, OperandLifeTime::CONSTANT_COPY,
               {.poolIndex = 0, .offset = offset, .length = sizeof(value)});
}

uint32_t ModelBuilder::subgraph(uint32_t graph) {
    return add({}, OperandType::SUBGRAPH, OperandLifeTime::SUBGRAPH,
               {.poolIndex = 0, .offset = graph - 1, .length = 0});
}

void ModelBuilder::operation(OperationType type, const std::vector<uint32_t>& inputs,
                             const std::vector<uint32_t>& outputs) {
    wire::Operation operation;
    operation.type = type;
    operation.inputs = keep(inputs);
    operation.outputs = keep(outputs);
    for (const uint32_t input : inputs) {
        ++graph().operands[input].numberOfConsumers;
    }
    graph().operations.push_back(operation);
}

const wire::Model& ModelBuilder::finish() {
    const auto form = [](const Graph& graph) {
        wire::Subgraph made;
        made.operands = vecOf(graph.operands);
        made.operations = vecOf(graph.operations);
        made.inputIndexes = vecOf(graph.inputs);
        made.outputIndexes = vecOf(graph.outputs);
        return made;
    };
    mReferenced.clear();
    mMemories.clear();
    for (size_t i = 1; i < mGraphs.size(); ++i) {
        mReferenced.push_back(form(mGraphs[i]));
    }
    for (const Pool& pool : mPools) {
        mMemories.push_back(memoryOf(pool, mKept));
    }
    mModel.main = form(mGraphs[0]);
    mModel.referenced = vecOf(mReferenced);
    mModel.operandValues = vecOf(mValues);
    mModel.pools = vecOf(mMemories);
    return mModel;
}

HidlMemory memoryOf(const Pool& pool, std::deque<std::shared_ptr<void>>& kept) {
    // version, descriptors, numbers, and the data: a descriptor, protection and offset.
    auto handle = std::make_shared<std::array<int32_t, 7>>(std::array<int32_t, 7>{
            12, 1, pool.name == "mmap_fd" ? 3 : 0, pool.fd, PROT_READ | PROT_WRITE});
    auto name = std::make_shared<std::string>(pool.name);
    HidlMemory memory;
    memory.handle.address = reinterpret_cast<uintptr_t>(handle->data());
    memory.size = pool.size;
    memory.name.address = reinterpret_cast<uintptr_t>(name->c_str());
    memory.name.length = static_cast<uint32_t>(name->size());
    kept.push_back(handle);
    kept.push_back(name);
    return memory;
}

RequestBuilder::RequestBuilder(const Pool& pool, uint32_t inputBytes, uint32_t outputBytes,
                               const std::vector<Pool>& unused) {
    RequestArgument input;
    input.location.length = inputBytes;
    RequestArgument output;
    output.location.offset = (inputBytes + 63) / 64 * 64;
    output.location.length = outputBytes;
    mInputs.push_back(input);
    mOutputs.push_back(output);
    std::vector<Pool> pools = {pool};
    pools.insert(pools.end(), unused.begin(), unused.end());
    for (const Pool& one : pools) {
        wire::Request::MemoryPool wirePool;
        wirePool.hidlMemory = memoryOf(one, mKept);
        mPools.push_back(wirePool);
    }
    mRequest.inputs = vecOf(mInputs);
    mRequest.outputs = vecOf(mOutputs);
    mRequest.pools = vecOf(mPools);
}

void addModel(ModelBuilder& model, uint32_t elements) {
    const uint32_t input = model.input({1, elements});
    const uint32_t constant = model.copied({1, elements});
    const uint32_t output = model.output({1, elements});
    model.operation(OperationType::ADD, {input, constant, model.scalar(0)}, {output});
}

void endlessModel(ModelBuilder& model) {
    model.select(1);
    const uint32_t tested = model.input({1});
    model.operation(OperationType::EQUAL, {tested, tested},
                    {model.output({1}, OperandType::TENSOR_BOOL8)});
    model.select(2);
    const uint32_t stepped = model.input({1});
    const uint32_t step = model.copied({1});
    const uint32_t none = model.scalar(0);
    model.operation(OperationType::ADD, {stepped, step, none}, {model.output({1})});
    model.select(0);
    const uint32_t condition = model.subgraph(1);
    const uint32_t body = model.subgraph(2);
    const uint32_t start = model.input({1});
    model.operation(OperationType::WHILE, {condition, body, start}, {model.output({1})});
}

void convolutionModel(ModelBuilder& model, uint32_t side, uint32_t depth, uint32_t layers) {
    const std::vector<uint32_t> shape = {1, side, side, depth};
    uint32_t from = model.input(shape);
    const uint32_t weights = model.inPool({depth, 3, 3, depth}, 0, 0);
    const uint32_t bias = model.inPool({depth}, 0, depth * depth * 9 * kFloat);
    for (uint32_t layer = 0; layer < layers; ++layer) {
        const uint32_t to = layer + 1 == layers ? model.output(shape) : model.tensor(shape);
        const uint32_t same = model.scalar(1);
        const uint32_t width = model.scalar(1);
        const uint32_t height = model.scalar(1);
        const uint32_t none = model.scalar(0);
        model.operation(OperationType::CONV_2D, {from, weights, bias, same, width, height, none},
                        {to});
        from = to;
    }
}

void branchingModel(ModelBuilder& model, uint32_t ifs, uint32_t operations) {
    constexpr uint32_t kElements = 2;
    model.select(1);
    chainModel(model, operations, kElements);
    model.select(0);
    const uint32_t branch = model.subgraph(1);
    const uint32_t condition = model.input({1}, OperandType::TENSOR_BOOL8);
    const uint32_t input = model.input({1, kElements});
    for (uint32_t i = 0; i < ifs; ++i) {
        model.operation(OperationType::IF, {condition, branch, branch, input},
                        {model.output({1, kElements})});
    }
}

void chainModel(ModelBuilder& model, uint32_t operations, uint32_t elements) {
    uint32_t from = model.input({1, elements});
    const uint32_t constant = model.copied({1, elements});
    const uint32_t none = model.scalar(0);
    for (uint32_t i = 0; i < operations; ++i) {
        const uint32_t to =
                i + 1 == operations ? model.output({1, elements}) : model.tensor({1, elements});
        model.operation(OperationType::ADD, {from, constant, none}, {to});
        from = to;
    }
}

}  // namespace halyard::attacker
