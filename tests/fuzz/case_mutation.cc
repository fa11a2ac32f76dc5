// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/case_mutation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halyard::fuzz {
namespace {

constexpr size_t kMostBytes = size_t{1} << 14;  // of an operand

using Random = std::mt19937;

// Below `count`, 0 if that is 0.
int below(Random& random, int count) {
    return count <= 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(count));
}
bool oneIn(Random& random, int times) {
    return below(random, times) == 0;
}

size_t elementBytes(pb::OperandType type) {
    switch (type) {
        case pb::OPERAND_TYPE_FLOAT32:
        case pb::OPERAND_TYPE_INT32:
        case pb::OPERAND_TYPE_UINT32:
        case pb::OPERAND_TYPE_TENSOR_FLOAT32:
        case pb::OPERAND_TYPE_TENSOR_INT32:
            return 4;
        case pb::OPERAND_TYPE_FLOAT16:
        case pb::OPERAND_TYPE_TENSOR_FLOAT16:
        case pb::OPERAND_TYPE_TENSOR_QUANT16_SYMM:
        case pb::OPERAND_TYPE_TENSOR_QUANT16_ASYMM:
            return 2;
        case pb::OPERAND_TYPE_SUBGRAPH:
            return 0;
        default:
            return 1;
    }
}

// What an operand of known shape takes; nothing where that is not known or is too much.
std::optional<size_t> bytesOf(const pb::Operand& operand) {
    size_t size = elementBytes(operand.type());
    for (const uint32_t extent : operand.dimensions()) {
        if (extent == 0 || extent > kMostBytes || size * extent > kMostBytes) {
            return std::nullopt;
        }
        size *= extent;
    }
    return size;
}

bool isConstant(const pb::Operand& operand) {
    return operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY ||
           operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE;
}

class Mutation {
  public:
    Mutation(pb::TestCase& testCase, Random& random) : mCase(testCase), mRandom(random) {}

    void run() {
        pb::Model& model = *mCase.mutable_model();
        const int referenced = model.referenced_size();
        pb::Subgraph& subgraph = referenced > 0 && oneIn(mRandom, 2)
                                         ? *model.mutable_referenced(below(mRandom, referenced))
                                         : *model.mutable_main();
        switch (below(mRandom, 12)) {
            case 0:
            case 1:
                changeOperand(subgraph);
                break;
            case 2:
            case 3:
                changeExtents(model);
                break;
            case 4:
                changeTypes(model);
                break;
            case 5:
            case 6:
                changeValues(model);
                break;
            case 7:
                changeOperation(subgraph);
                break;
            case 8:
                repeatOperation(subgraph);
                break;
            case 9:
                changeBoundary(subgraph);
                break;
            case 10:
                moveConstant(model, subgraph);
                break;
            default:
                changeExamples();
        }
        if (!oneIn(mRandom, 8)) {
            repair();
        }
    }

  private:
    uint32_t number() {
        switch (below(mRandom, 10)) {
            case 0:
                return mRandom();
            case 1:
                return uint32_t{1} << below(mRandom, 32);
            case 2:
                return ~uint32_t{0} - static_cast<uint32_t>(below(mRandom, 4));
            case 3:
                return static_cast<uint32_t>(below(mRandom, 256));
            default:
                return static_cast<uint32_t>(below(mRandom, 6));
        }
    }

    pb::Operand* anyOperand(pb::Subgraph& subgraph) {
        return subgraph.operands_size() == 0
                       ? nullptr
                       : subgraph.mutable_operands(below(mRandom, subgraph.operands_size()));
    }

    void changeOperand(pb::Subgraph& subgraph) {
        pb::Operand* operand = anyOperand(subgraph);
        if (operand == nullptr) {
            return;
        }
        switch (below(mRandom, 8)) {
            case 0:
                operand->set_type(static_cast<pb::OperandType>(below(mRandom, 17)));
                break;
            case 1:
                operand->set_scale(oneIn(mRandom, 4) ? asFloat(mRandom()) : scale());
                break;
            case 2:
                operand->set_zero_point(static_cast<int32_t>(number()));
                break;
            case 3:
                operand->set_lifetime(static_cast<pb::OperandLifeTime>(below(mRandom, 8)));
                break;
            case 4:
                operand->mutable_location()->set_offset(number());
                operand->mutable_location()->set_length(number());
                break;
            case 5:
                if (oneIn(mRandom, 2)) {
                    operand->add_dimensions(number());
                } else if (operand->dimensions_size() > 0) {
                    operand->mutable_dimensions()->RemoveLast();
                }
                break;
            case 6:
                changeChannelScales(*operand);
                break;
            default:
                if (operand->dimensions_size() > 0) {
                    operand->set_dimensions(below(mRandom, operand->dimensions_size()), number());
                }
        }
    }

