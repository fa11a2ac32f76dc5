// SPDX-License-Identifier: Apache-2.0

#include "tests/programs/vts/wrong_device.h"

#include <utility>

namespace halyard::vts::testing {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;
using driver::Request;

template <typename Wrong, typename... Answer>
void spoil(const Wrong& wrong, Answer&... answer) {
    if (wrong != nullptr) {
        wrong(answer...);
    }
}

Result<driver::FencedExecution> changed(const Wrongs& wrongs, const Request& request,
                                        const ExecuteOptions& options,
                                        const Result<driver::FencedExecution>& execution) {
    ExecutionResult result = {.status = execution.status(), .outputShapes = {}, .timing = {}};
    if (execution.ok()) {
        const driver::FencedExecution::Info info = execution->info();
        result.status = info.status;
        result.timing = info.launched;
        result.timingFenced = info.fenced;
    }
    spoil(wrongs.executed, request, options, result);
    spoil(wrongs.fenced, result);
    HALYARD_RETURN_IF_ERROR(result.status);
    return driver::FencedExecution{.done = nullptr, .info = [result] {
                                       return driver::FencedExecution::Info{
                                               .status = result.status,
                                               .launched = result.timing,
                                               .fenced = result.timingFenced};
                                   }};
}

class WrongBuffer final : public driver::IBuffer {
  public:
    WrongBuffer(std::shared_ptr<driver::IBuffer> buffer, std::shared_ptr<const Wrongs> wrongs)
        : mBuffer(std::move(buffer)), mWrongs(std::move(wrongs)) {}

    uint32_t token() const override { return mBuffer->token(); }
    Status copyTo(const driver::SharedMemory& destination) override {
        Status status = mBuffer->copyTo(destination);
        spoil(mWrongs->copiedTo, status);
        return status;
    }
    Status copyFrom(const driver::SharedMemory& source,
                    std::span<const uint32_t> dimensions) override {
        Status status = mBuffer->copyFrom(source, dimensions);
        spoil(mWrongs->copiedFrom, status);
        return status;
    }

  private:
    const std::shared_ptr<driver::IBuffer> mBuffer;
    const std::shared_ptr<const Wrongs> mWrongs;
};

class CarelessBuffer final : public driver::IBuffer {
  public:
    explicit CarelessBuffer(uint32_t token) : mToken(token) {}
    uint32_t token() const override { return mToken; }
    Status copyTo(const driver::SharedMemory& /*destination*/) override { return {}; }
    Status copyFrom(const driver::SharedMemory& /*source*/,
                    std::span<const uint32_t> /*dimensions*/) override {
        return {};
    }

  private:
    const uint32_t mToken;
};

class WrongBurst final : public driver::IBurst {
  public:
    WrongBurst(std::shared_ptr<driver::IBurst> burst, std::shared_ptr<const Wrongs> wrongs)
        : mBurst(std::move(burst)), mWrongs(std::move(wrongs)) {}

    ExecutionResult execute(const Request& request, std::span<const int64_t> identifiers,
                            const ExecuteOptions& options) override {
        ExecutionResult result = mBurst->execute(request, identifiers, options);
        spoil(mWrongs->executed, request, options, result);
        spoil(mWrongs->burst, result);
        return result;
    }
    Status releaseMemory(int64_t identifier) override {
        Status status = mBurst->releaseMemory(identifier);
        spoil(mWrongs->memoryReleased, status);
        return status;
    }

  private:
    const std::shared_ptr<driver::IBurst> mBurst;
    const std::shared_ptr<const Wrongs> mWrongs;
};

class WrongExecution final : public driver::IExecution {
  public:
    WrongExecution(std::shared_ptr<driver::IExecution> execution, Request request,
                   ExecuteOptions options, std::shared_ptr<const Wrongs> wrongs)
        : mExecution(std::move(execution)),
          mRequest(std::move(request)),
          mOptions(std::move(options)),
          mWrongs(std::move(wrongs)) {}

    ExecutionResult execute(const Deadline& deadline) override {
        ExecutionResult result =
                mExecution == nullptr ? ExecutionResult() : mExecution->execute(deadline);
        spoil(mWrongs->executed, mRequest, mOptions, result);
        spoil(mWrongs->reusable, result);
        return result;
    }
    Result<driver::FencedExecution> executeFenced(
            const driver::Fences& waitFor, const Deadline& deadline,
            const driver::Duration& durationAfterFences) override {
        return changed(*mWrongs, mRequest, mOptions,
                       mExecution == nullptr
                               ? Result<driver::FencedExecution>(
                                         internalError("there is no such execution"))
                               : mExecution->executeFenced(waitFor, deadline, durationAfterFences));
    }

  private:
    const std::shared_ptr<driver::IExecution> mExecution;
    const Request mRequest;
    const ExecuteOptions mOptions;
    const std::shared_ptr<const Wrongs> mWrongs;
};

class WrongModel final : public driver::IPreparedModel {
  public:
    WrongModel(std::shared_ptr<driver::IPreparedModel> model, std::shared_ptr<const Wrongs> wrongs)
        : mModel(std::move(model)), mWrongs(std::move(wrongs)) {}

    ExecutionResult execute(const Request& request, const ExecuteOptions& options) override {
        ExecutionResult result = mModel->execute(request, options);
        spoil(mWrongs->executed, request, options, result);
        spoil(mWrongs->synchronous, result);
        return result;
    }

