// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/options.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard::litert {
namespace {

using Given = std::vector<std::pair<std::string_view, std::string_view>>;

std::string refusal(const Given& given) {
    const Result<DelegateOptions> options = parseOptions(given);
    return options.ok() ? "" : std::string(options.status().message());
}

TEST(DelegateOptions, AreReadByName) {
    const Result<DelegateOptions> options = parseOptions(Given{{"backends", "CpuRef,CpuAcc"},
                                                               {"threads", "0"},
                                                               {"fast_math", "1"},
                                                               {"min_nodes", "3"},
                                                               {"report", "r.json"},
                                                               {"profile", "p.txt"},
                                                               {"cache_dir", "/tmp/x"},
                                                               {"log", "silent"},
                                                               {"permit", "tiles,processes"}});
    ASSERT_TRUE(options.ok()) << options.status().toString();
    EXPECT_EQ(options->runtime.backends, "CpuRef,CpuAcc");
    EXPECT_EQ(options->threads, 0U);
    EXPECT_TRUE(options->runtime.fastMath);
    EXPECT_EQ(options->minNodes, 3U);
    EXPECT_EQ(options->report, "r.json");
    EXPECT_EQ(options->profile, "p.txt");
    EXPECT_EQ(options->runtime.cacheFolder, "/tmp/x");
    EXPECT_EQ(options->runtime.log, std::nullopt);
    EXPECT_TRUE(options->runtime.rights.asksForTiles);
    EXPECT_TRUE(options->runtime.rights.startsProcesses);
}

TEST(DelegateOptions, AskNothingOfTheProcessByThemselves) {
    const Result<DelegateOptions> options = parseOptions({});
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->threads, std::nullopt);
    EXPECT_FALSE(options->runtime.rights.asksForTiles);
    EXPECT_FALSE(options->runtime.rights.startsProcesses);
}

TEST(DelegateOptions, AreRefusedByNameAndValue) {
    EXPECT_NE(refusal({{"colour", "blue"}}).find("no option \"colour\"; there are backends,"),
              std::string::npos);
    EXPECT_NE(refusal({{"threads", "1"}, {"threads", "1"}}).find("given twice"), std::string::npos);
    for (const auto& [name, value] : Given{{"threads", "-1"},
                                           {"threads", "4x"},
                                           {"threads", ""},
                                           {"threads", "99999999999999999999"},
                                           {"threads", "1025"},
                                           {"fast_math", "True"},
                                           {"min_nodes", "0"},
                                           {"log", "loud"},
                                           {"permit", "tiles,"},
                                           {"report", ""},
                                           {"profile", ""},
                                           {"cache_dir", ""},
                                           {"backends", ""},
                                           {"backends", "CpuAcc,"}}) {
        const std::string said = refusal({{name, value}});
        EXPECT_EQ(said.rfind("the option " + std::string(name) + ": ", 0), 0U)
                << name << "=" << value << ": " << said;
    }
}

}  // namespace
}  // namespace halyard::litert
