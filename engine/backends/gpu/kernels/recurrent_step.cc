// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/recurrent_step.h"

#include <algorithm>
#include <string>

#include "engine/backends/gpu/kernels/recurrent_step_text.h"
#include "engine/backends/gpu/kernels/rows.h"
#include "engine/graph/recurrence.h"

namespace halyard::engine::gpu {
namespace {

// Of a work-group, which has a unit or a row.
constexpr size_t kUnitWorkItems = 64;
constexpr std::string_view kWorkItemsText = "\n#define WORK_ITEMS 64\n";

// Elements of the batch that share what a work-group reads of the weights.
constexpr int64_t kRows = 4;
constexpr size_t kTile = 16;

constexpr KernelFamily kInputGemm = {
        .kernel = "input_gemm", .text = kInputGemmText, .local = {kTile, kTile / 2, 1}};

// A copy of the kernels' struct.
struct Numbers {
    int32_t batch = 0;
    int32_t units = 0;
    int32_t stateSize = 0;
    int32_t stateStride = 0;
    int32_t xSize = 0;
    int32_t xStride = 0;
    int32_t sumsStride = 0;
    int32_t outputStride = 0;
    float low = 0.0F;
    float high = 0.0F;
    float cellClip = 0.0F;
    float epsilon = lstm::kLayerNormEpsilon;
    int32_t function = 0;  // LstmAttributes::Function
};

constexpr KernelFamily kStep = {.kernel = "recurrent_step",
                                .shared = {kCellText},
                                .text = kRecurrentStepText,
                                .local = {kUnitWorkItems, 1, 1}};

constexpr KernelFamily kNormalizedCell = {.kernel = "normalized_cell",
                                          .shared = {kWorkItemsText, kRowsText, kCellText},
                                          .text = kNormalizedCellText,
                                          .local = {kUnitWorkItems, 1, 1}};

class Defines {
  public:
    Defines& add(std::string_view name, std::string_view value = "1") {
        mText.append("#define ").append(name).append(" ").append(value).append("\n");
        return *this;
    }
    const std::string& text() const { return mText; }

  private:
    std::string mText;
};

using Function = LstmAttributes::Function;
static_assert(static_cast<int>(Function::NONE) == 0 && static_cast<int>(Function::RELU) == 1 &&
              static_cast<int>(Function::RELU1) == 2 && static_cast<int>(Function::RELU6) == 3 &&
              static_cast<int>(Function::TANH) == 4 && static_cast<int>(Function::LOGISTIC) == 5);

Numbers numbersOf(const RecurrentStep& recurrent) {
    Numbers n = {.batch = static_cast<int32_t>(recurrent.batch),
                 .units = static_cast<int32_t>(recurrent.units),
                 .stateSize = static_cast<int32_t>(recurrent.state.size),
                 .stateStride = static_cast<int32_t>(recurrent.state.stride),
                 .low = recurrent.low,
                 .high = recurrent.high};
    if (recurrent.x.has_value()) {
        n.xSize = static_cast<int32_t>(recurrent.x->size);
        n.xStride = static_cast<int32_t>(recurrent.x->stride);
    }
    if (recurrent.sums.has_value()) {
        n.sumsStride = static_cast<int32_t>(recurrent.sums->stride);
    }
    if (recurrent.output.has_value()) {
        n.outputStride = static_cast<int32_t>(recurrent.output->stride);
    }
    if (recurrent.cell.has_value()) {
        n.cellClip = recurrent.cell->attributes.cellClip;
        n.function = static_cast<int32_t>(recurrent.cell->attributes.activation);
    }
    return n;
}

bool normalizes(const RecurrentStep& recurrent) {
    return recurrent.gates.front().layerNorm.has_value();
}

// Defines the cell and the places of results, for both kernels.
void defineCell(Defines& defines, const RecurrentStep& recurrent) {
    const CellOperands& cell = *recurrent.cell;
    defines.add("CELL").add("CELL_IN", cell.before.storage).add("CELL_OUT", cell.after.storage);
    if (recurrent.gates.back().peephole.has_value()) {
        defines.add("PEEPHOLES");
    }
}

void defineResults(Defines& defines, const RecurrentStep& recurrent) {
    if (recurrent.result.has_value()) {
        defines.add("RESULT", recurrent.result->storage);
    }
    if (recurrent.output.has_value()) {
        defines.add("OUTPUT");
    }
}

void passCell(Launch& launch, const RecurrentStep& recurrent) {
    for (const GateOperands& gate : recurrent.gates) {
        if (gate.peephole.has_value()) {
            launch.with(*gate.peephole);
        }
    }
    launch.with(recurrent.cell->before.operand).with(recurrent.cell->after.operand);
}

void passResults(Launch& launch, const RecurrentStep& recurrent) {
    if (recurrent.result.has_value()) {
        launch.with(recurrent.result->operand);
    }
    if (recurrent.output.has_value()) {
        launch.with(recurrent.output->elements.operand);
    }
    launch.with(numbersOf(recurrent));
}

std::string gateCount(const RecurrentStep& recurrent) {
    return std::to_string(recurrent.gates.size());
}

// The sums, and with them all the rest where no gate is normalised.
Status addSums(StepPlan& step, const RecurrentStep& recurrent, const std::optional<Operand>& raw) {
    const int64_t rows = recurrent.batch == 1 ? 1 : kRows;
    Defines defines;
    defines.add("T", recurrent.storage).add("STATE", recurrent.state.elements.storage);
    defines.add("GATES", gateCount(recurrent)).add("ROWS", std::to_string(rows));
    const bool takesX = recurrent.x.has_value();
    const bool takesBias = recurrent.gates.front().bias.has_value() && !raw.has_value();
    if (takesX) {
        defines.add("X");
    }
    if (recurrent.sums.has_value()) {
        defines.add("SUMS");
    }
    if (takesBias) {
        defines.add("BIAS");
    }
    if (raw.has_value()) {
        defines.add("RAW").add("RESULT", "F32");
    } else {
        if (recurrent.cell.has_value()) {
            defineCell(defines, recurrent);
        }
        defineResults(defines, recurrent);
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kStep, defines.text()));
    launch->with(recurrent.state.elements.operand);
    for (const GateOperands& gate : recurrent.gates) {
        launch->with(gate.recurrentWeights);
    }
    if (takesX) {
        launch->with(recurrent.x->elements.operand);
        for (const GateOperands& gate : recurrent.gates) {
            launch->with(*gate.weights);
        }
    }
    if (recurrent.sums.has_value()) {
        launch->with(recurrent.sums->elements.operand);
    }
    for (const GateOperands& gate : recurrent.gates) {
        if (takesBias) {
            launch->with(*gate.bias);
        }
    }
    if (raw.has_value()) {
        launch->with(*raw).with(numbersOf(recurrent));
    } else {
        if (recurrent.cell.has_value()) {
            passCell(*launch, recurrent);
        }
        passResults(*launch, recurrent);
    }
    launch->workItems = {static_cast<size_t>(recurrent.units) * kUnitWorkItems,
                         static_cast<size_t>((recurrent.batch + rows - 1) / rows), 1};
    const int64_t depth = recurrent.state.size + (takesX ? recurrent.x->size : 0);
    launch->work = static_cast<uint64_t>(recurrent.units * recurrent.batch) *
                   recurrent.gates.size() * (static_cast<uint64_t>(depth) + kUnitWorkItems);
    return {};
}

}  // namespace

