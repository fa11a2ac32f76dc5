// SPDX-License-Identifier: Apache-2.0
//
// A client's call for text about an object, as every wire has one: it brings the descriptor that
// the text goes into.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "driver/clients/client.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"

namespace halyard::hal {

// Whether an app calls, which may not look into a service.
bool isApp(const Caller& caller);

class DebugCall {
  public:
    // `received`: the descriptor that came with the call, of which a duplicate is kept; -1: none.
    DebugCall(const Caller& caller, int received);

    // Writes what `text` gives, and closes the duplicate. Waits for its reader, but not for
    // long. The call counts among those of `client`, as it may hold its thread for as long as it
    // waits; where that gives null it is not counted, and where it fails there is no text. Does
    // nothing where no pipe or socket came. To be called when the arguments have been ended.
    void answer(const std::function<Result<std::shared_ptr<driver::Client>>()>& client,
                const std::function<std::string()>& text);

  private:
    Status tryAnswer(const std::function<Result<std::shared_ptr<driver::Client>>()>& client,
                     const std::function<std::string()>& text);

    const Caller mCaller;
    const std::shared_ptr<FileDescriptor> mOutput = std::make_shared<FileDescriptor>();
};

}  // namespace halyard::hal
