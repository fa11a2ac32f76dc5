// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/tuning/tuning_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/backends/gpu/tuning/tuning.h"
#include "engine/base/log.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::string_view kHere = "Platform 3; Device; 1.2";
constexpr const char* kGood =
        "halyard tuning 1\n"
        "device Platform 3; Device; 1.2\n"
        "softmax of 1000\t256\n"
        "softmax of 7\t64\n"
        "end 2\n";

std::vector<std::string> logged;

// A folder of its own, and what is logged meanwhile.
class GpuTuningFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "tuningXXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        mFolder = folder;
        mPath = folder + "/tuning";
        logged.clear();
        setLogSink([](LogLevel, std::string_view line) { logged.emplace_back(line); });
    }
    void TearDown() override {
        setLogSink(nullptr);
        std::filesystem::remove_all(mFolder);
    }
    void write(std::string_view text) const { std::ofstream(mPath) << text; }
    std::string read() const {
        std::ostringstream text;
        text << std::ifstream(mPath).rdbuf();
        return text.str();
    }
    TuningSettings uses() const { return {.file = mPath}; }
    TuningSettings updates() const { return {.file = mPath, .mode = TuningMode::UPDATE}; }
    static void expectLogged(std::string_view part) {
        for (const std::string& line : logged) {
            if (line.find(part) != std::string::npos) {
                return;
            }
        }
        ADD_FAILURE() << "nothing logged with \"" << part << "\" among "
                      << testing::PrintToString(logged);
    }

    std::string mFolder;
    std::string mPath;
};

TEST_F(GpuTuningFile, IsWhatWasWritten) {
    const TunedChoices choices = {{"softmax of 1000", "256"}, {"softmax of 7", "64"}};
    const std::string text = tuningText(choices, kHere);
    EXPECT_EQ(text, kGood);
    EXPECT_EQ(parseTuning(text, kHere).value(), choices);
    EXPECT_EQ(parseTuning(tuningText({}, "odd\n\x01\xff name"), "odd\n\x01\xff name").value(),
              TunedChoices());
}

TEST_F(GpuTuningFile, IsRefusedWhereverItIsCutOff) {
    const std::string good = kGood;
    for (size_t size = 0; size < good.size(); ++size) {
        EXPECT_EQ(parseTuning(good.substr(0, size), kHere).status().code(),
                  StatusCode::INVALID_ARGUMENT)
                << size;
    }
}

TEST_F(GpuTuningFile, IsRefusedWithTheLineThatIsWrong) {
    const std::string head = "halyard tuning 1\ndevice Platform 3; Device; 1.2\n";
    const auto refused = [](const std::string& text, std::string_view words) {
        const Status status = parseTuning(text, kHere).status();
        EXPECT_NE(status.message().find(words), std::string_view::npos)
                << text << ": " << status.toString();
    };
    refused("#!/bin/sh\n", "no tuning file");
    refused("halyard tuning 2\n", "line 1 ");
    refused("halyard tuning 1\nsoftmax\t1\n", "line 2 ");
    refused(head + "softmax 64\nend 1\n", "line 3 ");
    refused(head + "softmax\t\nend 1\n", "line 3 ");
    refused(head + "\t64\nend 1\n", "line 3 ");
    refused(head + "a\t64\t3\nend 1\n", "line 3 ");
    refused(head + "a\x01\t64\nend 1\n", "line 3 ");
    refused(head + std::string(kMostTunedKeyBytes + 1, 'a') + "\t64\nend 1\n", "line 3 ");
    refused(head + "a\t64\na\t128\nend 2\n", "line 4 has a key for the second time");
    refused(head + "a\t64\nend 2\n", "line 4 is not the end");
    refused(head + "a\t64\nend -1\n", "line 4 is not the end");
    refused(head + "a\t64\nend 1\nb\t64\n", "line 4 is not the end");
    std::string many = head;
    for (size_t i = 0; i <= kMostTunedChoices; ++i) {
        many += "key " + std::to_string(i) + "\t64\n";
    }
    refused(many + "end " + std::to_string(kMostTunedChoices + 1) + "\n", "one choice too many");
    EXPECT_EQ(parseTuning(kGood, "Platform 3; Other; 1.2").status().code(),
              StatusCode::UNSUPPORTED);
}

TEST_F(GpuTuningFile, IsUsedAndLeftAsItIs) {
    write(kGood);
    Tuning tuning(uses(), kHere);
    EXPECT_FALSE(tuning.isOff());
    EXPECT_EQ(tuning.find("softmax of 1000"), "256");
    EXPECT_EQ(tuning.find("softmax of 8"), std::nullopt);
    EXPECT_EQ(tuning.measuredOf(100), 0U);
    tuning.record("more", "1");
    tuning.save();
    EXPECT_EQ(read(), kGood);
}

