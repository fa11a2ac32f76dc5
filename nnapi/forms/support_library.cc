// SPDX-License-Identifier: Apache-2.0
//
// libhalyard_nnapi_sl.so: the support library form, whose only export gives a table of functions.

#include "nnapi/runtime.h"
#include "support_library_functions.h"

namespace halyard::nnapi {

const Form kForm = Form::SUPPORT_LIBRARY;

}  // namespace halyard::nnapi

NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl() {
    static NnApiSLDriverImplFL8 table =
#include "support_library_table.inc"
            ;
    table.base.base.implFeatureLevel = ANeuralNetworks_getRuntimeFeatureLevel();
    return &table.base.base;
}
