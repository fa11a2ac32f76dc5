// SPDX-License-Identifier: Apache-2.0
//
// A client of the HIDL objects for tests: it calls through a loopback, so that every argument and
// result travels as a parcel.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "driver/device/device.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

// A callback's notification.
struct Notification {
    uint32_t code = 0;
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    ObjectRef model;                          // IPreparedModelCallback
    std::vector<driver::OutputShape> shapes;  // IExecutionCallback from 1.2
    driver::Timing timing;
};

// An IPreparedModelCallback or IExecutionCallback 1.3 that remembers.
class RecordingCallback : public hidl::HidlObject {
  public:
    using hidl::HidlObject::HidlObject;

    static std::shared_ptr<RecordingCallback> forModels();
    static std::shared_ptr<RecordingCallback> forExecutions();

    // Blocks until there is a first one.
    Notification wait();
    size_t count();

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    std::mutex mMutex;
    std::condition_variable mArrived;
    std::vector<Notification> mNotifications;
};

// Writes the arguments of a call after its head.
using WriteArguments = std::function<void(ParcelWriter&)>;

// A reply whose head has been read; UNAVAILABLE and so on where there is none.
Result<std::unique_ptr<Reply>> callMethod(LoopbackProcess& process,
                                          const std::shared_ptr<LocalObject>& object,
                                          const hidl::InterfaceLayout& interface, uint32_t code,
                                          const WriteArguments& writeArguments);

// The methods of IDevice and IPreparedModel of a version, by which it is called.
struct VersionMethods {
    driver::HalVersion version;
    uint32_t getCapabilities;
    uint32_t getSupportedOperations;
    uint32_t prepareModel;
    uint32_t execute;
    uint32_t notifyPrepared;
    uint32_t notifyExecuted;
};
std::span<const VersionMethods> allVersions();

// One model through one version of the interface.
class HidlClient {
  public:
    HidlClient(LoopbackProcess& process, std::shared_ptr<LocalObject> device,
               const VersionMethods& methods)
        : mProcess(process), mDevice(std::move(device)), mMethods(methods) {}

    struct Support {
        driver::ErrorStatus status;
        std::vector<bool> operations;
    };
    Result<Support> supportedOperations(const driver::Model& model,
                                        std::span<const hidl::HidlMemory> pools = {});
    // Both return what the method returned; the callback is told the rest.
    Result<driver::ErrorStatus> prepare(const driver::Model& model,
                                        const std::shared_ptr<LocalObject>& callback,
                                        const driver::PrepareOptions& options = {});
    Result<driver::ErrorStatus> execute(const ObjectRef& model, const driver::Request& request,
                                        std::span<const ExportedMemory> pools,
                                        const std::shared_ptr<LocalObject>& callback,
                                        const driver::ExecuteOptions& options = {});
    struct Execution {
        driver::ErrorStatus status;
        std::vector<driver::OutputShape> shapes;
        driver::Timing timing;
    };
    // From 1.2.
    Result<Execution> executeSynchronously(const ObjectRef& model, const driver::Request& request,
                                           std::span<const ExportedMemory> pools,
                                           const driver::ExecuteOptions& options = {});

    // The arguments of prepareModel* and execute*.
    void writePrepare(ParcelWriter& writer, const driver::Model& model, const ObjectRef& callback,
                      const driver::PrepareOptions& options) const;
    void writeExecute(ParcelWriter& writer, const driver::Request& request,
                      std::span<const ExportedMemory> pools,
                      const driver::ExecuteOptions& options) const;

  private:
    LoopbackProcess& mProcess;
    std::shared_ptr<LocalObject> mDevice;
    VersionMethods mMethods;
};

// The object behind what a callback was given.
std::shared_ptr<LocalObject> served(LoopbackProcess& process, const ObjectRef& object);

}  // namespace halyard::hal::testing
