// CUDA against the CPU where libraries compute, on shapes of ResNet-50 and BERT: convolutions with and without search,
// batch norm in both modes, pooling, products, attention in both forms.
#include "core/ops/image/conv2d.h"
#include "core/ops/image/conv2d_batch_norm.h"
#include "core/ops/image/max_pool2d.h"
#include "core/ops/linear.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/text/attention.h"
#include "tests/device/agreement.h"
#include "tests/ops/forced_kernel.h"

#include <gtest/gtest.h>

#include <optional>

namespace ptrain::testing {
namespace {

/// Algorithms may add in tiles or transform: their fp32 rounding adds up.
OpCase with_long_sums(OpCase c, DType dtype) {
  c.tolerance_scale = dtype == DType::f32 ? 10 : 2;
  return c;
}

struct Convolution {
  Shape x;
  Shape w;
  Conv2dAttributes attributes;
};

std::vector<Convolution> convolutions() {
  return {{{4, 64, 64, 4}, {64, 7, 7, 4}, {.stride = 2, .padding = 3}},
          {{4, 28, 28, 64}, {64, 3, 3, 64}, {.padding = 1}},
          {{4, 28, 28, 128}, {128, 3, 3, 128}, {.stride = 2, .padding = 1}},
          {{4, 28, 28, 64}, {256, 1, 1, 64}, {}},
          {{4, 28, 28, 256}, {512, 1, 1, 256}, {.stride = 2}}};
}

OpCase convolution_case(const Convolution& p, DType dtype) {
  return with_long_sums({std::make_shared<Conv2d>(p.attributes),
                         {random_tensor(dtype, p.x, 1), random_tensor(dtype, p.w, 2)},
                         {},
                         {0, 1}},
                        dtype);
}

TEST(LibraryAgreement, Conv2d) {
  for (const DType dtype : floating_dtypes) {
    for (const Convolution& p : convolutions()) expect_agreement(convolution_case(p, dtype), dtype);
  }
}

TEST(LibraryAgreement, Conv2dAfterAnExhaustiveSearch) {
  TestBackend searched;
  searched.options.kernels.exhaustive_search = true;
  for (const DType dtype : floating_dtypes) {
    for (const Convolution& p : convolutions()) expect_agreement(convolution_case(p, dtype), dtype, searched);
  }
}

TEST(LibraryAgreement, Conv2dWithoutWorkspace) {
  TestBackend bounded;
  bounded.options.kernels.exhaustive_search = true;
  bounded.options.kernels.workspace_limit = 0;
  expect_agreement(convolution_case(convolutions()[1], DType::f16), DType::f16, bounded);
}

HostTensor channels(std::int64_t count, std::uint64_t seed, double low = -1, double high = 1) {
  return random_tensor(DType::f32, Shape{count}, seed, low, high);
}

/// In fp16 these are cuDNN's fused plans, otherwise plain convolutions between own passes.
TEST(LibraryAgreement, Conv2dBatchNormAndItsGradients) {
  for (const DType dtype : floating_dtypes) {
    for (const Convolution& p : convolutions()) {
      const Conv2dAttributes& conv = p.attributes;
      const std::int64_t c = p.x[3];
      const HostTensor x = random_tensor(dtype, p.x, 1), w = random_tensor(dtype, p.w, 2, -0.1, 0.1);
      const Shape y{p.x[0], conv.output_size(p.x[1], p.w[1]), conv.output_size(p.x[2], p.w[2]), p.w[0]};
      const HostTensor dy = random_tensor(dtype, y, 3);
      const HostTensor scale = channels(c, 4, 0.5, 1.5), offset = channels(c, 5);
      const auto check = [&](OpPtr op, std::vector<HostTensor> inputs) {
        expect_agreement(with_long_sums({std::move(op), std::move(inputs)}, dtype), dtype);
      };
      check(std::make_shared<Conv2dBatchNorm>(conv), {x, w, absent_tensor(), absent_tensor()});
      check(std::make_shared<Conv2dBatchNorm>(conv), {x, w, scale, offset});
      check(std::make_shared<Conv2dBatchNormGradInput>(conv),
            {dy, w, x, channels(c, 6, -0.2, 0.2), channels(c, 7, 0.5, 2), scale, offset});
      check(std::make_shared<Conv2dBatchNormGradWeight>(Conv2dBatchNormGradWeight::Attributes{conv, {dtype, p.w}}),
            {x, dy, scale, offset});
    }
  }
}

TEST(LibraryAgreement, BatchNormInBothModes) {
  for (const bool persistent : {true, false}) {
    TestBackend on = {};
    on.options.kernels.persistent_batch_norm = persistent;
    for (const DType dtype : floating_dtypes) {
      for (const Shape& shape : {Shape{8, 28, 28, 64}, Shape{8, 7, 7, 2048}, Shape{16, 1, 1, 24}}) {
        for (const bool residual : {false, true}) {
          const Shape channels{shape[-1]};
          OpCase c;
          c.op = std::make_shared<BatchNorm>(BatchNorm::Attributes{.activation = Activation::relu});
          c.inputs = {random_tensor(dtype, shape, 1, -2, 3),
                      random_tensor(DType::f32, channels, 2, 0.5, 1.5),
                      random_tensor(DType::f32, channels, 3),
                      random_tensor(DType::f32, channels, 4),
                      random_tensor(DType::f32, channels, 5, 0.5, 2),
                      residual ? random_tensor(dtype, shape, 6) : absent_tensor()};
          c.gradient_inputs = {BatchNorm::x, BatchNorm::gamma, BatchNorm::beta};
          if (residual) c.gradient_inputs.push_back(BatchNorm::residual);
          expect_agreement(with_long_sums(c, dtype), dtype, on);
        }
      }
    }
  }
}

TEST(LibraryAgreement, MaxPool2d) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t channels : {64, 12}) {
      const HostTensor x = random_tensor(dtype, Shape{4, 56, 56, channels}, 1);
      const MaxPool2dAttributes attributes{.kernel = 3, .stride = 2, .padding = 1};
      expect_agreement({std::make_shared<MaxPool2d>(attributes), {x}, {}, {0}}, dtype);
    }
  }
}

