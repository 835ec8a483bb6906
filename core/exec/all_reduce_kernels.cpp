#include "core/exec/all_reduce_kernels.h"

#include "core/base/errors.h"
#include "core/ops/training/all_reduce.h"

namespace ptrain {
namespace {

class StartKernel final : public Kernel {
 public:
  StartKernel(Collectives& collectives, const TensorDesc& data, float factor)
      : collectives_(collectives), count_(data.count()), dtype_(data.dtype), factor_(factor) {}
  void run(const KernelArgs& args) override { collectives_.start_all_reduce(args.inputs[0], count_, dtype_, factor_); }

 private:
  Collectives& collectives_;
  std::int64_t count_;
  DType dtype_;
  float factor_;
};

class WaitKernel final : public Kernel {
 public:
  explicit WaitKernel(Collectives& collectives) : collectives_(collectives) {}
  void run(const KernelArgs&) override { collectives_.wait_all_reduces(); }

 private:
  Collectives& collectives_;
};

}  // namespace

std::unique_ptr<Kernel> make_all_reduce_kernel(const KernelContext& context) {
  const std::string_view type = context.op.type();
  const bool start = type == "all_reduce_start";
  if (!start && type != "all_reduce_wait") return nullptr;
  invariant(context.collectives != nullptr, "a graph with all-reduces is compiled without collectives");
  if (!start) return std::make_unique<WaitKernel>(*context.collectives);
  return std::make_unique<StartKernel>(*context.collectives, context.inputs[0],
                                       context.op_as<AllReduceStart>().factor());
}

}  // namespace ptrain
