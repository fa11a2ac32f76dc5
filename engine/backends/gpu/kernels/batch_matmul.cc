// SPDX-License-Identifier: Apache-2.0
//
// Batch GEMM. What only moves elements before and behind it becomes strides of its operands and its
// result.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/kernels/batch_gemm.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/kernels/tiled_batch_gemm.h"
#include "engine/backends/gpu/kernels/view.h"
#include "engine/backends/gpu/launches/step_leader.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/fixed_requantize.h"

namespace halyard::engine::gpu {
namespace {

// An element of the output for each work-item.
constexpr KernelFamily kDirectGemm = {.kernel = "direct_batch_gemm",
                                      .shared = {kMapNumbersText, kEpilogueText, kBatchGemmText},
                                      .text = R"(
__kernel __attribute__((reqd_work_group_size(16, 8, 1))) void direct_batch_gemm(
        GEMM_PARAMETERS EPILOGUES_PARAMETERS) {
    const int column = (int)get_global_id(0);
    const int row = (int)get_global_id(1);
    const int batch = (int)get_global_id(2);
    if (column >= numbers.columns || row >= numbers.rows) {
        return;
    }
    BIND_GEMM;
    int a = a_start + row * numbers.a_row;
    int b = b_start + column * numbers.b_column;
    SUM sum = 0;
    for (int k = 0; k < numbers.depth; ++k) {
        sum = ADD(sum, LOAD(X, pa, a), LOAD(W, pb, b));
        a += numbers.a_inner;
        b += numbers.b_inner;
    }
    PUT(sum, row, column);
}
)",
                                      .local = {16, 8, 1}};

// A tensor and where it lies.
struct Seen {
    Operand operand;
    View view;
};

Status move(StepPlan& step, const TensorType& type, const Extents& extents, const MapOperand& from,
            const MapOperand& to) {
    const std::string_view storage = movedStorageOf(type.type);
    return addMap(
            step,
            {.extents = extents,
             .inputs = {{.operand = from.operand, .storage = storage, .strides = from.strides}},
             .output = {.operand = to.operand, .storage = storage, .strides = to.strides}});
}

// As it lies somewhere else, which its view tells no strides of.
Status gather(StepPlan& step, const TensorType& type, Seen& seen) {
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, type.byteSize());
    const Operand dense = step.scratch(bytes);
    const Extents extents = seen.view.extents();
    HALYARD_RETURN_IF_ERROR(move(step, type, extents,
                                 {.operand = seen.operand, .strides = seen.view.strides()},
                                 {.operand = dense, .strides = denseStrides(extents)}));
    seen = {.operand = dense, .view = View::dense(type.shape)};
    return {};
}

bool hasMatrices(const View& view, size_t rank) {
    return view.stride(rank - 2).has_value() && view.stride(rank - 1).has_value();
}

// Applies node `which` of the step, which only moves elements, to the view.
Result<bool> moveView(const StepPlan& step, size_t which, View& view) {
    const Node& node = step.node(which);
    if (node.kind() != NodeKind::Transpose) {
        return view.reshape(step.output(0, which).shape);
    }
    HALYARD_ASSIGN_OR_RETURN(
            const Permutation permutation,
            readPermutation(step.inputCount(which) > 1 ? step.known(1, which) : KnownInput(),
                            step.input(0, which).shape.rank()));
    view.transpose(permutation);
    return true;
}

// An input of the leader.
Result<Seen> factorOf(StepPlan& step, size_t input) {
    const size_t leader = step.leader();
    std::vector<size_t> moves;
    LocalId local = step.in(input, leader).local;
    for (size_t which = leader; which-- > 0;) {
        if (step.out(0, which).local == local) {
            moves.push_back(which);
            local = step.in(0, which).local;
        }
    }
    std::ranges::reverse(moves);
    const TensorType& type = step.input(input, leader);
    const TensorType& from = moves.empty() ? type : step.input(0, moves.front());
    Seen seen = {.operand = {.place = Operand::Place::TENSOR, .local = local},
                 .view = View::dense(from.shape)};
    for (const size_t which : moves) {
        HALYARD_ASSIGN_OR_RETURN(const bool isSeen, moveView(step, which, seen.view));
        if (!isSeen) {
            HALYARD_RETURN_IF_ERROR(gather(step, step.input(0, which), seen));
            seen.view = View::dense(step.output(0, which).shape);
        }
    }
    if (!hasMatrices(seen.view, type.shape.rank())) {
        HALYARD_RETURN_IF_ERROR(gather(step, type, seen));
    }
    return seen;
}