OpCase linear_case(DType dtype, Activation activation) {
  OpCase c;
  c.op = std::make_shared<Linear>(LinearAttributes{activation, activation != Activation::none});
  c.inputs = {random_tensor(dtype, Shape{3, 128, 384}, 1), random_tensor(dtype, Shape{512, 384}, 2, -0.1, 0.1),
              random_tensor(dtype, Shape{512}, 3)};
  c.gradient_inputs = {0, 1, 2};
  return with_long_sums(std::move(c), dtype);
}

TEST(LibraryAgreement, LinearWithEveryActivation) {
  for (const DType dtype : floating_dtypes) {
    for (const Activation activation :
         {Activation::none, Activation::gelu_erf, Activation::gelu_tanh, Activation::tanh}) {
      expect_agreement(linear_case(dtype, activation), dtype);
    }
  }
}

/// The candidates that leave bias, activation or sums to launches of their own.
TEST(LibraryAgreement, LinearWithoutEpilogues) {
  TestBackend searched;
  searched.options.kernels.exhaustive_search = true;
  for (const char* part : {"native:", "bias + native"}) {
    const AskedForKernel asked(part);
    for (const DType dtype : floating_dtypes) {
      for (const Activation activation : {Activation::none, Activation::gelu_tanh}) {
        expect_agreement(linear_case(dtype, activation), dtype, searched);
      }
    }
  }
}

/// Rows that fill blocks unevenly; widths with and without whole packs.
TEST(LibraryAgreement, LinearGradInputWithEveryActivation) {
  for (const DType dtype : floating_dtypes) {
    for (const Activation activation :
         {Activation::gelu_erf, Activation::gelu_tanh, Activation::tanh, Activation::relu}) {
      for (const std::optional<DType> bias :
           {std::optional<DType>{}, std::optional(dtype), std::optional(DType::f32)}) {
        for (const std::int64_t width : {3072, 1001}) {
          OpCase c;
          c.op = std::make_shared<LinearGradInput>(LinearGradInputAttributes{activation, bias});
          c.inputs = {random_tensor(dtype, Shape{5, 131, 384}, 1),
                      random_tensor(dtype, Shape{384, width}, 2, -0.1, 0.1),
                      random_tensor(dtype, Shape{5, 131, width}, 3, -0.9, 0.9)};
          expect_agreement(with_long_sums(c, dtype), dtype);
        }
      }
    }
  }
}

/// Sequences of 128, 77 and 1 tokens; packed ones have 10 more tokens after them that belong to none.
OpCase attention_case(DType dtype, AttentionAttributes attributes) {
  constexpr std::int64_t length = 128, depth = 64;
  const std::vector<double> lengths{128, 77, 1};
  const bool packed = attributes.max_length > 0;
  const std::int64_t width = 3 * attributes.heads * depth;
  OpCase c;
  c.op = std::make_shared<Attention>(attributes);
  c.inputs = {random_tensor(dtype, packed ? Shape{128 + 77 + 1 + 10, width} : Shape{3, length, width}, 11, -1.5, 1.5),
              tensor(DType::i32, Shape{3}, lengths)};
  if (attributes.dropout > 0) {
    c.inputs.push_back(tensor(DType::i64, Shape{3}, {7, 3, 0}));
  } else if (packed) {
    c.inputs.push_back(absent_tensor());
  }
  if (packed) c.inputs.push_back(get_offsets(lengths));
  c.gradient_inputs = {0};
  return with_long_sums(c, dtype);
}

TEST(LibraryAgreement, AttentionInBothForms) {
  for (const DType dtype : floating_dtypes) {
    for (const AttentionAlgorithm algorithm : {AttentionAlgorithm::flash_mask, AttentionAlgorithm::math}) {
      for (const float dropout : {0.0f, 0.1f}) {
        expect_agreement(attention_case(dtype, {12, dropout, 5, algorithm}), dtype);
        for (const std::int64_t max_length : {128, 136}) {  // whose masks are drawn in a run and element by element
          expect_agreement(attention_case(dtype, {12, dropout, 5, algorithm, max_length}), dtype);
        }
      }
    }
  }
}

TEST(LibraryAgreement, CausalAttentionInBothForms) {
  for (const DType dtype : floating_dtypes) {
    for (const AttentionAlgorithm algorithm : {AttentionAlgorithm::flash_mask, AttentionAlgorithm::math}) {
      expect_agreement(attention_case(dtype, {4, 0.1f, 5, algorithm, 0, true}), dtype);
      expect_agreement(attention_case(dtype, {4, 0.0f, 5, algorithm, 128, true}), dtype);
    }
  }
}

TEST(LibraryAgreement, PackedAttentionWithADeterministicGradient) {
  TestBackend deterministic;
  deterministic.options.kernels.deterministic = true;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    expect_agreement(attention_case(dtype, {12, 0.1f, 5, AttentionAlgorithm::flash_mask, 128}), dtype, deterministic);
  }
}

}  // namespace
}  // namespace ptrain::testing
