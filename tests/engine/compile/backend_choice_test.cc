// SPDX-License-Identifier: Apache-2.0

#include "engine/compile/backend_choice.h"

#include <gtest/gtest.h>

#include <string>

namespace halyard::engine {
namespace {

TEST(BackendChoice, IsANameAndOptions) {
    EXPECT_EQ(parseBackendChoice("CpuRef").value(), (BackendChoice{.name = "CpuRef"}));
    EXPECT_EQ(parseBackendChoice("GpuAcc:tuning=rapid:file=a=b").value(),
              (BackendChoice{.name = "GpuAcc",
                             .options = {{.name = "tuning", .value = "rapid"},
                                         {.name = "file", .value = "a=b"}}}));
}

TEST(BackendChoice, QuotesWhatIsNone) {
    for (const char* text :
         {"", ":", ":a=b", "A:", "A::b=c", "A:b", "A:=b", "A:b=", "A:b=c:", "A:b=c:b=d"}) {
        const Status status = parseBackendChoice(text).status();
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << text;
        EXPECT_NE(status.message().find("\"" + std::string(text) + "\""), std::string::npos)
                << status.message();
    }
}

}  // namespace
}  // namespace halyard::engine
