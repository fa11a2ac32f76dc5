// SPDX-License-Identifier: Apache-2.0
//
// Answer: what a function of NNAPI's C interface returns, with the sentence that the log gets. The
// interface has more codes than Status: who calls wrongly is told whether a pointer is null, the
// object in the wrong state, or the data bad.

#pragma once

#include <android/NeuralNetworks.h>

#include <string>
#include <string_view>
#include <utility>

#include "driver/device/device_interface.h"
#include "engine/base/status.h"

namespace halyard::nnapi {

// Cheap where it is ANEURALNETWORKS_NO_ERROR.
class [[nodiscard]] Answer {
  public:
    Answer() = default;
    Answer(int code, std::string reason) : mCode(code), mReason(std::move(reason)) {}

    bool ok() const { return mCode == ANEURALNETWORKS_NO_ERROR; }
    int code() const { return mCode; }
    const std::string& reason() const { return mReason; }
    // The same failure with "context: " in front of its reason; no error stays none.
    Answer withContext(std::string_view context) const;

  private:
    int mCode = ANEURALNETWORKS_NO_ERROR;
    std::string mReason;
};

// ANEURALNETWORKS_UNEXPECTED_NULL, "NAME is null".
Answer unexpectedNull(std::string_view name);
Answer badState(std::string reason);
Answer badData(std::string reason);

// What a device says. UNAVAILABLE is ANEURALNETWORKS_DEAD_OBJECT where the device is gone, which it
// is asked (null: it is there). INVALID_ARGUMENT is ANEURALNETWORKS_BAD_DATA, and what the device
// can't do or did wrong ANEURALNETWORKS_OP_FAILED.
Answer answerOf(const Status& status, driver::IDevice* device = nullptr);

// The code, for the caller; a failure is logged with the function's name.
int conclude(std::string_view function, const Answer& answer);

#define HALYARD_RETURN_UNLESS_OK(expression)                                  \
    do {                                                                      \
        if (::halyard::nnapi::Answer answer_ = (expression); !answer_.ok()) { \
            return answer_;                                                   \
        }                                                                     \
    } while (false)

}  // namespace halyard::nnapi
