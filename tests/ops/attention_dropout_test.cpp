// Dropout of attention, whoever draws it: where all scores are equal and the values are a unit matrix, the outputs are
// what it multiplies the weights by.
#include "core/ops/text/attention.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace ptrain::testing {
namespace attention_dropout_test {

constexpr float p = 0.25f;
constexpr double scale = 1 / (1 - 0.25);

enum class Layout { padded, causal, packed };

/// A layer of two heads of `depth`, which no sequence is longer than.
struct Layer {
  std::vector<double> lengths;
  std::int64_t depth;
  AttentionAlgorithm algorithm;
  Layout layout = Layout::padded;
  std::uint32_t stream = 5;
  std::vector<double> rng{7, 3, 0};
};

OpCase make_case(const Layer& layer, DType dtype) {
  const auto batch = static_cast<std::int64_t>(layer.lengths.size());
  const auto longest = static_cast<std::int64_t>(*std::max_element(layer.lengths.begin(), layer.lengths.end()));
  const auto tokens = static_cast<std::int64_t>(std::accumulate(layer.lengths.begin(), layer.lengths.end(), 0.0));
  const bool packed = layer.layout == Layout::packed;
  const AttentionAttributes attributes{
      2, p, layer.stream, layer.algorithm, packed ? longest : 0, layer.layout == Layout::causal};
  const std::int64_t width = 3 * attributes.heads * layer.depth;
  OpCase c;
  c.op = std::make_shared<Attention>(attributes);
  c.inputs = {random_tensor(dtype, packed ? Shape{tokens, width} : Shape{batch, longest, width}, 11, -1.5, 1.5),
              tensor(DType::i32, Shape{batch}, layer.lengths), tensor(DType::i64, Shape{3}, layer.rng)};
  if (packed) c.inputs.push_back(get_offsets(layer.lengths));
  c.gradient_inputs = {0};
  return c;
}

/// What the op multiplies each weight by: [B,heads,S,S], NaN where a query does not see a key.
std::vector<double> get_factors(const OpCase& c) {
  const AttentionAttributes& a = static_cast<const Attention&>(*c.op).attrs();
  const AttentionDims dims(a, c.inputs[0].desc, c.inputs[1].desc);
  const auto batch = static_cast<std::size_t>(dims.batch), length = static_cast<std::size_t>(dims.length);
  const auto heads = static_cast<std::size_t>(dims.heads), depth = static_cast<std::size_t>(dims.depth);
  const auto row = [&](std::size_t b, std::size_t token) {
    return a.max_length > 0 ? static_cast<std::size_t>(c.inputs[3].values[b]) + token : b * length + token;
  };
  const auto valid = [&](std::size_t b) { return static_cast<std::size_t>(c.inputs[1].values[b]); };
  std::vector<HostTensor> inputs = c.inputs;
  std::vector<double>& qkv = inputs[0].values;
  std::fill(qkv.begin(), qkv.end(), 0.0);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t token = 0; token < valid(b); ++token)
      for (std::size_t head = 0; head < heads; ++head) {
        qkv[((row(b, token) * 3 + 2) * heads + head) * depth + token] = 1;
      }
  const std::vector<double> out = run_op(c.op, inputs)[0].values;
  std::vector<double> factors(batch * heads * length * length, std::nan(""));
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t head = 0; head < heads; ++head)
      for (std::size_t query = 0; query < valid(b); ++query) {
        const std::size_t seen = a.causal ? query + 1 : valid(b);
        for (std::size_t key = 0; key < seen; ++key) {
          factors[((b * heads + head) * length + query) * length + key] =
              out[(row(b, query) * heads + head) * depth + key] * static_cast<double>(seen);
        }
      }
  return factors;
}

/// The share of weights that both drop or both keep; about `expected`, where draws are independent of each other.
void expect_agreement(std::span<const double> a, std::span<const double> b, double expected) {
  ASSERT_EQ(a.size(), b.size());
  double same = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    same += (a[i] > 0) == (b[i] > 0);
    all += 1;
  }
  EXPECT_NEAR(same / all, expected, 5 * std::sqrt(expected * (1 - expected) / all));
}

class AttentionDropout : public ::testing::TestWithParam<AttentionAlgorithm> {};

TEST_P(AttentionDropout, DropsTheSameWeightsForwardAndBackward) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Layout layout : {Layout::padded, Layout::causal, Layout::packed}) {
      OpCase c = make_case({{9, 1, 6}, 16, GetParam(), layout}, dtype);
      const AttentionAttributes a = static_cast<const Attention&>(*c.op).attrs();
      c.reference = [a, factors = get_factors(c)](const auto& in) {
        return attention_reference(in, a, [&](std::int64_t row, std::int64_t key) {
          return factors[static_cast<std::size_t>(row * 9 + key)] > 0 ? scale : 0.0;
        });
      };
      check_op(c);
    }
  }
}

TEST_P(AttentionDropout, KeepsItsShareAndLeavesTheExpectation) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Layout layout : {Layout::padded, Layout::causal, Layout::packed}) {
      double kept = 0, all = 0;
      for (const double factor : get_factors(make_case({{64, 40}, 64, GetParam(), layout}, dtype))) {
        if (std::isnan(factor)) continue;
        if (factor > 0) {
          ASSERT_NEAR(factor, scale, scale * tolerance(dtype));
        }
        kept += factor > 0;
        all += 1;
      }
      EXPECT_NEAR(kept / all, 1 - p, 5 * std::sqrt(p * (1 - p) / all)) << to_string(dtype);
    }
  }
}

TEST_P(AttentionDropout, DropsOthersInEveryLayerRunStepPartSequenceAndHead) {
  constexpr double by_chance = p * p + (1 - p) * (1 - p);
  const Layer layer{{64, 64}, 64, GetParam()};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const std::vector<double> factors = get_factors(make_case(layer, dtype));
    EXPECT_EQ(get_factors(make_case(layer, dtype)), factors);
    Layer other = layer;
    other.stream = 6;
    expect_agreement(factors, get_factors(make_case(other, dtype)), by_chance);
    for (const std::size_t number : {0, 1, 2}) {
      other = layer;
      other.rng[number] += 1;
      expect_agreement(factors, get_factors(make_case(other, dtype)), by_chance);
    }
    const std::span<const double> all = factors;
    const std::size_t head = all.size() / 4;
    for (const std::size_t next : {1, 2, 3})
      expect_agreement(all.first(head), all.subspan(next * head, head), by_chance);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionDropout,
                         ::testing::Values(AttentionAlgorithm::flash, AttentionAlgorithm::flash_mask,
                                           AttentionAlgorithm::math),
                         case_name);

}  // namespace attention_dropout_test
}  // namespace ptrain::testing
