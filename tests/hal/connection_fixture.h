// SPDX-License-Identifier: Apache-2.0
//
// A BinderConnection whose kernel the test is, with objects of ours to call.

#pragma once

#include <gtest/gtest.h>
#include <linux/android/binder.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "engine/base/status.h"
#include "hal/binder/connection.h"
#include "hal/binder/incoming_call.h"
#include "hal/binder/parcel.h"
#include "tests/hal/fake_kernel.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal::testing {

using Serve = std::function<WireStatus(IncomingCall& call)>;

// The reply, of a call whose arguments have been read.
ParcelWriter& replyTo(IncomingCall& call);

// Serves a word, to which it replies with another.
Serve serveWord(std::function<int32_t(int32_t)> answer);

class ServedObject : public LocalObject {
  public:
    // Answers a word with nothing unless told otherwise.
    explicit ServedObject(Serve serve = nullptr) : mServe(std::move(serve)) {}
    WireStatus onTransact(IncomingCall& call) override;
    void onLastRelease() override { ++lastReleases; }

    std::atomic<int> calls = 0;
    std::atomic<int> lastReleases = 0;

  private:
    const Serve mServe;
};

// By what the kernel knows an object of ours.
binder_ptr_cookie pairOf(const LocalObject* object);

// A flat_binder_object as the kernel would deliver it.
flat_binder_object flat(uint32_t type, uint64_t binderOrHandle);

// A parcel in that kernel's receive buffer, of that object alone.
binder_transaction_data parcelWith(FakeKernel& kernel, const flat_binder_object& object);

class ConnectionFixture : public ::testing::Test {
  protected:
    ~ConnectionFixture() override;

    // The object becomes known to the kernel, as after having been sent.
    void send(const std::shared_ptr<LocalObject>& object);
    Result<ObjectRef> receive(const flat_binder_object& object);
    std::shared_ptr<RemoteObject> receiveRemote(uint32_t handle);
    // Calls `object` from outside and gives what was replied.
    SentCommand callObject(const LocalObject* object, uint32_t code, int32_t word);

    const TimeLimit mTimeLimit;
    const std::shared_ptr<FakeKernel> kernel = std::make_shared<FakeKernel>();
    BinderConnection mConnection{kernel};
};

}  // namespace halyard::hal::testing
