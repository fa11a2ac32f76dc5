// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/case_fields.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace halyard::fuzz {
namespace {

float anyScale(SeededChoices& choices) {
    constexpr std::array<float, 6> kScales = {0.0F, 1.0F, 0.5F, 0.25F, 1.0F / 256, 2.0F / 256};
    return kScales[choices.below(kScales.size())];
}

void changeChannelScales(pb::Operand& operand, SeededChoices& choices) {
    pb::SymmPerChannelQuantParams& params = *operand.mutable_channel_quant();
    if (choices.oneIn(2)) {
        params.set_channel_dim(choices.number());
    } else if (choices.oneIn(2)) {
        params.add_scales(anyScale(choices));
    } else if (params.scales_size() > 0) {
        params.mutable_scales()->RemoveLast();
    }
}

void changeBytes(std::string& bytes, SeededChoices& choices) {
    if (bytes.empty()) {
        return;
    }
    const size_t width = choices.oneIn(3) ? 1 : 4;
    const auto at = choices.below(bytes.size()) / width * width;
    uint32_t value = choices.number();
    if (width == 4 && choices.oneIn(3)) {
        const float real = static_cast<float>(choices.below(33) - 16) / 4;
        std::memcpy(&value, &real, sizeof(value));
    }
    std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
}

uint32_t anyIndex(const pb::Subgraph& subgraph, SeededChoices& choices) {
    return static_cast<uint32_t>(
            choices.below(subgraph.operands_size() + (choices.oneIn(16) ? 1 : 0)));
}

}  // namespace

pb::Operand* anyOperand(pb::Subgraph& subgraph, SeededChoices& choices) {
    return subgraph.operands_size() == 0
                   ? nullptr
                   : subgraph.mutable_operands(choices.below(subgraph.operands_size()));
}

void changeOperand(pb::Subgraph& subgraph, SeededChoices& choices) {
    pb::Operand* operand = anyOperand(subgraph, choices);
    if (operand == nullptr) {
        return;
    }
    switch (choices.below(8)) {
        case 0:
            operand->set_type(static_cast<pb::OperandType>(choices.below(17)));
            break;
        case 1:
            operand->set_scale(choices.oneIn(4) ? choices.anyFloat() : anyScale(choices));
            break;
        case 2:
            operand->set_zero_point(static_cast<int32_t>(choices.number()));
            break;
        case 3:
            operand->set_lifetime(static_cast<pb::OperandLifeTime>(choices.below(8)));
            break;
        case 4:
            operand->mutable_location()->set_offset(choices.number());
            operand->mutable_location()->set_length(choices.number());
            break;
        case 5:
            if (choices.oneIn(2)) {
                operand->add_dimensions(choices.number());
            } else if (operand->dimensions_size() > 0) {
                operand->mutable_dimensions()->RemoveLast();
            }
            break;
        case 6:
            changeChannelScales(*operand, choices);
            break;
        default:
            if (operand->dimensions_size() > 0) {
                operand->set_dimensions(choices.below(operand->dimensions_size()),
                                        choices.number());
            }
    }
}

void changeOperation(pb::Subgraph& subgraph, SeededChoices& choices) {
    if (subgraph.operations_size() == 0) {
        return;
    }
    const int index = choices.below(subgraph.operations_size());
    pb::Operation& operation = *subgraph.mutable_operations(index);
    auto& ends = choices.oneIn(4) ? *operation.mutable_outputs() : *operation.mutable_inputs();
    switch (choices.below(6)) {
        case 0:
            operation.set_type(choices.below(107));
            break;
        case 1:
            ends.Add(anyIndex(subgraph, choices));
            break;
        case 2:
            if (!ends.empty()) {
                ends.RemoveLast();
            }
            break;
        case 3:
            if (!ends.empty()) {
                ends.SwapElements(choices.below(ends.size()), choices.below(ends.size()));
            }
            break;
        case 4:
            subgraph.mutable_operations()->SwapElements(index,
                                                        choices.below(subgraph.operations_size()));
            break;
        default:
            if (!ends.empty()) {
                ends.Set(choices.below(ends.size()), anyIndex(subgraph, choices));
            }
    }
}

void changeBoundary(pb::Subgraph& subgraph, SeededChoices& choices) {
    auto& ends = choices.oneIn(2) ? *subgraph.mutable_input_indexes()
                                  : *subgraph.mutable_output_indexes();
    if (choices.oneIn(3)) {
        ends.Add(anyIndex(subgraph, choices));
    } else if (!ends.empty()) {
        const int at = choices.below(ends.size());
        if (choices.oneIn(2)) {
            ends.SwapElements(at, ends.size() - 1);
        } else {
            ends.RemoveLast();
        }
    }
}

void changeValues(pb::Model& model, SeededChoices& choices) {
    std::vector<std::string*> values = {model.mutable_operand_values()};
    for (std::string& pool : *model.mutable_pools()) {
        values.push_back(&pool);
    }
    changeBytes(*values[choices.below(values.size())], choices);
}

void changeExamples(pb::TestCase& testCase, SeededChoices& choices) {
    if (testCase.examples_size() == 0) {
        testCase.add_examples();
        return;
    }
    pb::Example& example = *testCase.mutable_examples(choices.below(testCase.examples_size()));
    if (choices.oneIn(3) && example.outputs_size() > 0) {
        pb::OutputBuffer& output = *example.mutable_outputs(choices.below(example.outputs_size()));
        if (choices.oneIn(2)) {
            output.set_byte_size(choices.number() % 4096);
        } else {
            output.add_dimensions(choices.number());
        }
        return;
    }
    if (example.inputs_size() == 0) {
        return;
    }
    pb::InputValue& input = *example.mutable_inputs(choices.below(example.inputs_size()));
    switch (choices.below(8)) {
        case 0:
            input.set_has_no_value(!input.has_no_value());
            break;
        case 1:
            input.add_dimensions(choices.number());
            break;
        case 2:
            if (input.dimensions_size() > 0) {
                input.set_dimensions(choices.below(input.dimensions_size()), choices.number());
            }
            break;
        case 3:
            input.mutable_data()->resize(choices.number() % 4096);
            break;
        default:
            changeBytes(*input.mutable_data(), choices);
    }
}

}  // namespace halyard::fuzz
