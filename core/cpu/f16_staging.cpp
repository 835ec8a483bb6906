#include "core/cpu/f16_staging.h"

#include "core/base/round_up.h"
#include "core/cpu/simd/convert.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

/// A tensor that is copied to or from the workspace.
struct Copy {
  std::size_t slot;
  std::size_t offset;
  std::int64_t count;
};

class StagedKernel final : public Kernel {
 public:
  StagedKernel(const KernelContext& context, KernelFactory factory) {
    const std::vector<TensorDesc> inputs = widen(context.inputs, inputs_);
    const std::vector<TensorDesc> outputs = widen(context.outputs, outputs_);
    kernel_ = factory({context.op, inputs, outputs, context.options, nullptr, context.collectives});
    input_pointers_.resize(inputs.size());
    output_pointers_.resize(outputs.size());
  }

  std::size_t workspace_bytes() const override { return staged_bytes_ + kernel_->workspace_bytes(); }
  KernelRecord record() const override { return {kernel_->record().implementation + " via f32"}; }

  void run(const KernelArgs& args) override {
    auto* workspace = static_cast<std::byte*>(args.workspace);
    std::copy(args.inputs.begin(), args.inputs.end(), input_pointers_.begin());
    std::copy(args.outputs.begin(), args.outputs.end(), output_pointers_.begin());
    for (const Copy& c : inputs_) {
      if (args.inputs[c.slot] == nullptr) continue;
      input_pointers_[c.slot] = workspace + c.offset;
      convert(DType::f16, args.inputs[c.slot], DType::f32, workspace + c.offset, c.count);
    }
    for (const Copy& c : outputs_) output_pointers_[c.slot] = workspace + c.offset;
    kernel_->run({input_pointers_, output_pointers_, workspace + staged_bytes_});
    for (const Copy& c : outputs_) {
      convert(DType::f32, workspace + c.offset, DType::f16, args.outputs[c.slot], c.count);
    }
  }

 private:
  std::vector<TensorDesc> widen(std::span<const TensorDesc> descs, std::vector<Copy>& copies) {
    constexpr std::size_t alignment = 64;
    std::vector<TensorDesc> wide(descs.begin(), descs.end());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      if (wide[i].dtype != DType::f16) continue;
      wide[i].dtype = DType::f32;
      copies.push_back({i, staged_bytes_, wide[i].count()});
      staged_bytes_ += round_up(wide[i].bytes(), alignment);
    }
    return wide;
  }

  std::vector<Copy> inputs_, outputs_;
  std::size_t staged_bytes_ = 0;
  std::unique_ptr<Kernel> kernel_;
  std::vector<void*> input_pointers_, output_pointers_;
};

}  // namespace

std::unique_ptr<Kernel> stage_f16(const KernelContext& context, KernelFactory factory) {
  const auto is_f16 = [](const TensorDesc& d) { return d.dtype == DType::f16; };
  const bool staged = std::any_of(context.inputs.begin(), context.inputs.end(), is_f16) ||
                      std::any_of(context.outputs.begin(), context.outputs.end(), is_f16);
  if (!staged) return factory(context);
  return std::make_unique<StagedKernel>(context, factory);
}

}  // namespace ptrain::cpu
