// SPDX-License-Identifier: Apache-2.0
//
// The options of the driver are the same in both programs that have one.

#include "harness/device/runner/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "driver/options/option_table.h"
#include "hal/service_options.h"

namespace halyard {
namespace {

using Words = std::vector<std::string>;

template <typename Parse>
auto parse(Words words, Parse* parser) {
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    return parser(static_cast<int>(words.size()), arguments.data());
}

Result<driver::Options> parsedByService(Words words) {
    words.insert(words.begin(), "service");
    HALYARD_ASSIGN_OR_RETURN(const hal::ServiceOptions options,
                             parse(std::move(words), hal::parseServiceOptions));
    return options.driver;
}

// With what the runner needs to run anything.
Result<driver::Options> parsedByRunner(Words words) {
    const Words needed = {"runner",    "--target", "in-process", "--bundle", "b",
                          "--options", "o",        "--results",  "r"};
    words.insert(words.begin(), needed.begin(), needed.end());
    HALYARD_ASSIGN_OR_RETURN(const runner::CommandLine line,
                             parse(std::move(words), runner::parseCommandLine));
    return line.driver;
}

auto fieldsOf(const driver::Options& options) {
    return std::tie(options.backends, options.cpuFeatures, options.requiredBackends,
                    options.backendHintFile, options.backendDirectory, options.maxPartitions,
                    options.minNodesPerPartition, options.unsupportedOperations, options.threads,
                    options.maxMemoryMib, options.maxClientMemoryMib, options.maxRunningSeconds,
                    options.dumpDirectory, options.precision, options.optimize, options.fastMath,
                    options.graphDumpDirectory, options.traceDirectory, options.traceMarkerFile,
                    options.capabilitiesFile, options.maxDeviceMemoryMib,
                    options.clTunedParametersFile, options.clTunedParametersMode,
                    options.clTuningLevel, options.gpuProfiling, options.cacheKeyDirectory);
}

std::vector<driver::CommandLineOption> table() {
    static driver::Options unused;
    return driver::driverOptions(unused);
}

// Values that an option takes, and that it refuses, by what help calls its value.
std::string goodValue(std::string_view valueName) {
    if (valueName == "N" || valueName == "MIB" || valueName == "S") {
        return "3";
    }
    const std::map<std::string_view, std::string> good = {{"BACKENDS", "CpuRef,CpuAcc"},
                                                          {"LIST", "add, 3"},
                                                          {"MODE", "UpdateTunedParameters"},
                                                          {"LEVEL", "exhaustive"}};
    const auto found = good.find(valueName);
    return found == good.end() ? "text" : found->second;
}

Words badValues(std::string_view valueName) {
    if (valueName == "N" || valueName == "MIB" || valueName == "S") {
        return {"", "many", "-1", "3x", " 3", "99999999999999999999", "18446744073709551615"};
    }
    if (valueName == "BACKENDS") {
        return {"", ",", "CpuRef,", "CpuRef,,CpuAcc"};
    }
    if (valueName == "MODE" || valueName == "LEVEL") {
        return {"", "Rapid", "usetunedparameters", "rapid,normal", "text"};
    }
    return valueName == "LIST" ? Words{"ADD,NOTHING", "100000"} : Words{""};
}

void expectTheSameRefusal(const Words& words, const std::string& named) {
    const Status byService = parsedByService(words).status();
    const Status byRunner = parsedByRunner(words).status();
    EXPECT_EQ(byService.code(), StatusCode::INVALID_ARGUMENT) << testing::PrintToString(words);
    EXPECT_EQ(byService.message(), byRunner.message());
    EXPECT_NE(byService.message().find(named), std::string_view::npos) << byService.message();
}

TEST(DriverOptions, AreTakenByBothProgramsWithTheSameEffect) {
    for (const driver::CommandLineOption& row : table()) {
        const std::string name = "--" + std::string(row.name);
        std::vector<Words> ways = {{name}};
        if (row.letter != 0) {
            ways.push_back({std::string("-") + row.letter});
        }
        for (Words& words : ways) {
            if (!row.valueName.empty()) {
                words.push_back(goodValue(row.valueName));
            }
            const Result<driver::Options> byService = parsedByService(words);
            const Result<driver::Options> byRunner = parsedByRunner(words);
            ASSERT_TRUE(byService.ok()) << byService.status().toString();
            ASSERT_TRUE(byRunner.ok()) << byRunner.status().toString();
            EXPECT_EQ(fieldsOf(*byService), fieldsOf(*byRunner)) << name;
            EXPECT_NE(fieldsOf(*byService), fieldsOf(driver::Options()))
                    << name << " has no effect";
        }
    }
}

TEST(DriverOptions, AreRefusedByBothProgramsInTheSameWords) {
    for (const driver::CommandLineOption& row : table()) {
        const std::string name = "--" + std::string(row.name);
        if (row.valueName.empty()) {
            expectTheSameRefusal({name + "=3"}, name);
            continue;
        }
        expectTheSameRefusal({name}, name);
        for (const std::string& value : badValues(row.valueName)) {
            expectTheSameRefusal({name, value}, name);
        }
    }
    expectTheSameRefusal({"--nothing"}, "--nothing");
    expectTheSameRefusal({"-q"}, "-q");
    expectTheSameRefusal({"word"}, "word");
    expectTheSameRefusal({"--m", "3"}, "--m");
    expectTheSameRefusal({"-c", "NoSuch"}, "NoSuch");
    expectTheSameRefusal({"-c", "NoSuch:features=avx2"}, "NoSuch");
    expectTheSameRefusal({"-c", "CpuAcc:features"}, "CpuAcc:features");
}

TEST(DriverOptions, OfWhichOneExcludesAnotherAreRefusedInEitherOrder) {
    expectTheSameRefusal({"-f", "--bf16-enabled"}, "exclude each other");
    expectTheSameRefusal({"--bf16-enabled", "-f"}, "exclude each other");
    EXPECT_TRUE(parsedByRunner({"-f", "-f"}).ok());
}

TEST(DriverOptions, LeaveTheOptionsOfABackendToTheBackend) {
    for (const Result<driver::Options>& parsed :
         {parsedByService({"-c", "CpuAcc:features=avx2,CpuRef"}),
          parsedByRunner({"-c", "CpuAcc:features=avx2", "-c", "CpuRef"})}) {
        ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
        EXPECT_EQ(parsed->backends, (Words{"CpuAcc:features=avx2", "CpuRef"}));
    }
}

TEST(DriverOptions, AreToldAlikeInBothHelpsOnLinesOf80) {
    const std::string told = driver::describeOptions(table());
    for (const std::string& help : {hal::serviceHelp(), runner::usage()}) {
        EXPECT_NE(help.find(told), std::string::npos);
        std::istringstream lines(help);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(line.size(), 80U) << line;
        }
    }
}

// The start of a row of help: "-x, --name VALUE" or "--name VALUE".
Words namesIn(const std::string& help) {
    Words names;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        const size_t name = line.find("--");
        if (name != 6 || !line.starts_with("  ")) {
            continue;
        }
        names.push_back(line.substr(name, line.find(' ', name) - name));
        if (line[2] == '-') {
            names.push_back(line.substr(2, 2));
        }
    }
    return names;
}

TEST(DriverOptions, ShareNoNameOrLetterWithAnother) {
    for (const std::string& help : {hal::serviceHelp(), runner::usage()}) {
        Words names = namesIn(help);
        EXPECT_GT(names.size(), table().size());
        std::ranges::sort(names);
        EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    }
}

}  // namespace
}  // namespace halyard