Status addInputGemm(StepPlan& step, const InputGemm& product) {
    if (product.rows == 0 || product.columns == 0) {
        return {};
    }
    Defines defines;
    defines.add("T", product.x.storage);
    if (product.bias.has_value()) {
        defines.add("BIAS");
    }
    if (product.adds) {
        defines.add("ADDS");
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kInputGemm, defines.text()));
    launch->with(product.x.operand).with(product.weights);
    if (product.bias.has_value()) {
        launch->with(*product.bias);
    }
    launch->with(product.result);
    for (const int64_t number : {product.rows, product.columns, product.depth, product.stride}) {
        launch->with(static_cast<int32_t>(number));
    }
    launch->workItems = {static_cast<size_t>(product.columns),
                         (static_cast<size_t>(product.rows) + kTile - 1) / kTile * (kTile / 2), 1};
    launch->work = static_cast<uint64_t>(product.rows * product.columns) *
                   (static_cast<uint64_t>(product.depth) + 4);
    return {};
}

Status addRecurrentStep(StepPlan& step, const RecurrentStep& recurrent) {
    if (recurrent.batch == 0 || recurrent.units == 0) {
        return {};
    }
    if (!normalizes(recurrent)) {
        return addSums(step, recurrent, std::nullopt);
    }
    HALYARD_RETURN_IF_ERROR(addSums(step, recurrent, recurrent.gateScratch));
    Defines defines;
    defines.add("T", recurrent.storage).add("GATES", gateCount(recurrent));
    defineCell(defines, recurrent);
    defineResults(defines, recurrent);
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kNormalizedCell, defines.text()));
    launch->with(*recurrent.gateScratch);
    for (const GateOperands& gate : recurrent.gates) {
        launch->with(*gate.layerNorm);
    }
    for (const GateOperands& gate : recurrent.gates) {
        launch->with(*gate.bias);
    }
    passCell(*launch, recurrent);
    passResults(*launch, recurrent);
    launch->workItems = {static_cast<size_t>(recurrent.batch) * kUnitWorkItems, 1, 1};
    launch->work = static_cast<uint64_t>(recurrent.batch * recurrent.units) * 64;
    return {};
}

}  // namespace halyard::engine::gpu
