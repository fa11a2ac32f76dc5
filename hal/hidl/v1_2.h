// SPDX-License-Identifier: Apache-2.0
//
// android.hardware.neuralnetworks@1.2: extra parameters of operands, extensions, performance per
// operand type, output shapes and timing; most operations.

#pragma once

#include <span>
#include <vector>

#include "hal/hidl/v1_1.h"

namespace halyard::hal::hidl::nn::v1_2 {

driver::ExtraParams decode(const Operand::ExtraParams& wire);
driver::Operand decode(const Operand& wire);
driver::ExtensionNameAndPrefix decode(const Model::ExtensionNameAndPrefix& wire);
driver::Extension decode(const Extension& wire);
driver::Model decode(const Model& wire);
driver::OutputShape decode(const OutputShape& wire);
driver::Timing decode(const Timing& wire);
Timing encode(const driver::Timing& timing);

void encode(ParcelWriter& writer, const driver::ExtraParams& params, Operand::ExtraParams& wire);
void encode(ParcelWriter& writer, const driver::Operand& operand, Operand& wire);
void encode(ParcelWriter& writer, const driver::ExtensionNameAndPrefix& extension,
            Model::ExtensionNameAndPrefix& wire);
void encode(ParcelWriter& writer, const driver::Extension& extension, Extension& wire);
void encode(ParcelWriter& writer, const driver::OutputShape& shape, OutputShape& wire);

// Results of executeSynchronously* and arguments of notify_1_2 and notify_1_3, after the status.
void writeShapesAndTiming(ParcelWriter& writer, std::span<const driver::OutputShape> shapes,
                          const driver::Timing& timing);
struct ShapesAndTiming {
    std::vector<driver::OutputShape> shapes;
    driver::Timing timing;
};
Result<ShapesAndTiming> readShapesAndTiming(ParcelReader& reader);

extern const VersionDelta kDelta;

}  // namespace halyard::hal::hidl::nn::v1_2
