// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/codec.h"

#include <cstring>
#include <string>

namespace halyard::hal::hidl {

namespace {

using Kind = TypeLayout::Kind;

// Where the parts lie that are themselves something with a buffer.
constexpr size_t kMemoryName = offsetof(HidlMemory, name);
constexpr size_t kFmqHandle = offsetof(HidlFmq<uint8_t>, handleAddress);
constexpr TypeLayout kGrantor{.kind = Kind::STRUCT, .name = "Grantor", .size = sizeof(HidlGrantor)};
constexpr TypeLayout kGrantors{
        .kind = Kind::VEC, .name = "grantors", .size = 16, .element = &kGrantor, .walked = true};
constexpr TypeLayout kString{.kind = Kind::STRING, .name = "string", .size = 16, .walked = true};

template <typename T>
T load(const uint8_t* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

Status refuse(const TypeLayout& layout, std::string_view what) {
    return invalidArgument(std::string(layout.name) + ": " + std::string(what));
}

// Reads the children of the value at `bytes`, which lies at `slot` in the parcel's buffers.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the types are nested
Status readChildren(ParcelReader& reader, const TypeLayout& layout, const uint8_t* bytes,
                    ParentSlot slot) {
    auto within = [&](size_t offset) { return ParentSlot{slot.index, slot.offset + offset}; };
    switch (layout.kind) {
        case Kind::STRING: {
            auto string = load<HidlString>(bytes);
            Result<ParcelReader::Buffer> child =
                    reader.readChildBuffer(uint64_t{string.length} + 1, slot, string.address);
            if (!child.ok()) {
                return child.status().withContext(layout.name);
            }
            if (child->bytes.back() != 0) {
                return refuse(layout, "does not end in NUL");
            }
            return {};
        }
        case Kind::HANDLE:
            return readChildNativeHandle(reader, slot, load<uint64_t>(bytes))
                    .status()
                    .withContext(layout.name);
        case Kind::MEMORY:
            HALYARD_RETURN_IF_ERROR(readChildNativeHandle(reader, slot, load<uint64_t>(bytes))
                                            .status()
                                            .withContext(layout.name));
            return readChildren(reader, kString, bytes + kMemoryName, within(kMemoryName));
        case Kind::FMQ:
            HALYARD_RETURN_IF_ERROR(readChildren(reader, kGrantors, bytes, slot));
            return readChildNativeHandle(reader, within(kFmqHandle),
                                         load<uint64_t>(bytes + kFmqHandle))
                    .status()
                    .withContext(layout.name);
        case Kind::VEC: {
            auto vec = load<HidlVec<uint8_t>>(bytes);
            const TypeLayout& element = *layout.element;
            Result<ParcelReader::Buffer> child =
                    reader.readChildBuffer(uint64_t{vec.count} * element.size, slot, vec.address);
            if (!child.ok()) {
                return child.status().withContext(layout.name);
            }
            for (size_t i = 0; element.walked && i < vec.count; ++i) {
                size_t offset = i * element.size;
                HALYARD_RETURN_IF_ERROR(readChildren(reader, element, child->bytes.data() + offset,
                                                     {child->index, offset}));
            }
            return {};
        }
        case Kind::ARRAY:
            for (size_t i = 0; layout.element->walked && i < layout.count; ++i) {
                size_t offset = i * layout.element->size;
                HALYARD_RETURN_IF_ERROR(
                        readChildren(reader, *layout.element, bytes + offset, within(offset)));
            }
            return {};
        case Kind::STRUCT:
            for (const FieldLayout& field : layout.fields) {
                if (field.type->walked) {
                    HALYARD_RETURN_IF_ERROR(readChildren(reader, *field.type, bytes + field.offset,
                                                         within(field.offset)));
                }
            }
            return {};
        case Kind::SAFE_UNION: {
            if (*bytes >= layout.fields.size()) {
                return refuse(layout, "has no member " + std::to_string(*bytes));
            }
            const FieldLayout& member = layout.fields[*bytes];
            return member.type->walked ? readChildren(reader, *member.type, bytes + member.offset,
                                                      within(member.offset))
                                       : Status();
        }
        default:
            return {};
    }
}

// The native_handle at `address`, which has been checked or is ours; null for 0.
ReceivedHandle handleAt(uint64_t address) {
    ReceivedHandle handle;
    if (address == 0) {
        return handle;
    }
    auto header = load<std::array<int32_t, 3>>(pointerTo<uint8_t>(address));
    const uint8_t* words = pointerTo<uint8_t>(address) + sizeof(header);
    handle.valid = true;
    handle.handle.fds.resize(header[1]);
    handle.handle.ints.resize(header[2]);
    for (int& fd : handle.handle.fds) {
        fd = load<int32_t>(words);
        words += sizeof(int32_t);
    }
    for (int32_t& number : handle.handle.ints) {
        number = load<int32_t>(words);
        words += sizeof(int32_t);
    }
    return handle;
}

void writeHandleAt(ParcelWriter& writer, uint64_t address, ParentSlot slot) {
    ReceivedHandle handle = handleAt(address);
    writeChildNativeHandle(writer, handle.valid ? &handle.handle : nullptr, slot);
}

// Writes the children of the value at `bytes`; the mirror image of readChildren.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the types are nested
void writeChildren(ParcelWriter& writer, const TypeLayout& layout, const uint8_t* bytes,
                   ParentSlot slot) {
    auto within = [&](size_t offset) { return ParentSlot{slot.index, slot.offset + offset}; };
    switch (layout.kind) {
        case Kind::STRING: {
            auto string = load<HidlString>(bytes);
            static constexpr uint8_t kEmpty = 0;
            const uint8_t* text =
                    string.address == 0 ? &kEmpty : pointerTo<uint8_t>(string.address);
            writer.writeChildBuffer({text, size_t{string.length} + 1}, slot);
            return;
        }
        case Kind::HANDLE:
            writeHandleAt(writer, load<uint64_t>(bytes), slot);
            return;
        case Kind::MEMORY:
            writeHandleAt(writer, load<uint64_t>(bytes), slot);
            writeChildren(writer, kString, bytes + kMemoryName, within(kMemoryName));
            return;
        case Kind::FMQ:
            writeChildren(writer, kGrantors, bytes, slot);
            writeHandleAt(writer, load<uint64_t>(bytes + kFmqHandle), within(kFmqHandle));
            return;
        case Kind::VEC: {
            auto vec = load<HidlVec<uint8_t>>(bytes);
            const TypeLayout& element = *layout.element;
            const uint8_t* elements = pointerTo<uint8_t>(vec.address);
            BufferIndex child =
                    writer.writeChildBuffer({elements, size_t{vec.count} * element.size}, slot);
            for (size_t i = 0; element.walked && i < vec.count; ++i) {
                size_t offset = i * element.size;
                writeChildren(writer, element, elements + offset, {child, offset});
            }
            return;
        }
        case Kind::ARRAY:
            for (size_t i = 0; layout.element->walked && i < layout.count; ++i) {
                size_t offset = i * layout.element->size;
                writeChildren(writer, *layout.element, bytes + offset, within(offset));
            }
            return;
        case Kind::STRUCT:
            for (const FieldLayout& field : layout.fields) {
                if (field.type->walked) {
                    writeChildren(writer, *field.type, bytes + field.offset, within(field.offset));
                }
            }
            return;
        case Kind::SAFE_UNION:
            if (*bytes < layout.fields.size() && layout.fields[*bytes].type->walked) {
                const FieldLayout& member = layout.fields[*bytes];
                writeChildren(writer, *member.type, bytes + member.offset, within(member.offset));
            }
            return;
        default:
            return;
    }
}

}  // namespace

const MethodLayout* findMethod(const InterfaceLayout& interface, uint32_t code) {
    for (const MethodLayout& method : interface.methods) {
        if (method.code == code) {
            return &method;
        }
    }
    return nullptr;
}

Result<const void*> readValue(ParcelReader& reader, const TypeLayout& layout) {
    Result<ParcelReader::Buffer> buffer = reader.readBuffer(layout.size);
    if (!buffer.ok()) {
        return buffer.status().withContext(layout.name);
    }
    if (layout.walked) {
        HALYARD_RETURN_IF_ERROR(
                readChildren(reader, layout, buffer->bytes.data(), {buffer->index, 0}));
    }
    return static_cast<const void*>(buffer->bytes.data());
}

Result<std::vector<std::string>> readStrings(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const auto* texts, readValue<HidlVec<HidlString>>(reader));
    std::vector<std::string> strings;
    for (const HidlString& text : texts->view()) {
        strings.emplace_back(text.view());
    }
    return strings;
}

Result<std::vector<ObjectRef>> readObjects(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(uint64_t count, reader.readUint64());
    std::vector<ObjectRef> objects;
    for (uint64_t i = 0; i < count; ++i) {
        HALYARD_ASSIGN_OR_RETURN(ObjectRef object, reader.readObject());
        objects.push_back(std::move(object));
    }
    return objects;
}

ReceivedHandle nativeHandle(const HidlHandle& handle) {
    return handleAt(handle.address);
}

void writeValue(ParcelWriter& writer, const TypeLayout& layout, const void* value) {
    std::span<const uint8_t> bytes = writer.keep({static_cast<const uint8_t*>(value), layout.size});
    BufferIndex index = writer.writeBuffer(bytes);
    if (layout.walked) {
        writeChildren(writer, layout, bytes.data(), {index, 0});
    }
}

void writeStrings(ParcelWriter& writer, std::span<const std::string_view> texts) {
    std::vector<HidlString> strings;
    strings.reserve(texts.size());
    for (const std::string_view text : texts) {
        strings.push_back(makeString(writer, text));
    }
    writeValue(writer, makeVec(writer, strings));
}

void writeObjects(ParcelWriter& writer, std::span<const ObjectRef> objects) {
    writer.writeUint64(objects.size());
    for (const ObjectRef& object : objects) {
        writer.writeObject(object);
    }
}

HidlString makeString(ParcelWriter& writer, std::string_view text) {
    std::span<uint8_t> kept = writer.keepZeroed(text.size() + 1);
    if (!text.empty()) {
        std::memcpy(kept.data(), text.data(), text.size());
    }
    HidlString string;
    string.address = reinterpret_cast<uintptr_t>(kept.data());
    string.length = static_cast<uint32_t>(text.size());
    return string;
}

HidlHandle makeHandle(ParcelWriter& writer, const NativeHandle& handle) {
    std::vector<int32_t> words = {12, static_cast<int32_t>(handle.fds.size()),
                                  static_cast<int32_t>(handle.ints.size())};
    words.insert(words.end(), handle.fds.begin(), handle.fds.end());
    words.insert(words.end(), handle.ints.begin(), handle.ints.end());
    std::span<const uint8_t> kept = writer.keep(
            {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(int32_t)});
    HidlHandle made;
    made.address = reinterpret_cast<uintptr_t>(kept.data());
    return made;
}

HidlMemory makeMemory(ParcelWriter& writer, std::string_view name, const NativeHandle& handle,
                      uint64_t size) {
    HidlMemory memory;
    memory.handle = makeHandle(writer, handle);
    memory.size = size;
    memory.name = makeString(writer, name);
    return memory;
}

}  // namespace halyard::hal::hidl
