// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/form_choice.h"

namespace halyard::engine::cpu {

std::string_view toString(Form form) {
    switch (form) {
        case Form::INT8_GEMM_AMX:
            return "int8 GEMM on AMX";
        case Form::INT8_GEMM_I8MM:
            return "int8 GEMM by i8mm";
        case Form::INT8_GEMM_DOT:
            return "int8 GEMM by dot products";
        case Form::INT8_GEMM_WIDENED:
            return "int8 GEMM by 16-bit products";
        case Form::WINOGRAD_4X4:
            return "Winograd F(4x4)";
        case Form::WINOGRAD_2X2:
            return "Winograd F(2x2)";
        case Form::BF16_SPLIT_GEMM:
            return "bf16 split GEMM on AMX";
        case Form::BF16_WEIGHT_GEMM:
            return "float GEMM of bf16 weights";
        case Form::FLOAT_GEMM:
            return "float GEMM";
        case Form::HALF_GEMM:
            return "half GEMM";
        case Form::STREAMED_WEIGHTS:
            return "streamed weights";
        case Form::GROUPED_VECTORS:
            return "grouped vectors";
        case Form::MERGED_STRIDE_PHASES:
            return "merged stride phases";
        case Form::STRIDE_PHASES:
            return "stride phases";
        case Form::GEMM_AND_COL2IM:
            return "GEMM and col2im";
        case Form::HALF_DEPTHWISE:
            return "half depthwise";
        case Form::FLOAT_DEPTHWISE:
            return "float depthwise";
        case Form::INT8_DEPTHWISE_DOT:
            return "int8 depthwise by dot products";
        case Form::INT8_DEPTHWISE_PAIRED:
            return "int8 depthwise by pairs of 8-bit products";
        case Form::INT8_DEPTHWISE_WIDENED:
            return "int8 depthwise by 16-bit products";
        case Form::INVERTED_RESIDUAL:
            return "inverted residual";
        case Form::FUSED_POINTWISE_DEPTHWISE:
            return "fused pointwise depthwise";
        case Form::NODE_BY_NODE:
            return "node by node";
    }
    return "unknown";
}

std::string LostForm::toString() const {
    return std::string(cpu::toString(form)) + ": " + why;
}

std::string LostForms::toString() const {
    std::string text;
    for (const LostForm& lost : mForms) {
        text.append(text.empty() ? "" : "; ").append(lost.toString());
    }
    return text;
}

}  // namespace halyard::engine::cpu
