#include "core/ops/sparse/divided_table.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class LocalRowsKernel final : public Kernel {
 public:
  explicit LocalRowsKernel(const KernelContext& context)
      : shard_(context.op_as<LocalRows>().attrs()), count_(context.inputs[0].count()) {}

  void run(const KernelArgs& args) override {
    const auto* rows = static_cast<const std::int32_t*>(args.inputs[0]);
    auto* local = static_cast<std::int32_t*>(args.outputs[0]);
    parallel_for(count_, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) local[i] = static_cast<std::int32_t>(shard_.local(rows[i]));
    });
  }

 private:
  RowShard shard_;
  std::int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> make_local_rows(const KernelContext& context) {
  return std::make_unique<LocalRowsKernel>(context);
}

}  // namespace ptrain::cpu
