// CUDA against the CPU on shapes that fill vectors, warps and blocks, which the op cases are too small for.
#include "tests/device/agreement.h"
#include "core/ops/activation.h"
#include "core/ops/binary_cross_entropy.h"
#include "core/ops/concat.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "core/ops/image/global_average_pool.h"
#include "core/ops/image/normalize_image.h"
#include "core/ops/image/resize_bilinear.h"
#include "core/ops/mean_squared_error.h"
#include "core/ops/normalization/dropout_add_layer_norm.h"
#include "core/ops/normalization/group_norm.h"
#include "core/ops/normalization/layer_norm.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/ops/text/embedding.h"
#include "core/ops/text/gather_token.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace {

/// Seed, step and which part of the step.
HostTensor rng(int part = 0) { return tensor(DType::i64, Shape{3}, {1234567890123, 5, static_cast<double>(part)}); }

TEST(Agreement, Elementwise) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{7}, std::int64_t{100003}}) {
      const HostTensor a = random_tensor(dtype, Shape{count}, 1, -4, 4), b = random_tensor(dtype, Shape{count}, 2);
      expect_agreement({std::make_shared<Add>(), {a, b}, {}, {0, 1}}, dtype);
      expect_agreement({std::make_shared<Scale>(0.3f), {a}, {}, {0}}, dtype);
      for (const DType to : floating_dtypes) {
        expect_agreement({std::make_shared<Cast>(to), {a}, {}, {0}}, is_low_precision(to) ? to : dtype);
      }
      for (const Activation kind : {Activation::gelu_erf, Activation::gelu_tanh, Activation::tanh, Activation::relu}) {
        expect_agreement({std::make_shared<ActivationOp>(kind), {a}, {}, {0}}, dtype);
      }
    }
  }
}

TEST(Agreement, DropoutDrawsTheSameMask) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t count : {std::int64_t{127}, std::int64_t{128 * 33}, std::int64_t{128 * 700 + 50}}) {
      const HostTensor x = random_tensor(dtype, Shape{count}, 1, 1, 2);
      expect_agreement({std::make_shared<Dropout>(DropoutAttributes{0.3f, 7}), {x, rng()}, {}, {0}}, dtype);
    }
    // A later part of a step continues where whole groups end.
    const HostTensor part = random_tensor(dtype, Shape{128 * 9}, 1, 1, 2);
    expect_agreement({std::make_shared<Dropout>(DropoutAttributes{0.3f, 7}), {part, rng(2)}, {}, {0}}, dtype);
  }
}

TEST(Agreement, LayerNorm) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t width : {33, 64, 384, 768, 1024, 2056}) {
      const Shape shape{3, 67, width};
      const HostTensor x = random_tensor(dtype, shape, 1, 1, 3);
      const HostTensor gamma = random_tensor(DType::f32, Shape{width}, 2),
                       beta = random_tensor(DType::f32, Shape{width}, 3);
      OpCase c{std::make_shared<LayerNorm>(1e-12f), {x, gamma, beta}, {}, {0, 1, 2}};
      c.tolerance_scale = dtype == DType::f32 ? 5 : 1;
      expect_agreement(c, dtype);
    }
  }
}

TEST(Agreement, DropoutAddLayerNorm) {
  for (const DType dtype : floating_dtypes) {
    for (const DType residual_dtype : {dtype, DType::f32}) {
      for (const std::int64_t width : {40, 128, 384, 768, 1030}) {
        for (const float p : {0.0f, 0.1f}) {
          const Shape shape{131, width};
          OpCase c;
          DropoutAddLayerNormAttributes attributes{1e-12f, p, 3};
          if (dtype != residual_dtype) attributes.low = dtype;
          c.op = std::make_shared<DropoutAddLayerNorm>(attributes);
          c.inputs = {random_tensor(dtype, shape, 1), random_tensor(residual_dtype, shape, 2),
                      random_tensor(DType::f32, Shape{width}, 3), random_tensor(DType::f32, Shape{width}, 4)};
          if (p > 0) c.inputs.push_back(rng());
          c.gradient_inputs = {0, 1, 2, 3};
          if (attributes.low) c.gradient_outputs = {0, 4};
          c.tolerance_scale = dtype == DType::f32 ? 5 : 1;
          expect_agreement(c, dtype);
        }
      }
    }
  }
}

TEST(Agreement, GlobalAveragePool) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t channels : {12, 512}) {
      const HostTensor x = random_tensor(dtype, Shape{6, 7, 7, channels}, 1);
      for (const std::int64_t images : {1, 3}) {
        expect_agreement({std::make_shared<GlobalAveragePool>(GlobalAveragePoolAttributes{images}), {x}, {}, {0}},
                         dtype);
      }
    }
  }
}

