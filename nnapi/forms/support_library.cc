// SPDX-License-Identifier: Apache-2.0
//
// libhalyard_nnapi_sl.so: the support library form, whose only export gives a table of functions.

#include "nnapi/runtime.h"
#include "support_library_functions.h"

#ifdef __ANDROID__
#include <android/log.h>

#include <string>

#include "engine/base/log.h"
#endif

namespace halyard::nnapi {

const Form kForm = Form::SUPPORT_LIBRARY;

}  // namespace halyard::nnapi

#ifdef __ANDROID__
namespace {

// An app's stderr is /dev/null.
void logToLogcat(halyard::LogLevel level, std::string_view line) {
    constexpr int kPriorities[] = {ANDROID_LOG_VERBOSE, ANDROID_LOG_INFO, ANDROID_LOG_WARN,
                                   ANDROID_LOG_ERROR};
    __android_log_write(kPriorities[static_cast<size_t>(level)], "halyard",
                        std::string(line).c_str());
}

}  // namespace
#endif

NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl() {
#ifdef __ANDROID__
    halyard::setLogSink(&logToLogcat);
#endif
    static NnApiSLDriverImplFL8 table =
#include "support_library_table.inc"
            ;
    table.base.base.implFeatureLevel = ANeuralNetworks_getRuntimeFeatureLevel();
    return &table.base.base;
}
