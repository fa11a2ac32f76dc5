// SPDX-License-Identifier: Apache-2.0

#include "hal/service_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace halyard::hal {
namespace {

Result<ServiceOptions> parse(std::vector<std::string> words) {
    words.insert(words.begin(), "service");
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    return parseServiceOptions(static_cast<int>(words.size()), arguments.data());
}

void expectRefused(const std::vector<std::string>& words, const std::string& named) {
    const Status status = parse(words).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << status.toString();
    EXPECT_NE(status.message().find(named), std::string_view::npos) << status.toString();
}

TEST(ServiceOptions, ReadEachOptionIntoItsOwnPlace) {
    const ServiceOptions options = parse({"--number-of-threads",
                                          "3",
                                          "--max-memory",
                                          "40",
                                          "--max-client-memory",
                                          "20",
                                          "--max-device-memory",
                                          "30",
                                          "--max-running-time",
                                          "7",
                                          "-n",
                                          "name",
                                          "-d",
                                          "folder",
                                          "-v",
                                          "--max-partitions",
                                          "8",
                                          "--min-nodes-per-partition",
                                          "9",
                                          "--cpu-features",
                                          "avx2",
                                          "--require-backend",
                                          "A,B",
                                          "--backend-hint",
                                          "hints",
                                          "--backend-dir",
                                          "/libraries",
                                          "--bf16-enabled",
                                          "--no-optimize",
                                          "--enable-fast-math",
                                          "--dump-graph",
                                          "graphs"})
                                           .value();
    EXPECT_EQ(options.driver.threads, 3U);
    EXPECT_EQ(options.driver.maxMemoryMib, 40U);
    EXPECT_EQ(options.driver.maxClientMemoryMib, 20U);
    EXPECT_EQ(options.driver.maxDeviceMemoryMib, 30U);
    EXPECT_EQ(options.driver.maxRunningSeconds, 7U);
    EXPECT_EQ(options.driver.maxPartitions, 8U);
    EXPECT_EQ(options.driver.minNodesPerPartition, 9U);
    EXPECT_EQ(options.driver.cpuFeatures, "avx2");
    EXPECT_EQ(options.driver.requiredBackends, (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(options.driver.backendHintFile, "hints");
    EXPECT_EQ(options.driver.backendDirectory, "/libraries");
    EXPECT_EQ(options.serviceName, "name");
    EXPECT_EQ(options.driver.dumpDirectory, "folder");
    EXPECT_EQ(options.driver.precision, engine::FloatPrecision::BFLOAT16);
    EXPECT_FALSE(options.driver.optimize);
    EXPECT_TRUE(options.driver.fastMath);
    EXPECT_EQ(options.driver.graphDumpDirectory, "graphs");
    EXPECT_TRUE(options.verbose);
    EXPECT_EQ(options.action, ServiceOptions::Action::SERVE);
}

TEST(ServiceOptions, TakeTheLargestNumbersAndNoneAbove) {
    const auto above = [](size_t most) { return std::to_string(most + 1); };
    EXPECT_TRUE(parse({"--number-of-threads", "0"}).ok());
    EXPECT_TRUE(parse({"--number-of-threads", "64"}).ok());
    expectRefused({"--number-of-threads", "65"}, "--number-of-threads");
    for (const std::string option :
         {"--max-memory", "--max-client-memory", "--max-device-memory"}) {
        EXPECT_TRUE(parse({option, std::to_string(driver::kMostMemoryMib)}).ok());
        expectRefused({option, above(driver::kMostMemoryMib)}, option);
    }
    for (const std::string option : {"--max-partitions", "--min-nodes-per-partition"}) {
        EXPECT_TRUE(parse({option, std::to_string(driver::kMostPartitionNodes)}).ok());
        expectRefused({option, above(driver::kMostPartitionNodes)}, option);
        expectRefused({option, "few"}, option);
    }
    expectRefused({"--require-backend", ","}, "--require-backend");
    EXPECT_TRUE(parse({"--max-running-time", std::to_string(driver::kMostRunningSeconds)}).ok());
    expectRefused({"--max-running-time", above(driver::kMostRunningSeconds)}, "--max-running-time");
    expectRefused({"--max-running-time", "-1"}, "--max-running-time");
}

TEST(ServiceOptions, TuneAsArmsDriverDoes) {
    const driver::Options none = parse({})->driver;
    EXPECT_EQ(none.clTunedParametersFile, "");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"-t", "file", "-m", "UpdateTunedParameters", "-o", "exhaustive"},
          std::vector<std::string>{"--cl-tuned-parameters-file", "file",
                                   "--cl-tuned-parameters-mode", "UpdateTunedParameters",
                                   "--cl-tuning-level", "exhaustive"}}) {
        const driver::Options options = parse(words)->driver;
        EXPECT_EQ(options.clTunedParametersFile, "file");
        EXPECT_EQ(options.clTunedParametersMode, "UpdateTunedParameters");
        EXPECT_EQ(options.clTuningLevel, "exhaustive");
    }
    EXPECT_TRUE(parse({"-m", "UseTunedParameters", "-o", "rapid"}).ok());
    EXPECT_TRUE(parse({"-o", "normal"}).ok());
    expectRefused({"-t", ""}, "--cl-tuned-parameters-file");
    expectRefused({"-m", "update"},
                  "--cl-tuned-parameters-mode: is one of UseTunedParameters, "
                  "UpdateTunedParameters, not \"update\"");
    expectRefused({"-o", "fast"},
                  "--cl-tuning-level: is one of rapid, normal, exhaustive, not \"fast\"");
}

