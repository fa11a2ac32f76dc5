// SPDX-License-Identifier: Apache-2.0
//
// Custom operators whose meaning is public, as handlers (importers/tflite/mapper.h).

#pragma once

#include "importers/tflite/mapper.h"

namespace halyard::tflite {

// detection.cc
Status mapDetectionPostprocess(Mapper& mapper);

// mediapipe.cc
Status mapConvolutionTransposeBias(Mapper& mapper);
Status mapMaxPoolingWithArgmax(Mapper& mapper);
Status mapMaxUnpooling(Mapper& mapper);

}  // namespace halyard::tflite
