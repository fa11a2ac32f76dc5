// SPDX-License-Identifier: Apache-2.0
//
// A host of delegates: an interpreter's context with tensors and operators that tests make, and may
// spoil. All that is claimed is one partition.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "litert/tflite_abi.h"

namespace halyard::litert {

class FakeHost {
  public:
    FakeHost();
    ~FakeHost();
    FakeHost(const FakeHost&) = delete;
    FakeHost& operator=(const FakeHost&) = delete;

    // Tensors are called by the numbers that come back.
    int32_t addTensor(TfLiteType type, std::initializer_list<int32_t> shape, std::string_view name);
    int32_t addConstant(TfLiteType type, std::initializer_list<int32_t> shape, const void* data,
                        size_t bytes);
    // `options`: a TfLite*Params, which outlives the host.
    void addNode(int32_t code, int32_t version, std::vector<int32_t> inputs,
                 std::vector<int32_t> outputs, const void* options);

    TfLiteContext& context() { return mContext; }
    TfLiteTensor& tensor(int32_t index) { return mContext.tensors[index]; }
    TfLiteNode& node(size_t index) { return mNodes[index].node; }
    TfLiteRegistration& kindOf(size_t index) { return mNodes[index].kind; }
    template <typename T>
    T* elements(int32_t index) {
        return static_cast<T*>(tensor(index).data);
    }
    void resize(int32_t index, std::initializer_list<int32_t> shape);

    // Delegate.Prepare, with the kernel's init() and prepare() inside.
    TfLiteStatus apply(TfLiteDelegate* delegate);
    TfLiteStatus prepare();
    TfLiteStatus invoke();
    // Ends the kernel.
    void end();

    const std::vector<int32_t>& claimed() const { return mClaimed; }
    const std::string& errors() const { return mErrors; }
    TfLiteNode& kernelNode() { return mKernelNode; }
    const TfLiteRegistration& kernel() const { return mKernel; }

  private:
    struct OwnNode {
        TfLiteNode node = {};
        TfLiteRegistration kind = {};
        std::vector<int32_t> inputs;
        std::vector<int32_t> outputs;
    };
    static FakeHost& of(const TfLiteContext* context);
    static void reportError(TfLiteContext* context, const char* format, ...);
    void setShape(TfLiteTensor& tensor, std::vector<int32_t> shape);
    TfLiteDelegateParams& paramsOf(const TfLiteIntArray& nodes, TfLiteDelegate* delegate);

    TfLiteContext mContext = {};
    std::vector<TfLiteTensor> mTensors;
    std::vector<std::unique_ptr<std::vector<std::byte>>> mData;  // of each tensor
    std::deque<std::string> mNames;
    std::deque<OwnNode> mNodes;
    TfLiteIntArray* mPlan = nullptr;
    TfLiteDelegateParams mParams = {};
    TfLiteRegistration mKernel = {};
    TfLiteNode mKernelNode = {};
    bool mHasKernel = false;
    std::vector<int32_t> mClaimed;
    std::string mErrors;
};

}  // namespace halyard::litert
