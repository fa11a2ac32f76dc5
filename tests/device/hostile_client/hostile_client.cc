// SPDX-License-Identifier: Apache-2.0

#include "tests/device/hostile_client/hostile_client.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "hal/client/sendable.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"
#include "hal/hidl/version_delta.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/cases/message_file.h"
#include "harness/device/runner/isolation.h"

namespace halyard::hostile {

namespace {

using hal::ParcelWriter;
using hal::hidl::connectToService;
using hal::hidl::MethodLayout;
using hal::hidl::RemoteInterface;
using hal::hidl::ServiceConnection;
using hal::hidl::TypeLayout;
using hal::hidl::nn::v1_3::IDevice;
using runner::BundleReader;
using runner::IsolatedRun;
using runner::ParentLink;
using runner::runIsolated;
using runner::toCanonical;

constexpr std::chrono::milliseconds kConnect(5000);

// Sends a call whose answer, if there is one, does not matter.
void sendRaw(const RemoteInterface& service, uint32_t code, const ParcelWriter& arguments) {
    static_cast<void>(service.process()->transact(service.object(), code, arguments));
}

// An argument that is well formed and empty.
void writeEmpty(ParcelWriter& writer, const TypeLayout& type) {
    switch (type.kind) {
        case TypeLayout::Kind::BOOL:
        case TypeLayout::Kind::SIGNED:
        case TypeLayout::Kind::UNSIGNED:
        case TypeLayout::Kind::FLOAT:
            writer.writeInt32(0);
            if (type.size > sizeof(int32_t)) {
                writer.writeInt32(0);
            }
            break;
        case TypeLayout::Kind::HANDLE:
            hal::hidl::writeNativeHandle(writer, nullptr);
            break;
        case TypeLayout::Kind::INTERFACE:
            writer.writeObject({});
            break;
        default:
            writer.writeBuffer(writer.keepZeroed(type.size));
            break;
    }
}

// Each method with its first n arguments, for every n, and with its token cut short.
size_t sendTruncated(const RemoteInterface& service) {
    size_t sent = 0;
    for (const MethodLayout& method : IDevice::layout().methods) {
        for (size_t n = 0; n < method.arguments.size(); ++n) {
            ParcelWriter writer;
            hal::hidl::writeInterfaceToken(writer, method.token);
            for (size_t i = 0; i < n; ++i) {
                writeEmpty(writer, *method.arguments[i].type);
            }
            sendRaw(service, method.code, writer);
            ++sent;
        }
        const std::string_view token = method.token;
        for (const std::string_view cut : {token.substr(0, token.size() / 2), token.substr(0, 0)}) {
            ParcelWriter writer;
            hal::hidl::writeInterfaceToken(writer, cut);
            sendRaw(service, method.code, writer);
            ++sent;
        }
        sendRaw(service, method.code, ParcelWriter());
        ++sent;
    }
    return sent;
}

void writeGarbage(ParcelWriter& writer, std::mt19937& random) {
    const auto below = [&random](uint32_t count) {
        return std::uniform_int_distribution<uint32_t>(0, count - 1)(random);
    };
    std::vector<hal::BufferIndex> buffers;
    size_t largest = 0;
    for (uint32_t item = below(12); item > 0; --item) {
        // The kernel itself refuses addresses that are not ours, so the bytes are.
        const size_t size = size_t{8} * below(40);
        const std::span<uint8_t> bytes = writer.keepZeroed(size);
        for (uint8_t& byte : bytes) {
            byte = static_cast<uint8_t>(below(3) == 0 ? random() : 0);
        }
        switch (below(5)) {
            case 0:
                writer.writeUint32(static_cast<uint32_t>(random()));
                break;
            case 1:
                writer.writeUint64((uint64_t{random()} << 32) | random());
                break;
            case 2:
                writer.writeObject({});
                break;
            case 3:
                buffers.push_back(writer.writeBuffer(bytes));
                largest = std::max(largest, size);
                break;
            default:
                if (!buffers.empty() && largest >= 8) {
                    const size_t slot = size_t{8} * below(static_cast<uint32_t>(largest / 8));
                    buffers.push_back(writer.writeChildBuffer(
                            bytes, {.index = buffers.back(), .offset = slot}));
                }
                break;
        }
    }
}

size_t sendGarbage(const RemoteInterface& service) {
    constexpr size_t kCalls = 2000;
    const uint32_t seed = std::random_device()();
    printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const std::span<const MethodLayout> methods = IDevice::layout().methods;
    for (size_t i = 0; i < kCalls; ++i) {
        const MethodLayout& method = methods[random() % methods.size()];
        ParcelWriter writer;
        hal::hidl::writeInterfaceToken(writer, method.token);
        writeGarbage(writer, random);
        const uint32_t code =
                random() % 8 == 0 ? static_cast<uint32_t>(random() & 0xffffff) : method.code;
        sendRaw(service, code, writer);
    }
    return kCalls;
}

Result<runner::pb::TestCase> firstCase(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(BundleReader bundle, BundleReader::open(path));
    HALYARD_ASSIGN_OR_RETURN(std::optional<runner::pb::TestCase> testCase, bundle.next());
    if (!testCase.has_value() || testCase->examples_size() == 0) {
        return invalidArgument(path + " has no case with an example");
    }
    return *std::move(testCase);
}

Result<std::shared_ptr<driver::IPreparedModel>> prepare(const std::string& instance,
                                                        const driver::Model& model) {
    HALYARD_ASSIGN_OR_RETURN(ServiceConnection connection,
                             connectToService(instance, std::nullopt, kConnect));
    return hal::hidl::makeClientDevice(std::move(connection))->prepare(model, {});
}

// Prepares the model, starts executions without waiting for them, and dies.
Status executeAndDie(const std::string& instance, const runner::pb::TestCase& testCase) {
    constexpr int kExecutions = 64;
    HALYARD_ASSIGN_OR_RETURN(const driver::Model model, toCanonical(testCase.model()));
    HALYARD_ASSIGN_OR_RETURN(const driver::Request request, toCanonical(testCase.examples(0)));
    HALYARD_ASSIGN_OR_RETURN(const auto prepared, prepare(instance, model));
    for (int i = 0; i < kExecutions; ++i) {
        static_cast<void>(
                prepared->executeAsync(request, {}, [](const driver::ExecutionResult&) {}));
    }
    raise(SIGKILL);
    return internalError("survived SIGKILL");
}

Status dieDuringExecute(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const runner::pb::TestCase first, firstCase(settings.bundle));
    HALYARD_ASSIGN_OR_RETURN(
            const IsolatedRun run,
            runIsolated(
                    [&](const ParentLink& pipe) {
                        runner::pb::CaseResult result;
                        result.set_message(executeAndDie(settings.instance, first).toString());
                        pipe.sendFinal(result);
                    },
                    std::chrono::milliseconds(0)));
    if (run.end != IsolatedRun::End::CRASHED) {
        return internalError("the client was to die: " + run.result.message());
    }
    printf("the client was %s\n", run.reason.c_str());
    return {};
}

// A pool that is a plain file without a name, whose size is not sealed.
class PlainFile : public driver::ResidentMemory {
  public:
    // Not through a mapping: this process must not touch what it is about to cut off.
    static Result<std::shared_ptr<const PlainFile>> create(std::span<const uint8_t> bytes) {
        const int fd = memfd_create("constants", MFD_CLOEXEC);
        if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
            return internalError(std::string("memfd: ") + strerror(errno));
        }
        return std::make_shared<const PlainFile>(fd, bytes.size());
    }
    PlainFile(int fd, size_t size)
        : mFile(fd), mSize(size), mHandle{{fd}, {PROT_READ | PROT_WRITE, 0, 0}} {}

