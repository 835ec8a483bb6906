// cuDNN as far as the backend sees it: CudnnGraph, evaluated operation by operation in f32. Values are rounded where
// cuDNN's graphs say so and when they leave a graph.
#include "core/cuda/cudnn_graph.h"

#include "core/base/errors.h"
#include "tests/emulation/stream.h"

#include <cudnn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

/// What cudnnHandle_t points to.
struct cudnnContext {
  cudaStream_t stream = nullptr;
};

extern "C" {

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "an error of the emulation"; }
void cudnnGetLastErrorString(char* message, std::size_t size) { std::strncpy(message, "emulated", size); }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return *handle = new cudnnContext, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return delete handle, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return handle->stream = stream, CUDNN_STATUS_SUCCESS;
}

}  // extern "C"

namespace ptrain::cuda {
namespace {

using Index = std::int64_t;

/// Four extents in cuDNN's order; elements lie with the second last: N H W C.
struct Values {
  std::array<Index, 4> dims{1, 1, 1, 1};
  std::vector<float> data;

  Values() = default;
  explicit Values(std::array<Index, 4> extents)
      : dims(extents), data(static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3])) {}

  Index channels() const { return dims[1]; }
  Index rows() const { return dims[0] * dims[2] * dims[3]; }
  std::size_t place(Index n, Index c, Index h, Index w) const {
    return static_cast<std::size_t>(((n * dims[2] + h) * dims[3] + w) * dims[1] + c);
  }
  float& at(Index n, Index c, Index h, Index w) { return data[place(n, c, h, w)]; }
  float at(Index n, Index c, Index h, Index w) const { return data[place(n, c, h, w)]; }
  /// The element that stands for (n,c,h,w) where extents of 1 are spread.
  float spread(Index n, Index c, Index h, Index w) const {
    return at(dims[0] == 1 ? 0 : n, dims[1] == 1 ? 0 : c, dims[2] == 1 ? 0 : h, dims[3] == 1 ? 0 : w);
  }
  template <typename Visit>
  void each(Visit&& visit) const {
    for (Index n = 0; n < dims[0]; ++n)
      for (Index h = 0; h < dims[2]; ++h)
        for (Index w = 0; w < dims[3]; ++w)
          for (Index c = 0; c < dims[1]; ++c) visit(n, c, h, w);
  }
};

std::array<Index, 4> extents(const TensorLayout& layout) {
  return {layout.dims[0], layout.dims[1], layout.dims[2], layout.dims[3]};
}

float rounded(DType dtype, float value) {
  if (!is_floating(dtype)) return value;
  return visit_floating(dtype, [&](auto zero) { return static_cast<float>(decltype(zero)(value)); });
}

Index offset(const TensorLayout& layout, Index n, Index c, Index h, Index w) {
  return n * layout.strides[0] + c * layout.strides[1] + h * layout.strides[2] + w * layout.strides[3];
}

float load(DType dtype, const void* memory, Index at) {
  if (dtype == DType::i32) return static_cast<float>(static_cast<const std::int32_t*>(memory)[at]);
  return visit_floating(dtype,
                        [&](auto zero) { return static_cast<float>(static_cast<const decltype(zero)*>(memory)[at]); });
}

void store(DType dtype, void* memory, Index at, float value) {
  visit_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    static_cast<T*>(memory)[at] = T(value);
  });
}

/// Calls visit(x's and w's and y's first elements along the channels) for every tap of a convolution.
template <typename Visit>
void for_taps(const Conv2dAttributes& conv, const Values& x, const Values& w, const Values& y, Visit&& visit) {
  const Index group_outputs = w.dims[0] / conv.groups, group_inputs = w.dims[1];
  for (Index n = 0; n < y.dims[0]; ++n)
    for (Index p = 0; p < y.dims[2]; ++p)
      for (Index q = 0; q < y.dims[3]; ++q)
        for (Index r = 0; r < w.dims[2]; ++r)
          for (Index s = 0; s < w.dims[3]; ++s) {
            const Index h = p * conv.stride - conv.padding + r * conv.dilation;
            const Index v = q * conv.stride - conv.padding + s * conv.dilation;
            if (h < 0 || h >= x.dims[2] || v < 0 || v >= x.dims[3]) continue;
            for (Index k = 0; k < w.dims[0]; ++k) {
              visit(x.place(n, k / group_outputs * group_inputs, h, v), w.place(k, 0, r, s), y.place(n, k, p, q));
            }
          }
}

