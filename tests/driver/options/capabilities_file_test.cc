// SPDX-License-Identifier: Apache-2.0

#include "driver/options/capabilities_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tests/driver/device_fixture.h"

namespace halyard::driver {
namespace {

TEST(CapabilitiesFile, SetsWhatItNamesAndNothingElse) {
    const Result<Capabilities> read = parseCapabilities(
            "# measured\n"
            "TENSOR_FLOAT32 0.25 0.5   # fast\n"
            "\n"
            "\tRELAXED_SCALAR\t1e-3 2\r\n"
            "RELAXED_TENSOR 3 4\n"
            "IF 5 6\n"
            "WHILE 7 8");
    ASSERT_TRUE(read.ok()) << read.status().toString();
    EXPECT_EQ(performanceOf(*read, OperandType::TENSOR_FLOAT32).execTime, 0.25F);
    EXPECT_EQ(performanceOf(*read, OperandType::TENSOR_FLOAT32).powerUsage, 0.5F);
    EXPECT_EQ(read->relaxedFloat32toFloat16PerformanceScalar.execTime, 1e-3F);
    EXPECT_EQ(read->relaxedFloat32toFloat16PerformanceScalar.powerUsage, 2.0F);
    EXPECT_EQ(read->relaxedFloat32toFloat16PerformanceTensor.execTime, 3.0F);
    EXPECT_EQ(read->ifPerformance.powerUsage, 6.0F);
    EXPECT_EQ(read->whilePerformance.execTime, 7.0F);
    EXPECT_EQ(performanceOf(*read, OperandType::TENSOR_INT32).execTime, 0.5F) << "as by default";
    EXPECT_TRUE(std::ranges::is_sorted(read->operandPerformance, {}, &OperandPerformance::type));
}

TEST(CapabilitiesFile, NamesEveryTypeThatHasAPerformance) {
    for (const OperandPerformance& entry : defaultCapabilities().operandPerformance) {
        EXPECT_TRUE(parseCapabilities(describe(entry.type) + " 1 1").ok()) << describe(entry.type);
    }
}

TEST(CapabilitiesFile, IsRefusedByTheLineThatIsWrong) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kWrong = {{
            {"IF 1", "line 1: a line is a name, an execution time and a power usage, not 2 words"},
            {"\nIF", "line 2: a line is a name, an execution time and a power usage, not 1 word"},
            {"IF 1 2 3",
             "line 1: a line is a name, an execution time and a power usage, not 4 words"},
            {"IF 0 1", "line 1: \"0\" is not a finite number above 0"},
            {"IF 1 -1", "line 1: \"-1\" is not a finite number above 0"},
            {"IF nan 1", "line 1: \"nan\" is not a finite number above 0"},
            {"IF inf 1", "line 1: \"inf\" is not a finite number above 0"},
            {"IF 1e99 1", "line 1: \"1e99\" is not a finite number above 0"},
            {"IF 1e-99 1", "line 1: \"1e-99\" is not a finite number above 0"},
            {"IF 1x 1", "line 1: \"1x\" is not a finite number above 0"},
            {"IF 1 1\n#\nIF 2 2", "line 3: IF has a performance already"},
            {"SUBGRAPH 1 1",
             "line 1: \"SUBGRAPH\" is no operand type with a performance, nor RELAXED_SCALAR, "
             "RELAXED_TENSOR, IF or WHILE"},
    }};
    for (const auto& [text, message] : kWrong) {
        const Status status = parseCapabilities(text).status();
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << text;
        EXPECT_EQ(status.message(), message);
    }
}

TEST(CapabilitiesFile, HasToBeReadableOrThereIsNoDevice) {
    Options options;
    options.capabilitiesFile = "/nowhere/capabilities";
    EXPECT_EQ(Device::create(options).status().message(),
              "/nowhere/capabilities: No such file or directory");
    EXPECT_EQ(readCapabilities("/dev/zero").status().message(),
              "/dev/zero: it is larger than such a file can be");
}

}  // namespace
}  // namespace halyard::driver