TEST_F(GpuTuningFile, ThatIsNoneIsSaidAndDoesNoHarm) {
    const auto expectOff = [&](std::string_view why) {
        logged.clear();
        EXPECT_TRUE(Tuning(uses(), kHere).isOff()) << why;
        EXPECT_EQ(Tuning(uses(), kHere).identity(), "") << why;
        expectLogged(why);
    };
    expectOff("No such file");
    write("halyard tuning 1\ndevice Platform 3; Other; 9\nsoftmax of 7\t64\nend 1\n");
    expectOff("that of 'Platform 3; Other; 9', and here is 'Platform 3; Device; 1.2'");
    write(std::string(kGood).substr(0, 60));
    expectOff("cut off");
    write(std::string(size_t{16} << 20, 'x'));
    expectOff("larger than a tuning file can be");
    unlink(mPath.c_str());
    ASSERT_EQ(mkfifo(mPath.c_str(), 0600), 0);
    expectOff("not an ordinary file");
    unlink(mPath.c_str());
    ASSERT_EQ(mkdir(mPath.c_str(), 0700), 0);
    expectOff("not an ordinary file");
}

TEST_F(GpuTuningFile, IsMadeAndGoneOnWith) {
    {
        Tuning tuning(updates(), kHere);
        EXPECT_FALSE(tuning.isOff());
        tuning.record("softmax of 1000", "256");
        tuning.save();
    }
    Tuning tuning(updates(), kHere);
    tuning.record("softmax of 7", "64");
    tuning.save();
    EXPECT_EQ(read(), kGood);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(mFolder)) {
        names.push_back(entry.path().filename());
    }
    EXPECT_EQ(names, std::vector<std::string>{"tuning"}) << "nothing else is left there";
}

TEST_F(GpuTuningFile, OfAnotherDeviceOrCutOffIsWrittenAnew) {
    for (const std::string& text :
         {tuningText({{"a", "1"}}, "Other"), std::string(kGood).substr(0, 60), std::string()}) {
        write(text);
        Tuning tuning(updates(), kHere);
        tuning.record("softmax of 7", "64");
        tuning.record("softmax of 1000", "256");
        tuning.save();
        EXPECT_EQ(read(), kGood);
    }
}

TEST_F(GpuTuningFile, OfSomeOtherProgramIsNotTouched) {
    write("root:x:0:0\n");
    Tuning tuning(updates(), kHere);
    expectLogged("it will not be written either");
    tuning.record("softmax of 7", "64");
    tuning.save();
    EXPECT_EQ(read(), "root:x:0:0\n");
    EXPECT_EQ(tuning.find("softmax of 7"), "64") << "in this process it is known";
}

TEST_F(GpuTuningFile, ThatCanNotBeWrittenIsSaidOnce) {
    Tuning tuning({.file = mFolder + "/nowhere/tuning", .mode = TuningMode::UPDATE}, kHere);
    logged.clear();
    for (const char* const key : {"a", "b"}) {
        tuning.record(key, "64");
        tuning.save();
    }
    EXPECT_EQ(logged.size(), 1U) << testing::PrintToString(logged);
    expectLogged("No such file");
}

TEST_F(GpuTuningFile, HasNoMoreThanItCanBeReadWith) {
    Tuning tuning(updates(), kHere);
    for (size_t i = 0; i < kMostTunedChoices + 10; ++i) {
        tuning.record("key " + std::to_string(i), "64");
    }
    tuning.record("key\n", "64");
    tuning.record("key", "a\tb");
    EXPECT_EQ(tuning.measuredOf(100), 0U) << "what could not be recorded";
    tuning.record("key 0", "128");
    tuning.save();
    Tuning again(uses(), kHere);
    EXPECT_EQ(again.find("key " + std::to_string(kMostTunedChoices - 1)), "64");
    EXPECT_EQ(again.find("key " + std::to_string(kMostTunedChoices)), std::nullopt);
    EXPECT_EQ(again.find("key 0"), "128");
}

TEST_F(GpuTuningFile, TellsInItsIdentityWhatDecides) {
    EXPECT_EQ(Tuning({}, kHere).identity(), "");
    write(kGood);
    const std::string used = Tuning(uses(), kHere).identity();
    EXPECT_NE(used, "");
    const std::string updated = Tuning(updates(), kHere).identity();
    EXPECT_NE(updated, used);
    TuningSettings exhaustive = updates();
    exhaustive.level = TuningLevel::EXHAUSTIVE;
    EXPECT_NE(Tuning(exhaustive, kHere).identity(), updated);
    write(tuningText({{"softmax of 7", "128"}}, kHere));
    EXPECT_NE(Tuning(uses(), kHere).identity(), used);
    Tuning tuning(updates(), kHere);
    const std::string before = tuning.identity();
    tuning.record("softmax of 1", "64");
    EXPECT_EQ(tuning.identity(), before) << "a process's own models stay its own";
}

TEST(GpuTuningKey, IsOneLineWhateverItIsMadeOf) {
    EXPECT_EQ(Tuning::keyOf(" softmax\n#define X F32\n\t 7 "), "softmax #define X F32 7");
    const std::string longer(1000, 'a');
    EXPECT_LE(Tuning::keyOf(longer).size(), kMostTunedKeyBytes);
    EXPECT_NE(Tuning::keyOf(longer), Tuning::keyOf(longer + "b"));
    EXPECT_TRUE(canBeTuned(Tuning::keyOf(longer), "64"));
}

}  // namespace
}  // namespace halyard::engine::gpu
