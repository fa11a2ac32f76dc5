// SPDX-License-Identifier: Apache-2.0

#include "engine/base/build_identity.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(BuildIdentity, IsThatOfTheLinker) {
    EXPECT_EQ(buildIdentity().size(), 20U);
}

}  // namespace
}  // namespace halyard
