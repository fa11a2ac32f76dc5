// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace halyard::adbd {

// How much memory the queues of a connection, or of all connections, take. Not thread-safe.
class QueueAccount {
  public:
    // Charges here are charged to `parent` too, which outlives this.
    explicit QueueAccount(QueueAccount* parent = nullptr) : mParent(parent) {}
    // `onOver` runs with every charge that leaves more than `most`.
    QueueAccount(size_t most, std::function<void()> onOver)
        : mMost(most), mOnOver(std::move(onOver)) {}
    QueueAccount(const QueueAccount&) = delete;
    QueueAccount& operator=(const QueueAccount&) = delete;

    size_t bytes() const { return mBytes; }
    void recharge(size_t before, size_t now);

  private:
    QueueAccount* const mParent = nullptr;
    const size_t mMost = SIZE_MAX;
    const std::function<void()> mOnOver;
    size_t mBytes = 0;
};

// Bytes on their way, first in, first out. What is charged is the memory that they take, which is
// given back when the queue runs empty.
class ByteQueue {
  public:
    // `account` outlives the queue.
    explicit ByteQueue(QueueAccount& account) : mAccount(account) {}
    ~ByteQueue() { mAccount.recharge(mCharged, 0); }
    ByteQueue(const ByteQueue&) = delete;
    ByteQueue& operator=(const ByteQueue&) = delete;

    size_t size() const { return mBytes.size() - mTaken; }
    bool empty() const { return size() == 0; }
    // Valid until the next change.
    std::span<const uint8_t> bytes() const { return std::span(mBytes).subspan(mTaken); }

    void append(std::span<const uint8_t> bytes);
    // Drops the first `count` of bytes().
    void take(size_t count);

  private:
    void charge();

    QueueAccount& mAccount;
    std::vector<uint8_t> mBytes;
    size_t mTaken = 0;  // at the front of mBytes
    size_t mCharged = 0;
};

}  // namespace halyard::adbd
