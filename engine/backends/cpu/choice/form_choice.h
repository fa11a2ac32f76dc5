// SPDX-License-Identifier: Apache-2.0
//
// The forms in which CpuAcc computes GEMMs, depthwise convolutions and what is fused from them, and
// what a choice among them says. The choices are gemm_choice.h, depthwise_choice.h and
// fused_choice.h: each has the forms of its layers as rows of a name, a predicate and a cost, and
// takes the cheapest form that is legal. Plain data in and out: a choice can be made for a
// processor that this one is not.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine::cpu {

enum class Form : uint8_t {
    // Convolutions and fully connected layers of int8.
    INT8_GEMM_AMX,
    INT8_GEMM_I8MM,
    INT8_GEMM_DOT,      // VNNI, or dot products of NEON
    INT8_GEMM_WIDENED,  // products of 16 bits
    // And of floats.
    WINOGRAD_4X4,
    WINOGRAD_2X2,
    BF16_SPLIT_GEMM,   // on AMX, of two or three bf16 parts
    BF16_WEIGHT_GEMM,  // by vectors, of few rows with weights that are bf16
    FLOAT_GEMM,
    HALF_GEMM,         // of float16, by arithmetic of binary16
    STREAMED_WEIGHTS,  // how the last two read weights: M = 1, from beyond L2
    // Depthwise convolutions of float16, by arithmetic of binary16 or of floats; those of floats
    // have
    // one form.
    HALF_DEPTHWISE,
    FLOAT_DEPTHWISE,
    // And of int8.
    INT8_DEPTHWISE_DOT,
    INT8_DEPTHWISE_PAIRED,   // two products added in 16 bits, on NEON
    INT8_DEPTHWISE_WIDENED,  // products of 16 bits
    // Several nodes as one.
    INVERTED_RESIDUAL,
    FUSED_POINTWISE_DEPTHWISE,
    NODE_BY_NODE,
    // Convolutions in groups of few channels.
    GROUPED_VECTORS,
    // Transposed convolutions, each phase as a GEMM.
    MERGED_STRIDE_PHASES,  // those of a line together
    STRIDE_PHASES,
    GEMM_AND_COL2IM,  // of floats, in place of phases
};

// "int8 GEMM on AMX".
std::string_view toString(Form form);

// A form that was not taken.
struct LostForm {
    Form form = Form::NODE_BY_NODE;
    std::string why;  // "avx512vnni has no tiles"

    // "int8 GEMM on AMX: avx512vnni has no tiles".
    std::string toString() const;
};

// The forms that a choice rejected, each with its reason.
class LostForms {
  public:
    // Whether a form is legal; otherwise it is lost for the status's reason.
    bool takes(Form form, const Status& legal) {
        if (!legal.ok()) {
            add(form, std::string(legal.message()));
        }
        return legal.ok();
    }
    void add(Form form, std::string why) { mForms.push_back({form, std::move(why)}); }
    void addAll(const LostForms& others) {
        mForms.insert(mForms.end(), others.mForms.begin(), others.mForms.end());
    }
    const std::vector<LostForm>& all() const { return mForms; }
    // "a: why; b: why".
    std::string toString() const;

  private:
    std::vector<LostForm> mForms;
};

}  // namespace halyard::engine::cpu