TEST(Agreement, ResizeBilinear) {
  for (const DType dtype : floating_dtypes) {
    for (const Corners corners : {Corners::free, Corners::aligned}) {
      for (const std::int64_t channels : {21, 48, 256}) {  // logits, and features to concatenate
        const HostTensor x = random_tensor(dtype, Shape{2, 9, 13, channels}, 1);
        for (const auto& [height, width] : {std::pair{36, 52}, {5, 6}}) {
          const ResizeBilinearAttributes resize{height, width, corners};
          expect_agreement({std::make_shared<ResizeBilinear>(resize), {x}, {}, {0}}, dtype);
        }
      }
    }
  }
}

TEST(Agreement, GroupNorm) {
  for (const DType dtype : floating_dtypes) {
    for (const auto& [channels, groups] : {std::pair{96, 32}, {256, 32}, {40, 5}, {24, 1}}) {
      const HostTensor x = random_tensor(dtype, Shape{3, 17, 19, channels}, 1, 1, 3);
      const HostTensor gamma = random_tensor(DType::f32, Shape{channels}, 2),
                       beta = random_tensor(DType::f32, Shape{channels}, 3);
      OpCase c{std::make_shared<GroupNorm>(GroupNormAttributes{groups, 1e-5f}), {x, gamma, beta}, {}, {0, 1, 2}};
      c.tolerance_scale = dtype == DType::f32 ? 5 : 1;
      expect_agreement(c, dtype);
    }
  }
}

TEST(Agreement, NormalizeImage) {
  for (const DType dtype : floating_dtypes) {
    for (const int channels : {3, 4}) {
      for (const std::int64_t size : {5, 64}) {
        NormalizeImage::Attributes attributes;
        attributes.channels = channels;
        attributes.dtype = dtype;
        const HostTensor pixels = random_tensor(DType::u8, Shape{3, size, size, 3}, 1, 0, 256);
        expect_agreement({std::make_shared<NormalizeImage>(attributes), {pixels}}, dtype);
      }
    }
  }
}

TEST(Agreement, GatherToken) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t index : {0, 3}) {
      expect_agreement({std::make_shared<GatherToken>(index), {random_tensor(dtype, Shape{5, 9, 72}, 1)}, {}, {0}},
                       dtype);
    }
  }
}

TEST(Agreement, GatherTokenOfPackedSequences) {
  for (const DType dtype : floating_dtypes) {
    const HostTensor x = random_tensor(dtype, Shape{25, 72}, 1);
    expect_agreement({std::make_shared<GatherToken>(), {x, get_offsets({9, 1, 3, 8})}, {}, {0}}, dtype);
  }
}

TEST(Agreement, SoftmaxCrossEntropy) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t classes : {2, 1000}) {
      for (const std::int64_t rows : {3, 700}) {
        HostTensor labels = random_tensor(DType::i32, Shape{rows}, 2, 0, static_cast<double>(classes));
        labels.values[1] = ignored_label;
        const HostTensor logits = random_tensor(dtype, Shape{rows, classes}, 1, -5, 5);
        const HostTensor weights = random_tensor(DType::f32, Shape{classes}, 3, 0.1, 4);
        const auto op = std::make_shared<SoftmaxCrossEntropy>(0.1f);
        expect_agreement({op, {logits, labels}, {}, {0}}, dtype);
        expect_agreement({op, {logits, labels, absent_tensor(), absent_tensor(), weights}, {}, {0}}, dtype);
      }
    }
  }
}

TEST(Agreement, MeanSquaredError) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t rows : {3, 700}) {
      HostTensor targets = random_tensor(DType::f32, Shape{rows}, 2, 0, 5);
      targets.values[1] = std::nan("");
      const HostTensor predictions = random_tensor(dtype, Shape{rows, 1}, 1, -2, 5);
      expect_agreement({std::make_shared<MeanSquaredError>(), {predictions, targets}, {}, {0}}, dtype);
    }
  }
}

TEST(Agreement, BinaryCrossEntropy) {
  for (const DType dtype : floating_dtypes) {
    for (const std::int64_t rows : {3, 700}) {
      HostTensor labels = random_tensor(DType::i32, Shape{rows}, 2, 0, 2);
      labels.values[1] = ignored_label;
      const HostTensor logits = random_tensor(dtype, Shape{rows, 1}, 1, -20, 20);
      expect_agreement({std::make_shared<BinaryCrossEntropy>(0.1f), {logits, labels}, {}, {0}}, dtype);
    }
  }
}

TEST(Agreement, Concat) {
  for (const DType dtype : floating_dtypes) {
    const HostTensor a = random_tensor(dtype, Shape{133, 26, 9}, 1), b = random_tensor(dtype, Shape{133, 13}, 2);
    expect_agreement({std::make_shared<Concat>(), {a, b}, {}, {0, 1}}, dtype);
  }
}

