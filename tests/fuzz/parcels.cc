// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/parcels.h"

#include <linux/android/binder.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "hal/hidl/codec.h"
#include "hal/hidl/version_delta.h"

namespace halyard::fuzz {
namespace {

using driver::HalVersion;
using hal::NativeHandle;
using hal::ObjectRef;
using hal::ParcelWriter;
using hal::hidl::FieldLayout;
using hal::hidl::HidlFmq;
using hal::hidl::HidlHandle;
using hal::hidl::HidlMemory;
using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::TypeLayout;
using hal::testing::SentParcel;
using Kind = TypeLayout::Kind;

constexpr size_t kPoolSize = 4096;
constexpr uint64_t kNowhere = 0x6161616161616161;

// Descriptors that clients may send: memory of some sizes, and what is no memory.
std::span<const int> descriptors() {
    static const std::array<int, 5> kDescriptors = [] {
        std::array<int, 5> fds = {};
        const std::array<off_t, 3> sizes = {static_cast<off_t>(kPoolSize), 64, 0};
        for (size_t i = 0; i < sizes.size(); ++i) {
            fds[i] = memfd_create("pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            if (ftruncate(fds[i], sizes[i]) != 0) {
                std::abort();
            }
        }
        int ends[2] = {};
        if (pipe(ends) != 0) {
            std::abort();
        }
        fds[3] = ends[0];
        fds[4] = ends[1];
        close(fds[4]);
        fds[4] = fds[0];
        return fds;
    }();
    return kDescriptors;
}

class ArgumentWriter {
  public:
    ArgumentWriter(Choices& choices, const Material& material, HalVersion version,
                   ParcelWriter& writer)
        : mChoices(choices), mMaterial(material), mVersion(version), mWriter(writer) {}

    void write(const hal::hidl::ArgumentLayout& argument) {
        const TypeLayout& type = *argument.type;
        const auto& delta = hal::hidl::versionDelta(mVersion);
        if (argument.name == "model" && type.kind == Kind::STRUCT && !mMaterial.models.empty() &&
            !mChoices.oneIn(4)) {
            const driver::Model& model = mChoices.of(mMaterial.models);
            delta.writeModel(mWriter, model, memories(model.pools.size()));
            return;
        }
        if (argument.name == "request" && type.kind == Kind::STRUCT &&
            !mMaterial.requests.empty() && !mChoices.oneIn(4)) {
            const driver::Request& request = mChoices.of(mMaterial.requests);
            delta.writeRequest(mWriter, request, memories(request.pools.size()));
            return;
        }
        switch (type.kind) {
            case Kind::INTERFACE:
                mWriter.writeObject(object());
                return;
            case Kind::VEC:
                if (type.element->kind == Kind::INTERFACE) {
                    std::vector<ObjectRef> objects(mChoices.below(4));
                    for (ObjectRef& each : objects) {
                        each = object();
                    }
                    hal::hidl::writeObjects(mWriter, objects);
                    return;
                }
                break;
            case Kind::HANDLE: {
                const NativeHandle handle = nativeHandle();
                hal::hidl::writeNativeHandle(mWriter, mChoices.oneIn(8) ? nullptr : &handle);
                return;
            }
            case Kind::BOOL:
            case Kind::SIGNED:
            case Kind::UNSIGNED:
                if (type.size == sizeof(uint64_t)) {
                    mWriter.writeUint64(number());
                } else {
                    mWriter.writeUint32(static_cast<uint32_t>(number()));
                }
                return;
            default:
                break;
        }
        const std::span<uint8_t> value = mWriter.keepZeroed(type.size);
        fill(type, value.data(), 0);
        hal::hidl::writeValue(mWriter, type, value.data());
    }

  private:
    ObjectRef object() {
        return mMaterial.objects.empty() || mChoices.oneIn(8) ? ObjectRef()
                                                              : mChoices.of(mMaterial.objects);
    }

    uint64_t number() {
        switch (mChoices.below(8)) {
            case 5:
                return mChoices.number<uint64_t>();
            case 6:
                return std::numeric_limits<uint64_t>::max();
            case 7:
                return uint64_t{1} << mChoices.below(64);
            default:
                return mChoices.below(8);
        }
    }

