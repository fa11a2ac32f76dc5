// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/served_calls.h"

#include <string>
#include <utility>

#include "hal/hidl/codec.h"
#include "tests/fuzz/finding.h"

namespace halyard::fuzz {
namespace {

using hal::hidl::ArgumentLayout;
using hal::hidl::MethodLayout;
using hal::hidl::TypeLayout;
using Kind = TypeLayout::Kind;

Status readResult(hal::ParcelReader& reader, const TypeLayout& type) {
    switch (type.kind) {
        case Kind::BOOL:
        case Kind::SIGNED:
        case Kind::UNSIGNED:
            return type.size == sizeof(uint64_t) ? reader.readUint64().status()
                                                 : reader.readUint32().status();
        case Kind::HANDLE:
            return hal::hidl::readNativeHandle(reader).status();
        case Kind::INTERFACE:
            return reader.readObject().status();
        default:
            return hal::hidl::readValue(reader, type).status();
    }
}

void checkReply(hal::Reply& reply, const MethodLayout& method) {
    const std::string claim = std::string(method.name) + " answers as its interface says";
    Status read = hal::hidl::readReplyHead(reply.reader());
    require(read.ok(), claim, read.message());
    for (const ArgumentLayout& result : method.results) {
        read = readResult(reply.reader(), *result.type);
        require(read.ok(), claim, read.message());
    }
    require(reply.reader().remaining() == 0, claim, "there is more behind the results");
}

}  // namespace

void makeCalls(Choices& choices, size_t most, hal::testing::LoopbackProcess& process,
               const std::shared_ptr<hal::LocalObject>& object,
               const hal::hidl::InterfaceLayout& interface, const Material& material) {
    for (size_t i = 0; i < most && !choices.empty(); ++i) {
        const MethodLayout& method = choices.of(interface.methods);
        hal::testing::SentParcel parcel = makeCall(choices, interface, method, material);
        damage(choices, parcel);
        const bool oneway = choices.oneIn(16) ? !method.oneway : method.oneway;
        const uint32_t code = choices.oneIn(32) ? choices.number<uint32_t>() : method.code;
        // A failure is the kernel's: the parcel never reaches anyone.
        auto answer = process.call(object, code, oneway, parcel);
        if (answer.ok() && answer->reply != nullptr && code == method.code) {
            checkReply(*answer->reply, method);
        }
    }
}

}  // namespace halyard::fuzz
