// SPDX-License-Identifier: Apache-2.0
//
// Status and Result<T>: the one way a function in Halyard reports failure.
//
// A failed Status carries a code, a sentence for the log, and the place in the source that raised
// it. The sentence names what was wrong (which operation, which operand, which rule); the code
// decides what a client is told. Nothing here throws or aborts, except that asking a failed Result
// for its value ends the process: that is a defect in Halyard, never something a client can cause.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace halyard {

enum class StatusCode : unsigned char {
    OK,
    INVALID_ARGUMENT,    // the caller broke the contract; repeating the call will fail again
    UNSUPPORTED,         // valid, but this build, device or backend cannot do it
    OUTPUT_TOO_SMALL,    // an output buffer is shorter than the result
    DEADLINE_EXCEEDED,   // the caller's deadline or a loop's time limit passed
    RESOURCE_EXHAUSTED,  // memory, file descriptors, ...
    UNAVAILABLE,         // the other side (service, device) is gone or not there yet
    INTERNAL,            // Halyard's own fault, or the system call behind it failed
};

// "INVALID_ARGUMENT" and so on.
std::string_view toString(StatusCode code);

// Cheap when OK (one null pointer). Copies share the failure's text.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(StatusCode code, std::string message,
           std::source_location place = std::source_location::current());

    bool ok() const { return mFailure == nullptr; }
    StatusCode code() const { return mFailure == nullptr ? StatusCode::OK : mFailure->code; }
    // Empty when OK.
    std::string_view message() const {
        return mFailure == nullptr ? std::string_view() : std::string_view(mFailure->message);
    }
    // Whether it is known that the same call would fail again however often it is repeated. What is
    // asked of DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED, which may pass unless told otherwise.
    bool persistent() const { return mFailure != nullptr && mFailure->persistent; }
    // The same failure, known to be persistent; OK stays OK.
    Status asPersistent() const;
    // Which of the client's operations the failure is about, by its number among those of the
    // outermost graph; nothing where it is about none, or none is known.
    std::optional<uint32_t> operation() const {
        return mFailure == nullptr ? std::nullopt : mFailure->operation;
    }
    // The same failure, about that operation. Of a graph inside another one, the operation that
    // holds it is named last, and stays; OK stays OK.
    Status atOperation(uint32_t operation) const;
    // Which rule was broken, as a number of the layer that knows the rules; 0: none is named.
    int32_t rule() const { return mFailure == nullptr ? 0 : mFailure->rule; }
    // The same failure, of that rule, unless it names one already: what found it first knows it
    // best. OK stays OK.
    Status breaking(int32_t rule) const;
    // The same failure under another code; OK stays OK.
    Status withCode(StatusCode code) const;
    // "INVALID_ARGUMENT: operand 3: scale must be positive (driver/model/operand.cc:41)".
    std::string toString() const;
    // The same failure with "context: " in front of its message, as persistent as it was; OK stays
    // OK.
    Status withContext(std::string_view context) const;

  private:
    struct Failure {
        StatusCode code;
        std::string message;
        std::source_location place;
        bool persistent = false;
        std::optional<uint32_t> operation = std::nullopt;
        int32_t rule = 0;
    };
    // A copy of the failure, to be changed.
    std::shared_ptr<Failure> copyOfFailure() const;
    static Status of(std::shared_ptr<const Failure> failure);

    std::shared_ptr<const Failure> mFailure;
};

// Shorthands for the common failures. `place` is the caller.
Status invalidArgument(std::string message,
                       std::source_location place = std::source_location::current());
Status unsupported(std::string message,
                   std::source_location place = std::source_location::current());
Status internalError(std::string message,
                     std::source_location place = std::source_location::current());
// RESOURCE_EXHAUSTED for good: so much can't be counted, or is more than there could ever be.
Status outOfReach(std::string message,
                  std::source_location place = std::source_location::current());

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : mValue(std::move(value)) {}         // NOLINT(google-explicit-constructor)
    Result(Status status) : mStatus(std::move(status)) {  // NOLINT(google-explicit-constructor)
        if (mStatus.ok()) {
            mStatus = internalError("a Result was made from an OK status");
        }
    }

    bool ok() const { return mValue.has_value(); }
    const Status& status() const { return mStatus; }

    T& value() & { return checked(); }
    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T&& value() && { return std::move(checked()); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &value(); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(checked()); }

  private:
    T& checked() {
        if (!mValue.has_value()) {
            std::abort();
        }
        return *mValue;
    }

    Status mStatus;
    std::optional<T> mValue;
};

}  // namespace halyard

// Returns from the calling function when `expression`, a Status, has failed.
#define HALYARD_RETURN_IF_ERROR(expression)                            \
    do {                                                               \
        if (::halyard::Status status_ = (expression); !status_.ok()) { \
            return status_;                                            \
        }                                                              \
    } while (false)

#define HALYARD_CONCAT_INNER(a, b) a##b
#define HALYARD_CONCAT(a, b) HALYARD_CONCAT_INNER(a, b)

// HALYARD_ASSIGN_OR_RETURN(auto x, f()): x takes the value of the Result f() returns; a failure is
// returned from the calling function.
#define HALYARD_ASSIGN_OR_RETURN(declaration, expression) \
    HALYARD_ASSIGN_OR_RETURN_INNER(HALYARD_CONCAT(result_, __LINE__), declaration, expression)
#define HALYARD_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
    auto result = (expression);                                         \
    if (!result.ok()) {                                                 \
        return result.status();                                         \
    }                                                                   \
    declaration = std::move(result).value()
