// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/json_values.h"

#include <cstring>

namespace halyard::hal::testing {

namespace {

using hidl::ArgumentLayout;
using hidl::FieldLayout;
using hidl::HidlFmq;
using hidl::HidlGrantor;
using hidl::HidlHandle;
using hidl::HidlMemory;
using hidl::HidlString;
using hidl::HidlVec;
using hidl::TypeLayout;
using Kind = TypeLayout::Kind;

template <typename T>
T load(const uint8_t* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

uint64_t loadInteger(const uint8_t* bytes, const TypeLayout& layout) {
    bool isSigned = layout.kind == Kind::SIGNED;
    switch (layout.size) {
        case 1:
            return isSigned ? static_cast<uint64_t>(load<int8_t>(bytes)) : load<uint8_t>(bytes);
        case 2:
            return isSigned ? static_cast<uint64_t>(load<int16_t>(bytes)) : load<uint16_t>(bytes);
        case 4:
            return isSigned ? static_cast<uint64_t>(load<int32_t>(bytes)) : load<uint32_t>(bytes);
        default:
            return load<uint64_t>(bytes);
    }
}

NativeHandle handleOf(const Json& value) {
    NativeHandle handle;
    for (size_t i = 0; i < value[1].items.size(); ++i) {
        auto number = static_cast<int32_t>(value[1][i].number());
        if (i < value[size_t{0}].number()) {
            handle.fds.push_back(number);
        } else {
            handle.ints.push_back(number);
        }
    }
    return handle;
}

// ---- JSON to memory -----------------------------------------------------------------------------

// Fills in a value of this layout at `into`, which is zeroed.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the types are nested
void store(ParcelWriter& writer, const TypeLayout& layout, const Json& value, uint8_t* into) {
    auto put = [into](const auto& bytes) { std::memcpy(into, &bytes, sizeof(bytes)); };
    switch (layout.kind) {
        case Kind::BOOL:
            *into = value.truth ? 1 : 0;
            return;
        case Kind::FLOAT:
            put(static_cast<float>(value.real()));
            return;
        case Kind::SIGNED:
        case Kind::UNSIGNED: {
            uint64_t number = value.number();
            std::memcpy(into, &number, layout.size);
            return;
        }
        case Kind::STRING:
            put(hidl::makeString(writer, value.text));
            return;
        case Kind::HANDLE:
            if (!value.isNull()) {
                put(hidl::makeHandle(writer, handleOf(value)));
            }
            return;
        case Kind::MEMORY:
            put(hidl::makeMemory(writer, value[size_t{0}].text, handleOf(value[1]),
                                 value[2].number()));
            return;
        case Kind::FMQ: {
            HidlFmq<uint8_t> queue;
            std::vector<HidlGrantor> grantors;
            for (const Json& item : value[size_t{0}].items) {
                HidlGrantor& grantor = grantors.emplace_back();
                grantor.flags = item[size_t{0}].number();
                grantor.fdIndex = item[1].number();
                grantor.offset = item[2].number();
                grantor.extent = item[3].number();
            }
            queue.grantors = hidl::makeVec(writer, grantors);
            queue.handleAddress = hidl::makeHandle(writer, handleOf(value[1])).address;
            queue.quantum = value[2].number();
            queue.flags = 1;
            put(queue);
            return;
        }
        case Kind::VEC: {
            HidlVec<uint8_t> vec;
            vec.count = value.items.size();
            if (vec.count > 0) {
                uint8_t* elements = writer.keepZeroed(vec.count * layout.element->size).data();
                vec.address = reinterpret_cast<uintptr_t>(elements);
                for (size_t i = 0; i < vec.count; ++i) {
                    store(writer, *layout.element, value[i], elements + i * layout.element->size);
                }
            }
            put(vec);
            return;
        }
        case Kind::ARRAY:
            for (size_t i = 0; i < layout.count; ++i) {
                store(writer, *layout.element, value[i], into + i * layout.element->size);
            }
            return;
        case Kind::STRUCT:
            for (const FieldLayout& field : layout.fields) {
                store(writer, *field.type, value[field.name], into + field.offset);
            }
            return;
        case Kind::SAFE_UNION:
            for (size_t i = 0; i < layout.fields.size(); ++i) {
                const FieldLayout& member = layout.fields[i];
                if (member.name == value[size_t{0}].text) {
                    *into = static_cast<uint8_t>(i);
                    store(writer, *member.type, value[1], into + member.offset);
                }
            }
            return;
        case Kind::INTERFACE:
            return;
    }
}

// ---- memory against JSON ------------------------------------------------------------------------

Status differs(std::string_view what) {
    return internalError(std::string(what));
}

Status compareHandle(const ReceivedHandle& handle, const Json& value) {
    if (value.isNull() || !handle.valid) {
        return value.isNull() == !handle.valid ? Status() : differs("null");
    }
    NativeHandle expected = handleOf(value);
    return expected.fds == handle.handle.fds && expected.ints == handle.handle.ints
                   ? Status()
                   : differs("handle");
}

HidlHandle handleAt(uint64_t address) {
    HidlHandle handle;
    handle.address = address;
    return handle;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types are nested
Status compare(const TypeLayout& layout, const Json& value, const uint8_t* bytes) {
    auto elements = [&](const uint8_t* first, size_t count) -> Status {
        if (value.items.size() != count) {
            return differs("has " + std::to_string(count) + " elements");
        }
        for (size_t i = 0; i < count; ++i) {
            HALYARD_RETURN_IF_ERROR(
                    compare(*layout.element, value[i], first + i * layout.element->size)
                            .withContext("[" + std::to_string(i) + "]"));
        }
        return {};
    };
    switch (layout.kind) {
        case Kind::BOOL:
            return *bytes == (value.truth ? 1 : 0) ? Status() : differs("bool");
        case Kind::FLOAT:
            return load<float>(bytes) == static_cast<float>(value.real()) ? Status()
                                                                          : differs("float");
        case Kind::SIGNED:
        case Kind::UNSIGNED:
            return loadInteger(bytes, layout) == value.number()
                           ? Status()
                           : differs("is " + std::to_string(loadInteger(bytes, layout)));
        case Kind::STRING:
            return load<HidlString>(bytes).view() == value.text ? Status() : differs("string");
        case Kind::HANDLE:
            return compareHandle(hidl::nativeHandle(load<HidlHandle>(bytes)), value);
        case Kind::MEMORY: {
            auto memory = load<HidlMemory>(bytes);
            HALYARD_RETURN_IF_ERROR(compareHandle(hidl::nativeHandle(memory.handle), value[1]));
            return memory.name.view() == value[size_t{0}].text && memory.size == value[2].number()
                           ? Status()
                           : differs("memory");
        }
        case Kind::FMQ: {
            auto queue = load<HidlFmq<uint8_t>>(bytes);
            const Json& grantors = value[size_t{0}];
            if (queue.grantors.count != grantors.items.size() ||
                queue.quantum != value[2].number() || queue.flags != 1) {
                return differs("queue");
            }
            for (size_t i = 0; i < queue.grantors.count; ++i) {
                const HidlGrantor& grantor = queue.grantors.view()[i];
                if (grantor.flags != grantors[i][size_t{0}].number() ||
                    grantor.fdIndex != grantors[i][1].number() ||
                    grantor.offset != grantors[i][2].number() ||
                    grantor.extent != grantors[i][3].number()) {
                    return differs("grantor " + std::to_string(i));
                }
            }
            return compareHandle(hidl::nativeHandle(handleAt(queue.handleAddress)), value[1]);
        }
        case Kind::VEC: {
            auto vec = load<HidlVec<uint8_t>>(bytes);
            return elements(pointerTo<uint8_t>(vec.address), vec.count);
        }
        case Kind::ARRAY:
            return elements(bytes, layout.count);
        case Kind::STRUCT:
            for (const FieldLayout& field : layout.fields) {
                HALYARD_RETURN_IF_ERROR(
                        compare(*field.type, value[field.name], bytes + field.offset)
                                .withContext(field.name));
            }
            return {};
        case Kind::SAFE_UNION: {
            const FieldLayout& member = layout.fields[*bytes];
            return member.name == value[size_t{0}].text
                           ? compare(*member.type, value[1], bytes + member.offset)
                           : differs("is " + std::string(member.name));
        }
        case Kind::INTERFACE:
            return {};
    }
    return {};
}

// ---- every byte ---------------------------------------------------------------------------------

// FNV-1a.
struct Digest {
    uint64_t value = 0xcbf29ce484222325U;
    void add(const uint8_t* bytes, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            value = (value ^ bytes[i]) * 0x100000001b3U;
        }
    }
    void add(const ReceivedHandle& handle) {
        for (int fd : handle.handle.fds) {
            add(reinterpret_cast<const uint8_t*>(&fd), sizeof(fd));
        }
        for (int32_t number : handle.handle.ints) {
            add(reinterpret_cast<const uint8_t*>(&number), sizeof(number));
        }
    }
};

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types are nested
void addTo(Digest& sum, const TypeLayout& layout, const uint8_t* bytes) {
    auto elements = [&](const uint8_t* first, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            addTo(sum, *layout.element, first + i * layout.element->size);
        }
    };
    switch (layout.kind) {
        case Kind::BOOL:
        case Kind::SIGNED:
        case Kind::UNSIGNED:
        case Kind::FLOAT:
            sum.add(bytes, layout.size);
            return;
        case Kind::STRING: {
            auto string = load<HidlString>(bytes);
            sum.add(pointerTo<uint8_t>(string.address), size_t{string.length} + 1);
            return;
        }
        case Kind::HANDLE:
            sum.add(hidl::nativeHandle(load<HidlHandle>(bytes)));
            return;
        case Kind::MEMORY: {
            auto memory = load<HidlMemory>(bytes);
            sum.add(hidl::nativeHandle(memory.handle));
            sum.add(pointerTo<uint8_t>(memory.name.address), size_t{memory.name.length} + 1);
            return;
        }
        case Kind::FMQ: {
            auto queue = load<HidlFmq<uint8_t>>(bytes);
            sum.add(pointerTo<uint8_t>(queue.grantors.address),
                    size_t{queue.grantors.count} * sizeof(HidlGrantor));
            sum.add(hidl::nativeHandle(handleAt(queue.handleAddress)));
            return;
        }
        case Kind::VEC: {
            auto vec = load<HidlVec<uint8_t>>(bytes);
            elements(pointerTo<uint8_t>(vec.address), vec.count);
            return;
        }
        case Kind::ARRAY:
            elements(bytes, layout.count);
            return;
        case Kind::STRUCT:
            for (const FieldLayout& field : layout.fields) {
                addTo(sum, *field.type, bytes + field.offset);
            }
            return;
        case Kind::SAFE_UNION: {
            sum.add(bytes, 1);
            const FieldLayout& member = layout.fields[*bytes];
            addTo(sum, *member.type, bytes + member.offset);
            return;
        }
        case Kind::INTERFACE:
            return;
    }
}

// ---- one argument -------------------------------------------------------------------------------

bool isScalar(const TypeLayout& layout) {
    return layout.kind == Kind::BOOL || layout.kind == Kind::SIGNED ||
           layout.kind == Kind::UNSIGNED || layout.kind == Kind::FLOAT;
}

bool isObjects(const TypeLayout& layout) {
    return layout.kind == Kind::VEC && layout.element->kind == Kind::INTERFACE;
}

ObjectRef objectOf(const Json& value, const ObjectByName& objectByName) {
    return value.isNull() ? ObjectRef() : objectByName(value.text);
}

// A scalar argument as the bytes that a struct would hold.
Result<uint64_t> readScalar(ParcelReader& reader, const TypeLayout& layout) {
    if (layout.size == 8) {
        return reader.readUint64();
    }
    HALYARD_ASSIGN_OR_RETURN(uint32_t value, reader.readUint32());
    return uint64_t{value};
}

}  // namespace

Status writeJson(ParcelWriter& writer, std::span<const ArgumentLayout> layouts, const Json& values,
                 const ObjectByName& objectByName) {
    if (values.members.size() != layouts.size()) {
        return invalidArgument("the JSON has another number of values");
    }
    for (const ArgumentLayout& argument : layouts) {
        const TypeLayout& layout = *argument.type;
        const Json& value = values[argument.name];
        if (isScalar(layout)) {
            uint64_t bits = 0;
            store(writer, layout, value, reinterpret_cast<uint8_t*>(&bits));
            if (layout.size == 8) {
                writer.writeUint64(bits);
            } else {
                writer.writeUint32(static_cast<uint32_t>(bits));
            }
        } else if (layout.kind == Kind::HANDLE) {
            NativeHandle handle = handleOf(value);
            hidl::writeNativeHandle(writer, value.isNull() ? nullptr : &handle);
        } else if (layout.kind == Kind::INTERFACE) {
            writer.writeObject(objectOf(value, objectByName));
        } else if (isObjects(layout)) {
            std::vector<ObjectRef> objects;
            objects.reserve(value.items.size());
            for (const Json& item : value.items) {
                objects.push_back(objectOf(item, objectByName));
            }
            hidl::writeObjects(writer, objects);
        } else {
            std::vector<uint64_t> bytes(layout.size / 8 + 1);
            store(writer, layout, value, reinterpret_cast<uint8_t*>(bytes.data()));
            hidl::writeValue(writer, layout, bytes.data());
        }
    }
    return {};
}

namespace {

// Reads the arguments and gives each one to `look` (layout, name, bytes) or, where it is a handle,
// to `lookAtHandle`, or where it is an object, to `lookAtObject`.
template <typename Look, typename LookAtHandle, typename LookAtObjects>
Status readAll(ParcelReader& reader, std::span<const ArgumentLayout> layouts, const Look& look,
               const LookAtHandle& lookAtHandle, const LookAtObjects& lookAtObjects) {
    for (const ArgumentLayout& argument : layouts) {
        const TypeLayout& layout = *argument.type;
        if (isScalar(layout)) {
            HALYARD_ASSIGN_OR_RETURN(uint64_t bits, readScalar(reader, layout));
            HALYARD_RETURN_IF_ERROR(look(argument, reinterpret_cast<const uint8_t*>(&bits)));
        } else if (layout.kind == Kind::HANDLE) {
            HALYARD_ASSIGN_OR_RETURN(ReceivedHandle handle, hidl::readNativeHandle(reader));
            HALYARD_RETURN_IF_ERROR(lookAtHandle(argument, handle));
        } else if (layout.kind == Kind::INTERFACE) {
            HALYARD_ASSIGN_OR_RETURN(ObjectRef object, reader.readObject());
            HALYARD_RETURN_IF_ERROR(lookAtObjects(argument, std::span(&object, 1)));
        } else if (isObjects(layout)) {
            HALYARD_ASSIGN_OR_RETURN(std::vector<ObjectRef> objects, hidl::readObjects(reader));
            HALYARD_RETURN_IF_ERROR(lookAtObjects(argument, std::span<const ObjectRef>(objects)));
        } else {
            HALYARD_ASSIGN_OR_RETURN(const void* value, hidl::readValue(reader, layout));
            HALYARD_RETURN_IF_ERROR(look(argument, static_cast<const uint8_t*>(value)));
        }
    }
    return {};
}

}  // namespace

Status compareWithJson(ParcelReader& reader, std::span<const ArgumentLayout> layouts,
                       const Json& values) {
    return readAll(
            reader, layouts,
            [&](const ArgumentLayout& argument, const uint8_t* bytes) {
                return compare(*argument.type, values[argument.name], bytes)
                        .withContext(argument.name);
            },
            [&](const ArgumentLayout& argument, const ReceivedHandle& handle) {
                return compareHandle(handle, values[argument.name]).withContext(argument.name);
            },
            [&](const ArgumentLayout& argument, std::span<const ObjectRef> objects) -> Status {
                const Json& value = values[argument.name];
                bool single = value.kind != Json::Kind::ARRAY;
                if (!single && value.items.size() != objects.size()) {
                    return differs(argument.name);
                }
                for (size_t i = 0; i < objects.size(); ++i) {
                    if (isNull(objects[i]) != (single ? value : value[i]).isNull()) {
                        return differs(argument.name);
                    }
                }
                return {};
            });
}

Result<uint64_t> digest(ParcelReader& reader, std::span<const ArgumentLayout> layouts) {
    Digest sum;
    HALYARD_RETURN_IF_ERROR(readAll(
            reader, layouts,
            [&](const ArgumentLayout& argument, const uint8_t* bytes) {
                addTo(sum, *argument.type, bytes);
                return Status();
            },
            [&](const ArgumentLayout& /*argument*/, const ReceivedHandle& handle) {
                sum.add(handle);
                return Status();
            },
            [&](const ArgumentLayout& /*argument*/, std::span<const ObjectRef> /*objects*/) {
                return Status();
            }));
    return sum.value;
}

}  // namespace halyard::hal::testing
