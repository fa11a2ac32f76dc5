// SPDX-License-Identifier: Apache-2.0
//
// Clients of one device that do everything at the same time: prepare, execute, look into it, and
// leave while their work is still queued. What the thread sanitizer sees of the driver is here.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

// An arena of one tensor has room within the limit of 1 MiB three times.
constexpr uint32_t kModelElements = 300 * 1024 / sizeof(float);

Model twoRelus() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({kModelElements}));
    const uint32_t between = builder.temporary(floats({kModelElements}));
    const uint32_t output = builder.output(floats({kModelElements}));
    builder.operation(OperationType::RELU, {input}, {between});
    builder.operation(OperationType::RELU, {between}, {output});
    return builder.build();
}

// How often each of the callbacks ran that clients were promised.
class Promises {
  public:
    size_t make() {
        const std::lock_guard lock(mMutex);
        mCalls.push_back(0);
        return mCalls.size() - 1;
    }
    void keep(size_t promise) {
        const std::lock_guard lock(mMutex);
        ++mCalls[promise];
        mChanged.notify_all();
    }
    // Once none is left.
    std::vector<int> wait() {
        std::unique_lock lock(mMutex);
        mChanged.wait(lock, [&] { return !std::ranges::count(mCalls, 0); });
        return mCalls;
    }

  private:
    std::mutex mMutex;
    std::condition_variable mChanged;
    std::vector<int> mCalls;
};

// One execution, with memory of its own.
class Work {
  public:
    explicit Work(float value) : mValue(value) {
        mRequest.input(std::vector<float>(kModelElements, value))
                .output(kModelElements * sizeof(float));
    }
    const Request& request() { return mRequest.request(); }
    // Whether it did what it may do where memory and time are short.
    void check(const Status& status) const {
        if (status.ok()) {
            EXPECT_EQ(mRequest.result<float>(0, kModelElements),
                      std::vector<float>(kModelElements, mValue));
        } else {
            EXPECT_TRUE(status.code() == StatusCode::RESOURCE_EXHAUSTED ||
                        status.code() == StatusCode::DEADLINE_EXCEEDED)
                    << status.toString();
        }
    }

  private:
    float mValue;
    RequestBuilder mRequest;
};

class Client {
  public:
    Client(std::shared_ptr<Device> device, std::shared_ptr<Promises> promises, int number)
        : mDevice(std::move(device)), mPromises(std::move(promises)), mNumber(number) {}

    void run() {
        for (int round = 0; round < 12; ++round) {
            mValue = static_cast<float>(1 + mNumber * 100 + round);
            useOneModel(round);
        }
    }

  private:
    void useOneModel(int round) {
        const std::shared_ptr<PreparedModel> model = prepare();
        if (model == nullptr) {
            return;
        }
        ExecuteOptions options;
        if (round % 3 == 1) {
            options.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
        }
        launch(*model, options);
        Work work(mValue);
        work.check(model->execute(work.request(), HalVersion::V1_2, options).status);
        EXPECT_NE(model->report(), "");
        EXPECT_NE(mDevice->report(), "");
        EXPECT_TRUE(mDevice->supportedOperations(twoRelus(), HalVersion::V1_2).ok());
    }  // The launched executions go on without the client.

    // Null where memory is short. The callback launches an execution before the client knows.
    std::shared_ptr<PreparedModel> prepare() {
        const Awaited<std::shared_ptr<PreparedModel>> answer;
        const auto callback = [answer, promises = mPromises, promise = mPromises->make(),
                               value = mValue](const Status& status,
                                               std::shared_ptr<PreparedModel> model) {
            EXPECT_TRUE(status.ok() || status.code() == StatusCode::RESOURCE_EXHAUSTED)
                    << status.toString();
            if (model != nullptr) {
                launch(*model, {}, promises, value);
            }
            answer.set(std::move(model));
            promises->keep(promise);
        };
        EXPECT_TRUE(mDevice->prepareAsync(twoRelus(), HalVersion::V1_2, {}, callback).ok());
        return answer.get();
    }

    void launch(const PreparedModel& model, const ExecuteOptions& options) {
        launch(model, options, mPromises, mValue);
    }

    static void launch(const PreparedModel& model, const ExecuteOptions& options,
                       const std::shared_ptr<Promises>& promises, float value) {
        const auto work = std::make_shared<Work>(value);
        const auto callback = [work, promises,
                               promise = promises->make()](const ExecutionResult& result) {
            work->check(result.status);
            promises->keep(promise);
        };
        EXPECT_TRUE(model.executeAsync(work->request(), HalVersion::V1_2, options, callback).ok());
    }

    std::shared_ptr<Device> mDevice;
    std::shared_ptr<Promises> mPromises;
    int mNumber;
    float mValue = 0;
};

TEST(ManyClients, GetEveryCallbackOnceThoughDeviceAndModelsAreGone) {
    Options options;
    options.maxMemoryMib = 1;
    std::shared_ptr<Device> device = makeDevice(options);
    const auto promises = std::make_shared<Promises>();
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([client = Client(device, promises, i)]() mutable { client.run(); });
    }
    device = nullptr;  // ends with the last client
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const int calls : promises->wait()) {
        EXPECT_EQ(calls, 1);
    }
}

}  // namespace
}  // namespace halyard::driver
