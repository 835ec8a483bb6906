// cuDNN as far as the backend sees it: CudnnGraph, evaluated operation by operation in f32. Values are rounded where
// cuDNN's graphs say so and when they leave a graph.
#include "core/base/errors.h"
#include "tests/emulation/cudnn_graph_parts.h"
#include "tests/emulation/emulated_stream.h"
#include "tests/emulation/faults.h"
#include "tests/emulation/pointer_checks.h"

#include <cudnn.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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

using emulation::Bound;
using emulation::Index;
using emulation::State;
using emulation::Values;

std::array<Index, 4> extents(const TensorLayout& layout) {
  return {layout.dims[0], layout.dims[1], layout.dims[2], layout.dims[3]};
}

float rounded(DType dtype, float value) {
  if (!is_floating(dtype)) return value;
  return visit_floating(dtype, [&](auto zero) { return static_cast<float>(decltype(zero)(value)); });
}

/// Calls visit(T{}) with the type of the elements.
template <typename Visit>
void visit_elements(DType dtype, Visit&& visit) {
  if (dtype == DType::i32) return visit(std::int32_t{});
  if (dtype == DType::i64) return visit(std::int64_t{});
  visit_floating(dtype, std::forward<Visit>(visit));
}

/// Calls visit(place in memory, place among the values) for each element of a bound tensor; of a ragged one for those
/// of its sequences as far as they reach.
template <typename Visit>
void for_elements(const State& state, const Bound& b, const Values& values, Visit&& visit) {
  const Index c_stride = b.layout.strides[1], h_stride = b.layout.strides[2], w_stride = b.layout.strides[3];
  for (Index n = 0; n < values.dims[0]; ++n) {
    Index begin = n * b.layout.strides[0], rows = values.dims[2];
    if (b.offsets) {
      const Values& offsets = state[*b.offsets];
      begin = static_cast<Index>(offsets.at(n, 0, 0, 0));
      rows = std::min(rows, (static_cast<Index>(offsets.at(n + 1, 0, 0, 0)) - begin) / h_stride);
    }
    for (Index h = 0; h < rows; ++h)
      for (Index w = 0; w < values.dims[3]; ++w) {
        const Index from = begin + h * h_stride + w * w_stride;
        const std::size_t place = values.place(n, 0, h, w);
        for (Index c = 0; c < values.dims[1]; ++c) visit(from + c * c_stride, place + static_cast<std::size_t>(c));
      }
  }
}

/// The position of bit `at` of a mask in its byte.
int get_bit(Index at) { return static_cast<int>(emulation::fails("order of masks") ? 7 - at % 8 : at % 8); }

void read(State& state, const Bound& b, const void* memory) {
  Values values(extents(b.layout));
  if (b.layout.is_mask) {
    const auto* bytes = static_cast<const std::uint8_t*>(memory);
    for_elements(state, b, values, [&](Index at, std::size_t i) {
      values.data[i] = static_cast<float>(bytes[at / 8] >> get_bit(at) & 1);
    });
    state[b.tensor] = std::move(values);
    return;
  }
  visit_elements(b.layout.dtype, [&](auto zero) {
    const auto* from = static_cast<const decltype(zero)*>(memory);
    for_elements(state, b, values, [&](Index at, std::size_t i) { values.data[i] = static_cast<float>(from[at]); });
  });
  state[b.tensor] = std::move(values);
}

void write(const State& state, const Bound& b, void* memory) {
  const Values& values = state[b.tensor];
  invariant(values.dims == extents(b.layout), "an output of an emulated cuDNN graph is bound with another shape");
  if (b.layout.is_mask) {
    auto* bytes = static_cast<std::uint8_t*>(memory);
    for_elements(state, b, values, [&](Index at, std::size_t i) {
      const int bit = 1 << get_bit(at);
      bytes[at / 8] = static_cast<std::uint8_t>(values.data[i] != 0 ? bytes[at / 8] | bit : bytes[at / 8] & ~bit);
    });
    return;
  }
  visit_elements(b.layout.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* to = static_cast<T*>(memory);
    for_elements(state, b, values, [&](Index at, std::size_t i) { to[at] = static_cast<T>(values.data[i]); });
  });
}

/// Calls visit(x, w, count, y) for every sum of `count` products x[i] w[i], side by side, that a convolution adds to y.
template <typename X, typename W, typename Y, typename Visit>
void for_products(const Conv2dAttributes& conv, X& x, W& w, Y& y, Visit&& visit) {
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
              auto* xs = &x.data[x.place(n, k / group_outputs * group_inputs, h, v)];
              auto* ws = &w.data[w.place(k, 0, r, s)];
              visit(xs, ws, group_inputs, y.data[y.place(n, k, p, q)]);
            }
          }
}

