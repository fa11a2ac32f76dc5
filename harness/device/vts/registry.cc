// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/registry.h"

#include <algorithm>
#include <iterator>

#include "harness/device/vts/compilation_caching/compilation_caching_test.h"
#include "harness/device/vts/deadline_test.h"
#include "harness/device/vts/dynamic_output_shape_test.h"
#include "harness/device/vts/fenced_compute_test.h"
#include "harness/device/vts/generated_test.h"
#include "harness/device/vts/infinite_loop_timeout_test.h"
#include "harness/device/vts/memory_domain/allocate_test.h"
#include "harness/device/vts/memory_domain/copy_test.h"
#include "harness/device/vts/memory_domain/execution_test.h"
#include "harness/device/vts/memory_domain/memory_domain_test.h"
#include "harness/device/vts/neuralnetworks_test.h"
#include "harness/device/vts/quantization_coupling_test.h"
#include "harness/device/vts/validation_test.h"

namespace halyard::vts {

const Checks& allChecks() {
    static const Checks kChecks = [] {
        Checks all;
        for (Checks (*const checks)() : {
                     neuralnetworksTest,
                     generatedTest,
                     dynamicOutputShapeTest,
                     fencedComputeTest,
                     quantizationCouplingTest,
                     infiniteLoopTimeoutTest,
                     deadlineTest,
                     compilationCachingTest,
                     compilationCachingSecurityTest,
                     memoryDomainTest,
                     memoryDomainAllocateTest,
                     memoryDomainCopyTest,
                     memoryDomainExecutionTest,
                     validationTest,
             }) {
            std::ranges::move(checks(), std::back_inserter(all));
        }
        return all;
    }();
    return kChecks;
}

const Check* findCheck(std::string_view id, driver::HalVersion version) {
    const auto found = std::ranges::find_if(allChecks(), [&](const Check& check) {
        return check.isOf(version) && check.id() == id;
    });
    return found == allChecks().end() ? nullptr : &*found;
}

}  // namespace halyard::vts
