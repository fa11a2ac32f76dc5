// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/raw_parcel.h"

#include <array>
#include <cstring>

namespace halyard::attacker {

namespace {

using hal::hidl::FieldLayout;
using hal::hidl::HidlMemory;
using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::TypeLayout;
using Kind = TypeLayout::Kind;

constexpr size_t kWord = 4;
constexpr int32_t kHandleHead = 12;  // bytes of a native_handle in front of its data

template <typename T>
T load(const uint8_t* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

const uint8_t* at(uint64_t address) {
    return reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(address));
}

}  // namespace

void RawParcel::append(const void* bytes, size_t size) {
    const auto* first = static_cast<const uint8_t*>(bytes);
    mData.insert(mData.end(), first, first + size);
    mData.resize((mData.size() + kWord - 1) / kWord * kWord);
}

uint64_t RawParcel::object(const void* bytes, size_t size) {
    mOffsets.push_back(mData.size());
    append(bytes, size);
    return mOffsets.size() - 1;
}

std::span<uint8_t> RawParcel::keep(const void* bytes, size_t size) {
    std::vector<uint64_t>& kept = mKept.emplace_back(size / sizeof(uint64_t) + 1);
    if (size > 0) {
        std::memcpy(kept.data(), bytes, size);
    }
    return {reinterpret_cast<uint8_t*>(kept.data()), size};
}

void RawParcel::token(std::string_view descriptor) {
    std::vector<char> text(descriptor.begin(), descriptor.end());
    text.push_back(0);
    append(text.data(), text.size());
}

void RawParcel::int32(int32_t value) {
    append(&value, sizeof(value));
}

void RawParcel::uint64(uint64_t value) {
    append(&value, sizeof(value));
}

void RawParcel::zeros(size_t count) {
    mData.resize(mData.size() + count);
}

void RawParcel::string(std::string_view text) {
    std::vector<char> terminated(text.begin(), text.end());
    terminated.push_back(0);
    HidlString head;
    head.address = reinterpret_cast<uintptr_t>(keep(terminated.data(), terminated.size()).data());
    head.length = static_cast<uint32_t>(text.size());
    static constexpr TypeLayout kString{
            .kind = Kind::STRING, .name = "string", .size = 16, .walked = true};
    value(kString, &head);
}

uint64_t RawParcel::buffer(const void* bytes, size_t size, const Slot* parent) {
    binder_buffer_object out = {};
    out.hdr.type = BINDER_TYPE_PTR;
    out.buffer = reinterpret_cast<uintptr_t>(bytes);
    out.length = size;
    if (parent != nullptr) {
        out.flags = BINDER_BUFFER_FLAG_HAS_PARENT;
        out.parent = parent->index;
        out.parent_offset = parent->offset;
    }
    if (bytes == nullptr) {
        // As libhidl does: an empty vec's buffer is written, and not listed.
        append(&out, sizeof(out));
        return 0;
    }
    mBuffersSize += (size + 7) / 8 * 8;
    return object(&out, sizeof(out));
}

void RawParcel::value(const TypeLayout& layout, const void* value) {
    const std::span<uint8_t> bytes = keep(value, layout.size);
    const uint64_t index = buffer(bytes.data(), bytes.size(), nullptr);
    if (layout.walked) {
        children(layout, bytes.data(), {index, 0});
    }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types are nested
void RawParcel::children(const TypeLayout& layout, const uint8_t* bytes, Slot slot) {
    const auto within = [&](size_t offset) { return Slot{slot.index, slot.offset + offset}; };
    const auto text = [this](const uint8_t* head, Slot where) {
        static constexpr char kEmpty = 0;
        const auto string = load<HidlString>(head);
        const void* chars =
                string.address == 0 ? &kEmpty : static_cast<const void*>(at(string.address));
        buffer(chars, size_t{string.length} + 1, &where);
    };
    switch (layout.kind) {
        case Kind::STRING:
            text(bytes, slot);
            return;
        case Kind::HANDLE:
            handleBody(load<uint64_t>(bytes), &slot);
            return;
        case Kind::MEMORY:
            handleBody(load<uint64_t>(bytes), &slot);
            text(bytes + offsetof(HidlMemory, name), within(offsetof(HidlMemory, name)));
            return;
        case Kind::VEC: {
            const auto vec = load<HidlVec<uint8_t>>(bytes);
            const TypeLayout& element = *layout.element;
            const uint8_t* elements = vec.count == 0 ? nullptr : at(vec.address);
            const uint64_t child = buffer(elements, size_t{vec.count} * element.size, &slot);
            for (size_t i = 0; element.walked && i < vec.count; ++i) {
                children(element, elements + i * element.size, {child, i * element.size});
            }
            return;
        }
        case Kind::STRUCT:
            for (const FieldLayout& field : layout.fields) {
                if (field.type->walked) {
                    children(*field.type, bytes + field.offset, within(field.offset));
                }
            }
            return;
        case Kind::SAFE_UNION: {
            const FieldLayout& member = layout.fields[*bytes];
            if (member.type->walked) {
                children(*member.type, bytes + member.offset, within(member.offset));
            }
            return;
        }
        default:
            // Models and requests have fields of no other kinds.
            return;
    }
}

void RawParcel::handleBody(uint64_t address, const Slot* parent) {
    if (address == 0) {
        uint64(0);
        return;
    }
    const auto head = load<std::array<int32_t, 3>>(at(address));
    const size_t size = kHandleHead + sizeof(int32_t) * static_cast<size_t>(head[1] + head[2]);
    uint64(size);
    const uint64_t index = buffer(at(address), size, parent);
    binder_fd_array_object array = {};
    array.hdr.type = BINDER_TYPE_FDA;
    array.num_fds = static_cast<uint64_t>(head[1]);
    array.parent = index;
    array.parent_offset = kHandleHead;
    object(&array, sizeof(array));
}

void RawParcel::handle(std::span<const int> descriptors, std::span<const int32_t> numbers) {
    std::vector<int32_t> words = {kHandleHead, static_cast<int32_t>(descriptors.size()),
                                  static_cast<int32_t>(numbers.size())};
    words.insert(words.end(), descriptors.begin(), descriptors.end());
    words.insert(words.end(), numbers.begin(), numbers.end());
    const std::span<uint8_t> kept = keep(words.data(), words.size() * sizeof(int32_t));
    handleBody(reinterpret_cast<uintptr_t>(kept.data()), nullptr);
}

void RawParcel::descriptor(int fd) {
    binder_fd_object out = {};
    out.hdr.type = BINDER_TYPE_FD;
    out.fd = static_cast<uint32_t>(fd);
    object(&out, sizeof(out));
}

void RawParcel::ownObject(uint64_t id) {
    flat_binder_object out = {};
    out.hdr.type = BINDER_TYPE_BINDER;
    out.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    out.binder = id;
    out.cookie = id;
    object(&out, sizeof(out));
}

void RawParcel::othersObject(uint32_t handle) {
    flat_binder_object out = {};
    out.hdr.type = BINDER_TYPE_HANDLE;
    out.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    out.handle = handle;
    object(&out, sizeof(out));
}

void RawParcel::nullObject() {
    flat_binder_object out = {};
    out.hdr.type = BINDER_TYPE_BINDER;
    append(&out, sizeof(out));
}

}  // namespace halyard::attacker
