// SPDX-License-Identifier: Apache-2.0

#include "tests/litert_native/fake_host.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <utility>

namespace halyard::litert {
namespace {

TfLiteIntArray* newArray(std::span<const int32_t> numbers) {
    auto* const array = static_cast<TfLiteIntArray*>(
            std::malloc(sizeof(TfLiteIntArray) + numbers.size_bytes()));
    array->size = static_cast<int32_t>(numbers.size());
    std::ranges::copy(numbers, array->data);
    return array;
}

size_t sizeOf(TfLiteType type) {
    switch (type) {
        case kTfLiteFloat32:
        case kTfLiteInt32:
            return 4;
        case kTfLiteInt64:
            return 8;
        case kTfLiteInt16:
            return 2;
        default:
            return 1;
    }
}

}  // namespace

FakeHost& FakeHost::of(const TfLiteContext* context) {
    return *static_cast<FakeHost*>(context->impl_);
}

// GCC makes no function of a lambda with these arguments.
void FakeHost::reportError(TfLiteContext* context, const char* format, ...) {
    std::array<char, 1024> text = {};
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    of(context).mErrors += text.data();
}

FakeHost::FakeHost() {
    mContext.impl_ = this;
    mContext.recommended_num_threads = 1;
    mContext.GetExecutionPlan = [](TfLiteContext* context, TfLiteIntArray** plan) {
        FakeHost& host = of(context);
        std::vector<int32_t> nodes;
        for (size_t i = 0; i < host.mNodes.size(); ++i) {
            nodes.push_back(static_cast<int32_t>(i));
        }
        std::free(host.mPlan);
        host.mPlan = newArray(nodes);
        *plan = host.mPlan;
        return kTfLiteOk;
    };
    mContext.GetNodeAndRegistration = [](TfLiteContext* context, int index, TfLiteNode** node,
                                         TfLiteRegistration** kind) {
        FakeHost& host = of(context);
        if (index < 0 || static_cast<size_t>(index) >= host.mNodes.size()) {
            return kTfLiteError;
        }
        *node = &host.mNodes[static_cast<size_t>(index)].node;
        *kind = &host.mNodes[static_cast<size_t>(index)].kind;
        return kTfLiteOk;
    };
    mContext.ResizeTensor = [](TfLiteContext* context, TfLiteTensor* tensor, TfLiteIntArray* size) {
        of(context).setShape(*tensor, {size->data, size->data + size->size});
        std::free(size);
        return kTfLiteOk;
    };
    mContext.ReportError = &reportError;
    mContext.PreviewDelegatePartitioning = [](TfLiteContext* context, const TfLiteIntArray* nodes,
                                              TfLiteDelegateParams** params, int* count) {
        *params = &of(context).paramsOf(*nodes, nullptr);
        *count = nodes->size > 0 ? 1 : 0;
        return kTfLiteOk;
    };
    mContext.ReplaceNodeSubsetsWithDelegateKernels = [](TfLiteContext* context,
                                                        TfLiteRegistration kernel,
                                                        const TfLiteIntArray* nodes,
                                                        TfLiteDelegate* delegate) {
        FakeHost& host = of(context);
        host.mClaimed.assign(nodes->data, nodes->data + nodes->size);
        host.mKernel = kernel;
        host.mHasKernel = true;
        host.mKernelNode = {};
        host.mKernelNode.user_data = kernel.init(
                context, reinterpret_cast<const char*>(&host.paramsOf(*nodes, delegate)), 0);
        return host.prepare();
    };
}

FakeHost::~FakeHost() {
    end();
    std::free(mPlan);
    std::free(mParams.nodes_to_replace);
    std::free(mParams.input_tensors);
    std::free(mParams.output_tensors);
    for (TfLiteTensor& tensor : mTensors) {
        std::free(tensor.dims);
    }
    for (OwnNode& each : mNodes) {
        std::free(each.node.inputs);
        std::free(each.node.outputs);
    }
}

void FakeHost::setShape(TfLiteTensor& tensor, std::vector<int32_t> shape) {
    std::free(tensor.dims);
    tensor.dims = newArray(shape);
    size_t bytes = sizeOf(tensor.type);
    for (const int32_t extent : shape) {
        bytes *= static_cast<size_t>(extent);
    }
    tensor.bytes = bytes;
    std::vector<std::byte>& data = *mData[static_cast<size_t>(&tensor - mTensors.data())];
    data.assign(bytes, std::byte{0});
    tensor.data = data.data();
}

int32_t FakeHost::addTensor(TfLiteType type, std::initializer_list<int32_t> shape,
                            std::string_view name) {
    TfLiteTensor tensor = {};
    tensor.type = type;
    tensor.allocation_type = kTfLiteArenaRw;
    tensor.name = mNames.emplace_back(name).c_str();
    mTensors.push_back(tensor);
    mData.push_back(std::make_unique<std::vector<std::byte>>());
    mContext.tensors = mTensors.data();
    mContext.tensors_size = mTensors.size();
    setShape(mTensors.back(), shape);
    return static_cast<int32_t>(mTensors.size() - 1);
}

int32_t FakeHost::addConstant(TfLiteType type, std::initializer_list<int32_t> shape,
                              const void* data, size_t bytes) {
    const int32_t index = addTensor(type, shape, "constant");
    std::memcpy(tensor(index).data, data, bytes);
    tensor(index).allocation_type = kTfLiteMmapRo;
    return index;
}

void FakeHost::addNode(int32_t code, int32_t version, std::vector<int32_t> inputs,
                       std::vector<int32_t> outputs, const void* options) {
    OwnNode& each = mNodes.emplace_back();
    each.node.inputs = newArray(inputs);
    each.node.outputs = newArray(outputs);
    each.node.builtin_data = const_cast<void*>(options);
    each.kind.builtin_code = code;
    each.kind.version = version;
    each.inputs = std::move(inputs);
    each.outputs = std::move(outputs);
}

void FakeHost::resize(int32_t index, std::initializer_list<int32_t> shape) {
    setShape(tensor(index), shape);
}

TfLiteDelegateParams& FakeHost::paramsOf(const TfLiteIntArray& nodes, TfLiteDelegate* delegate) {
    std::set<int32_t> read;
    std::set<int32_t> computed;
    for (const int32_t node : std::span(nodes.data, static_cast<size_t>(nodes.size))) {
        const OwnNode& each = mNodes[static_cast<size_t>(node)];
        read.insert(each.inputs.begin(), each.inputs.end());
        computed.insert(each.outputs.begin(), each.outputs.end());
    }
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    std::ranges::set_difference(read, computed, std::back_inserter(inputs));
    std::ranges::set_difference(computed, read, std::back_inserter(outputs));
    std::free(mParams.nodes_to_replace);
    std::free(mParams.input_tensors);
    std::free(mParams.output_tensors);
    mParams = {.delegate = delegate,
               .nodes_to_replace = newArray({nodes.data, static_cast<size_t>(nodes.size)}),
               .input_tensors = newArray(inputs),
               .output_tensors = newArray(outputs)};
    return mParams;
}

TfLiteStatus FakeHost::apply(TfLiteDelegate* delegate) {
    return delegate->Prepare(&mContext, delegate);
}

TfLiteStatus FakeHost::prepare() {
    return mKernel.prepare(&mContext, &mKernelNode);
}

TfLiteStatus FakeHost::invoke() {
    return mKernel.invoke(&mContext, &mKernelNode);
}

void FakeHost::end() {
    if (mHasKernel) {
        mKernel.free(&mContext, mKernelNode.user_data);
        mHasKernel = false;
    }
}

}  // namespace halyard::litert
