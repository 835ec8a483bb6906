#include "core/exec/all_reduce_kernels.h"

#include "core/base/errors.h"
#include "core/ops/op_list.h"
#include "core/ops/training/all_reduce.h"

#include <algorithm>

namespace ptrain {
namespace {

/// Starts an exchange of its input.
template <typename Start>
class StartKernel final : public Kernel {
 public:
  explicit StartKernel(Start start) : start_(std::move(start)) {}
  void run(const KernelArgs& args) override { start_(args.inputs[0]); }

 private:
  Start start_;
};

template <typename Start>
std::unique_ptr<Kernel> make_start(Start start) {
  return std::make_unique<StartKernel<Start>>(std::move(start));
}

class WaitKernel final : public Kernel {
 public:
  explicit WaitKernel(Collectives& collectives) : collectives_(collectives) {}
  void run(const KernelArgs&) override { collectives_.wait_all_reduces(); }

 private:
  Collectives& collectives_;
};

}  // namespace

std::unique_ptr<Kernel> make_all_reduce_kernel(const KernelContext& context) {
  const auto& names = exchange_op_names;
  const std::string_view type = context.op.type();
  if (std::find(names.begin(), names.end(), type) == names.end()) return nullptr;
  invariant(context.collectives != nullptr, "a graph with exchanges is compiled without collectives");
  Collectives& collectives = *context.collectives;
  if (type == "all_reduce_wait") return std::make_unique<WaitKernel>(collectives);
  const std::int64_t count = context.inputs[0].count();
  const DType dtype = context.inputs[0].dtype;
  if (type == "all_gather_start") {
    return make_start([=, &collectives](void* data) { collectives.start_all_gather(data, count, dtype); });
  }
  const float factor = context.op_as<AllReduceStart>().factor();
  if (type == "reduce_scatter_start") {
    return make_start([=, &collectives](void* data) { collectives.start_reduce_scatter(data, count, dtype, factor); });
  }
  return make_start([=, &collectives](void* data) { collectives.start_all_reduce(data, count, dtype, factor); });
}

}  // namespace ptrain