void add_multiple(float* sums, const float* values, Index count, float factor) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) sums[i] += factor * values[i];
}

/// One value for each of C channels.
std::array<Index, 4> per_channel_extents(Index channels) { return {1, channels, 1, 1}; }

}  // namespace

void CudnnGraph::Parts::run(const std::vector<void*>& pointers) const {
  State state(tensors);
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

CudnnTarget CudnnTarget::described(const std::string&, int) { return {}; }

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
  for (Bound& bound : parts_->bound) {
    if (bound.tensor == tensor) bound.offsets = offsets;
  }
}
CudnnGraph::Tensor CudnnGraph::constant(float value) {
  return parts_->add_operation([=](const State&) {
    Values one({1, 1, 1, 1});
    one.data[0] = value;
    return one;
  });
}

CudnnGraph::Tensor CudnnGraph::convolution(Tensor x, Tensor w, const Conv2dAttributes& conv) {
  parts_->has_convolution = true;
  return parts_->add_operation([=](const State& state) {
    const Values &data = state[x], &weights = state[w];
    Values y({data.dims[0], weights.dims[0], conv.output_size(data.dims[2], weights.dims[2]),
              conv.output_size(data.dims[3], weights.dims[3])});
    for_products(conv, data, weights, y, [](const float* a, const float* b, Index count, float& result) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (Index i = 0; i < count; ++i) sum += a[i] * b[i];
      result += sum;
    });
    return y;
  });
}

CudnnGraph::Tensor CudnnGraph::convolution_grad_input(Tensor dy, Tensor w, const Conv2dAttributes& conv,
                                                      const TensorLayout& layout) {
  return parts_->add_operation([=](const State& state) {
    Values dx(extents(layout));
    for_products(conv, dx, state[w], state[dy], add_multiple);
    return dx;
  });
}

CudnnGraph::Tensor CudnnGraph::convolution_grad_weight(Tensor x, Tensor dy, const Conv2dAttributes& conv,
                                                       const TensorLayout& layout) {
  return parts_->add_operation([=](const State& state) {
    Values dw(extents(layout));
    for_products(conv, state[x], dw, state[dy],
                 [](const float* a, float* sums, Index count, float g) { add_multiple(sums, a, count, g); });
    return dw;
  });
}

template <typename Function>
CudnnGraph::Tensor CudnnGraph::Parts::pointwise(Tensor a, Tensor b, DType dtype, Function&& function) {
  has_pointwise = true;
  const Tensor result = add_operation([=](const State& state) {
    const Values &x = state[a], &y = state[b];
    Values z(x.data.size() >= y.data.size() ? x.dims : y.dims);
    z.each([&](Index n, Index c, Index h, Index w) {
      z.at(n, c, h, w) = rounded(dtype, function(x.spread(n, c, h, w), y.spread(n, c, h, w)));
    });
    return z;
  });
  first_operands[result] = a;
  return result;
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
  const auto [mean, invstd] = parts_->add_operation<2>([=](const State& state) {
    const Values& data = state[x];
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
    return std::array{std::move(means), std::move(inverses)};
  });
  return {normalize(x, mean, invstd, gamma, beta), mean, invstd};
}

CudnnGraph::Tensor CudnnGraph::normalize(Tensor x, Tensor mean, Tensor invstd, Tensor gamma, Tensor beta) {
  return add(scale(scale(subtract(x, mean), invstd), gamma), beta);
}

CudnnGraph::NormGradients CudnnGraph::batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor invstd) {
  parts_->has_norm = true;
  // As seen on an H100: one operation lies between the gradient in memory and the norm.
  parts_->lacks_gradient = !parts_->is_input(dy) && !parts_->is_input(parts_->first_operands.at(dy));
  const auto sums = batch_norm_grad_sums(dy, x, mean, invstd, gamma);
  return {add(add(scale(dy, sums[2]), scale(x, sums[3])), sums[4]), sums[0], sums[1]};
}

CudnnGraph::Sums CudnnGraph::channel_sums(Tensor x) {
  parts_->has_conv_batch_norm = true;
  const auto [sum, sum_of_squares] = parts_->add_operation<2>([=](const State& state) {
    const Values& data = state[x];
    Values sums(per_channel_extents(data.channels())), squares = sums;
    data.each([&](Index n, Index c, Index h, Index w) {
      const float v = data.at(n, c, h, w);
      sums.at(0, c, 0, 0) += v;
      squares.at(0, c, 0, 0) += v * v;
    });
    return std::array{std::move(sums), std::move(squares)};
  });
  return {sum, sum_of_squares};
}