TEST(Agreement, EmbeddingBag) {
  HostTensor ids = random_tensor(DType::i32, Shape{40, 26}, 1, 0, 300);
  for (std::size_t i = 0; i < ids.values.size(); i += 3) ids.values[i] = 0;
  for (std::size_t i = 0; i < ids.values.size(); i += 5) ids.values[i] = -1;
  for (const std::int64_t width : {1, 9, 300}) {
    const HostTensor table = random_tensor(DType::f32, Shape{300, width}, 2);
    for (const TableGradient gradient : {TableGradient::dense, TableGradient::sparse}) {
      expect_agreement({std::make_shared<EmbeddingBag>(gradient), {ids, table}, {}, {1}}, DType::f32);
    }
    TestBackend ordered;
    ordered.options.kernels.deterministic = true;
    expect_agreement({std::make_shared<EmbeddingBag>(), {ids, table}, {}, {1}}, DType::f32, ordered);
    const HostTensor dy = random_tensor(DType::f32, Shape{40, 26, width}, 3);
    expect_agreement({std::make_shared<SparseGradient>(), {ids, dy}}, DType::f32);
  }
}

TEST(Agreement, SparseUpdate) {
  HostTensor rows = random_tensor(DType::i32, Shape{700}, 1, 0, 1);
  for (std::size_t i = 0; i < rows.values.size(); ++i)
    rows.values[i] = i % 3 == 0 ? -1 : static_cast<double>(i * 7 % 1000);
  const HostTensor table = random_tensor(DType::f32, Shape{1000, 9}, 2),
                   m = random_tensor(DType::f32, Shape{1000, 9}, 3),
                   v = random_tensor(DType::f32, Shape{1000, 9}, 4, 0, 1);
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::momentum, OptimizerKind::sgd}) {
    const bool adam = kind == OptimizerKind::adamw;
    const OptimizerSettings settings{.kind = kind, .epsilon = 1e-4f, .weight_decay = 0.01f, .clip_norm = 1};
    expect_agreement({std::make_shared<SparseUpdate>(SparseUpdateAttributes{settings}),
                      {tensor(DType::f32, Shape{1}, {0.1}), rows, random_tensor(DType::f32, Shape{700, 9}, 5),
                       tensor(DType::f32, Shape{1}, {3}), tensor(DType::f32, Shape{2}, {2, 0}),
                       tensor(DType::f32, Shape{4}, {4, 0, 0, 0}), table,
                       kind == OptimizerKind::sgd ? absent_tensor() : m, adam ? v : absent_tensor(), absent_tensor()}},
                     DType::f32);
  }
}

/// Half of the tokens are the same, as padding is.
OpCase bert_embedding_case(std::int64_t width, std::int64_t first_position = 0) {
  const Shape ids_shape{12, 128};
  HostTensor ids = random_tensor(DType::i32, ids_shape, 1, 0, 500);
  for (std::size_t i = 0; i < ids.values.size(); i += 2) ids.values[i] = 0;
  OpCase c;
  c.op = std::make_shared<BertEmbedding>(first_position);
  c.inputs = {ids, random_tensor(DType::i32, ids_shape, 2, 0, 2), random_tensor(DType::f32, Shape{500, width}, 3),
              random_tensor(DType::f32, Shape{140, width}, 4), random_tensor(DType::f32, Shape{2, width}, 5)};
  c.gradient_inputs = {2, 3, 4};
  return c;
}

TEST(Agreement, BertEmbedding) {
  for (const std::int64_t width : {50, 384}) expect_agreement(bert_embedding_case(width), DType::f32);
  expect_agreement(bert_embedding_case(50, 2), DType::f32);
}

/// The same tokens as sequences of 1 to 128, the last 36 of none.
OpCase packed_bert_embedding_case(std::int64_t width) {
  OpCase c = bert_embedding_case(width);
  std::vector<double> lengths{128, 1, 2, 3, 127, 33};
  for (double rest = 12 * 128 - 36 - 294; rest > 0; rest -= lengths.back()) lengths.push_back(std::min(rest, 100.0));
  for (const int tokens : {0, 1}) c.inputs[static_cast<std::size_t>(tokens)].desc.shape = Shape{12 * 128};
  c.inputs.push_back(get_offsets(lengths));
  return c;
}

TEST(Agreement, PackedBertEmbedding) {
  for (const std::int64_t width : {50, 384}) {
    expect_agreement(packed_bert_embedding_case(width), DType::f32);
    TestBackend ordered;
    ordered.options.kernels.deterministic = true;
    expect_agreement(packed_bert_embedding_case(width), DType::f32, ordered);
  }
}

TEST(Agreement, OrderedEmbeddingGradientsAreTheSameBitsEveryTime) {
  const OpCase c = bert_embedding_case(384);
  const std::vector<HostTensor> seeds{random_tensor(DType::f32, Shape{12, 128, 384}, 9)};
  TestBackend ordered;
  ordered.options.kernels.deterministic = true;
  const std::vector<HostTensor> expected = run_gradient(c, seeds, on_cpu()), first = run_gradient(c, seeds, ordered),
                                second = run_gradient(c, seeds, ordered);
  ASSERT_EQ(first.size(), expected.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].values, second[i].values);
    expect_close(first[i].values, expected[i].values, 4 * tolerance(DType::f32), fmt::format("gradient {}", i));
  }
}

}  // namespace
}  // namespace ptrain::testing
