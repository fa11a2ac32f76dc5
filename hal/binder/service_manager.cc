// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/service_manager.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace halyard::hal {
namespace {

constexpr std::string_view kBase = "android.hidl.base@1.0::IBase";
constexpr std::string_view kManager10 = "android.hidl.manager@1.0::IServiceManager";
constexpr std::string_view kManager12 = "android.hidl.manager@1.2::IServiceManager";

enum Method : uint32_t { GET = 1, ADD = 2, LIST = 4, ADD_WITH_CHAIN = 12, PING = 0x0f504e47 };

// The kernel logs each call to a manager that isn't there, so the calls become rarer.
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{160};

// hidl_string and hidl_vec<T>, whose head is the same: where the content is, and how long. Written
// out here since the HIDL codec stands on this folder.
struct Sequence {
    uint64_t address = 0;
    uint32_t length = 0;  // characters without the NUL, or elements
    uint32_t owns = 0;
};

Sequence makeString(ParcelWriter& writer, std::string_view text) {
    std::span<uint8_t> kept = writer.keepZeroed(text.size() + 1);
    std::copy(text.begin(), text.end(), kept.begin());
    return {.address = reinterpret_cast<uintptr_t>(kept.data()),
            .length = static_cast<uint32_t>(text.size())};
}

std::span<uint8_t> keepHeads(ParcelWriter& writer, std::span<const Sequence> heads) {
    return writer.keep({reinterpret_cast<const uint8_t*>(heads.data()), heads.size_bytes()});
}

void writeText(ParcelWriter& writer, const Sequence& string, ParentSlot slot) {
    writer.writeChildBuffer({reinterpret_cast<const uint8_t*>(string.address),
                             static_cast<size_t>(string.length) + 1},
                            slot);
}

void writeString(ParcelWriter& writer, std::string_view text) {
    const Sequence string = makeString(writer, text);
    BufferIndex index = writer.writeBuffer(keepHeads(writer, {&string, 1}));
    writeText(writer, string, {index, 0});
}

void writeStrings(ParcelWriter& writer, std::span<const std::string_view> texts) {
    std::vector<Sequence> strings;
    for (std::string_view text : texts) {
        strings.push_back(makeString(writer, text));
    }
    std::span<const uint8_t> elements = keepHeads(writer, strings);
    const Sequence vec{.address = reinterpret_cast<uintptr_t>(elements.data()),
                       .length = static_cast<uint32_t>(strings.size())};
    BufferIndex index = writer.writeBuffer(keepHeads(writer, {&vec, 1}));
    BufferIndex block = writer.writeChildBuffer(elements, {index, 0});
    for (size_t i = 0; i < strings.size(); ++i) {
        writeText(writer, strings[i], {block, i * sizeof(Sequence)});
    }
}

Sequence headAt(std::span<const uint8_t> bytes, size_t index) {
    Sequence head;
    std::memcpy(&head, bytes.data() + index * sizeof(head), sizeof(head));
    return head;
}

Result<std::vector<std::string>> readStrings(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(ParcelReader::Buffer root, reader.readBuffer(sizeof(Sequence)));
    const Sequence vec = headAt(root.bytes, 0);
    HALYARD_ASSIGN_OR_RETURN(ParcelReader::Buffer block,
                             reader.readChildBuffer(uint64_t{vec.length} * sizeof(Sequence),
                                                    {root.index, 0}, vec.address));
    std::vector<std::string> texts;
    for (size_t i = 0; i < vec.length; ++i) {
        const Sequence string = headAt(block.bytes, i);
        HALYARD_ASSIGN_OR_RETURN(
                ParcelReader::Buffer text,
                reader.readChildBuffer(uint64_t{string.length} + 1,
                                       {block.index, i * sizeof(Sequence)}, string.address));
        texts.emplace_back(reinterpret_cast<const char*>(text.bytes.data()), string.length);
    }
    return texts;
}

Status readException(Reply& reply) {
    HALYARD_ASSIGN_OR_RETURN(int32_t exception, reply.reader().readInt32());
    return exception == 0 ? Status()
                          : internalError("hwservicemanager answered with exception " +
                                          std::to_string(exception));
}

}  // namespace

HwServiceManager::HwServiceManager(std::shared_ptr<BinderProcess> process)
    : mProcess(std::move(process)) {}

Status HwServiceManager::waitUntilReady(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::chrono::milliseconds pause = kFirstPause;
    for (;;) {
        ParcelWriter ping;
        ping.writeInterfaceToken(kBase);
        Status answered = mProcess->transact(mProcess->contextManager(), PING, ping).status();
        if (answered.ok()) {
            return {};
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return {StatusCode::UNAVAILABLE,
                    "hwservicemanager does not answer: " + std::string(answered.message())};
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

Status HwServiceManager::add(std::string_view name, const std::shared_ptr<LocalObject>& service,
                             std::span<const std::string_view> chain) {
    ParcelWriter withChain;
    withChain.writeInterfaceToken(kManager12);
    writeString(withChain, name);
    withChain.writeObject(service);
    writeStrings(withChain, chain);
    Result<std::unique_ptr<Reply>> reply =
            mProcess->transact(mProcess->contextManager(), ADD_WITH_CHAIN, withChain);
    if (reply.status().code() == StatusCode::UNSUPPORTED) {
        // Before Android 10; the manager asks the service for its chain while we wait.
        ParcelWriter plain;
        plain.writeInterfaceToken(kManager10);
        writeString(plain, name);
        plain.writeObject(service);
        reply = mProcess->transact(mProcess->contextManager(), ADD, plain);
    }
    if (!reply.ok()) {
        return reply.status().withContext("registering " + std::string(name));
    }
    HALYARD_RETURN_IF_ERROR(readException(**reply));
    HALYARD_ASSIGN_OR_RETURN(bool added, (*reply)->reader().readBool());
    return added ? Status()
                 : internalError("hwservicemanager refuses to register " + std::string(name) +
                                 " (SELinux, or an interface that the VINTF manifest lacks)");
}

Result<ObjectRef> HwServiceManager::get(std::string_view interface, std::string_view name) {
    ParcelWriter arguments;
    arguments.writeInterfaceToken(kManager10);
    writeString(arguments, interface);
    writeString(arguments, name);
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             mProcess->transact(mProcess->contextManager(), GET, arguments));
    HALYARD_RETURN_IF_ERROR(readException(*reply));
    return reply->reader().readObject();
}

Result<std::vector<std::string>> HwServiceManager::list() {
    ParcelWriter arguments;
    arguments.writeInterfaceToken(kManager10);
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             mProcess->transact(mProcess->contextManager(), LIST, arguments));
    HALYARD_RETURN_IF_ERROR(readException(*reply));
    return readStrings(reply->reader());
}

}  // namespace halyard::hal
