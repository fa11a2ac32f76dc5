// SPDX-License-Identifier: Apache-2.0
//
// Pools are mapped on the thread that a call comes on, which may take as long as it likes.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/driver/awaited.h"
#include "tests/driver/client_fixture.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

// Memory whose first use lasts until it is told to go on.
class SlowMemory final : public ResidentMemory {
  public:
    std::string_view name() const override { return "ashmem"; }
    Result<MemoryUse> use(const ByteRange& range, const Account* account) const override {
        reached.set(true);
        goOn.get();
        return ResidentMemory::use(range, account);
    }

    const Awaited<bool> reached;
    const Awaited<bool> goOn;

  private:
    std::span<uint8_t> all() const override { return mBytes; }
    mutable std::vector<uint8_t> mBytes = std::vector<uint8_t>(16);
};

class PoolCalls : public ClientTest {
  protected:
    PoolCalls() {
        Options limited = options();
        limited.calls = {.perClient = 1, .perGroup = 8, .shared = 8, .most = 8};
        mDevice = makeDevice(limited);
        client = mDevice->client(kGreedy).value();
        model = prepare(client, reluModel()).value();
    }
    Status launch(const SharedMemory& input, const Awaited<Status>& done) {
        RequestBuilder request;
        request.input(input).output(16);
        return model->executeAsync(
                request.request(), HalVersion::V1_3, {},
                [done](const ExecutionResult& result) { done.set(result.status); });
    }

    std::shared_ptr<Client> client;
    std::shared_ptr<PreparedModel> model;
};

TEST_F(PoolCalls, AsynchronousOnesHoldNoMoreThreadsThanTheirClientMay) {
    const auto slow = std::make_shared<SlowMemory>();
    const Awaited<Status> first;
    std::thread caller([&] { EXPECT_TRUE(launch(slow, first).ok()); });
    slow->reached.get();
    EXPECT_EQ(client->shares().calls->inside(), 1U);

    const Awaited<Status> second;
    EXPECT_EQ(launch(allocateHeapMemory(16), second).code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(second.get().code(), StatusCode::RESOURCE_EXHAUSTED);

    PrepareOptions prepareOptions;
    prepareOptions.client = client;
    const Awaited<Status> prepared;
    EXPECT_EQ(mDevice->prepareAsync(reluModel(), HalVersion::V1_3, prepareOptions,
                                    [prepared](const Status& status, const auto& /*model*/) {
                                        prepared.set(status);
                                    })
                      .code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(prepared.get().code(), StatusCode::RESOURCE_EXHAUSTED);

    slow->goOn.set(true);
    caller.join();
    EXPECT_TRUE(first.get().ok());
    EXPECT_EQ(client->shares().calls->inside(), 0U);
}

}  // namespace
}  // namespace halyard::driver
