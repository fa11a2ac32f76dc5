// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/serialization.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/aligned_buffer.h"
#include "engine/base/byte_format.h"
#include "engine/base/checked_math.h"

namespace halyard::engine {
namespace {

constexpr std::string_view kMagic = "HALYGRPH";

struct Header {
    char magic[kMagic.size()];
    uint32_t version;
    uint64_t descriptionSize;
    uint64_t blockSize;
};
constexpr size_t kHeaderSize = kMagic.size() + sizeof(uint32_t) + 2 * sizeof(uint64_t);

Result<Header> readHeader(std::span<const uint8_t> bytes) {
    Header header = {};
    if (bytes.size() < kHeaderSize) {
        return invalidArgument("the header of the graph ends early");
    }
    const uint8_t* at = bytes.data();
    const auto take = [&](void* to, size_t size) {
        std::memcpy(to, at, size);
        at += size;
    };
    take(header.magic, sizeof header.magic);
    take(&header.version, sizeof header.version);
    take(&header.descriptionSize, sizeof header.descriptionSize);
    take(&header.blockSize, sizeof header.blockSize);
    if (std::string_view(header.magic, sizeof header.magic) != kMagic) {
        return invalidArgument("these bytes are no graph");
    }
    if (header.version != kGraphVersion) {
        return unsupported("version " + std::to_string(header.version) + " of a graph's bytes");
    }
    return header;
}

}  // namespace

ByteParts serializedParts(const Graph& graph) {
    SerializedGraph serialized = describe(graph, ConstantIds::LEAVE_OUT);
    ByteWriter header;
    for (const char c : kMagic) {
        header.put(c);
    }
    header.put(kGraphVersion);
    header.put(static_cast<uint64_t>(serialized.description.size()));
    header.put(static_cast<uint64_t>(serialized.block.size()));
    ByteParts parts;
    parts.add(header.take());
    parts.add(std::move(serialized.description));
    parts.alignTo(kConstantAlignment);
    parts.add(std::move(serialized.block));
    return parts;
}

std::vector<uint8_t> serialize(const Graph& graph) {
    const ByteParts parts = serializedParts(graph);
    std::vector<uint8_t> bytes(parts.size());
    parts.copyTo(bytes.data());
    return bytes;
}

Result<Graph> deserialize(std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(const Header header, readHeader(bytes));
    const size_t body = bytes.size() - kHeaderSize;
    if (header.descriptionSize > body || header.blockSize > body) {
        return invalidArgument("the graph ends early");
    }
    const auto descriptionSize = static_cast<size_t>(header.descriptionSize);
    const auto blockSize = static_cast<size_t>(header.blockSize);
    const size_t blockOffset = *checkedAlignUp(kHeaderSize + descriptionSize, kConstantAlignment);
    if (blockOffset != bytes.size() - blockSize) {
        return invalidArgument("the block of constants does not end where the bytes do");
    }
    HALYARD_ASSIGN_OR_RETURN(
            AlignedBuffer block,
            AlignedBuffer::allocate(blockSize == 0 ? 1 : blockSize, kConstantAlignment, nullptr));
    if (blockSize > 0) {
        std::memcpy(block.data(), bytes.data() + blockOffset, blockSize);
    }
    const auto owner = std::make_shared<const AlignedBuffer>(std::move(block));
    return deserialize(bytes.subspan(kHeaderSize, descriptionSize),
                       {.owner = owner,
                        .bytes = {reinterpret_cast<const uint8_t*>(owner->data()), blockSize}});
}

}  // namespace halyard::engine