    static float asFloat(uint32_t bits) {
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
    float scale() {
        constexpr std::array<float, 6> kScales = {0.0F, 1.0F, 0.5F, 0.25F, 1.0F / 256, 2.0F / 256};
        return kScales[static_cast<size_t>(below(mRandom, kScales.size()))];
    }

    void changeChannelScales(pb::Operand& operand) {
        pb::SymmPerChannelQuantParams& params = *operand.mutable_channel_quant();
        if (oneIn(mRandom, 2)) {
            params.set_channel_dim(number());
        } else if (oneIn(mRandom, 2)) {
            params.add_scales(scale());
        } else if (params.scales_size() > 0) {
            params.mutable_scales()->RemoveLast();
        }
    }

    template <typename Visit>
    static void forEachOperand(pb::Model& model, const Visit& visit) {
        for (pb::Operand& operand : *model.mutable_main()->mutable_operands()) {
            visit(operand);
        }
        for (pb::Subgraph& subgraph : *model.mutable_referenced()) {
            for (pb::Operand& operand : *subgraph.mutable_operands()) {
                visit(operand);
            }
        }
    }

    // One extent becomes another wherever it stands, or one on one axis.
    void changeExtents(pb::Model& model) {
        const pb::Operand* chosen = anyOperand(*model.mutable_main());
        if (chosen == nullptr || chosen->dimensions_size() == 0) {
            return;
        }
        const int axis = below(mRandom, chosen->dimensions_size());
        const bool anyAxis = oneIn(mRandom, 2);
        const uint32_t before = chosen->dimensions(axis);
        const uint32_t after = oneIn(mRandom, 6) ? 0 : 1 + number() % 12;
        forEachOperand(model, [&](pb::Operand& operand) {
            for (int i = 0; i < operand.dimensions_size(); ++i) {
                if (operand.dimensions(i) == before && (anyAxis || i == axis)) {
                    operand.set_dimensions(i, after);
                }
            }
        });
    }

    void changeTypes(pb::Model& model) {
        const pb::Operand* chosen = anyOperand(*model.mutable_main());
        if (chosen == nullptr) {
            return;
        }
        const pb::OperandType before = chosen->type();
        const auto after = static_cast<pb::OperandType>(below(mRandom, 16));
        forEachOperand(model, [&](pb::Operand& operand) {
            if (operand.type() == before) {
                operand.set_type(after);
                if (operand.scale() == 0.0F && elementBytes(after) <= 2) {
                    operand.set_scale(0.5F);
                }
            }
        });
    }

    void changeBytes(std::string& bytes) {
        if (bytes.empty()) {
            return;
        }
        const size_t width = oneIn(mRandom, 3) ? 1 : 4;
        const auto at =
                static_cast<size_t>(below(mRandom, static_cast<int>(bytes.size()))) / width * width;
        uint32_t value = number();
        if (width == 4 && oneIn(mRandom, 3)) {
            const float real = static_cast<float>(below(mRandom, 33) - 16) / 4;
            std::memcpy(&value, &real, sizeof(value));
        }
        std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
    }

    void changeValues(pb::Model& model) {
        std::vector<std::string*> values = {model.mutable_operand_values()};
        for (std::string& pool : *model.mutable_pools()) {
            values.push_back(&pool);
        }
        changeBytes(*values[static_cast<size_t>(below(mRandom, static_cast<int>(values.size())))]);
    }

    uint32_t anyIndex(const pb::Subgraph& subgraph) {
        return static_cast<uint32_t>(
                below(mRandom, subgraph.operands_size() + (oneIn(mRandom, 16) ? 1 : 0)));
    }

    void changeOperation(pb::Subgraph& subgraph) {
        if (subgraph.operations_size() == 0) {
            return;
        }
        const int index = below(mRandom, subgraph.operations_size());
        pb::Operation& operation = *subgraph.mutable_operations(index);
        auto& ends = oneIn(mRandom, 4) ? *operation.mutable_outputs() : *operation.mutable_inputs();
        switch (below(mRandom, 6)) {
            case 0:
                operation.set_type(below(mRandom, 107));
                break;
            case 1:
                ends.Add(anyIndex(subgraph));
                break;
            case 2:
                if (!ends.empty()) {
                    ends.RemoveLast();
                }
                break;
            case 3:
                if (!ends.empty()) {
                    ends.SwapElements(below(mRandom, ends.size()), below(mRandom, ends.size()));
                }
                break;
            case 4:
                subgraph.mutable_operations()->SwapElements(
                        index, below(mRandom, subgraph.operations_size()));
                break;
            default:
                if (!ends.empty()) {
                    ends.Set(below(mRandom, ends.size()), anyIndex(subgraph));
                }
        }
    }

    // The same once more, with results of its own, which may also be read where the first ones
    // were.
    void repeatOperation(pb::Subgraph& subgraph) {
        if (subgraph.operations_size() == 0 || subgraph.operations_size() >= kMostOperations ||
            subgraph.operands_size() >= kMostOperands) {
            return;
        }
        pb::Operation again = subgraph.operations(below(mRandom, subgraph.operations_size()));
        for (uint32_t& output : *again.mutable_outputs()) {
            if (output >= static_cast<uint32_t>(subgraph.operands_size())) {
                return;
            }
            const pb::Operand result = subgraph.operands(static_cast<int>(output));
            const auto made = static_cast<uint32_t>(subgraph.operands_size());
            // Its input becomes the first one's result where the types allow that.
            for (uint32_t& input : *again.mutable_inputs()) {
                if (input < made && !isConstant(subgraph.operands(static_cast<int>(input))) &&
                    subgraph.operands(static_cast<int>(input)).type() == result.type()) {
                    input = output;
                    break;
                }
            }
            *subgraph.add_operands() = result;
            output = made;
            if (result.lifetime() == pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT) {
                subgraph.add_output_indexes(made);
            }
        }
        *subgraph.add_operations() = std::move(again);
    }

    void changeBoundary(pb::Subgraph& subgraph) {
        auto& ends = oneIn(mRandom, 2) ? *subgraph.mutable_input_indexes()
                                       : *subgraph.mutable_output_indexes();
        if (oneIn(mRandom, 3)) {
            ends.Add(anyIndex(subgraph));
        } else if (!ends.empty()) {
            const int at = below(mRandom, ends.size());
            if (oneIn(mRandom, 2)) {
                ends.SwapElements(at, ends.size() - 1);
            } else {
                ends.RemoveLast();
            }
        }
    }

    // Into a pool, into the model's own values, or among the inputs.
    void moveConstant(pb::Model& model, pb::Subgraph& subgraph) {
        for (int tries = 0; tries < 4; ++tries) {
            const int index = below(mRandom, subgraph.operands_size());
            if (index >= subgraph.operands_size() || !isConstant(subgraph.operands(index))) {
                continue;
            }
            pb::Operand& operand = *subgraph.mutable_operands(index);
            if (oneIn(mRandom, 2)) {
                subgraph.add_input_indexes(static_cast<uint32_t>(index));
                operand.set_lifetime(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
                operand.clear_location();
                for (pb::Example& example : *mCase.mutable_examples()) {
                    example.add_inputs();
                }
            } else {
                place(model, operand, contentOf(model, operand),
                      operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY);
            }
            return;
        }
    }

    void changeExamples() {
        if (mCase.examples_size() == 0) {
            mCase.add_examples();
            return;
        }
        pb::Example& example = *mCase.mutable_examples(below(mRandom, mCase.examples_size()));
        if (oneIn(mRandom, 3) && example.outputs_size() > 0) {
            pb::OutputBuffer& output =
                    *example.mutable_outputs(below(mRandom, example.outputs_size()));
            if (oneIn(mRandom, 2)) {
                output.set_byte_size(number() % 4096);
            } else {
                output.add_dimensions(number());
            }
            return;
        }
        if (example.inputs_size() == 0) {
            return;
        }
        pb::InputValue& input = *example.mutable_inputs(below(mRandom, example.inputs_size()));
        switch (below(mRandom, 8)) {
            case 0:
                input.set_has_no_value(!input.has_no_value());
                break;
            case 1:
                input.add_dimensions(number());
                break;
            case 2:
                if (input.dimensions_size() > 0) {
                    input.set_dimensions(below(mRandom, input.dimensions_size()), number());
                }
                break;
            case 3:
                input.mutable_data()->resize(number() % 4096);
                break;
            default:
                changeBytes(*input.mutable_data());
        }
    }

    static std::string contentOf(const pb::Model& model, const pb::Operand& operand) {
        const pb::DataLocation& location = operand.location();
        const bool own = operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY;
        if (!own && location.pool_index() >= static_cast<uint32_t>(model.pools_size())) {
            return {};
        }
        const std::string& values =
                own ? model.operand_values() : model.pools(static_cast<int>(location.pool_index()));
        return location.offset() > values.size()
                       ? std::string()
                       : values.substr(location.offset(), location.length());
    }

    static void place(pb::Model& model, pb::Operand& operand, const std::string& content,
                      bool inPool) {
        if (inPool && model.pools_size() == 0) {
            model.add_pools();
        }
        const int pool = model.pools_size() - 1;
        std::string& values = inPool ? *model.mutable_pools(pool) : *model.mutable_operand_values();
        values.resize((values.size() + 3) / 4 * 4);
        operand.mutable_location()->set_pool_index(inPool ? static_cast<uint32_t>(pool) : 0);
        operand.mutable_location()->set_offset(static_cast<uint32_t>(values.size()));
        operand.mutable_location()->set_length(static_cast<uint32_t>(content.size()));
        operand.set_lifetime(inPool ? pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE
                                    : pb::OPERAND_LIFE_TIME_CONSTANT_COPY);
        values += content;
    }

    // Gives constants and arguments as many bytes as their shapes ask, so that what was changed
    // gets beyond the first checks.
    void repair() {
        pb::Model& model = *mCase.mutable_model();
        forEachOperand(model, [&](pb::Operand& operand) {
            const std::optional<size_t> size = bytesOf(operand);
            if (isConstant(operand) && size.has_value() && *size != operand.location().length()) {
                std::string content = contentOf(model, operand);
                grow(content, *size);
                place(model, operand, content,
                      operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE);
            }
        });
        const pb::Subgraph& main = model.main();
        for (pb::Example& example : *mCase.mutable_examples()) {
            const int inputs = std::min(main.input_indexes_size(), example.inputs_size());
            for (int i = 0; i < inputs; ++i) {
                const std::optional<size_t> size = boundaryBytes(main, main.input_indexes(i));
                if (size.has_value() && *size != 0) {
                    grow(*example.mutable_inputs(i)->mutable_data(), *size);
                }
            }
            while (example.outputs_size() < main.output_indexes_size()) {
                example.add_outputs();
            }
            for (int i = 0; i < main.output_indexes_size(); ++i) {
                const std::optional<size_t> size = boundaryBytes(main, main.output_indexes(i));
                pb::OutputBuffer& output = *example.mutable_outputs(i);
                if (size.has_value() && *size > output.byte_size()) {
                    output.set_byte_size(*size);
                }
            }
        }
    }

    static std::optional<size_t> boundaryBytes(const pb::Subgraph& subgraph, uint32_t index) {
        return index < static_cast<uint32_t>(subgraph.operands_size())
                       ? bytesOf(subgraph.operands(static_cast<int>(index)))
                       : std::nullopt;
    }

    // What is new repeats what is there.
    static void grow(std::string& bytes, size_t size) {
        const size_t before = bytes.size();
        bytes.resize(size);
        for (size_t i = before; before != 0 && i < size; ++i) {
            bytes[i] = bytes[i - before];
        }
    }

    pb::TestCase& mCase;
    Random& mRandom;
};

}  // namespace

void mutate(pb::TestCase& testCase, Random& random) {
    for (int times = 1 + below(random, 4); times > 0; --times) {
        Mutation(testCase, random).run();
    }
}

}  // namespace halyard::fuzz
