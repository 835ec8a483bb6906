// What CudnnGraph's operations are made of: values in f32, and functions that compute them from one another.
#pragma once

#include "core/cuda/library/cudnn_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace emulation {

using Index = std::int64_t;
using Tensor = ptrain::cuda::CudnnGraph::Tensor;

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
  /// The element that is broadcast to (n,c,h,w) from extents of 1.
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

/// The values of a graph under way.
class State {
 public:
  explicit State(std::size_t tensors) : values_(tensors) {}
  Values& operator[](Tensor tensor) { return values_[static_cast<std::size_t>(tensor)]; }
  const Values& operator[](Tensor tensor) const { return values_[static_cast<std::size_t>(tensor)]; }

 private:
  std::vector<Values> values_;
};

/// A tensor in memory, which run() takes a pointer for.
struct Bound {
  Tensor tensor;
  ptrain::cuda::TensorLayout layout;
  bool is_output;
  std::optional<Tensor> offsets = {};  // of a ragged tensor
};

}  // namespace emulation

namespace ptrain::cuda {

struct CudnnGraph::Parts {
  using State = emulation::State;
  using Values = emulation::Values;

  cudnnHandle_t handle = nullptr;
  DType io = DType::f32;
  std::size_t tensors = 0;
  std::size_t workspace = 0;
  std::vector<emulation::Bound> bound;
  std::vector<TensorLayout> bound_layouts;
  std::vector<std::function<void(State&)>> operations;
  std::vector<std::string> plan_names;
  // What cuDNN's limits depend on.
  bool has_convolution = false, has_pointwise = false, has_norm = false, has_conv_batch_norm = false,
       has_attention = false;
  std::string draws;                        // the operation that draws dropout, if there is one
  std::map<Tensor, Tensor> first_operands;  // of pointwise operations
  bool lacks_gradient = false;              // planned, and not to be run

  bool is_input(Tensor tensor) const {
    return std::any_of(bound.begin(), bound.end(), [=](const auto& b) { return b.tensor == tensor && !b.is_output; });
  }

  Tensor add() { return static_cast<Tensor>(tensors++); }

  /// Adds an operation: `compute(const State&)` gives the values of N new tensors.
  template <std::size_t N, typename Compute>
  std::array<Tensor, N> add_operation(Compute&& compute) {
    std::array<Tensor, N> results;
    for (Tensor& result : results) result = add();
    operations.push_back([=](State& state) {
      std::array<Values, N> values = compute(std::as_const(state));
      for (std::size_t i = 0; i < N; ++i) state[results[i]] = std::move(values[i]);
    });
    return results;
  }
  template <typename Compute>
  Tensor add_operation(Compute&& compute) {
    return add_operation<1>([=](const State& state) { return std::array<Values, 1>{compute(state)}; })[0];
  }

  /// function(a, b) for each pair of elements, with extents of 1 spread; rounded to `dtype`.
  template <typename Function>
  Tensor pointwise(Tensor a, Tensor b, DType dtype, Function&& function);

  void run(const std::vector<void*>& pointers) const;
};

}  // namespace ptrain::cuda
