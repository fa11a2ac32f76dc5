// SPDX-License-Identifier: Apache-2.0
//
// Custom operators, by the names that they go by.

#include "importers/tflite/operators/custom.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

struct CustomHandler {
    std::string_view name;
    Handler handler = nullptr;
};
constexpr std::array<CustomHandler, 4> kHandlers = {{
        {"Convolution2DTransposeBias", mapConvolutionTransposeBias},
        {"MaxPoolingWithArgmax2D", mapMaxPoolingWithArgmax},
        {"MaxUnpooling2D", mapMaxUnpooling},
        {"TFLite_Detection_PostProcess", mapDetectionPostprocess},
}};
// Operators of TensorFlow's own, which the Flex delegate runs.
constexpr std::string_view kFlex = "Flex";

}  // namespace

Status mapCustom(Mapper& mapper) {
    const std::string& name = mapper.op().customName;
    const auto found = std::ranges::find(kHandlers, name, &CustomHandler::name);
    if (found != kHandlers.end()) {
        return found->handler(mapper);
    }
    return unsupported(name.starts_with(kFlex)
                               ? "it is an operator of TensorFlow's, which its Flex delegate runs"
                               : "it is a custom operator, which only its own runtime knows");
}

}  // namespace halyard::tflite
