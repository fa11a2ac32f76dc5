// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/bytecode.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/base/byte_format.h"
#include "engine/base/version.h"
#include "engine/graph/serialization.h"

namespace halyard::vendor {
namespace {

constexpr size_t kAlignment = 64;
constexpr std::array<char, 8> kMagic = {'H', 'L', 'Y', 'D', 'N', 'P', 'U', '\n'};
// Counts up whenever the prefix or the description changes. The sections of a program have versions
// of their own.
constexpr uint32_t kVersion = 1;
constexpr std::string_view kDescription = "bytecode";
constexpr std::string_view kGraph = "serialized graph";
// Of a port and of an operator there are as many as a model has; more is no model's.
constexpr size_t kMostRank = 8;

struct Prefix {
    std::array<char, 8> magic = kMagic;
    uint32_t version = kVersion;
    uint32_t reserved = 0;
    uint64_t size = 0;  // with the prefix
    std::array<uint8_t, 40> zeros = {};
};
static_assert(sizeof(Prefix) == kAlignment);

class MemorySink : public ByteSink {
  public:
    explicit MemorySink(std::span<std::byte> to) : mTo(to) {}
    Status write(std::span<const uint8_t> bytes) override {
        if (bytes.size() > mTo.size()) {
            return internalError("bytecode is longer than its sections said");
        }
        std::memcpy(mTo.data(), bytes.data(), bytes.size());
        mTo = mTo.subspan(bytes.size());
        return {};
    }

  private:
    std::span<std::byte> mTo;
};

class CountingSink : public ByteSink {
  public:
    Status write(std::span<const uint8_t> bytes) override {
        mSize += bytes.size();
        return {};
    }
    size_t size() const { return mSize; }

  private:
    size_t mSize = 0;
};

void put(ByteWriter& writer, const std::vector<BytecodePort>& ports) {
    writer.putCount(ports.size());
    for (const BytecodePort& port : ports) {
        writer.putText(port.name);
        writer.put(port.elementType);
        writer.putList(std::span<const int32_t>(port.shape));
        writer.put(port.open);
        writer.put(port.place);
    }
}

Status get(ByteReader& reader, std::vector<BytecodePort>& ports) {
    HALYARD_ASSIGN_OR_RETURN(const size_t count, reader.getCount());
    for (size_t i = 0; i < count; ++i) {
        BytecodePort& port = ports.emplace_back();
        HALYARD_RETURN_IF_ERROR(reader.getText(port.name));
        HALYARD_RETURN_IF_ERROR(reader.get(port.elementType));
        HALYARD_RETURN_IF_ERROR(reader.getList(port.shape));
        HALYARD_RETURN_IF_ERROR(reader.get(port.open));
        HALYARD_RETURN_IF_ERROR(reader.get(port.place));
        if (port.shape.size() > kMostRank) {
            return invalidArgument("a shape has " + std::to_string(port.shape.size()) +
                                   " dimensions");
        }
    }
    return {};
}

std::vector<uint8_t> describe(const BytecodeInfo& info) {
    ByteWriter writer;
    writer.putText(info.version);
    writer.putFlag(info.isProgram);
    writer.putText(info.processor);
    writer.put(info.threads);
    writer.put(info.operators);
    writer.putFlag(info.fastMath);
    writer.putFlag(info.resizable);
    writer.putText(info.reason);
    put(writer, info.inputs);
    put(writer, info.outputs);
    return writer.take();
}

Result<BytecodeInfo> infoFrom(std::span<const uint8_t> bytes) {
    ByteReader reader(bytes, "the bytecode's description");
    BytecodeInfo info;
    HALYARD_ASSIGN_OR_RETURN(const std::string_view version, reader.getText());
    if (version != HALYARD_VERSION) {
        return unsupported("the bytecode is Halyard " + std::string(version) +
                           "'s, and this is Halyard " HALYARD_VERSION);
    }
    HALYARD_RETURN_IF_ERROR(reader.getFlag(info.isProgram));
    HALYARD_RETURN_IF_ERROR(reader.getText(info.processor));
    HALYARD_RETURN_IF_ERROR(reader.get(info.threads));
    HALYARD_RETURN_IF_ERROR(reader.get(info.operators));
    HALYARD_RETURN_IF_ERROR(reader.getFlag(info.fastMath));
    HALYARD_RETURN_IF_ERROR(reader.getFlag(info.resizable));
    HALYARD_RETURN_IF_ERROR(reader.getText(info.reason));
    HALYARD_RETURN_IF_ERROR(get(reader, info.inputs));
    HALYARD_RETURN_IF_ERROR(get(reader, info.outputs));
    HALYARD_RETURN_IF_ERROR(reader.finish());
    return info;
}

Result<AlignedBuffer> written(const SectionWriter& file) {
    CountingSink count;
    HALYARD_RETURN_IF_ERROR(file.writeTo(count));
    const Prefix prefix = {.size = sizeof(Prefix) + count.size()};
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                             AlignedBuffer::allocate(prefix.size, kAlignment));
    std::memcpy(buffer.data(), &prefix, sizeof prefix);
    MemorySink sink(buffer.bytes().subspan(sizeof prefix));
    HALYARD_RETURN_IF_ERROR(file.writeTo(sink));
    return buffer;
}

struct Mapping {
    void* address = MAP_FAILED;
    size_t size = 0;

