// SPDX-License-Identifier: Apache-2.0
//
// Models and requests for tests, built in a few lines; and pools that misbehave.

#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/pools.h"
#include "driver/model/request.h"

namespace halyard::driver {

// An operand as a test writes it down.
struct OperandSpec {
    OperandType type = OperandType::TENSOR_FLOAT32;
    std::vector<uint32_t> dimensions;
    float scale = 0.0F;
    int32_t zeroPoint = 0;
};

// A short way to write the tensors that most tests use.
OperandSpec floats(std::vector<uint32_t> dimensions);
OperandSpec ints(std::vector<uint32_t> dimensions);

// The condition of IF and WHILE.
inline const OperandSpec kFlag = {OperandType::TENSOR_BOOL8, {1}};

// Operands are numbered in the order of their making. Consumers are counted by operation().
class ModelBuilder {
  public:
    uint32_t input(const OperandSpec& spec);
    uint32_t output(const OperandSpec& spec);
    uint32_t temporary(const OperandSpec& spec);
    uint32_t omitted(const OperandSpec& spec);
    // CONSTANT_COPY, right behind the last one: offsets are aligned to nothing.
    template <typename T>
    uint32_t constant(const OperandSpec& spec, const std::vector<T>& values) {
        return constantBytes(spec, bytesOf(values));
    }
    uint32_t int32(int32_t value) { return constant<int32_t>({OperandType::INT32, {}}, {value}); }
    uint32_t float32(float value) { return constant<float>({OperandType::FLOAT32, {}}, {value}); }
    uint32_t boolean(bool value) {
        return constant<uint8_t>({OperandType::BOOL, {}}, {value ? uint8_t{1} : uint8_t{0}});
    }
    // CONSTANT_REFERENCE into a pool of its own.
    template <typename T>
    uint32_t pooled(const OperandSpec& spec, const std::vector<T>& values) {
        return pooledBytes(spec, bytesOf(values));
    }
    ModelBuilder& operation(OperationType type, const std::vector<uint32_t>& inputs,
                            const std::vector<uint32_t>& outputs);

    Operand& operand(uint32_t index) { return mModel.main.operands[index]; }
    Model build();

  private:
    template <typename T>
    static std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
        std::vector<uint8_t> bytes(values.size() * sizeof(T));
        if (!bytes.empty()) {
            std::memcpy(bytes.data(), values.data(), bytes.size());
        }
        return bytes;
    }
    uint32_t add(const OperandSpec& spec, OperandLifeTime lifetime);
    uint32_t constantBytes(const OperandSpec& spec, const std::vector<uint8_t>& bytes);
    uint32_t pooledBytes(const OperandSpec& spec, const std::vector<uint8_t>& bytes);

    Model mModel;
    std::vector<uint8_t> mValues;
};

// The parts of its pools that its constants use, as far as they can be mapped, charged to no
// account.
PoolUses poolsOf(const Model& model);

// One pool per argument.
class RequestBuilder {
  public:
    template <typename T>
    RequestBuilder& input(const std::vector<T>& values, std::vector<uint32_t> dimensions = {}) {
        const SharedMemory pool = allocateHeapMemory(values.size() * sizeof(T));
        std::memcpy(pool->map()->data(), values.data(), pool->size());
        return input(pool, std::move(dimensions));
    }
    RequestBuilder& input(const SharedMemory& pool, std::vector<uint32_t> dimensions = {});
    RequestBuilder& output(size_t bytes, std::vector<uint32_t> dimensions = {});
    RequestBuilder& output(const SharedMemory& pool, std::vector<uint32_t> dimensions = {});
    Request& request() { return mRequest; }

    // The first `count` elements of an output.
    template <typename T>
    std::vector<T> result(size_t output, size_t count) const {
        const RequestArgument& argument = mRequest.outputs[output];
        const auto& pool = std::get<SharedMemory>(mRequest.pools[argument.location.poolIndex]);
        std::vector<T> values(count);
        std::memcpy(values.data(), pool->map()->data(), count * sizeof(T));
        return values;
    }

  private:
    RequestArgument argument(const SharedMemory& pool, std::vector<uint32_t> dimensions);

    Request mRequest;
};

// A pool that can be told to misbehave.
class FakeMemory final : public ResidentMemory {
  public:
    explicit FakeMemory(size_t size) : mBytes(size) {}

    std::string_view name() const override { return memoryName; }
    bool valid() const override { return hasHandle; }
    Result<MemoryUse> use(const ByteRange& range, const Account* account) const override {
        used = range;
        if (!mappable && !range.empty()) {
            return internalError("the kernel refuses");
        }
        return ResidentMemory::use(range, account);
    }
    bool writable() const override { return canWrite; }
    bool intact() const override { return !cutShort; }

    std::string memoryName = "ashmem";
    bool hasHandle = true;
    bool mappable = true;
    bool canWrite = true;
    bool cutShort = false;
    mutable std::optional<ByteRange> used;  // what was asked for last

  private:
    std::span<uint8_t> all() const override { return mBytes; }

    mutable std::vector<uint8_t> mBytes;
};

}  // namespace halyard::driver