/// One value for each of C channels.
std::array<Index, 4> per_channel_extents(Index channels) { return {1, channels, 1, 1}; }

}  // namespace

/// A graph under way: values by tensor, filled in by the operations in their order.
struct CudnnGraph::Parts {
  struct Bound {
    Tensor tensor;
    TensorLayout layout;
    bool is_output;
    std::optional<Tensor> offsets = {};  // of a ragged tensor
  };
  using State = std::vector<Values>;

  cudnnHandle_t handle = nullptr;
  DType io = DType::f32;
  std::size_t tensors = 0;
  std::size_t workspace = 0;
  std::vector<std::pair<Tensor, float>> constants;
  std::vector<Bound> bound;
  std::vector<TensorLayout> bound_layouts;
  std::vector<std::function<void(State&)>> operations;
  std::vector<std::string> plan_names;
  // What cuDNN's limits depend on.
  bool has_norm = false, has_normed_convolution = false, has_attention = false;

  Tensor add() { return static_cast<Tensor>(tensors++); }
  static Values& at(State& state, Tensor tensor) { return state[static_cast<std::size_t>(tensor)]; }

  template <typename Function>
  Tensor pointwise(Tensor a, Tensor b, DType dtype, Function&& function) {
    const Tensor result = add();
    operations.push_back([=](State& state) {
      const Values &x = at(state, a), &y = at(state, b);
      Values z(x.data.size() >= y.data.size() ? x.dims : y.dims);
      z.each([&](Index n, Index c, Index h, Index w) {
        z.at(n, c, h, w) = rounded(dtype, function(x.spread(n, c, h, w), y.spread(n, c, h, w)));
      });
      at(state, result) = std::move(z);
    });
    return result;
  }

  Index sequence_begin(State& state, const Bound& b, Index n) const {
    return b.offsets ? static_cast<Index>(at(state, *b.offsets).at(n, 0, 0, 0)) : n * b.layout.strides[0];
  }
  /// Of sequence n, how many positions lie in memory.
  Index sequence_length(State& state, const Bound& b, Index n) const {
    if (!b.offsets) return b.layout.dims[2];
    return (sequence_begin(state, b, n + 1) - sequence_begin(state, b, n)) / b.layout.strides[2];
  }

  void read(State& state, const Bound& b, const void* memory) const {
    Values values(extents(b.layout));
    values.each([&](Index n, Index c, Index h, Index w) {
      if (h >= sequence_length(state, b, n)) return;
      const Index from = sequence_begin(state, b, n) + offset(b.layout, 0, c, h, w);
      values.at(n, c, h, w) = load(b.layout.dtype, memory, from);
    });
    at(state, b.tensor) = std::move(values);
  }
  void write(State& state, const Bound& b, void* memory) const {
    const Values& values = at(state, b.tensor);
    invariant(values.dims == extents(b.layout), "an output of an emulated cuDNN graph is bound with another shape");
    values.each([&](Index n, Index c, Index h, Index w) {
      if (h >= sequence_length(state, b, n)) return;
      store(b.layout.dtype, memory, sequence_begin(state, b, n) + offset(b.layout, 0, c, h, w), values.at(n, c, h, w));
    });
  }

  void run(const std::vector<void*>& pointers) const {
    State state(tensors);
    for (const auto& [tensor, value] : constants) (at(state, tensor) = Values({1, 1, 1, 1})).data[0] = value;
    for (const bool ragged : {false, true}) {  // offsets are no ragged tensors
      for (std::size_t i = 0; i < bound.size(); ++i) {
        if (!bound[i].is_output && bound[i].offsets.has_value() == ragged) read(state, bound[i], pointers[i]);
      }
    }
    for (const auto& operation : operations) operation(state);
    for (std::size_t i = 0; i < bound.size(); ++i) {
      if (bound[i].is_output) write(state, bound[i], pointers[i]);
    }
  }
};

CudnnTarget CudnnTarget::described(const std::string&, int) { fail("only cuDNN itself takes a description of a GPU"); }

