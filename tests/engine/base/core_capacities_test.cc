// SPDX-License-Identifier: Apache-2.0

#include "engine/base/core_capacities.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace halyard {
namespace {

class CoreCapacitiesOfAFolder : public testing::Test {
  protected:
    CoreCapacitiesOfAFolder()
        : mRoot(testing::TempDir() + "capacities-" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
        std::filesystem::remove_all(mRoot);
    }
    ~CoreCapacitiesOfAFolder() override { std::filesystem::remove_all(mRoot); }

    void core(int number, const std::string& capacity) {
        const std::string folder = mRoot + "/cpu" + std::to_string(number);
        std::filesystem::create_directories(folder);
        if (!capacity.empty()) {
            std::ofstream(folder + "/cpu_capacity") << capacity;
        }
    }

    const std::string mRoot;
};

TEST_F(CoreCapacitiesOfAFolder, AreThoseOfItsFiles) {
    core(0, "250\n");
    core(1, "1024\n");
    core(2, "763");
    const CoreCapacities capacities = CoreCapacities::read(mRoot);
    EXPECT_FALSE(capacities.areAlike());
    EXPECT_EQ(capacities.of(0), 250U);
    EXPECT_EQ(capacities.of(1), 1024U);
    EXPECT_EQ(capacities.of(2), 763U);
    EXPECT_EQ(capacities.of(3), CoreCapacities::kFull);
    EXPECT_EQ(capacities.of(-1), CoreCapacities::kFull);
}

TEST_F(CoreCapacitiesOfAFolder, AreFullWhereAFileSaysNothing) {
    for (const char* text : {"", "0", "1025", "-3", "12 34", "many", "99999999999999999999"}) {
        core(0, text);
        core(1, "512");
        EXPECT_EQ(CoreCapacities::read(mRoot).of(0), CoreCapacities::kFull) << text;
    }
}

TEST_F(CoreCapacitiesOfAFolder, AreAlikeWithoutAny) {
    EXPECT_TRUE(CoreCapacities::read(mRoot).areAlike());
    core(0, "512");
    core(1, "512");
    EXPECT_TRUE(CoreCapacities::read(mRoot).areAlike());
}

}  // namespace
}  // namespace halyard