TEST(ServiceOptions, AddUpBackendsInTheirOrder) {
    EXPECT_EQ(parse({"-c", "GpuAcc,CpuRef", "--compute", "CpuAcc"})->driver.backends,
              (std::vector<std::string>{"GpuAcc", "CpuRef", "CpuAcc"}));
    EXPECT_EQ(parse({"-c", "CpuRef"})->driver.backends, std::vector<std::string>{"CpuRef"});
}

TEST(ServiceOptions, LeaveTheNamesOfLibrariesToWhoLoadsThem) {
    expectRefused({"-c", "Mine"}, "there is no backend \"Mine\"");
    EXPECT_EQ(parse({"-c", "Mine", "--backend-dir", "/libraries"})->driver.backends,
              std::vector<std::string>{"Mine"});
}

TEST(ServiceOptions, TakeOnePrecision) {
    EXPECT_EQ(parse({})->driver.precision, engine::FloatPrecision::FLOAT32);
    EXPECT_EQ(parse({"-f", "--fp16-enabled"})->driver.precision, engine::FloatPrecision::FLOAT16);
    expectRefused({"-f", "--bf16-enabled"}, "--bf16-enabled");
    expectRefused({"--bf16-enabled", "--fp16-enabled"}, "--bf16-enabled");
}

TEST(ServiceOptions, DenyOperationsByNameAndCode) {
    EXPECT_EQ(parse({"-u", "add, 3"})->driver.unsupportedOperations,
              (std::set<driver::OperationType>{driver::OperationType::ADD,
                                               driver::OperationType::CONV_2D}));
    expectRefused({"-u", "ADD,NOTHING"}, "NOTHING");
}

TEST(ServiceOptions, RememberNothingOfAnEarlierList) {
    expectRefused({"--max-memory", "1", "--nothing", "-v", "-v"}, "--nothing");
    const Result<ServiceOptions> next = parse({"-v", "-n", "name"});
    ASSERT_TRUE(next.ok()) << next.status().toString();
    EXPECT_TRUE(next->verbose);
    EXPECT_EQ(next->serviceName, "name");
}

TEST(ServiceOptions, NameTheWiresThatAreServed) {
    const auto wires = [](const std::string& list) { return parse({"--wires", list})->wires; };
    const Wires where = parse({})->wires;
    EXPECT_TRUE(where.hidl && where.aidl && where.declaredAlone);
    EXPECT_FALSE(wires("hidl").declaredAlone) << "what is asked for has to be there";
    EXPECT_TRUE(wires("hidl").hidl && !wires("hidl").aidl);
    EXPECT_TRUE(wires("aidl").aidl && !wires("aidl").hidl);
    EXPECT_TRUE(wires("hidl,aidl").hidl && wires("hidl,aidl").aidl);
    EXPECT_TRUE(wires("aidl,hidl").hidl && wires("aidl,hidl").aidl);
    for (const char* none : {"", "binder", "hidl,", ",aidl", "hidl aidl", "HIDL"}) {
        expectRefused({"--wires", none}, "--wires");
    }
}

// The system calls of a vendor's library would end the service.
TEST(ServiceOptions, TakeGpuAccOrAnEnforcedFilter) {
    for (const char* const backends : {"GpuAcc", "CpuAcc,GpuAcc", "GpuAcc:device=1,CpuRef"}) {
        expectRefused({"--compute", backends, "--seccomp", "enforce"}, "--compute GpuAcc");
        expectRefused({"--seccomp", "enforce", "--compute", backends}, "--seccomp enforce");
        for (const char* const mode : {"off", "log"}) {
            const Result<ServiceOptions> options = parse({"-c", backends, "--seccomp", mode});
            ASSERT_TRUE(options.ok()) << options.status().toString();
        }
    }
    EXPECT_TRUE(parse({"-c", "CpuAcc,CpuRef", "--seccomp", "enforce"}).ok());
}

TEST(ServiceOptions, NameGpuAccOrGoWithoutIt) {
    for (const char* const mode : {"off", "log", "enforce"}) {
        EXPECT_EQ(parse({"--seccomp", mode})->driver.backends, std::vector<std::string>{"CpuAcc"});
    }
}

}  // namespace
}  // namespace halyard::hal