CudnnGraph::CudnnGraph(const CudnnTarget& target, DType io) : parts_(std::make_unique<Parts>()) {
  parts_->handle = target.handle_;
  parts_->io = io;
}
CudnnGraph::CudnnGraph(CudnnGraph&&) noexcept = default;
CudnnGraph& CudnnGraph::operator=(CudnnGraph&&) noexcept = default;
CudnnGraph::~CudnnGraph() = default;

CudnnGraph::Tensor CudnnGraph::input(const TensorLayout& layout) {
  const Tensor tensor = parts_->add();
  parts_->bound.push_back({tensor, layout, false});
  parts_->bound_layouts.push_back(layout);
  return tensor;
}
void CudnnGraph::output(Tensor tensor, const TensorLayout& layout) {
  parts_->bound.push_back({tensor, layout, true});
  parts_->bound_layouts.push_back(layout);
}
void CudnnGraph::set_ragged(Tensor tensor, Tensor offsets) {
  for (Parts::Bound& bound : parts_->bound) {
    if (bound.tensor == tensor) bound.offsets = offsets;
  }
}
CudnnGraph::Tensor CudnnGraph::constant(float value) {
  const Tensor tensor = parts_->add();
  parts_->constants.emplace_back(tensor, value);
  return tensor;
}

CudnnGraph::Tensor CudnnGraph::convolution(Tensor x, Tensor w, const Conv2dAttributes& conv) {
  const Tensor y = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const Values &data = Parts::at(state, x), &weights = Parts::at(state, w);
    Values result({data.dims[0], weights.dims[0], conv.output_size(data.dims[2], weights.dims[2]),
                   conv.output_size(data.dims[3], weights.dims[3])});
    for_taps(conv, data, weights, result, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
      float sum = 0;
      for (std::size_t c = 0; c < static_cast<std::size_t>(weights.dims[1]); ++c) {
        sum += data.data[xi + c] * weights.data[wi + c];
      }
      result.data[yi] += sum;
    });
    Parts::at(state, y) = std::move(result);
  });
  return y;
}

CudnnGraph::Tensor CudnnGraph::convolution_grad_input(Tensor dy, Tensor w, const Conv2dAttributes& conv,
                                                      const TensorLayout& layout) {
  const Tensor dx = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const Values &gradient = Parts::at(state, dy), &weights = Parts::at(state, w);
    Values result(extents(layout));
    for_taps(conv, result, weights, gradient, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
      const float g = gradient.data[yi];
      for (std::size_t c = 0; c < static_cast<std::size_t>(weights.dims[1]); ++c) {
        result.data[xi + c] += g * weights.data[wi + c];
      }
    });
    Parts::at(state, dx) = std::move(result);
  });
  return dx;
}

CudnnGraph::Tensor CudnnGraph::convolution_grad_weight(Tensor x, Tensor dy, const Conv2dAttributes& conv,
                                                       const TensorLayout& layout) {
  const Tensor dw = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const Values &data = Parts::at(state, x), &gradient = Parts::at(state, dy);
    Values result(extents(layout));
    for_taps(conv, data, result, gradient, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
      const float g = gradient.data[yi];
      for (std::size_t c = 0; c < static_cast<std::size_t>(result.dims[1]); ++c) {
        result.data[wi + c] += g * data.data[xi + c];
      }
    });
    Parts::at(state, dw) = std::move(result);
  });
  return dw;
}

CudnnGraph::Tensor CudnnGraph::identity(Tensor a) {
  return parts_->pointwise(a, a, DType::f32, [](float x, float) { return x; });
}
CudnnGraph::Tensor CudnnGraph::add(Tensor a, Tensor b) {
  return parts_->pointwise(a, b, DType::f32, [](float x, float y) { return x + y; });
}
CudnnGraph::Tensor CudnnGraph::subtract(Tensor a, Tensor b) {
  return parts_->pointwise(a, b, DType::f32, [](float x, float y) { return x - y; });
}
CudnnGraph::Tensor CudnnGraph::scale(Tensor a, Tensor b) {
  return parts_->pointwise(a, b, DType::f32, [](float x, float y) { return x * y; });
}
CudnnGraph::Tensor CudnnGraph::multiply(Tensor a, Tensor b) {
  return parts_->pointwise(a, b, parts_->io, [](float x, float y) { return x * y; });
}
CudnnGraph::Tensor CudnnGraph::relu(Tensor a) {
  return parts_->pointwise(a, a, DType::f32, [](float x, float) { return x < 0 ? 0 : x; });
}
CudnnGraph::Tensor CudnnGraph::relu_grad(Tensor dy, Tensor x) {
  return parts_->pointwise(dy, x, parts_->io, [](float g, float v) { return v > 0 ? g : 0; });
}
CudnnGraph::Tensor CudnnGraph::greater(Tensor a, Tensor b) {
  return parts_->pointwise(a, b, DType::f32, [](float x, float y) { return x > y ? 1.0f : 0.0f; });
}

