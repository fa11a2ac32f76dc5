// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/managed_buffer.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <variant>

#include "driver/model/versions.h"
#include "engine/plan/backend.h"

namespace halyard::driver {
namespace {

// Bytes that a buffer takes beside its elements.
constexpr size_t kOverhead = 1024;

bool alike(const ExtraParams& first, const ExtraParams& other) {
    const auto* const channels = std::get_if<SymmPerChannelQuantParams>(&first);
    const auto* const others = std::get_if<SymmPerChannelQuantParams>(&other);
    return channels == nullptr || others == nullptr
                   ? first.index() == other.index()
                   : channels->scales == others->scales &&
                             channels->channelDim == others->channelDim;
}

// Two operands that one buffer may stand for.
Status checkAlike(const Operand& first, const Operand& other) {
    if (first.type != other.type) {
        return invalidArgument("it is " + describe(other.type) + ", and another role's is " +
                               describe(first.type));
    }
    if (first.scale != other.scale || first.zeroPoint != other.zeroPoint) {
        return invalidArgument("it is quantized otherwise than another role's");
    }
    if (!alike(first.extraParams, other.extraParams)) {
        return invalidArgument("its extra parameters differ from another role's");
    }
    return {};
}

// Adds what one more side says of the dimensions.
Status combine(std::vector<uint32_t>& dimensions, std::span<const uint32_t> given) {
    if (given.empty()) {
        return {};
    }
    if (dimensions.empty()) {
        dimensions.assign(given.begin(), given.end());
        return {};
    }
    if (dimensions.size() != given.size()) {
        return invalidArgument("rank " + std::to_string(given.size()) + " where another is " +
                               std::to_string(dimensions.size()));
    }
    for (size_t axis = 0; axis < given.size(); ++axis) {
        if (dimensions[axis] != 0 && given[axis] != 0 && dimensions[axis] != given[axis]) {
            return invalidArgument("dimension " + std::to_string(axis) + " is " +
                                   std::to_string(given[axis]) + " where another is " +
                                   std::to_string(dimensions[axis]));
        }
        dimensions[axis] = std::max(dimensions[axis], given[axis]);
    }
    return {};
}

bool isTensor(const Operand& operand) {
    const OperandTypeInfo* const info = findOperandType(operand.type);
    return info != nullptr && info->isTensor();
}

Result<engine::Shape> knownShape(std::span<const uint32_t> dimensions) {
    if (dimensions.empty() || std::ranges::find(dimensions, 0U) != dimensions.end()) {
        return unsupported("a buffer whose dimensions are not all known");
    }
    if (dimensions.size() > engine::kMaxRank ||
        std::ranges::any_of(dimensions, [](uint32_t extent) { return extent > INT32_MAX; })) {
        return unsupported("a buffer of these dimensions");
    }
    std::vector<int32_t> extents(dimensions.begin(), dimensions.end());
    return engine::Shape(extents);
}

}  // namespace

ManagedBuffer::~ManagedBuffer() {
    if (mTable != nullptr) {
        mTable->forget(mToken);
    }
}

std::span<uint8_t> ManagedBuffer::bytes() const {
    // Being const says nothing about the elements, which executions write to.
    auto* const data = reinterpret_cast<uint8_t*>(const_cast<std::byte*>(mElements.data()));
    return {data, mSize};
}

Status ManagedBuffer::copyTo(const Memory& destination) const {
    if (destination.size() != mSize) {
        return invalidArgument("the memory has " + std::to_string(destination.size()) +
                               " bytes, and the buffer " + std::to_string(mSize));
    }
    if (!mInitialized) {
        return internalError("there is nothing in the buffer yet");
    }
    HALYARD_ASSIGN_OR_RETURN(const CallGate::Permit permit, mClient->shares().calls->enter());
    HALYARD_ASSIGN_OR_RETURN(
            const MemoryUse use,
            destination.use({.begin = 0, .end = mSize, .touched = mSize}, &mClient->account()));
    if (!use.writable()) {
        return invalidArgument("the memory is read-only");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> to, use.bytes(0, mSize));
    std::ranges::copy(bytes(), to.begin());
    return checkIntact(use, "destination", 0);
}

Status ManagedBuffer::copyFrom(const Memory& source, std::span<const uint32_t> dimensions) {
    // Whatever it fails for: the contract does not tell failures apart.
    mInitialized = false;
    if (source.size() != mSize) {
        return invalidArgument("the memory has " + std::to_string(source.size()) +
                               " bytes, and the buffer " + std::to_string(mSize));
    }
    if (!dimensions.empty()) {
        const std::span<const int32_t> own = mShape.extents();
        if (!std::ranges::equal(dimensions, own, [](uint32_t given, int32_t extent) {
                return given == static_cast<uint32_t>(extent);
            })) {
            return invalidArgument("the dimensions are not those of the buffer, " +
                                   mShape.toString());
        }
    }
    HALYARD_ASSIGN_OR_RETURN(const CallGate::Permit permit, mClient->shares().calls->enter());
    HALYARD_ASSIGN_OR_RETURN(
            const MemoryUse use,
            source.use({.begin = 0, .end = mSize, .touched = mSize}, &mClient->account()));
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> from, use.bytes(0, mSize));
    std::ranges::copy(from, bytes().begin());
    HALYARD_RETURN_IF_ERROR(checkIntact(use, "source", 0));
    mInitialized = true;
    return {};
}