    std::string_view name() const override { return "mmap_fd"; }
    size_t size() const override { return mSize; }
    const driver::MemoryHandle* handle() const override { return &mHandle; }

    Status cutToNothing() const {
        return ftruncate(mFile.get(), 0) == 0
                       ? Status()
                       : internalError(std::string("ftruncate: ") + strerror(errno));
    }

  private:
    std::span<uint8_t> all() const override { return {}; }

    const FileDescriptor mFile;
    const size_t mSize;
    const driver::MemoryHandle mHandle;
};

Status cutMemory(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const runner::pb::TestCase testCase, firstCase(settings.bundle));
    HALYARD_ASSIGN_OR_RETURN(driver::Model model, toCanonical(testCase.model()));
    HALYARD_ASSIGN_OR_RETURN(const driver::Request request, toCanonical(testCase.examples(0)));
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const PlainFile> constants,
                             PlainFile::create(*model.operandValues));
    HALYARD_RETURN_IF_ERROR(hal::moveConstantsToPool(model));
    model.pools.back() = constants;

    HALYARD_ASSIGN_OR_RETURN(const auto prepared, prepare(settings.instance, model));
    const Status before = prepared->execute(request, {}).status;
    HALYARD_RETURN_IF_ERROR(before.withContext("the execution before the cut"));
    HALYARD_RETURN_IF_ERROR(constants->cutToNothing());
    const Status after = prepared->execute(request, {}).status;
    if (after.ok()) {
        // A backend that packs constants has no more use for the file.
        printf("the execution went well without it\n");
        return {};
    }
    if (after.code() != StatusCode::INTERNAL) {
        return Status(StatusCode::UNAVAILABLE,
                      "the answer was not GENERAL_FAILURE: " + after.toString());
    }
    printf("the execution failed, as it should\n");
    return {};
}

}  // namespace

Status runHostileClient(const Settings& settings) {
    const std::string& mode = settings.mode;
    if (mode == "die-during-execute") {
        // Before this process has threads.
        HALYARD_RETURN_IF_ERROR(dieDuringExecute(settings));
    } else if (mode == "cut-memory") {
        HALYARD_RETURN_IF_ERROR(cutMemory(settings));
    } else if (mode != "truncated-parcel" && mode != "garbage-parcel") {
        return invalidArgument("unknown mode " + mode);
    }
    HALYARD_ASSIGN_OR_RETURN(
            const ServiceConnection connection,
            connectToService(settings.instance, driver::HalVersion::V1_3, kConnect));
    if (mode == "truncated-parcel") {
        printf("%zu truncated calls\n", sendTruncated(connection.device));
    } else if (mode == "garbage-parcel") {
        printf("%zu calls with garbage\n", sendGarbage(connection.device));
    }
    HALYARD_RETURN_IF_ERROR(connection.device.ping());
    if (connection.service->hasDied()) {
        return Status(StatusCode::UNAVAILABLE, "the service died");
    }
    printf("the service answers\n");
    return {};
}

}  // namespace halyard::hostile