CudnnGraph::Normalized CudnnGraph::batch_norm(Tensor x, Tensor gamma, Tensor beta, float epsilon) {
  parts_->has_norm = true;
  const Tensor mean = parts_->add(), invstd = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const Values& data = Parts::at(state, x);
    const double count = static_cast<double>(data.rows());
    Values means(per_channel_extents(data.channels())), inverses = means;
    std::vector<double> sums(means.data.size()), squares = sums;
    data.each([&](Index n, Index c, Index h, Index w) { sums[static_cast<std::size_t>(c)] += data.at(n, c, h, w); });
    data.each([&](Index n, Index c, Index h, Index w) {
      const double d = data.at(n, c, h, w) - sums[static_cast<std::size_t>(c)] / count;
      squares[static_cast<std::size_t>(c)] += d * d;
    });
    for (std::size_t c = 0; c < sums.size(); ++c) {
      means.data[c] = static_cast<float>(sums[c] / count);
      inverses.data[c] = static_cast<float>(1 / std::sqrt(squares[c] / count + static_cast<double>(epsilon)));
    }
    Parts::at(state, mean) = std::move(means);
    Parts::at(state, invstd) = std::move(inverses);
  });
  return {normalize(x, mean, invstd, gamma, beta), mean, invstd};
}

CudnnGraph::Tensor CudnnGraph::normalize(Tensor x, Tensor mean, Tensor invstd, Tensor gamma, Tensor beta) {
  return add(scale(scale(subtract(x, mean), invstd), gamma), beta);
}

CudnnGraph::NormGradients CudnnGraph::batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor invstd) {
  parts_->has_norm = true;
  const auto sums = batch_norm_grad_sums(dy, x, mean, invstd, gamma);
  return {add(add(scale(dy, sums[2]), scale(x, sums[3])), sums[4]), sums[0], sums[1]};
}

CudnnGraph::Sums CudnnGraph::channel_sums(Tensor x) {
  parts_->has_normed_convolution = true;
  const Tensor sum = parts_->add(), sum_of_squares = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const Values& data = Parts::at(state, x);
    Values sums(per_channel_extents(data.channels())), squares = sums;
    data.each([&](Index n, Index c, Index h, Index w) {
      const float v = data.at(n, c, h, w);
      sums.at(0, c, 0, 0) += v;
      squares.at(0, c, 0, 0) += v * v;
    });
    Parts::at(state, sum) = std::move(sums);
    Parts::at(state, sum_of_squares) = std::move(squares);
  });
  return {sum, sum_of_squares};
}

std::array<CudnnGraph::Tensor, 5> CudnnGraph::batch_norm_grad_sums(Tensor dy, Tensor x, Tensor mean, Tensor invstd,
                                                                   Tensor gamma) {
  const std::array<Tensor, 5> results{parts_->add(), parts_->add(), parts_->add(), parts_->add(), parts_->add()};
  parts_->operations.push_back([=](Parts::State& state) {
    const Values &gradient = Parts::at(state, dy), &data = Parts::at(state, x);
    const Values &m = Parts::at(state, mean), &r = Parts::at(state, invstd), &g = Parts::at(state, gamma);
    const auto channels = static_cast<std::size_t>(data.channels());
    std::vector<double> dgamma(channels), dbeta(channels);
    data.each([&](Index n, Index c, Index h, Index w) {
      const auto i = static_cast<std::size_t>(c);
      const double d = gradient.at(n, c, h, w);
      dbeta[i] += d;
      dgamma[i] += d * (data.at(n, c, h, w) - m.data[i]) * r.data[i];
    });
    std::array<Values, 5> values;
    values.fill(Values(per_channel_extents(data.channels())));
    const double count = static_cast<double>(data.rows());
    for (std::size_t c = 0; c < channels; ++c) {
      const double scale = static_cast<double>(g.data[c]) * r.data[c], slope = -scale * r.data[c] * dgamma[c] / count;
      values[0].data[c] = static_cast<float>(dgamma[c]);
      values[1].data[c] = static_cast<float>(dbeta[c]);
      values[2].data[c] = static_cast<float>(scale);
      values[3].data[c] = static_cast<float>(slope);
      values[4].data[c] = static_cast<float>(-scale * dbeta[c] / count - slope * m.data[c]);
    }
    for (std::size_t i = 0; i < results.size(); ++i) Parts::at(state, results[i]) = std::move(values[i]);
  });
  return results;
}