Result<std::shared_ptr<ManagedBuffer>> BufferTable::allocate(
        const ManagedBuffer::Description& description, const std::shared_ptr<Client>& client) {
    using Direction = ManagedBuffer::Direction;
    std::set<ManagedBuffer::Role> roles;
    std::vector<uint32_t> dimensions;
    const Operand* first = nullptr;
    const auto add = [&](const ManagedBuffer::Description::Role& role,
                         Direction direction) -> Status {
        if (role.model == nullptr) {
            return invalidArgument("there is no such prepared model");
        }
        if (role.model->client() != client) {
            return invalidArgument("the prepared model is another client's");
        }
        const ModelBoundary& boundary = role.model->boundary();
        const std::vector<Operand>& operands =
                direction == Direction::INPUT ? boundary.inputs : boundary.outputs;
        if (role.index >= operands.size()) {
            return invalidArgument("index " + std::to_string(role.index) + ", and the model has " +
                                   std::to_string(operands.size()));
        }
        if (!(role.frequency > 0.0F && role.frequency <= 1.0F)) {
            return invalidArgument("its frequency is not in (0, 1]");
        }
        const ManagedBuffer::Role known = {
                .model = role.model->number(), .direction = direction, .index = role.index};
        if (!roles.insert(known).second) {
            return invalidArgument("it is there twice");
        }
        const Operand& operand = operands[role.index];
        if (first == nullptr) {
            first = &operand;
        }
        HALYARD_RETURN_IF_ERROR(checkAlike(*first, operand));
        if (!isTensor(operand) && !description.dimensions.empty()) {
            return invalidArgument("a scalar has no dimensions");
        }
        return combine(dimensions, operand.dimensions);
    };
    const auto addAll = [&](const std::vector<ManagedBuffer::Description::Role>& given,
                            Direction direction, std::string_view name) -> Status {
        for (size_t i = 0; i < given.size(); ++i) {
            if (Status added = add(given[i], direction); !added.ok()) {
                return added.withContext(std::string(name) + " role " + std::to_string(i));
            }
        }
        return {};
    };
    if (description.inputs.empty() && description.outputs.empty()) {
        return invalidArgument("a buffer needs a role");
    }
    HALYARD_RETURN_IF_ERROR(addAll(description.inputs, Direction::INPUT, "input"));
    HALYARD_RETURN_IF_ERROR(addAll(description.outputs, Direction::OUTPUT, "output"));
    if (const Status said = combine(dimensions, description.dimensions); !said.ok()) {
        return said.withContext("the buffer's dimensions");
    }
    engine::Shape shape;
    if (!isTensor(*first)) {
        if (findOperandType(first->type) == nullptr) {
            return unsupported("a buffer of " + describe(first->type));
        }
    } else {
        HALYARD_ASSIGN_OR_RETURN(shape, knownShape(dimensions));
    }
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, shape.elementCount());
    const uint64_t size = static_cast<uint64_t>(count) * findOperandType(first->type)->elementSize;
    const std::shared_ptr<Budget>& memory = client->account().memory;
    HALYARD_RETURN_IF_ERROR(memory->admits(size));
    HALYARD_ASSIGN_OR_RETURN(
            Reservation overhead,
            Reservation::create(memory, kOverhead + roles.size() * sizeof(ManagedBuffer::Role)));
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer elements,
                             AlignedBuffer::allocate(size, engine::kTensorAlignment, memory));
    std::ranges::fill(elements.bytes(), std::byte{0});
    const std::shared_ptr<ManagedBuffer> buffer(
            new ManagedBuffer(client, std::move(overhead), std::move(elements), size,
                              std::move(shape), {roles.begin(), roles.end()}));
    const std::lock_guard lock(mMutex);
    do {
        ++mLast;
    } while (mLast == 0 || mLast > INT32_MAX || mBuffers.contains(mLast));
    buffer->mToken = mLast;
    buffer->mTable = shared_from_this();
    mBuffers.emplace(mLast, buffer);
    return buffer;
}

