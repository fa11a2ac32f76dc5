// SPDX-License-Identifier: Apache-2.0
//
// How long an account is watched, and what becomes of it.

#include "hal/service/client_account.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/hal/served_device.h"

namespace halyard::hal {
namespace {

// Somebody's object, whose owner dies when told.
class OwnedObject final : public RemoteObject {
  public:
    uint32_t handle() const override { return 1; }
    Result<uint64_t> linkToDeath(std::function<void()> /*onDeath*/) override {
        return unsupported("only watched");
    }
    void unlinkToDeath(uint64_t /*id*/) override {}
    Result<std::unique_ptr<OwnerWatch>> watchOwner(std::function<void()> onDeath) override {
        if (isDead) {
            return Status(StatusCode::UNAVAILABLE, "dead");
        }
        ++watched;
        mOnDeath = std::move(onDeath);
        return std::unique_ptr<OwnerWatch>(std::make_unique<Watch>(*this));
    }
    void die() { mOnDeath(); }

    bool isDead = false;
    int watched = 0;
    int unwatched = 0;

  private:
    class Watch final : public OwnerWatch {
      public:
        explicit Watch(OwnedObject& object) : mObject(object) {}
        ~Watch() override {
            ++mObject.unwatched;
            mObject.mOnDeath = nullptr;
        }
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

      private:
        OwnedObject& mObject;
    };

    std::function<void()> mOnDeath;
};

class ClientAccounts : public ::testing::Test {
  protected:
    void SetUp() override { mDevice = driver::Device::create(testing::referenceOptions()).value(); }
    std::shared_ptr<driver::Client> account(int32_t pid, uint32_t uid) {
        return accountOf(*mDevice, {.pid = pid, .euid = uid}, nullptr).value();
    }

    std::unique_ptr<driver::Device> mDevice;
    std::shared_ptr<OwnedObject> mObject = std::make_shared<OwnedObject>();
};

TEST_F(ClientAccounts, AreOfAProcessAndItsUser) {
    const std::shared_ptr<driver::Client> client = account(12, 1000);
    EXPECT_EQ(client->process().pid, 12);
    EXPECT_EQ(client->process().uid, 1000U);
    EXPECT_EQ(account(12, 1000), client);
    EXPECT_NE(account(13, 1000), client);
}

TEST_F(ClientAccounts, EndWithTheOwnerOfTheirFirstObject) {
    const std::shared_ptr<driver::Client> client = account(12, 1000);
    const auto second = std::make_shared<OwnedObject>();
    endWithOwner(client, mObject);
    endWithOwner(client, second);
    EXPECT_EQ(second->watched, 0) << "one is enough";
    EXPECT_EQ(mObject->unwatched, 0);
    EXPECT_TRUE(client->alive().ok());
    mObject->die();
    EXPECT_EQ(client->alive().code(), StatusCode::UNAVAILABLE);
}

TEST_F(ClientAccounts, EndAtOnceWhereTheOwnerIsDeadAlready) {
    const std::shared_ptr<driver::Client> client = account(12, 1000);
    mObject->isDead = true;
    endWithOwner(client, mObject);
    EXPECT_EQ(client->alive().code(), StatusCode::UNAVAILABLE);
}

TEST_F(ClientAccounts, AreNotKeptByWhatWatchesThem) {
    std::shared_ptr<driver::Client> client = account(12, 1000);
    const std::weak_ptr<driver::Client> open = client;
    endWithOwner(client, mObject);
    client = nullptr;
    EXPECT_TRUE(open.expired());
    EXPECT_EQ(mObject->unwatched, 1) << "nor is the owner watched any longer";
}

}  // namespace
}  // namespace halyard::hal