namespace {

/// One query's weights over the keys, before dropout: exp(score - lse), and the score row's lse.
struct Softmax {
  std::vector<float> weights;
  float lse;
};

struct AttentionValues {
  const Values &q, &k, &v, &lengths;
  const Values* mask;
  float scale, mask_scale;

  Index length(Index n) const { return static_cast<Index>(lengths.at(n, 0, 0, 0)); }
  float kept(Index n, Index head, Index i, Index j) const {
    return mask == nullptr ? 1.0f : mask->at(n, head, i, j) * mask_scale;
  }
  float dot(const Values& a, Index i, const Values& b, Index j, Index n, Index head) const {
    float sum = 0;
    for (Index d = 0; d < a.dims[3]; ++d) sum += a.at(n, head, i, d) * b.at(n, head, j, d);
    return sum;
  }
  Softmax softmax(Index n, Index head, Index i) const {
    Softmax row{std::vector<float>(static_cast<std::size_t>(length(n))), 0};
    float largest = -std::numeric_limits<float>::infinity();
    for (Index j = 0; j < length(n); ++j) {
      const float score = scale * dot(q, i, k, j, n, head);
      row.weights[static_cast<std::size_t>(j)] = score;
      largest = std::max(largest, score);
    }
    double sum = 0;
    for (float& weight : row.weights) sum += weight = std::exp(weight - largest);
    for (float& weight : row.weights) weight = static_cast<float>(weight / sum);
    row.lse = largest + static_cast<float>(std::log(sum));
    return row;
  }
};

/// Rows beyond a length come out undefined.
constexpr float undefined = 77;

Values undefined_values(const std::array<Index, 4>& dims) {
  Values values(dims);
  std::fill(values.data.begin(), values.data.end(), undefined);
  return values;
}

}  // namespace

CudnnGraph::Attended CudnnGraph::attention(const AttentionInputs& inputs) {
  parts_->has_attention = true;
  const Tensor out = parts_->add(), lse = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const AttentionValues a{Parts::at(state, inputs.q),
                            Parts::at(state, inputs.k),
                            Parts::at(state, inputs.v),
                            Parts::at(state, inputs.key_lengths),
                            inputs.mask ? &Parts::at(state, *inputs.mask) : nullptr,
                            inputs.scale,
                            inputs.mask_scale};
    Values outs = undefined_values(a.q.dims), lses = undefined_values({a.q.dims[0], a.q.dims[1], a.q.dims[2], 1});
    for (Index n = 0; n < a.q.dims[0]; ++n)
      for (Index head = 0; head < a.q.dims[1]; ++head)
        for (Index i = 0; i < a.length(n); ++i) {
          const Softmax row = a.softmax(n, head, i);
          lses.at(n, head, i, 0) = row.lse;
          for (Index d = 0; d < a.q.dims[3]; ++d) {
            float sum = 0;
            for (Index j = 0; j < a.length(n); ++j) {
              sum += row.weights[static_cast<std::size_t>(j)] * a.kept(n, head, i, j) * a.v.at(n, head, j, d);
            }
            outs.at(n, head, i, d) = sum;
          }
        }
    Parts::at(state, out) = std::move(outs);
    Parts::at(state, lse) = std::move(lses);
  });
  return {out, lse};
}

