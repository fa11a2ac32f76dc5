// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/json.h"

#include <cstdlib>

namespace halyard::hal::testing {

namespace {

constexpr size_t kMaxDepth = 64;

class Parser {
  public:
    explicit Parser(std::string_view text) : mText(text) {}

    Result<Json> document() {
        HALYARD_ASSIGN_OR_RETURN(Json value, parseValue(0));
        skipSpace();
        if (mAt != mText.size()) {
            return fail("text after the value");
        }
        return value;
    }

  private:
    Status fail(std::string_view what) const {
        return invalidArgument("JSON at " + std::to_string(mAt) + ": " + std::string(what));
    }

    void skipSpace() {
        while (mAt < mText.size() &&
               std::string_view(" \t\r\n").find(mText[mAt]) != std::string_view::npos) {
            ++mAt;
        }
    }

    bool take(std::string_view word) {
        skipSpace();
        if (!mText.substr(mAt).starts_with(word)) {
            return false;
        }
        mAt += word.size();
        return true;
    }

    Result<std::string> parseString() {
        if (!take("\"")) {
            return fail("no string");
        }
        std::string text;
        for (; mAt < mText.size(); ++mAt) {
            char c = mText[mAt];
            if (c == '"') {
                ++mAt;
                return text;
            }
            if (c == '\\') {
                ++mAt;
                if (mAt == mText.size() || (mText[mAt] != '"' && mText[mAt] != '\\')) {
                    return fail("unknown escape");
                }
                c = mText[mAt];
            }
            text.push_back(c);
        }
        return fail("the string has no end");
    }

    // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxDepth
    Result<Json> parseValue(size_t depth) {
        if (depth > kMaxDepth) {
            return fail("nested too deeply");
        }
        Json value;
        if (take("null")) {
            return value;
        }
        if (take("true") || take("false")) {
            value.kind = Json::Kind::BOOL;
            value.truth = mText[mAt - 2] == 'u';
            return value;
        }
        if (take("[")) {
            value.kind = Json::Kind::ARRAY;
            while (!take("]")) {
                if (!value.items.empty() && !take(",")) {
                    return fail("no comma");
                }
                HALYARD_ASSIGN_OR_RETURN(Json item, parseValue(depth + 1));
                value.items.push_back(std::move(item));
            }
            return value;
        }
        if (take("{")) {
            value.kind = Json::Kind::OBJECT;
            while (!take("}")) {
                if (!value.members.empty() && !take(",")) {
                    return fail("no comma");
                }
                HALYARD_ASSIGN_OR_RETURN(std::string name, parseString());
                if (!take(":")) {
                    return fail("no colon");
                }
                HALYARD_ASSIGN_OR_RETURN(Json member, parseValue(depth + 1));
                value.members.emplace(std::move(name), std::move(member));
            }
            return value;
        }
        if (mAt < mText.size() && mText[mAt] == '"') {
            value.kind = Json::Kind::STRING;
            HALYARD_ASSIGN_OR_RETURN(value.text, parseString());
            return value;
        }
        size_t end = mText.find_first_not_of("+-.0123456789eE", mAt);
        value.kind = Json::Kind::NUMBER;
        value.text = mText.substr(mAt, end - mAt);
        if (value.text.empty()) {
            return fail("no value");
        }
        mAt += value.text.size();
        return value;
    }

    std::string_view mText;
    size_t mAt = 0;
};

const Json kNull;

}  // namespace

const Json& Json::operator[](std::string_view name) const {
    auto found = members.find(name);
    return found == members.end() ? kNull : found->second;
}

const Json& Json::operator[](size_t index) const {
    return index < items.size() ? items[index] : kNull;
}

uint64_t Json::number() const {
    return text.starts_with('-') ? static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, 10))
                                 : std::strtoull(text.c_str(), nullptr, 10);
}

double Json::real() const {
    return std::strtod(text.c_str(), nullptr);
}

Result<Json> parseJson(std::string_view text) {
    return Parser(text).document();
}

}  // namespace halyard::hal::testing
