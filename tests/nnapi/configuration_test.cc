// SPDX-License-Identifier: Apache-2.0
//
// What the environment and the file of a configuration may say, and what is wrong with the rest.

#include "nnapi/configuration.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace halyard::nnapi {
namespace {

using driver::HalVersion;
using Door = DeviceEntry::Door;

// A variable of the environment, as it was before once this ends. Nothing else runs meanwhile.
class Variable {
  public:
    Variable(const char* name, const char* value) : mName(name) {
        if (const char* const before = std::getenv(name); before != nullptr) {
            mBefore = before;
        }
        value == nullptr ? unsetenv(name) : setenv(name, value, 1);
    }
    ~Variable() { mBefore.has_value() ? setenv(mName, mBefore->c_str(), 1) : unsetenv(mName); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* const mName;
    std::optional<std::string> mBefore;
};

DeviceEntry parsed(std::string_view text) {
    Result<DeviceEntry> entry = parseDevice(text);
    EXPECT_TRUE(entry.ok()) << entry.status().toString();
    return entry.ok() ? *std::move(entry) : DeviceEntry();
}

std::string namesOf(const std::vector<DeviceEntry>& devices) {
    std::string names;
    for (const DeviceEntry& device : devices) {
        names += (names.empty() ? "" : " ") + device.name;
    }
    return names;
}

TEST(NnapiConfiguration, NamesDevicesInThisProcess) {
    const DeviceEntry plain = parsed("in-process");
    EXPECT_EQ(plain.door, Door::IN_PROCESS);
    EXPECT_EQ(plain.name, "halyard");
    const DeviceEntry fast =
            parsed(" in-process --name fast  -c GpuAcc,CpuAcc "
                   "--number-of-threads 4 ");
    EXPECT_EQ(fast.name, "fast");
    EXPECT_EQ(fast.options.backends, (std::vector<std::string>{"GpuAcc", "CpuAcc"}));
    EXPECT_EQ(fast.options.threads, 4U);
}

TEST(NnapiConfiguration, NamesServicesAndTheirVersions) {
    const DeviceEntry newest = parsed("hidl:default");
    EXPECT_EQ(newest.door, Door::HIDL);
    EXPECT_EQ(newest.instance, "default");
    EXPECT_EQ(newest.name, "default");
    EXPECT_FALSE(newest.version.has_value());
    EXPECT_EQ(parsed("hidl:default@1.2").version, HalVersion::V1_2);
    EXPECT_EQ(parsed("hidl:default@1.2").instance, "default");
    const DeviceEntry aidl = parsed("aidl:halyard@3 --name other");
    EXPECT_EQ(aidl.door, Door::AIDL);
    EXPECT_EQ(aidl.version, HalVersion::AIDL_V3);
    EXPECT_EQ(aidl.instance, "halyard");
    EXPECT_EQ(aidl.name, "other");
}

TEST(NnapiConfiguration, ListsDevicesWithSemicolonsBetween) {
    const auto devices =
            parseDevices("in-process -c CpuAcc; hidl:default;aidl:default --name third");
    ASSERT_TRUE(devices.ok()) << devices.status().toString();
    EXPECT_EQ(namesOf(*devices), "halyard default third");
}

TEST(NnapiConfiguration, SaysWhatIsWrongWithADevice) {
    for (const auto& [text, reason] :
         {std::pair("", "a device is empty"), std::pair("in-process;", "a device is empty"),
          std::pair("gpu", "a device is in-process, hidl:INSTANCE or aidl:INSTANCE, not gpu"),
          std::pair("hidl:", "the instance has no name"),
          std::pair("hidl:default@9", "hidl:default@9"),
          std::pair("aidl:default@1.2", "aidl:default@1.2"),
          std::pair("in-process --colour blue", "--colour"),
          std::pair("in-process --name", "--name"),
          std::pair("hidl:default -c CpuAcc", "hidl:default"),
          std::pair("in-process; in-process -c CpuRef", "two devices are called halyard"),
          std::pair("hidl:one; aidl:one", "two devices are called one")}) {
        const auto devices = parseDevices(text);
        ASSERT_FALSE(devices.ok()) << text;
        EXPECT_EQ(devices.status().code(), StatusCode::INVALID_ARGUMENT) << text;
        EXPECT_NE(devices.status().toString().find(reason), std::string::npos)
                << text << ": " << devices.status().toString();
    }
}

TEST(NnapiConfiguration, IsAFileOfTwoKeys) {
    const auto said = parseConfiguration(
            "---\n# of this machine\nfeature-level: 7\n\ndevices:\n"
            "  - in-process --name fast -c CpuAcc   # options are the service's\n"
            "  - hidl:default@1.2\n");
    ASSERT_TRUE(said.ok()) << said.status().toString();
    EXPECT_EQ(said->level, HalVersion::AIDL_V3);
    EXPECT_EQ(namesOf(said->devices), "fast default");
    const auto nothing = parseConfiguration("");
    ASSERT_TRUE(nothing.ok());
    EXPECT_FALSE(nothing->level.has_value());
    EXPECT_TRUE(nothing->devices.empty());
}

TEST(NnapiConfiguration, NamesTheLineThatIsWrong) {
    for (const auto& [text, reason] :
         {std::pair("feature-level: 9\n", "line 1: a feature level is 1 to 8, not 9"),
          std::pair("feature-level: 5\nfeature-level: 6\n", "line 2: feature-level is there twice"),
          std::pair("devices:\n  - in-process\n  - gpu\n", "line 3: gpu"),
          std::pair("devices: in-process\n", "line 1: devices is a list"),
          std::pair("devices:\n - in-process\ndevices:\n", "line 3: devices is there twice"),
          std::pair("\n\nlevels: 3\n", "line 3: there is no key levels"),
          std::pair("feature-level\n", "line 1: is neither"),
          std::pair("  feature-level: 5\n", "line 1: is no entry of a list, and is indented"),
          std::pair("- in-process\n", "line 1"),
          std::pair("devices:\n - in-process\n - in-process\n", "two devices are called")}) {
        const auto said = parseConfiguration(text);
        ASSERT_FALSE(said.ok()) << text;
        EXPECT_NE(said.status().toString().find(reason), std::string::npos)
                << text << ": " << said.status().toString();
    }
}

TEST(NnapiConfiguration, IsTheDriverWhereNothingIsSaid) {
    if (std::ifstream("/etc/halyard-nnapi.yaml").good()) {
        GTEST_SKIP() << "this machine says something";
    }
    const Variable devices("HALYARD_NNAPI_DEVICES", nullptr);
    const Variable level("HALYARD_NNAPI_FEATURE_LEVEL", "");
    const Variable file("HALYARD_NNAPI_CONFIG", nullptr);
    const auto said = readConfiguration();
    ASSERT_TRUE(said.ok()) << said.status().toString();
    EXPECT_EQ(namesOf(said->devices), "halyard");
    EXPECT_EQ(said->devices.front().options.backends, driver::Options().backends);
    EXPECT_FALSE(said->level.has_value());
}

// What the environment says goes before what a file says, and the file says the rest.
TEST(NnapiConfiguration, IsTheEnvironmentsBeforeTheFiles) {
    const std::string path = testing::TempDir() + "halyard-nnapi-test.yaml";
    std::ofstream(path) << "feature-level: 5\ndevices:\n  - in-process --name filed\n";
    const Variable file("HALYARD_NNAPI_CONFIG", path.c_str());
    for (const auto& [devices, level, names, expected] :
         {std::tuple<const char*, const char*, const char*, HalVersion>(nullptr, nullptr, "filed",
                                                                        HalVersion::AIDL_V1),
          {"in-process --name said", nullptr, "said", HalVersion::AIDL_V1},
          {nullptr, "3", "filed", HalVersion::V1_2},
          {"in-process --name said", "8", "said", HalVersion::AIDL_V4}}) {
        const Variable first("HALYARD_NNAPI_DEVICES", devices);
        const Variable second("HALYARD_NNAPI_FEATURE_LEVEL", level);
        const auto said = readConfiguration();
        ASSERT_TRUE(said.ok()) << said.status().toString();
        EXPECT_EQ(namesOf(said->devices), names);
        EXPECT_EQ(said->level, expected);
    }
    std::remove(path.c_str());
    const Variable none("HALYARD_NNAPI_DEVICES", nullptr);
    const auto missing = readConfiguration();
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.status().toString().find(path), std::string::npos);
}

}  // namespace
}  // namespace halyard::nnapi