std::array<CudnnGraph::Tensor, 5> CudnnGraph::batch_norm_grad_sums(Tensor dy, Tensor x, Tensor mean, Tensor invstd,
                                                                   Tensor gamma) {
  return parts_->add_operation<5>([=](const State& state) {
    const Values &gradient = state[dy], &data = state[x], &m = state[mean], &r = state[invstd], &g = state[gamma];
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
    return values;
  });
}

/// Why cuDNN would have no plan, as its documentation says.
std::optional<std::string> CudnnGraph::plan(const EngineRules& rules) {
  const DType io = parts_->io;
  const Index channel_multiple = io == DType::f32 ? 4 : 8;
  for (const TensorLayout& layout : parts_->bound_layouts) {
    const bool is_image = layout.dims.size() == 4 && layout.dtype == io;
    if ((parts_->has_norm || parts_->has_conv_batch_norm) && is_image && layout.dims[1] % channel_multiple != 0) {
      return "emulated: the channels are no multiple of " + std::to_string(channel_multiple);
    }
  }
  if (parts_->has_conv_batch_norm && io != DType::f16) return "emulated: fp16 only";
  const bool has_tail = parts_->has_convolution && parts_->has_pointwise && !parts_->has_conv_batch_norm;
  const bool has_bias = std::any_of(parts_->bound_layouts.begin(), parts_->bound_layouts.end(), [](const auto& layout) {
    return layout.dims[0] == 1 && layout.dims[2] == 1 && layout.dims[3] == 1;
  });
  if (has_tail && !has_bias) return "emulated: what follows a convolution has a bias";
  if (parts_->has_attention && io == DType::f32) return "emulated: no flash attention in fp32";
  if (!parts_->draws.empty() && emulation::fails("draw of " + parts_->draws)) return "emulated: no dropout";
  parts_->plan_names = {"emulated_eng0", "emulated_eng1"};
  parts_->workspace = std::min<std::size_t>(rules.workspace_limit, 4096);
  return std::nullopt;
}

const std::vector<std::string>& CudnnGraph::plan_names() const { return parts_->plan_names; }
bool CudnnGraph::build(std::size_t) {
  emulation::refuse_beside_collectives("a plan is built");
  if (emulation::fails("compilation")) return false;
  return !parts_->has_norm || !emulation::fails("lonely compilation") || emulation::has_company();
}
std::string CudnnGraph::structure() const { return "emulated"; }
std::vector<std::uint8_t> CudnnGraph::save() const {
  return std::vector<std::uint8_t>(emulation::fails("saving") ? 0 : parts_->workspace);
}
bool CudnnGraph::restore(const std::string& name, const std::vector<std::uint8_t>& saved) {
  parts_->plan_names = {name};
  parts_->workspace = saved.size();
  return true;
}
std::size_t CudnnGraph::workspace_bytes(std::size_t) const { return parts_->workspace; }
std::span<const TensorLayout> CudnnGraph::bound() const { return parts_->bound_layouts; }

void CudnnGraph::run(std::size_t plan, std::span<void* const> pointers, void* workspace) const {
  if (emulation::fails("plan " + parts_->plan_names[plan])) fail("cuDNN: {}: emulated", parts_->plan_names[plan]);
  if (parts_->lacks_gradient) fail("cuDNN: {}: emulated: nullptr == params.gmem_dy", parts_->plan_names[plan]);
  invariant(pointers.size() == parts_->bound.size(), "a cuDNN graph is run with the wrong tensors");
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const std::size_t bytes = parts_->bound[i].offsets ? 16 : bound()[i].span_bytes();  // ragged: what offsets say
    emulation::require_device_memory("a tensor of a cuDNN graph", pointers[i], bytes, 16);
  }
  if (parts_->workspace > 0) {
    emulation::require_device_memory("a cuDNN graph's workspace", workspace, parts_->workspace, 16);
  }
  emulation::enqueue(parts_->handle->stream,
                     [this, workspace, p = std::vector<void*>(pointers.begin(), pointers.end())] {
                       if (parts_->workspace > 0)
                         std::memset(workspace, 0xff, parts_->workspace);  // it is the library's to overwrite
                       parts_->run(p);
                     });
}

}  // namespace ptrain::cuda
