// SPDX-License-Identifier: Apache-2.0
//
// The stream of returns that the kernel writes.

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "hal/binder/commands.h"
#include "tests/hal/fake_kernel.h"

namespace halyard::hal {
namespace {

using testing::Returns;

TEST(BinderReturns, TellsItemsApartByTheSizeInTheirCodes) {
    std::deque<Return> returns;
    const binder_ptr_cookie pair{.ptr = 1, .cookie = 2};
    ASSERT_TRUE(
            parseReturns(Returns().add(BR_NOOP).add(BR_ACQUIRE, pair).add(BR_OK).bytes(), returns)
                    .ok());
    ASSERT_EQ(returns.size(), 3u);
    EXPECT_EQ(returns[1].as<binder_ptr_cookie>().cookie, 2u);
}

TEST(BinderReturns, RefusesWhatIsCutShortOrTooLong) {
    const binder_transaction_data call = {};
    const std::vector<uint8_t> whole = Returns().add(BR_NOOP).add(BR_TRANSACTION, call).bytes();
    for (size_t size = 0; size < whole.size(); ++size) {
        std::deque<Return> returns;
        const bool ok = parseReturns({whole.data(), size}, returns).ok();
        EXPECT_EQ(ok, size == 0 || size == 4) << size;
        EXPECT_EQ(returns.size(), size < 4 ? 0u : 1u);
    }
    std::deque<Return> returns;
    std::vector<uint8_t> huge(1000);
    const uint32_t code = _IOC(_IOC_READ, 'r', 99, 500);
    std::memcpy(huge.data(), &code, sizeof(code));
    EXPECT_FALSE(parseReturns(huge, returns).ok());
}

}  // namespace
}  // namespace halyard::hal
