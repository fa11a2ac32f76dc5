// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "driver/clients/client.h"
#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {

inline constexpr ProcessId kGreedy = {.pid = 100, .uid = 10'000};
inline constexpr ProcessId kModest = {.pid = 200, .uid = 10'001};

// Processes that use a device of 16 MiB.
class ClientTest : public testing::Test {
  protected:
    static Options options() {
        Options options;
        options.maxMemoryMib = 16;
        return options;
    }

    std::shared_ptr<Client> account(ProcessId process) { return mDevice->client(process).value(); }
    Result<std::shared_ptr<PreparedModel>> prepare(const std::shared_ptr<Client>& client,
                                                   const Model& model,
                                                   Priority priority = Priority::MEDIUM) {
        PrepareOptions prepareOptions;
        prepareOptions.priority = priority;
        prepareOptions.client = client;
        return mDevice->prepare(model, HalVersion::V1_3, prepareOptions);
    }
    // The value of a field in the client's line of the report, or -1 if it has none.
    int64_t reported(ProcessId process, const std::string& field) {
        const std::string report = mDevice->report();
        const size_t line = report.find("client\tpid\t" + std::to_string(process.pid) + "\t");
        const size_t end = report.find('\n', line);
        const size_t found = report.find("\t" + field + "\t", line);
        return line == std::string::npos || found > end
                       ? -1
                       : std::stoll(report.substr(found + field.size() + 2));
    }

    std::unique_ptr<Device> mDevice = makeDevice(options());
};

// An execution that never ends of itself, launched.
class Endless {
  public:
    explicit Endless(const PreparedModel& model) {
        mRequest.input<float>({1}).input<float>({5}).output(4);
        ExecuteOptions options;
        options.loopTimeout = kMaxLoopTimeout;
        EXPECT_TRUE(model.executeAsync(mRequest.request(), HalVersion::V1_3, options,
                                       [done = mDone](const ExecutionResult& result) {
                                           done.set(result.status);
                                       })
                            .ok());
    }
    const Awaited<Status>& done() const { return mDone; }

  private:
    RequestBuilder mRequest;
    Awaited<Status> mDone;
};

inline void awaitRunning(const Client& client, size_t count) {
    while (client.shares().executing->running() < count) {
        std::this_thread::yield();
    }
}

}  // namespace halyard::driver