    Status executeAsync(Request request, const ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        Status launched = mModel->executeAsync(
                request, options,
                [request, options, wrongs = mWrongs,
                 callback = std::move(callback)](const ExecutionResult& executed) {
                    ExecutionResult result = executed;
                    spoil(wrongs->executed, request, options, result);
                    spoil(wrongs->asynchronous, result);
                    callback(result);
                });
        spoil(mWrongs->executeLaunched, launched);
        return launched;
    }

    Result<driver::FencedExecution> executeFenced(const Request& request,
                                                  const ExecuteOptions& options) override {
        return changed(*mWrongs, request, options, mModel->executeFenced(request, options));
    }

    Result<std::shared_ptr<driver::IBurst>> makeBurst() override {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IBurst> burst, mModel->makeBurst());
        return std::shared_ptr<driver::IBurst>(
                std::make_shared<WrongBurst>(std::move(burst), mWrongs));
    }

    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const Request& request, const ExecuteOptions& options) override {
        const auto made = mModel->makeExecution(request, options);
        if (!made.ok() && mWrongs->reusable == nullptr) {
            return made.status();
        }
        return std::shared_ptr<driver::IExecution>(std::make_shared<WrongExecution>(
                made.ok() ? *made : nullptr, request, options, mWrongs));
    }

    std::string report() override { return mModel->report(); }
    const void* as(const void* kind) const override { return mModel->as(kind); }

  private:
    const std::shared_ptr<driver::IPreparedModel> mModel;
    const std::shared_ptr<const Wrongs> mWrongs;
};

class WrongDevice final : public driver::IDevice {
  public:
    WrongDevice(std::shared_ptr<driver::IDevice> device, std::shared_ptr<const Wrongs> wrongs)
        : mDevice(std::move(device)), mWrongs(std::move(wrongs)) {}

    driver::HalVersion version() const override { return mDevice->version(); }
    Result<std::string> versionString() override {
        return with(mWrongs->versionString, mDevice->versionString());
    }
    Result<driver::DeviceStatus> status() override {
        return with(mWrongs->status, mDevice->status());
    }
    Result<driver::DeviceType> type() override { return with(mWrongs->type, mDevice->type()); }
    Result<std::vector<driver::Extension>> extensions() override {
        return with(mWrongs->extensions, mDevice->extensions());
    }
    Result<driver::Capabilities> capabilities() override {
        return with(mWrongs->capabilities, mDevice->capabilities());
    }
    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        return with(mWrongs->cacheFiles, mDevice->numberOfCacheFiles());
    }
    Result<std::vector<bool>> supportedOperations(const driver::Model& model) override {
        Result<std::vector<bool>> supported = mDevice->supportedOperations(model);
        spoil(mWrongs->supported, model, supported);
        return supported;
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const driver::Model& model, const driver::PrepareOptions& options) override {
        const auto prepared = mDevice->prepare(model, changed(options));
        Status status = prepared.status();
        spoil(mWrongs->prepared, model, options, status);
        HALYARD_RETURN_IF_ERROR(status);
        return wrap(prepared.ok() ? *prepared : nullptr);
    }

    Status prepareAsync(driver::Model model, const driver::PrepareOptions& options,
                        driver::PreparedCallback callback) override {
        Status launched = mDevice->prepareAsync(
                model, changed(options),
                [this, model, options, callback = std::move(callback)](
                        const Status& told, std::shared_ptr<driver::IPreparedModel> prepared) {
                    Status status = told;
                    spoil(mWrongs->prepared, model, options, status);
                    callback(status, status.ok() ? wrap(std::move(prepared)) : nullptr);
                });
        spoil(mWrongs->prepareLaunched, launched);
        return launched;
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const driver::PrepareOptions& options) override {
        return with(mWrongs->fromCache, mDevice->prepareFromCache(options));
    }
    Status prepareFromCacheAsync(const driver::PrepareOptions& options,
                                 driver::PreparedCallback callback) override {
        return mDevice->prepareFromCacheAsync(options, std::move(callback));
    }
    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& description) override {
        Result<std::shared_ptr<driver::IBuffer>> given = mDevice->allocate(description);
        if (given.ok()) {
            given = std::shared_ptr<driver::IBuffer>(
                    std::make_shared<WrongBuffer>(*given, mWrongs));
        }
        spoil(mWrongs->allocated, description, given);
        return given;
    }
    Status ping() override { return with(mWrongs->ping, mDevice->ping()); }
    Result<std::string> report() override { return mDevice->report(); }

  private:
    template <typename Wrong, typename Answer>
    static Answer with(const Wrong& wrong, Answer answer) {
        spoil(wrong, answer);
        return answer;
    }
    driver::PrepareOptions changed(driver::PrepareOptions options) const {
        spoil(mWrongs->asked, options);
        return options;
    }
    std::shared_ptr<driver::IPreparedModel> wrap(
            std::shared_ptr<driver::IPreparedModel> model) const {
        return model == nullptr ? nullptr : std::make_shared<WrongModel>(std::move(model), mWrongs);
    }

    const std::shared_ptr<driver::IDevice> mDevice;
    const std::shared_ptr<const Wrongs> mWrongs;
};

}  // namespace

std::shared_ptr<driver::IBuffer> makeCarelessBuffer(uint32_t token) {
    return std::make_shared<CarelessBuffer>(token);
}

std::shared_ptr<driver::IDevice> makeWrongDevice(std::shared_ptr<driver::IDevice> device,
                                                 std::shared_ptr<const Wrongs> wrongs) {
    return std::make_shared<WrongDevice>(std::move(device), std::move(wrongs));
}

}  // namespace halyard::vts::testing