Status BufferTable::use(const Request& request, const Client& client, uint64_t model,
                        RequestPools& pools) {
    using Direction = ManagedBuffer::Direction;
    for (size_t i = 0; i < request.pools.size(); ++i) {
        const auto* const token = std::get_if<uint32_t>(&request.pools[i]);
        if (token == nullptr) {
            continue;
        }
        std::shared_ptr<ManagedBuffer> buffer = find(*token, client);
        if (buffer == nullptr) {
            return invalidArgument("pool " + std::to_string(i) + " names buffer token " +
                                   std::to_string(*token) + ", and this client has no such buffer");
        }
        pools.bound[i] = std::move(buffer);
    }
    std::set<const ManagedBuffer*> read;
    std::set<const ManagedBuffer*> written;
    const auto check = [&](const RequestArgument& argument, Direction direction,
                           uint32_t index) -> Status {
        if (argument.hasNoValue) {
            return {};
        }
        const auto* const bound = std::get_if<std::shared_ptr<ManagedBuffer>>(
                &pools.bound[argument.location.poolIndex]);
        if (bound == nullptr) {
            return {};
        }
        const ManagedBuffer& buffer = **bound;
        if (!std::ranges::binary_search(
                    buffer.mRoles,
                    ManagedBuffer::Role{.model = model, .direction = direction, .index = index})) {
            return invalidArgument("buffer " + std::to_string(buffer.mToken) +
                                   " was not allocated for it");
        }
        const bool isFirst = direction == Direction::INPUT
                                     ? (read.insert(&buffer), !written.contains(&buffer))
                                     : written.insert(&buffer).second && !read.contains(&buffer);
        return isFirst ? Status()
                       : invalidArgument("buffer " + std::to_string(buffer.mToken) +
                                         " is an output and something else in one request");
    };
    for (uint32_t i = 0; i < request.inputs.size(); ++i) {
        if (Status checked = check(request.inputs[i], Direction::INPUT, i); !checked.ok()) {
            return checked.withContext("input " + std::to_string(i));
        }
    }
    for (uint32_t i = 0; i < request.outputs.size(); ++i) {
        if (Status checked = check(request.outputs[i], Direction::OUTPUT, i); !checked.ok()) {
            return checked.withContext("output " + std::to_string(i));
        }
    }
    return {};
}

std::shared_ptr<ManagedBuffer> BufferTable::find(uint32_t token, const Client& client) const {
    std::shared_ptr<ManagedBuffer> buffer;
    {
        const std::lock_guard lock(mMutex);
        if (const auto found = mBuffers.find(token); found != mBuffers.end()) {
            buffer = found->second.lock();
        }
    }
    // Its end, if this was the last reference, takes the lock.
    return buffer != nullptr && buffer->mClient.get() == &client ? buffer : nullptr;
}

void BufferTable::forget(uint32_t token) {
    const std::lock_guard lock(mMutex);
    mBuffers.erase(token);
}

}  // namespace halyard::driver
