// SPDX-License-Identifier: Apache-2.0
//
// android.hardware.neuralnetworks@1.0: where it all begins.

#pragma once

#include <span>

#include "hal/hidl/conversion.h"
#include "hal/hidl/version_row.h"

namespace halyard::hal::hidl::nn::v1_0 {

driver::Operand decode(const Operand& wire);
driver::RequestArgument decode(const RequestArgument& wire);
driver::Model decode(const Model& wire);
driver::Request decode(const Request& wire);

void encode(ParcelWriter& writer, const driver::Operand& operand, Operand& wire);
void encode(ParcelWriter& writer, const driver::RequestArgument& argument, RequestArgument& wire);
void encode(ParcelWriter& writer, const driver::PerformanceInfo& info, PerformanceInfo& wire);

Result<driver::Request> readRequest(ParcelReader& reader);
void writeRequest(ParcelWriter& writer, const driver::Request& request,
                  std::span<const HidlMemory> pools);

extern const VersionDelta kDelta;

}  // namespace halyard::hal::hidl::nn::v1_0
