// SPDX-License-Identifier: Apache-2.0
//
// ByteWriter and ByteReader: numbers, texts and lists as little-endian bytes. What is read may come
// from anywhere: nothing is read past its end, and each count is followed by at least as many bytes
// as it counts, so that nothing is allocated that is not there.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace halyard {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

class ByteWriter {
  public:
    template <typename T>
    requires std::is_arithmetic_v<T>
    void put(T value) {
        std::array<uint8_t, sizeof(T)> bytes;
        std::memcpy(bytes.data(), &value, sizeof(T));
        mBytes.insert(mBytes.end(), bytes.begin(), bytes.end());
    }

    void putFlag(bool flag) { put(static_cast<uint8_t>(flag)); }
    void putCount(size_t count) { put(static_cast<uint32_t>(count)); }

    void putText(std::string_view text) {
        putCount(text.size());
        mBytes.insert(mBytes.end(), text.begin(), text.end());
    }

    template <typename T>
    void putList(std::span<const T> list) {
        putCount(list.size());
        for (const T& value : list) {
            put(value);
        }
    }

    size_t size() const { return mBytes.size(); }
    std::vector<uint8_t> take() { return std::exchange(mBytes, {}); }

  private:
    std::vector<uint8_t> mBytes;
};

class ByteReader {
  public:
    // `what` they are, for messages: "the graph". It and the bytes outlive the reader.
    ByteReader(std::span<const uint8_t> bytes, std::string_view what) : mRest(bytes), mWhat(what) {}

    bool empty() const { return mRest.empty(); }
    // For how many of so many bytes each, at least, there is room: what to reserve for those that
    // are said to come.
    size_t roomFor(size_t count, size_t leastBytes) const {
        return std::min(count, mRest.size() / leastBytes);
    }

    template <typename T>
    requires std::is_arithmetic_v<T> Status get(T& value) {
        if (mRest.size() < sizeof(T)) {
            return endsEarly();
        }
        std::memcpy(&value, mRest.data(), sizeof(T));
        mRest = mRest.subspan(sizeof(T));
        return {};
    }

    Status getFlag(bool& flag) {
        uint8_t byte = 0;
        HALYARD_RETURN_IF_ERROR(get(byte));
        if (byte > 1) {
            return invalidArgument("a flag is " + std::to_string(byte));
        }
        flag = byte == 1;
        return {};
    }

    Result<size_t> getCount() {
        uint32_t count = 0;
        HALYARD_RETURN_IF_ERROR(get(count));
        if (count > mRest.size()) {
            return endsEarly();
        }
        return size_t{count};
    }

    // Lies in the bytes.
    Result<std::string_view> getText() {
        HALYARD_ASSIGN_OR_RETURN(const size_t length, getCount());
        const std::string_view text(reinterpret_cast<const char*>(mRest.data()), length);
        mRest = mRest.subspan(length);
        return text;
    }

    Status getText(std::string& text) {
        HALYARD_ASSIGN_OR_RETURN(text, getText());
        return {};
    }

    template <typename T>
    Status getList(std::vector<T>& list) {
        HALYARD_ASSIGN_OR_RETURN(const size_t count, getCount());
        for (size_t i = 0; i < count; ++i) {
            HALYARD_RETURN_IF_ERROR(get(list.emplace_back()));
        }
        return {};
    }

    // INVALID_ARGUMENT where there is more.
    Status finish() const {
        return mRest.empty() ? Status()
                             : invalidArgument("there is more than " + std::string(mWhat));
    }

  private:
    Status endsEarly() const { return invalidArgument(std::string(mWhat) + " ends early"); }

    std::span<const uint8_t> mRest;
    std::string_view mWhat;
};

}  // namespace halyard