    NativeHandle nativeHandle() {
        NativeHandle handle;
        const auto fds = descriptors();
        handle.fds.push_back(fds[0]);
        if (mChoices.oneIn(4)) {
            handle.fds.resize(mChoices.below(4));
            for (int& fd : handle.fds) {
                fd = mChoices.of(fds);
            }
        }
        handle.ints.resize(mChoices.oneIn(4) ? mChoices.below(5) : 0);
        for (int32_t& value : handle.ints) {
            value = static_cast<int32_t>(number());
        }
        return handle;
    }

    std::vector<HidlMemory> memories(size_t count) {
        std::vector<HidlMemory> made(count);
        for (HidlMemory& memory : made) {
            NativeHandle handle;
            handle.fds = {descriptors()[0]};
            memory = hal::hidl::makeMemory(mWriter, "ashmem", handle, kPoolSize);
        }
        return made;
    }

    HidlString text() {
        static constexpr std::array<std::string_view, 8> kTexts = {
                "ashmem",
                "mmap_fd",
                "hardware_buffer_blob",
                "",
                "default",
                "android.hardware.neuralnetworks@1.3::IDevice",
                "android.hidl.base@1.0::IBase",
                "android.hardware.neuralnetworks@1.0::IDevice"};
        if (mChoices.oneIn(4)) {
            const std::span<const uint8_t> bytes = mChoices.take(mChoices.below(24));
            return hal::hidl::makeString(
                    mWriter, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        }
        return hal::hidl::makeString(mWriter, mChoices.of(kTexts));
    }

    uint64_t keepHandle() {
        const NativeHandle handle = nativeHandle();
        std::vector<int32_t> words = {12, static_cast<int32_t>(handle.fds.size()),
                                      static_cast<int32_t>(handle.ints.size())};
        words.insert(words.end(), handle.fds.begin(), handle.fds.end());
        words.insert(words.end(), handle.ints.begin(), handle.ints.end());
        const auto kept = mWriter.keep(
                {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(int32_t)});
        return reinterpret_cast<uintptr_t>(kept.data());
    }

    template <typename T>
    static void store(uint8_t* at, const T& value) {
        std::memcpy(at, &value, sizeof(value));
    }

    HidlVec<uint8_t> elements(const TypeLayout& element, size_t depth) {
        HidlVec<uint8_t> vec;
        vec.count = static_cast<uint32_t>(depth > 4 ? 0 : mChoices.below(5));
        if (vec.count != 0) {
            const std::span<uint8_t> kept = mWriter.keepZeroed(vec.count * element.size);
            for (size_t i = 0; i < vec.count; ++i) {
                fill(element, kept.data() + i * element.size, depth + 1);
            }
            vec.address = reinterpret_cast<uintptr_t>(kept.data());
        }
        return vec;
    }

    void fill(const TypeLayout& type, uint8_t* at, size_t depth) {
        switch (type.kind) {
            case Kind::BOOL:
                *at = static_cast<uint8_t>(mChoices.below(2));
                return;
            case Kind::SIGNED:
            case Kind::UNSIGNED: {
                const uint64_t value = number();
                std::memcpy(at, &value, type.size);
                return;
            }
            case Kind::FLOAT:
                store(at, static_cast<float>(mChoices.below(8)) / 4);
                return;
            case Kind::STRING:
                store(at, text());
                return;
            case Kind::HANDLE:
                if (!mChoices.oneIn(8)) {
                    store(at, HidlHandle{.address = keepHandle()});
                }
                return;
            case Kind::MEMORY: {
                const NativeHandle handle = nativeHandle();
                HidlMemory memory = hal::hidl::makeMemory(mWriter, "ashmem", handle,
                                                          mChoices.oneIn(4) ? number() : kPoolSize);
                memory.name = text();
                store(at, memory);
                return;
            }
            case Kind::FMQ: {
                HidlFmq<uint8_t> queue;
                const HidlVec<uint8_t> grantors = elements(kGrantor, depth);
                queue.grantors = {.address = grantors.address, .count = grantors.count};
                queue.handleAddress = keepHandle();
                queue.quantum =
                        static_cast<uint32_t>(mChoices.oneIn(4) ? number() : type.element->size);
                queue.flags = static_cast<uint32_t>(mChoices.below(4));
                store(at, queue);
                return;
            }
            case Kind::VEC:
                store(at, elements(*type.element, depth));
                return;
            case Kind::ARRAY:
                for (size_t i = 0; i < type.count; ++i) {
                    fill(*type.element, at + i * type.element->size, depth + 1);
                }
                return;
            case Kind::STRUCT:
                for (const FieldLayout& field : type.fields) {
                    fill(*field.type, at + field.offset, depth + 1);
                }
                return;
            case Kind::SAFE_UNION: {
                const size_t member = mChoices.below(type.fields.size());
                *at = static_cast<uint8_t>(member);
                fill(*type.fields[member].type, at + type.fields[member].offset, depth + 1);
                return;
            }
            case Kind::INTERFACE:
                return;
        }
    }

    static constexpr TypeLayout kWord = {.kind = Kind::UNSIGNED, .name = "word", .size = 4};
    static constexpr TypeLayout kLongWord = {.kind = Kind::UNSIGNED, .name = "long", .size = 8};
    static constexpr std::array<FieldLayout, 4> kGrantorFields = {
            FieldLayout{"flags", offsetof(hal::hidl::HidlGrantor, flags), &kWord},
            FieldLayout{"fdIndex", offsetof(hal::hidl::HidlGrantor, fdIndex), &kWord},
            FieldLayout{"offset", offsetof(hal::hidl::HidlGrantor, offset), &kWord},
            FieldLayout{"extent", offsetof(hal::hidl::HidlGrantor, extent), &kLongWord}};
    static constexpr TypeLayout kGrantor = {.kind = Kind::STRUCT,
                                            .name = "grantor",
                                            .size = sizeof(hal::hidl::HidlGrantor),
                                            .fields = kGrantorFields};

    Choices& mChoices;
    const Material& mMaterial;
    const HalVersion mVersion;
    ParcelWriter& mWriter;
};

HalVersion versionOf(std::string_view token) {
    const size_t at = token.find('@');
    const std::string_view version = at == std::string_view::npos ? "" : token.substr(at + 1, 3);
    return version == "1.3"   ? HalVersion::V1_3
           : version == "1.2" ? HalVersion::V1_2
           : version == "1.1" ? HalVersion::V1_1
                              : HalVersion::V1_0;
}

// ---- Damage -------------------------------------------------------------------------------------

void damageBytes(Choices& choices, std::vector<uint8_t>& bytes) {
    if (bytes.empty()) {
        return;
    }
    const size_t width = size_t{1} << choices.below(4);
    const size_t at = choices.below(bytes.size()) / width * width;
    uint64_t value = 0;
    const size_t size = std::min(width, bytes.size() - at);
    std::memcpy(&value, bytes.data() + at, size);
    switch (choices.below(5)) {
        case 0:
            value += 1;
            break;
        case 1:
            value -= 1;
            break;
        case 2:
            value = ~uint64_t{0} >> choices.below(64);
            break;
        case 3:
            value = 0;
            break;
        default:
            value = choices.number<uint64_t>();
    }
    std::memcpy(bytes.data() + at, &value, size);
}

std::optional<binder_buffer_object> bufferAt(const SentParcel& parcel, size_t index) {
    binder_buffer_object object = {};
    const uint64_t offset = parcel.offsets[index];
    if (index >= parcel.buffers.size() || !parcel.buffers[index].has_value() ||
        offset > parcel.data.size() || parcel.data.size() - offset < sizeof(object)) {
        return std::nullopt;
    }
    std::memcpy(&object, parcel.data.data() + offset, sizeof(object));
    return object;
}

void setBufferAt(SentParcel& parcel, size_t index, const binder_buffer_object& object) {
    std::memcpy(parcel.data.data() + parcel.offsets[index], &object, sizeof(object));
}

void resizeBuffer(Choices& choices, SentParcel& parcel, size_t index) {
    std::optional<binder_buffer_object> object = bufferAt(parcel, index);
    if (object.has_value()) {
        std::vector<uint8_t>& content = *parcel.buffers[index];
        const size_t size = choices.oneIn(2) ? content.size() + choices.below(16)
                                             : content.size() - choices.below(content.size() + 1);
        content.resize(size);
        object->length = size;
        setBufferAt(parcel, index, *object);
    }
}

void changeObject(Choices& choices, SentParcel& parcel, size_t index) {
    if (std::optional<binder_buffer_object> object = bufferAt(parcel, index)) {
        switch (choices.below(3)) {
            case 0:
                object->parent = choices.below(parcel.offsets.size() + 1);
                break;
            case 1:
                object->parent_offset = choices.below(128);
                break;
            default:
                object->flags ^= BINDER_BUFFER_FLAG_HAS_PARENT;
        }
        setBufferAt(parcel, index, *object);
    }
}

// The object stays in the data, where the kernel does not look at it.
void unlist(SentParcel& parcel, size_t index) {
    parcel.offsets.erase(parcel.offsets.begin() + static_cast<ptrdiff_t>(index));
    if (index < parcel.buffers.size()) {
        parcel.buffers.erase(parcel.buffers.begin() + static_cast<ptrdiff_t>(index));
    }
}

// A process knows nothing of the sender's memory; here both are one.
void dropAddresses(SentParcel& parcel) {
    for (size_t i = 0; i < parcel.offsets.size(); ++i) {
        std::optional<binder_buffer_object> object = bufferAt(parcel, i);
        if (!object.has_value()) {
            continue;
        }
        std::vector<uint8_t>* parent = (object->flags & BINDER_BUFFER_FLAG_HAS_PARENT) != 0
                                               ? parcel.buffer(object->parent)
                                               : nullptr;
        if (parent != nullptr && parent->size() >= sizeof(kNowhere) &&
            object->parent_offset <= parent->size() - sizeof(kNowhere)) {
            std::memcpy(parent->data() + object->parent_offset, &kNowhere, sizeof(kNowhere));
        }
        object->buffer = object->buffer == 0 ? 0 : kNowhere;
        setBufferAt(parcel, i, *object);
    }
}

}  // namespace

SentParcel makeCall(Choices& choices, const hal::hidl::InterfaceLayout& interface,
                    const hal::hidl::MethodLayout& method, const Material& material) {
    ParcelWriter writer;
    hal::hidl::writeRequestHead(writer, interface, method.code);
    ArgumentWriter arguments(choices, material, versionOf(method.token), writer);
    for (const hal::hidl::ArgumentLayout& argument : method.arguments) {
        arguments.write(argument);
    }
    SentParcel parcel = hal::testing::capture(writer);
    dropAddresses(parcel);
    return parcel;
}

void damage(Choices& choices, SentParcel& parcel) {
    const size_t times = choices.oneIn(2) ? choices.below(4) : 0;
    for (size_t i = 0; i < times; ++i) {
        const size_t index = choices.below(parcel.offsets.size() + 1);
        const bool listed = index < parcel.offsets.size();
        switch (choices.below(9)) {
            case 0:
            case 1:
            case 2:
                if (std::vector<uint8_t>* content = parcel.buffer(index)) {
                    damageBytes(choices, *content);
                }
                break;
            case 3:
                damageBytes(choices, parcel.data);
                break;
            case 4:
                if (listed) {
                    resizeBuffer(choices, parcel, index);
                }
                break;
            case 5:
                if (listed) {
                    changeObject(choices, parcel, index);
                }
                break;
            case 6:
                if (listed) {
                    unlist(parcel, index);
                }
                break;
            case 7:
                parcel.data.resize(choices.below(parcel.data.size() + 16));
                break;
            default:
                if (listed) {
                    parcel.offsets[index] += 4 * choices.below(5);
                }
        }
    }
    parcel.buffers.resize(parcel.offsets.size());
    parcel.buffersSize = 0;
    for (const auto& content : parcel.buffers) {
        parcel.buffersSize += content.has_value() ? (content->size() + 7) / 8 * 8 : 0;
    }
}

}  // namespace halyard::fuzz
