// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of floats by split_matmul.h.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/backends/cpu/products/product_definition.h"
#include "engine/backends/cpu/products/split_matmul.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Whether results may be as rough as such products are, weights and biases are tame and tiles are
// the faster form of the node: not where nobody knows yet how many rows there are.
Result<bool> paysAsSplit(const ProductDefinition& definition, const KernelArguments& arguments);

// What an estimate says of a product of that many rows: cycles that it takes by tiles of parts, and
// by vectors of floats.
struct ProductCosts {
    int64_t split = 0;
    int64_t vectors = 0;
};
ProductCosts costsOf(const ProductFilter& filter, int64_t rows);

// `set` is what the form is called by.
Result<std::unique_ptr<const StepKernel>> compileSplitProduct(ProductDefinition definition,
                                                              const KernelArguments& arguments,
                                                              const SplitMatmul& form,
                                                              std::string_view set);

}  // namespace halyard::engine::cpu