// Where the leader's result goes, and whence it has to be moved after that, if it has to.
struct Target {
    Seen seen;
    std::vector<size_t> moves;
};

// Which node comes after the leader's epilogue.
size_t endOfEpilogue(const StepPlan& step) {
    size_t end = step.nodeCount();
    while (end > step.leader() + 1 && onlyMoves(step.node(end - 1))) {
        --end;
    }
    return end;
}

// Sees the step's last result as the leader's, or has it in memory of its own.
Result<Target> targetOf(StepPlan& step) {
    const TensorType& output = step.output(0, step.leader());
    const size_t last = step.nodeCount() - 1;
    View view = View::dense(step.output(0, endOfEpilogue(step) - 1).shape);
    Target target = {.seen = {.operand = step.out(0, last), .view = view}, .moves = {}};
    bool isSeen = true;
    for (size_t which = endOfEpilogue(step); which < step.nodeCount(); ++which) {
        target.moves.push_back(which);
        if (isSeen) {
            HALYARD_ASSIGN_OR_RETURN(isSeen, moveView(step, which, view));
        }
    }
    std::optional<View> own = isSeen ? view.inverse(output.shape) : std::nullopt;
    if (own.has_value() && hasMatrices(*own, output.shape.rank())) {
        target.seen.view = *std::move(own);
        target.moves.clear();
        return target;
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, output.byteSize());
    target.seen = {.operand = step.scratch(bytes), .view = View::dense(output.shape)};
    return target;
}

// Does the moves that targetOf() has left.
Status moveResult(StepPlan& step, const Target& target) {
    if (target.moves.empty()) {
        return {};
    }
    const size_t first = target.moves.front();
    Seen seen = {.operand = target.seen.operand, .view = View::dense(step.input(0, first).shape)};
    for (const size_t which : target.moves) {
        HALYARD_ASSIGN_OR_RETURN(const bool isSeen, moveView(step, which, seen.view));
        if (!isSeen) {
            HALYARD_RETURN_IF_ERROR(gather(step, step.input(0, which), seen));
            seen.view = View::dense(step.output(0, which).shape);
        }
    }
    const Extents extents = seen.view.extents();
    return move(step, step.output(0, step.nodeCount() - 1), extents,
                {.operand = seen.operand, .strides = seen.view.strides()},
                {.operand = step.out(0, step.nodeCount() - 1), .strides = denseStrides(extents)});
}

// Where each matrix of the output has its matrix of a tensor of `shape`: an extent of 1 serves all.
int64_t startOf(const View& view, const Shape& shape, const Shape& output, int64_t batch) {
    int64_t start = 0;
    for (size_t axis = output.rank() - 2; axis-- > 0;) {
        start += shape[axis] == 1 ? 0 : view.offset(axis, batch % output[axis]);
        batch /= output[axis];
    }
    return start;
}

int32_t strideOf(const View& view, size_t axis) {
    return static_cast<int32_t>(view.stride(axis).value_or(0));
}

GemmNumbers numbersOf(const TensorType& a, const TensorType& b, const TensorType& output) {
    const size_t rank = output.shape.rank();
    GemmNumbers n = {.rows = output.shape[rank - 2], .columns = output.shape[rank - 1]};
    if (isQuantized(output.type)) {
        n.aZero = a.quantization.zeroPoint;
        n.bZero = b.quantization.zeroPoint;
        n.zero = output.quantization.zeroPoint;
        n.least = minValue(output.type);
        n.most = maxValue(output.type);
        const fixed_point::Multiplier factor =
                FixedRequantization(a.quantization, b.quantization, output.quantization).factor();
        n.fraction = factor.fraction;
        n.left = std::clamp(factor.shift, 0, 31);
        n.right = std::clamp(-factor.shift, 0, 31);
    }
    return n;
}

Status addDirectGemm(StepPlan& step, const BatchGemm& gemm) {
    const GemmNumbers& n = gemm.numbers;
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kDirectGemm, gemm.defines));
    gemm.addArguments(*launch);
    launch->workItems = {static_cast<size_t>(n.columns), static_cast<size_t>(n.rows),
                         static_cast<size_t>(gemm.batch)};
    launch->work = static_cast<uint64_t>(gemm.batch) * static_cast<uint64_t>(n.rows) *
                   static_cast<uint64_t>(n.columns) * (static_cast<uint64_t>(n.depth) + 4);
    return {};
}