    Mapping(void* mapped, size_t bytes) : address(mapped), size(bytes) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (address != MAP_FAILED) {
            munmap(address, size);
        }
    }
};

struct Bytes {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    engine::SavedBytes trust = engine::SavedBytes::PRIVATE;
};

// Of the file, where LiteRT mapped one; nothing where it can't be mapped or the bytes lie at no
// multiple of kAlignment.
std::optional<Bytes> mapped(const abi::MemBuffer& buffer) {
    const size_t begin = buffer.baseFileOffset + buffer.offset;
    struct stat status = {};
    if (buffer.fd < 0 || begin < buffer.offset || begin % kAlignment != 0 ||
        fstat(buffer.fd, &status) != 0 || status.st_size < 0 ||
        begin > static_cast<size_t>(status.st_size) ||
        buffer.size > static_cast<size_t>(status.st_size) - begin) {
        return std::nullopt;
    }
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t before = begin % page;
    auto mapping = std::make_shared<const Mapping>(
            mmap(nullptr, before + buffer.size, PROT_READ, MAP_PRIVATE, buffer.fd,
                 static_cast<off_t>(begin - before)),
            before + buffer.size);
    if (mapping->address == MAP_FAILED) {
        return std::nullopt;
    }
    const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(mapping->address) + before,
                                         buffer.size);
    // The descriptor may be of another file than what LiteRT shows.
    const auto* const shown = static_cast<const uint8_t*>(buffer.base) + buffer.offset;
    if (std::memcmp(bytes.data(), shown, sizeof(Prefix)) != 0) {
        return std::nullopt;
    }
    return Bytes{.owner = std::move(mapping), .bytes = bytes, .trust = engine::SavedBytes::SHARED};
}

Result<Bytes> copied(std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                             AlignedBuffer::allocate(bytes.size(), kAlignment));
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    const auto owner = std::make_shared<const AlignedBuffer>(std::move(buffer));
    return Bytes{.owner = owner,
                 .bytes = {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}};
}

}  // namespace

Result<AlignedBuffer> bytecodeOf(const BytecodeInfo& info, const engine::Program& program) {
    SectionWriter file;
    file.addDescription(std::string(kDescription), describe(info));
    program.save(file, engine::SavedBlobs::NONE);
    return written(file);
}

Result<AlignedBuffer> bytecodeOf(const BytecodeInfo& info, const engine::Graph& graph) {
    SectionWriter file;
    file.addDescription(std::string(kDescription), describe(info));
    file.addMapped(std::string(kGraph), engine::serializedParts(graph));
    return written(file);
}

Result<Bytecode> openBytecode(const abi::MemBuffer& buffer) {
    const auto* const begin = static_cast<const uint8_t*>(buffer.base) + buffer.offset;
    if (buffer.base == nullptr || buffer.size < sizeof(Prefix)) {
        return invalidArgument("the bytecode has " +
                               std::to_string(buffer.base == nullptr ? 0 : buffer.size) +
                               " bytes, fewer than its prefix");
    }
    Prefix prefix;
    std::memcpy(&prefix, begin, sizeof prefix);
    if (prefix.magic != kMagic) {
        return invalidArgument("the bytecode is not Halyard's");
    }
    if (prefix.version != kVersion) {
        return unsupported("the bytecode is of version " + std::to_string(prefix.version) +
                           ", and version " + std::to_string(kVersion) + " is known");
    }
    if (prefix.reserved != 0 || prefix.zeros != Prefix().zeros) {
        return invalidArgument("the bytecode's prefix has more than is known");
    }
    // What holds it may have padded it.
    if (prefix.size < sizeof(Prefix) || prefix.size > buffer.size) {
        return invalidArgument("the bytecode says that it has " + std::to_string(prefix.size) +
                               " bytes, and there are " + std::to_string(buffer.size));
    }
    abi::MemBuffer exact = buffer;
    exact.size = prefix.size;
    std::optional<Bytes> bytes = mapped(exact);
    if (!bytes.has_value()) {
        HALYARD_ASSIGN_OR_RETURN(bytes, copied({begin, exact.size}));
    }
    HALYARD_ASSIGN_OR_RETURN(
            SectionFile file,
            SectionFile::open(std::move(bytes->owner), bytes->bytes.subspan(sizeof(Prefix))));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> description,
                             file.description(kDescription));
    Bytecode bytecode = {.info = {}, .file = std::move(file), .graph = {}, .trust = bytes->trust};
    HALYARD_ASSIGN_OR_RETURN(bytecode.info, infoFrom(description));
    if (!bytecode.info.isProgram) {
        HALYARD_ASSIGN_OR_RETURN(bytecode.graph, bytecode.file.mapped(kGraph));
    }
    return bytecode;
}

}  // namespace halyard::vendor
