// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/dispatch/invocation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/base/log.h"
#include "litert/vendor/tables.h"

namespace halyard::vendor {
namespace {

constexpr const char* kSides[] = {"input", "output"};

// Unlocks what it has locked.
class Locks {
  public:
    Locks(const abi::RuntimeTable& litert, std::vector<abi::TensorBuffer>& locked)
        : mLiteRt(litert), mLocked(locked) {}
    Locks(const Locks&) = delete;
    Locks& operator=(const Locks&) = delete;
    ~Locks() {
        for (abi::TensorBuffer buffer : mLocked) {
            mLiteRt.unlockTensorBuffer(buffer);
        }
        mLocked.clear();
    }

  private:
    const abi::RuntimeTable& mLiteRt;
    std::vector<abi::TensorBuffer>& mLocked;
};

void waitFor(const FileDescriptor& fence) {
    pollfd poll = {.fd = fence.get(), .events = POLLIN, .revents = 0};
    while (::poll(&poll, 1, -1) < 0 && errno == EINTR) {
    }
}

void signal(const FileDescriptor& event) {
    // It can't fail: the count is 0.
    [[maybe_unused]] const int status = eventfd_write(event.get(), 1);
}

FileDescriptor copyOf(int fd) {
    return FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

Result<std::unique_ptr<Invocation>> Invocation::create(std::shared_ptr<Device> device,
                                                       const abi::MemBuffer& bytecode,
                                                       size_t inputs, size_t outputs,
                                                       ProcessCounts& counts) {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<LoadedIsland> island,
                             LoadedIsland::load(*device, bytecode, inputs, outputs));
    return std::unique_ptr<Invocation>(
            new Invocation(std::move(device), std::move(island), counts));
}

Invocation::Invocation(std::shared_ptr<Device> device, std::unique_ptr<LoadedIsland> island,
                       ProcessCounts& counts)
    : mDevice(std::move(device)), mIsland(std::move(island)), mProcess(counts) {
    const BytecodeInfo& info = mIsland->info();
    mInputs.resize(info.inputs.size());
    mOutputs.resize(info.outputs.size());
    mShapes.resize(info.inputs.size());
    ++mProcess.contexts;
    ++mProcess.liveContexts;
    mProcess.operators += info.operators;
    mProcess.packedConstants += mIsland->program().constantsFilled();
    mProcess.compiledWhenLoaded += info.isProgram ? 0 : 1;
    mProcess.mappedContexts += mIsland->isMapped() ? 1 : 0;
}

Invocation::~Invocation() {
    mDevice->drain();
    --mProcess.liveContexts;
}

Result<size_t> Invocation::requiredBytes(Side side, size_t port,
                                         const abi::RankedTensorType& type) const {
    const BytecodeInfo& info = mIsland->info();
    const std::vector<BytecodePort>& ports = side == Side::INPUT ? info.inputs : info.outputs;
    if (port >= ports.size()) {
        return invalidArgument("there is no " + std::string(kSides[static_cast<int>(side)]) + " " +
                               std::to_string(port));
    }
    if (type.elementType != ports[port].elementType) {
        return invalidArgument(std::string(kSides[static_cast<int>(side)]) + " " +
                               std::to_string(port) + " is of type " +
                               std::to_string(type.elementType) + ", and was compiled for " +
                               std::to_string(ports[port].elementType));
    }
    const size_t rank = type.layout.rankAndStrides & 0x7FU;
    if (rank > std::size(type.layout.dimensions)) {
        return invalidArgument("a type has " + std::to_string(rank) + " dimensions");
    }
    const Result<size_t> size =
            bytesOf(type.elementType, {type.layout.dimensions, type.layout.dimensions + rank});
    return size.ok() ? size : bytesOf(ports[port].elementType, ports[port].shape);
}

Result<Invocation::Port*> Invocation::portOf(Side side, size_t port) {
    std::vector<Port>& ports = side == Side::INPUT ? mInputs : mOutputs;
    if (port >= ports.size()) {
        return invalidArgument("there is no " + std::string(kSides[static_cast<int>(side)]) + " " +
                               std::to_string(port) + "; there are " +
                               std::to_string(ports.size()));
    }
    return &ports[port];
}

Status Invocation::attach(Side side, size_t port, uint64_t handle) {
    mDevice->drain();
    std::shared_ptr<const RegisteredBuffer> buffer = mDevice->find(handle);
    const std::lock_guard lock(mMutex);
    HALYARD_ASSIGN_OR_RETURN(Port* const found, portOf(side, port));
    if (buffer == nullptr) {
        return invalidArgument("there is no buffer " + std::to_string(handle));
    }
    const BytecodePort& declared =
            side == Side::INPUT ? mIsland->info().inputs[port] : mIsland->info().outputs[port];
    if (buffer->elementType != declared.elementType) {
        return invalidArgument("a buffer of type " + std::to_string(buffer->elementType) +
                               " is attached to " + kSides[static_cast<int>(side)] + " " +
                               std::to_string(port) + ", which is of type " +
                               std::to_string(declared.elementType));
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, bytesOf(buffer->elementType, buffer->shape));
    if (bytes > buffer->size) {
        return invalidArgument("the buffer of " + std::string(kSides[static_cast<int>(side)]) +
                               " " + std::to_string(port) + " has " + std::to_string(buffer->size) +
                               " bytes, and its shape takes " + std::to_string(bytes));
    }
    *found = {.handle = handle, .buffer = std::move(buffer)};
    return {};
}

Status Invocation::detach(Side side, size_t port, uint64_t handle) {
    mDevice->drain();
    const std::lock_guard lock(mMutex);
    HALYARD_ASSIGN_OR_RETURN(Port* const found, portOf(side, port));
    if (found->buffer == nullptr || found->handle != handle) {
        return invalidArgument("buffer " + std::to_string(handle) + " is not attached to " +
                               kSides[static_cast<int>(side)] + " " + std::to_string(port));
    }
    *found = {};
    return {};
}

Status Invocation::attachEvent(size_t port, abi::Event event) {
    const abi::RuntimeTable& litert = mDevice->litert();
    int32_t type = 0;
    HALYARD_RETURN_IF_ERROR(
            calledStatus(litert.getEventEventType(event, &type), "GetEventEventType"));
    int fd = -1;
    if (type == static_cast<int32_t>(abi::EventType::SYNC_FENCE)) {
        HALYARD_RETURN_IF_ERROR(
                calledStatus(litert.getEventSyncFenceFd(event, &fd), "GetEventSyncFenceFd"));
    }
    FileDescriptor fence = fd < 0 ? FileDescriptor() : copyOf(fd);
    if (!fence.valid()) {
        // Of another kind: only LiteRT can wait for it.
        return calledStatus(litert.waitEvent(event, -1), "WaitEvent");
    }
    const std::lock_guard lock(mMutex);
    HALYARD_RETURN_IF_ERROR(portOf(Side::INPUT, port).status());
    mFences.push_back(std::move(fence));
    return {};
}

Status Invocation::takeFailure() {
    return std::exchange(mLateFailure, Status()).withContext("an asynchronous run before");
}

Status Invocation::run() {
    mDevice->drain();
    const std::lock_guard lock(mMutex);
    HALYARD_RETURN_IF_ERROR(takeFailure());
    for (const FileDescriptor& fence : mFences) {
        waitFor(fence);
    }
    mFences.clear();
    return runOnce();
}

Status Invocation::runLater(std::span<abi::Event> events) {
    const std::lock_guard lock(mMutex);
    HALYARD_RETURN_IF_ERROR(takeFailure());
    if (events.size() < mOutputs.size()) {
        return invalidArgument("there is room for " + std::to_string(events.size()) +
                               " events, and there are " + std::to_string(mOutputs.size()) +
                               " outputs");
    }
    // What std::function holds can be copied.
    struct Later {
        std::vector<FileDescriptor> fences;
        std::vector<FileDescriptor> events;
    };
    auto later = std::make_shared<Later>();
    std::vector<FileDescriptor> given;
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        FileDescriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        FileDescriptor copy = event.valid() ? copyOf(event.get()) : FileDescriptor();
        if (!copy.valid()) {
            return internalError("there is no descriptor for an event: " +
                                 std::string(std::strerror(errno)));
        }
        later->events.push_back(std::move(copy));
        given.push_back(std::move(event));
    }
    // Some may have been created where one fails: LiteRT takes the events only where all are there.
    for (size_t i = 0; i < given.size(); ++i) {
        abi::Event event = nullptr;
        HALYARD_RETURN_IF_ERROR(calledStatus(
                mDevice->litert().createEventFromSyncFenceFd(nullptr, given[i].get(), true, &event),
                "CreateEventFromSyncFenceFd"));
        given[i].release();
        events[i] = event;
    }
    later->fences = std::move(mFences);
    mFences.clear();
    mDevice->post([this, later] {
        for (const FileDescriptor& fence : later->fences) {
            waitFor(fence);
        }
        {
            const std::lock_guard running(mMutex);
            mLateFailure = runOnce();
            if (!mLateFailure.ok()) {
                log(LogLevel::ERROR, "an asynchronous run: " + mLateFailure.toString());
            }
        }
        std::ranges::for_each(later->events, signal);
    });
    return {};
}

Result<std::span<uint8_t>> Invocation::bytesOfPort(const Port& port, abi::LockMode mode,
                                                   const char* what, size_t index) {
    if (port.buffer == nullptr) {
        return invalidArgument("no buffer is attached to " + std::string(what) + " " +
                               std::to_string(index));
    }
    const RegisteredBuffer& buffer = *port.buffer;
    if (buffer.bytes.data() != nullptr || buffer.size == 0) {
        return buffer.bytes;
    }
    void* address = nullptr;
    HALYARD_RETURN_IF_ERROR(calledStatus(
            mDevice->litert().lockTensorBuffer(buffer.buffer, &address, static_cast<int32_t>(mode)),
            "LockTensorBuffer"));
    mLocked.push_back(buffer.buffer);
    if (address == nullptr) {
        return invalidArgument("the buffer of " + std::string(what) + " " + std::to_string(index) +
                               " has no address");
    }
    return std::span<uint8_t>(static_cast<uint8_t*>(address) + buffer.offset, buffer.size);
}

Status Invocation::runOnce() {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = runAttached();
    const std::chrono::nanoseconds lasted = std::chrono::steady_clock::now() - begin;
    if (!status.ok()) {
        ++mCounts.failedRuns;
        return status;
    }
    const uint64_t copied = mReport.bindingBytes + mReport.copiedBytes;
    ++mCounts.runs;
    mCounts.nanoseconds += static_cast<uint64_t>(lasted.count());
    mCounts.copiedBytes += copied;
    ++mProcess.runs;
    mProcess.copiedBytes += copied;
    return {};
}

Status Invocation::runAttached() {
    const Locks locks(mDevice->litert(), mLocked);
    const BytecodeInfo& info = mIsland->info();
    for (size_t i = 0; i < mInputs.size(); ++i) {
        if (mInputs[i].buffer == nullptr) {
            return invalidArgument("no buffer is attached to input " + std::to_string(i));
        }
        mShapes[i] = mInputs[i].buffer->shape;
    }
    HALYARD_ASSIGN_OR_RETURN(LoadedIsland::Form* const form, mIsland->formFor(mShapes));
    const engine::Graph& graph = form->program->graph();
    mInputBindings.assign(graph.inputs().size(), {});
    mOutputBindings.assign(graph.outputs().size(), {.bytes = {}, .present = false});
    for (size_t i = 0; i < mInputs.size(); ++i) {
        if (info.inputs[i].place == BytecodePort::kUnused) {
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                                 bytesOfPort(mInputs[i], abi::LockMode::READ, "input", i));
        HALYARD_ASSIGN_OR_RETURN(engine::Shape shape, engine::Shape::create(mShapes[i]));
        // LiteRT keeps others from writing to them during a run.
        mInputBindings[info.inputs[i].place] = {.bytes = bytes, .shape = shape, .isPrivate = true};
    }
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                                 bytesOfPort(mOutputs[i], abi::LockMode::WRITE, "output", i));
        HALYARD_ASSIGN_OR_RETURN(engine::Shape shape,
                                 engine::Shape::create(mOutputs[i].buffer->shape));
        if (info.outputs[i].place != BytecodePort::kUnused) {
            mOutputBindings[info.outputs[i].place] = {.bytes = bytes, .shape = shape};
        }
    }
    return form->execution.run(mInputBindings, mOutputBindings, {}, &mReport);
}

void Invocation::startMetrics() {
    mDevice->drain();
    const std::lock_guard lock(mMutex);
    mMetricsBegin = mCounts;
}

MetricList Invocation::stopMetrics() {
    mDevice->drain();
    const std::lock_guard lock(mMutex);
    const RunCounts counts = mCounts - mMetricsBegin;
    const engine::Program& program = mIsland->program();
    const BytecodeInfo& info = mIsland->info();
    const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
    return {{"halyard.runs", number(counts.runs)},
            {"halyard.failed_runs", number(counts.failedRuns)},
            {"halyard.nanoseconds", number(counts.nanoseconds)},
            {"halyard.bytes_copied", number(counts.copiedBytes)},
            {"halyard.operators", number(info.operators)},
            {"halyard.nodes", number(program.placement().size())},
            {"halyard.partitions", number(program.partitionCount())},
            {"halyard.constant_bytes", number(program.constantBytes())},
            {"halyard.constants_packed", number(program.constantsFilled())},
            {"halyard.compiled_when_loaded", info.isProgram ? 0 : 1}};
}

}  // namespace halyard::vendor
