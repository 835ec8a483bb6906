// Kernels that may write an output over an input give the bits that they give with memory apart.
#include "core/base/rng.h"
#include "core/ops/normalization/batch_norm.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain {
namespace {

using namespace testing;
using Bytes = std::vector<std::byte>;

template <typename T>
void fill(Bytes& bytes, const RandomStream& stream) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    const T value = T(0.5f + stream.uniform(i));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

Bytes random_bytes(const TensorDesc& desc, std::uint64_t seed) {
  const RandomStream stream{seed, 0, 0};
  Bytes bytes(desc.bytes());
  if (desc.dtype == DType::u8) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(256 * stream.uniform(i));
    return bytes;
  }
  visit_floating(desc.dtype, [&](auto element) { fill<decltype(element)>(bytes, stream); });
  return bytes;
}

/// The outputs of one run of the op's kernel on random inputs, written over inputs where the op allows it or apart.
std::vector<Bytes> run_once(Backend& backend, const Op& op, const std::vector<TensorDesc>& inputs,
                            const KernelOptions& options, bool in_place) {
  const std::vector<TensorDesc> outputs = op.infer(inputs);
  const auto kernel = backend.kernels().make_kernel({op, inputs, outputs, options});
  const DeviceBuffer workspace(backend.memory(), kernel->workspace_bytes());
  std::vector<DeviceBuffer> memory;
  std::vector<void*> from, to;
  for (const TensorDesc& desc : inputs) {
    const Bytes bytes = random_bytes(desc, memory.size());
    memory.emplace_back(backend.memory(), bytes.size());
    backend.memory().copy_to_device(memory.back().data(), bytes.data(), bytes.size());
    from.push_back(memory.back().data());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int input = op.inplace_input(static_cast<int>(i));
    if (in_place && input >= 0) {
      to.push_back(from[static_cast<std::size_t>(input)]);
    } else {
      to.push_back(memory.emplace_back(backend.memory(), outputs[i].bytes()).data());
    }
  }
  kernel->run({from, to, workspace.data()});
  std::vector<Bytes> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    backend.memory().copy_to_host(results.emplace_back(outputs[i].bytes()).data(), to[i], outputs[i].bytes());
  }
  return results;
}

class InPlaceBatchNorm : public ::testing::TestWithParam<bool> {};

// With the parameter, by the kernel that a library calls persistent. The plan keeps such a kernel's tensors apart;
// these cases say whether it has to.
TEST_P(InPlaceBatchNorm, GradientHasTheBitsOfMemoryApart) {
  const auto backend = make_test_backend();
  KernelOptions options = test_plan_options().kernels;
  options.persistent_batch_norm = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Shape& shape : {Shape{8, 28, 28, 64}, Shape{16, 7, 7, 2048}}) {
      for (const int gradients : {0, 1, 2}) {  // those of a residual
        const bool residual = gradients > 0;
        const TensorDesc x{dtype, shape}, channels{DType::f32, Shape{shape[-1]}};
        std::vector<TensorDesc> inputs{x, x, channels, channels, channels, channels, absent_input()};
        if (residual) inputs.back() = mask_desc(x);
        if (gradients == 2) inputs.push_back(x);
        const BatchNormGrad op({.activation = Activation::relu, .residual = residual});
        EXPECT_EQ(run_once(*backend, op, inputs, options, true), run_once(*backend, op, inputs, options, false))
            << to_string(dtype) << ", " << x.to_string() << ", " << gradients << " gradients of a residual";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, InPlaceBatchNorm, ::testing::Bool(),
                         [](const auto& parameter) { return std::string(parameter.param ? "Persistent" : "Plain"); });

TEST(InPlace, NoPersistentBatchNormIsPlannedInPlace) {
  const auto backend = make_test_backend();
  KernelOptions options;
  const BatchNorm forward({.training = true});
  const BatchNorm answer({.training = false});
  const BatchNormGrad backward({.activation = Activation::none});
  for (const Op* op : {static_cast<const Op*>(&forward), static_cast<const Op*>(&backward)}) {
    options.persistent_batch_norm = true;
    EXPECT_FALSE(backend->kernels().runs_in_place(*op, options)) << op->type();
    options.persistent_batch_norm = false;
    EXPECT_TRUE(backend->kernels().runs_in_place(*op, options)) << op->type();
  }
  options.persistent_batch_norm = true;
  EXPECT_TRUE(backend->kernels().runs_in_place(answer, options));
}

}  // namespace
}  // namespace ptrain
