// cuDNN's attention, forward and backward, of the emulated CudnnGraph.
#include "core/base/rng.h"
#include "tests/emulation/cudnn_graph_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ptrain::cuda {
namespace {

using emulation::Index;
using emulation::State;
using emulation::Values;

/// What rows beyond a length come out as.
constexpr float undefined = 77;

/// One query's weights over the keys, before dropout: exp(score - lse), and the score row's lse.
struct Softmax {
  std::vector<float> weights;
  float lse;
};

/// Dropout of the emulation's own: as cuDNN's, a function of seed, offset and the weight's place.
struct Drawn {
  float probability, seed, offset;

  float kept(Index place) const {
    const auto number = static_cast<std::uint64_t>(place);
    const Philox4 words = philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                                  std::bit_cast<std::uint32_t>(offset), 0},
                                 std::bit_cast<std::uint32_t>(seed), 0);
    return to_uniform(words.x) < probability ? 0.0f : 1 / (1 - probability);
  }
};

struct AttentionValues {
  const Values &q, &k, &v, &lengths;
  std::optional<Drawn> drawn;
  const Values* mask;
  float scale;
  bool causal;

  AttentionValues(const State& state, const CudnnGraph::AttentionInputs& inputs)
      : q(state[inputs.q]),
        k(state[inputs.k]),
        v(state[inputs.v]),
        lengths(state[inputs.key_lengths]),
        mask(inputs.mask ? &state[*inputs.mask] : nullptr),
        scale(inputs.scale),
        causal(inputs.causal) {
    if (const auto& d = inputs.dropout) drawn = {d->probability, state[d->seed].data[0], state[d->offset].data[0]};
  }

  Index length(Index n) const { return static_cast<Index>(lengths.at(n, 0, 0, 0)); }
  /// Keys that a query sees, from the first on.
  Index keys(Index n, Index i) const { return causal ? i + 1 : length(n); }
  Index width() const { return q.dims[3]; }
  /// The key head that a query head reads.
  Index key_head(Index head) const { return head / (q.dims[1] / k.dims[1]); }
  float kept(Index n, Index head, Index i, Index j) const {
    if (drawn) return drawn->kept(((n * q.dims[1] + head) * q.dims[2] + i) * q.dims[2] + j);
    return mask == nullptr ? 1.0f : mask->at(n, head, i, j);
  }
  float dot(const Values& a, Index i, const Values& b, Index j, Index n, Index head) const {
    const Index b_head = b.dims[1] == q.dims[1] ? head : key_head(head);
    float sum = 0;
    for (Index d = 0; d < width(); ++d) sum += a.at(n, head, i, d) * b.at(n, b_head, j, d);
    return sum;
  }
  float score(Index n, Index head, Index i, Index j) const { return scale * dot(q, i, k, j, n, head); }
  Softmax softmax(Index n, Index head, Index i) const {
    Softmax row{std::vector<float>(static_cast<std::size_t>(keys(n, i))), 0};
    float largest = -std::numeric_limits<float>::infinity();
    for (Index j = 0; j < keys(n, i); ++j) {
      row.weights[static_cast<std::size_t>(j)] = score(n, head, i, j);
      largest = std::max(largest, row.weights[static_cast<std::size_t>(j)]);
    }
    double sum = 0;
    for (float& weight : row.weights) sum += weight = std::exp(weight - largest);
    for (float& weight : row.weights) weight = static_cast<float>(weight / sum);
    row.lse = largest + static_cast<float>(std::log(sum));
    return row;
  }

  /// [B,heads,S,columns], zero as far as the sequences reach.
  Values result(Index heads, Index columns) const {
    Values values({q.dims[0], heads, q.dims[2], columns});
    values.each([&](Index n, Index head, Index i, Index d) {
      if (i >= length(n)) values.at(n, head, i, d) = undefined;
    });
    return values;
  }
  /// Calls visit(n, head, i) for the queries within their sequence's length.
  template <typename Visit>
  void for_queries(Visit&& visit) const {
    for (Index n = 0; n < q.dims[0]; ++n)
      for (Index head = 0; head < q.dims[1]; ++head)
        for (Index i = 0; i < length(n); ++i) visit(n, head, i);
  }
};

}  // namespace

CudnnGraph::Attended CudnnGraph::attention(const AttentionInputs& inputs) {
  parts_->has_attention = true;
  if (inputs.dropout) parts_->draws = "attention";
  const auto [out, lse] = parts_->add_operation<2>([=](const State& state) {
    const AttentionValues a(state, inputs);
    Values outs = a.result(a.q.dims[1], a.width()), lses = a.result(a.q.dims[1], 1);
    a.for_queries([&](Index n, Index head, Index i) {
      const Softmax row = a.softmax(n, head, i);
      lses.at(n, head, i, 0) = row.lse;
      for (Index j = 0; j < a.keys(n, i); ++j) {
        const float weight = row.weights[static_cast<std::size_t>(j)] * a.kept(n, head, i, j);
        for (Index d = 0; d < a.width(); ++d) outs.at(n, head, i, d) += weight * a.v.at(n, a.key_head(head), j, d);
      }
    });
    return std::array{std::move(outs), std::move(lses)};
  });
  return {out, lse};
}

CudnnGraph::AttentionGradients CudnnGraph::attention_grad(const AttentionInputs& inputs, Tensor out, Tensor dout,
                                                          Tensor lse, bool /*deterministic*/) {
  parts_->has_attention = true;
  if (inputs.dropout) parts_->draws = "attention_grad";
  const auto [dq, dk, dv] = parts_->add_operation<3>([=](const State& state) {
    const AttentionValues a(state, inputs);
    const Values &o = state[out], &g = state[dout], &logs = state[lse];
    Values gq = a.result(a.q.dims[1], a.width()), gk = a.result(a.k.dims[1], a.width()), gv = gk;
    a.for_queries([&](Index n, Index head, Index i) {
      const float shared = a.dot(g, i, o, i, n, head);
      for (Index j = 0; j < a.keys(n, i); ++j) {
        const float weight = std::exp(a.score(n, head, i, j) - logs.at(n, head, i, 0));
        const float kept = a.kept(n, head, i, j);
        const float ds = weight * (kept * a.dot(g, i, a.v, j, n, head) - shared) * a.scale;
        for (Index d = 0; d < a.width(); ++d) {
          gq.at(n, head, i, d) += ds * a.k.at(n, a.key_head(head), j, d);
          gk.at(n, a.key_head(head), j, d) += ds * a.q.at(n, head, i, d);
          gv.at(n, a.key_head(head), j, d) += weight * kept * g.at(n, head, i, d);
        }
      }
    });
    return std::array{std::move(gq), std::move(gk), std::move(gv)};
  });
  return {dq, dk, dv};
}

}  // namespace ptrain::cuda