Status addBatchGemm(StepPlan& step, const BatchGemm& gemm) {
    std::vector<Variant> variants;
    const std::vector<GemmForm> forms = batchGemmChoices(step, gemm).legal;
    for (const GemmForm& form : forms) {
        variants.push_back({.name = form.name(), .plan = [&](StepPlan& own) {
                                return form.algorithm == GemmAlgorithm::DIRECT
                                               ? addDirectGemm(own, gemm)
                                               : addTiledBatchGemm(own, gemm, form);
                            }});
    }
    const GemmNumbers& n = gemm.numbers;
    std::string key = "batch gemm " + gemm.defines;
    for (const int64_t number :
         {gemm.batch, int64_t{gemm.aStarts}, int64_t{gemm.bStarts}, int64_t{n.rows},
          int64_t{n.columns}, int64_t{n.depth}, int64_t{n.aRow}, int64_t{n.aInner},
          int64_t{n.bColumn}, int64_t{n.bInner}, int64_t{n.row}, int64_t{n.column}}) {
        key.append(" ").append(std::to_string(number));
    }
    return step.choose(key, variants);
}

constexpr int64_t kMaxBatch = int64_t{1} << 22;

}  // namespace

Status supports(const BatchMatmul& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const BatchMatmul& node, StepPlan& step) {
    const size_t leader = step.leader();
    const TensorType& a = step.input(0, leader);
    const TensorType& b = step.input(1, leader);
    const TensorType& output = step.output(0, leader);
    const size_t rank = output.shape.rank();
    BatchGemm gemm = {.numbers = numbersOf(a, b, output)};
    GemmNumbers& n = gemm.numbers;
    n.depth = a.shape[node.transposeA ? rank - 2 : rank - 1];
    HALYARD_ASSIGN_OR_RETURN(const Target target, targetOf(step));
    gemm.result = target.seen.operand;
    n.row = strideOf(target.seen.view, rank - 2);
    n.column = strideOf(target.seen.view, rank - 1);
    gemm.batch = countOf(output.shape) / n.rows / n.columns;
    // Where each matrix begins takes memory that no budget counts.
    if (gemm.batch > kMaxBatch) {
        return unsupported("multiplies at most " + std::to_string(kMaxBatch) + " matrices at once");
    }
    std::vector<int32_t> starts(static_cast<size_t>(gemm.batch) * 3, 0);
    const auto start = [&](size_t which, const View& view, const Shape& shape) {
        int32_t divisor = 0;
        for (int64_t batch = 0; batch < gemm.batch; ++batch) {
            const auto begin = static_cast<int32_t>(startOf(view, shape, output.shape, batch));
            starts[static_cast<size_t>(batch) * 3 + which] = begin;
            divisor = std::gcd(divisor, begin);
        }
        return divisor;
    };
    start(2, target.seen.view, output.shape);
    gemm.a = step.in(0, leader);
    gemm.b = step.in(1, leader);
    if (n.depth > 0) {
        HALYARD_ASSIGN_OR_RETURN(const Seen left, factorOf(step, 0));
        HALYARD_ASSIGN_OR_RETURN(const Seen right, factorOf(step, 1));
        gemm.a = left.operand;
        gemm.b = right.operand;
        n.aRow = strideOf(left.view, node.transposeA ? rank - 1 : rank - 2);
        n.aInner = strideOf(left.view, node.transposeA ? rank - 2 : rank - 1);
        n.bColumn = strideOf(right.view, node.transposeB ? rank - 2 : rank - 1);
        n.bInner = strideOf(right.view, node.transposeB ? rank - 1 : rank - 2);
        gemm.aStarts = start(0, left.view, a.shape);
        gemm.bStarts = start(1, right.view, b.shape);
    }
    gemm.starts = step.table(std::span<const int32_t>(starts));
    gemm.epilogue = epilogueOf(step, {.first = leader + 1, .end = endOfEpilogue(step)});
    gemm.defines = define("X", storageOf(a.type)) + define("W", storageOf(b.type)) +
                   define("R", storageOf(output.type)) + gemm.epilogue.defines;
    if (isQuantized(output.type)) {
        gemm.defines += define("QUANTIZED");
    } else if (output.type == DataType::INT32) {
        gemm.defines += define("INTEGER");
    }
    HALYARD_RETURN_IF_ERROR(addBatchGemm(step, gemm));
    return moveResult(step, target);
}

}  // namespace halyard::engine::gpu
