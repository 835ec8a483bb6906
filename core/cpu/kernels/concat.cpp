// Copies rows part by part; every thread has rows of its own.
#include "core/ops/concat.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

/// Bytes of each part in every row.
std::vector<std::size_t> row_bytes(std::span<const TensorDesc> parts, std::int64_t rows) {
  std::vector<std::size_t> bytes;
  for (const TensorDesc& part : parts) bytes.push_back(part.bytes() / static_cast<std::size_t>(rows));
  return bytes;
}

/// Calls copy(part, its row, the address in the concatenation, bytes) for every part of every row.
template <typename Copy>
void for_parts(std::int64_t rows, const std::vector<std::size_t>& parts, std::byte* whole, Copy&& copy) {
  std::size_t width = 0;
  for (const std::size_t bytes : parts) width += bytes;
  const std::int64_t rows_a_task = std::clamp<std::int64_t>((1 << 16) / static_cast<std::int64_t>(width + 1), 1, 64);
  parallel_for(rows, rows_a_task, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      std::byte* place = whole + row * width;
      for (std::size_t part = 0; part < parts.size(); place += parts[part++]) copy(part, row, place, parts[part]);
    }
  });
}

class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(const KernelContext& context)
      : rows_(concatenated_rows(context.inputs[0].shape, context.op_as<Concat>().axis())),
        parts_(row_bytes(context.inputs, rows_)) {}

  void run(const KernelArgs& args) override {
    for_parts(rows_, parts_, static_cast<std::byte*>(args.outputs[0]),
              [&](std::size_t part, std::size_t row, std::byte* place, std::size_t bytes) {
                std::memcpy(place, static_cast<const std::byte*>(args.inputs[part]) + row * bytes, bytes);
              });
  }

 private:
  std::int64_t rows_;
  std::vector<std::size_t> parts_;
};

class ConcatGradKernel final : public Kernel {
 public:
  explicit ConcatGradKernel(const KernelContext& context)
      : rows_(concatenated_rows(context.outputs[0].shape, context.op_as<ConcatGrad>().axis())),
        parts_(row_bytes(context.outputs, rows_)) {}

  void run(const KernelArgs& args) override {
    for_parts(rows_, parts_, static_cast<std::byte*>(args.inputs[0]),
              [&](std::size_t part, std::size_t row, const std::byte* place, std::size_t bytes) {
                std::memcpy(static_cast<std::byte*>(args.outputs[part]) + row * bytes, place, bytes);
              });
  }

 private:
  std::int64_t rows_;
  std::vector<std::size_t> parts_;
};

}  // namespace

std::unique_ptr<Kernel> make_concat(const KernelContext& context) { return std::make_unique<ConcatKernel>(context); }
std::unique_ptr<Kernel> make_concat_grad(const KernelContext& context) {
  return std::make_unique<ConcatGradKernel>(context);
}

}  // namespace ptrain::cpu