CudnnGraph::AttentionGradients CudnnGraph::attention_grad(const AttentionInputs& inputs, Tensor out, Tensor dout,
                                                          Tensor lse, bool /*deterministic*/) {
  parts_->has_attention = true;
  const Tensor dq = parts_->add(), dk = parts_->add(), dv = parts_->add();
  parts_->operations.push_back([=](Parts::State& state) {
    const AttentionValues a{Parts::at(state, inputs.q),
                            Parts::at(state, inputs.k),
                            Parts::at(state, inputs.v),
                            Parts::at(state, inputs.key_lengths),
                            inputs.mask ? &Parts::at(state, *inputs.mask) : nullptr,
                            inputs.scale,
                            inputs.mask_scale};
    const Values &o = Parts::at(state, out), &g = Parts::at(state, dout), &logs = Parts::at(state, lse);
    Values gq(a.q.dims), gk(a.q.dims), gv(a.q.dims);
    for (Index n = 0; n < a.q.dims[0]; ++n)
      for (Index head = 0; head < a.q.dims[1]; ++head)
        for (Index i = 0; i < a.length(n); ++i) {
          const float shared = a.dot(g, i, o, i, n, head);
          for (Index j = 0; j < a.length(n); ++j) {
            const float weight = std::exp(a.scale * a.dot(a.q, i, a.k, j, n, head) - logs.at(n, head, i, 0));
            const float kept = a.kept(n, head, i, j);
            const float ds = weight * (kept * a.dot(g, i, a.v, j, n, head) - shared) * a.scale;
            for (Index d = 0; d < a.q.dims[3]; ++d) {
              gq.at(n, head, i, d) += ds * a.k.at(n, head, j, d);
              gk.at(n, head, j, d) += ds * a.q.at(n, head, i, d);
              gv.at(n, head, j, d) += weight * kept * g.at(n, head, i, d);
            }
          }
        }
    for (Index n = 0; n < a.q.dims[0]; ++n)
      for (Index head = 0; head < a.q.dims[1]; ++head)
        for (Index i = a.length(n); i < a.q.dims[2]; ++i)
          for (Index d = 0; d < a.q.dims[3]; ++d) {
            for (Values* gradient : {&gq, &gk, &gv}) gradient->at(n, head, i, d) = undefined;
          }
    Parts::at(state, dq) = std::move(gq);
    Parts::at(state, dk) = std::move(gk);
    Parts::at(state, dv) = std::move(gv);
  });
  return {dq, dk, dv};
}

/// Why cuDNN would have no plan, as its documentation says.
std::optional<std::string> CudnnGraph::plan(const PlanRules& rules) {
  const DType io = parts_->io;
  const Index channel_multiple = io == DType::f32 ? 4 : 8;
  for (const TensorLayout& layout : parts_->bound_layouts) {
    const bool is_image = layout.dims.size() == 4 && layout.dtype == io;
    if ((parts_->has_norm || parts_->has_normed_convolution) && is_image && layout.dims[1] % channel_multiple != 0) {
      return "emulated: the channels are no multiple of " + std::to_string(channel_multiple);
    }
  }
  if (parts_->has_normed_convolution && io != DType::f16) return "emulated: fp16 only";
  if (parts_->has_attention && io == DType::f32) return "emulated: no flash attention in fp32";
  parts_->plan_names = {"emulated_eng0", "emulated_eng1"};
  parts_->workspace = std::min<std::size_t>(rules.workspace_limit, 4096);
  return std::nullopt;
}

const std::vector<std::string>& CudnnGraph::plan_names() const { return parts_->plan_names; }
bool CudnnGraph::build(std::size_t) { return true; }
std::size_t CudnnGraph::workspace_bytes(std::size_t) const { return parts_->workspace; }
std::span<const TensorLayout> CudnnGraph::bound() const { return parts_->bound_layouts; }

void CudnnGraph::run(std::size_t, std::span<void* const> pointers, void* workspace) const {
  invariant(pointers.size() == parts_->bound.size(), "a cuDNN graph is bound wrongly");
  emulation::enqueue(parts_->handle->stream,
                     [this, workspace, p = std::vector<void*>(pointers.begin(), pointers.end())] {
                       if (parts_->workspace > 0)
                         std::memset(workspace, 0xff, parts_->workspace);  // it is the library's to overwrite
                       parts_->run(p);
                     });
}

}  // namespace ptrain::cuda
