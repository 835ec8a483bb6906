// The fused parameter update: the flat buffers are divided into chunks within single parameters, one block each. LARS
// and LAMB need norms per parameter first: chunks write partial sums, which are added in order.
#include "core/ops/training/optimizer_update.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/device_array.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/step_state.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

constexpr std::int64_t chunk_elements = 8192;

/// A parameter's part of the flat buffers, and its chunks.
struct Segment {
  ParameterSegment part;
  std::int32_t first_chunk;
  std::int32_t chunks;
};

/// The flat buffers and tables, as kernel arguments.
struct Buffers {
  OptimizerBuffers flat;
  const Segment* segments;
  const std::int32_t* chunk_segments;
  const StepState* state;
  double2* partials;  // by chunk: sums of squares of the parameter and of the gradient or direction
  float* ratios;      // by segment
};

/// This block's chunk.
template <typename Grad, typename Low>
__device__ ParameterRun<Grad, Low> this_chunk(const Buffers& b, const Segment& s) {
  const std::int64_t begin =
      static_cast<std::int64_t>(static_cast<std::int32_t>(blockIdx.x) - s.first_chunk) * chunk_elements;
  const std::int64_t end = begin + chunk_elements;
  return parameter_run<Grad, Low>(b.flat, s.part, begin, end < s.part.count ? end : s.part.count);
}

/// Calls body(first element, integral_constant) for each n elements that this thread has in the chunk, then for the
/// remaining single elements.
template <int n, typename Body>
__device__ void for_elements(std::int64_t count, Body&& body) {
  for (std::int64_t i = static_cast<std::int64_t>(threadIdx.x) * n; i + n <= count; i += block_threads * n) {
    body(i, std::integral_constant<int, n>{});
  }
  for (std::int64_t i = count / n * n + threadIdx.x; i < count; i += block_threads) {
    body(i, std::integral_constant<int, 1>{});
  }
}

template <int n, typename Grad, typename Low>
__device__ void store_parameters(const ParameterRun<Grad, Low>& c, std::int64_t i, const float (&p)[n]) {
  store(c.p + i, p);
  if (c.low != nullptr) store(c.low + i, p);
}

template <int n, typename Grad, typename Low>
__device__ void update_momentum(const ParameterRun<Grad, Low>& c, const OptimizerSettings& s, const StepFactors& f,
                                float decay, float lr) {
  const float momentum = c.m == nullptr ? 0.0f : s.momentum;
  const bool nesterov = c.m != nullptr && s.nesterov;
  for_elements<n>(c.count, [&](std::int64_t i, auto size) {
    constexpr int w = decltype(size)::value;
    float p[w], g[w], m[w] = {};
    load(c.p + i, p);
    load(c.g + i, g);
    if (c.m != nullptr) load(c.m + i, m);
#pragma unroll
    for (int k = 0; k < w; ++k) momentum_step(p[k], g[k] * f.gradient_scale, m[k], lr, momentum, decay, nesterov);
    if (c.m != nullptr) store(c.m + i, m);
    store_parameters(c, i, p);
  });
}

template <int n, typename Grad, typename Low>
__device__ void update_adamw(const ParameterRun<Grad, Low>& c, const OptimizerSettings& s, const StepFactors& f,
                             float decay) {
  for_elements<n>(c.count, [&](std::int64_t i, auto size) {
    constexpr int w = decltype(size)::value;
    float p[w], g[w], m[w], v[w];
    load(c.p + i, p);
    load(c.g + i, g);
    load(c.m + i, m);
    load(c.v + i, v);
#pragma unroll
    for (int k = 0; k < w; ++k) {
      const float direction = adam_direction(g[k] * f.gradient_scale, m[k], v[k], s.beta1, s.beta2, s.epsilon,
                                             f.correction1, f.correction2);
      p[k] = adamw_step(p[k], direction, f.lr, decay);
    }
    store(c.m + i, m);
    store(c.v + i, v);
    store_parameters(c, i, p);
  });
}

/// Any optimizer that treats elements independently, in registers.
template <int n, typename Grad, typename Low>
__device__ void update_elements(const ParameterRun<Grad, Low>& c, const OptimizerSettings& s, const StepFactors& f,
                                float decay) {
  for_elements<n>(c.count, [&](std::int64_t i, auto size) {
    constexpr int w = decltype(size)::value;
    float p[w], g[w], first[w] = {}, second[w] = {}, third[w] = {};
    load(c.p + i, p);
    load(c.g + i, g);
    if (c.m != nullptr) load(c.m + i, first);
    if (c.v != nullptr) load(c.v + i, second);
    if (c.w != nullptr) load(c.w + i, third);
#pragma unroll
    for (int k = 0; k < w; ++k) {
      const Moments moments{c.m == nullptr ? nullptr : first + k, c.v == nullptr ? nullptr : second + k,
                            c.w == nullptr ? nullptr : third + k};
      update_element(s, f, decay, g[k], p + k, moments);
    }
    if (c.m != nullptr) store(c.m + i, first);
    if (c.v != nullptr) store(c.v + i, second);
    if (c.w != nullptr) store(c.w + i, third);
    store_parameters(c, i, p);
  });
}

/// LAMB's second half: the moments are already updated.
template <int n, typename Grad, typename Low>
__device__ void update_lamb(const ParameterRun<Grad, Low>& c, const OptimizerSettings& s, const StepFactors& f,
                            float decay, float rate) {
  for_elements<n>(c.count, [&](std::int64_t i, auto size) {
    constexpr int w = decltype(size)::value;
    float p[w], m[w], v[w];
    load(c.p + i, p);
    load(c.m + i, m);
    load(c.v + i, v);
#pragma unroll
    for (int k = 0; k < w; ++k) {
      p[k] -= rate * (adam_direction(m[k], v[k], s.epsilon, f.correction1, f.correction2) + decay * p[k]);
    }
    store_parameters(c, i, p);
  });
}

/// The sums of squares that LARS and LAMB scale by; also updates LAMB's moments.
template <int n, typename Grad, typename Low>
__device__ void sum_squares(const ParameterRun<Grad, Low>& c, const OptimizerSettings& s, const StepFactors& f,
                            float decay, double2* partial) {
  const bool lamb = s.kind == OptimizerKind::lamb;
  double parameters = 0, others = 0;
  for_elements<n>(c.count, [&](std::int64_t i, auto size) {
    constexpr int w = decltype(size)::value;
    float p[w], g[w], m[w] = {}, v[w] = {};
    load(c.p + i, p);
    load(c.g + i, g);
    if (lamb) {
      load(c.m + i, m);
      load(c.v + i, v);
    }
#pragma unroll
    for (int k = 0; k < w; ++k) {
      float other = g[k] * f.gradient_scale;
      if (lamb) {
        other =
            adam_direction(other, m[k], v[k], s.beta1, s.beta2, s.epsilon, f.correction1, f.correction2) + decay * p[k];
      }
      parameters += static_cast<double>(p[k]) * static_cast<double>(p[k]);
      others += static_cast<double>(other) * static_cast<double>(other);
    }
    if (lamb) {
      store(c.m + i, m);
      store(c.v + i, v);
    }
  });
  const double parameter_total = block_sum(parameters);
  const double other_total = block_sum(others);
  if (threadIdx.x == 0) *partial = {parameter_total, other_total};
}

enum class Pass { squares, update };

template <Pass pass, int n, typename Grad, typename Low>
__device__ void run_chunk(const Buffers& b, const OptimizerSettings& s, const Segment& segment, float ratio) {
  const ParameterRun<Grad, Low> c = this_chunk<Grad, Low>(b, segment);
  const StepFactors f = b.state->factors;
  const float decay = segment.part.decay ? s.weight_decay : 0.0f;
  if constexpr (pass == Pass::squares) {
    sum_squares<n>(c, s, f, decay, b.partials + blockIdx.x);
  } else if (s.kind == OptimizerKind::lamb) {
    update_lamb<n>(c, s, f, decay, f.lr * ratio);
  } else if (s.kind == OptimizerKind::adamw) {
    update_adamw<n>(c, s, f, decay);
  } else if (s.kind == OptimizerKind::adam || s.kind == OptimizerKind::adagrad || s.kind == OptimizerKind::rmsprop) {
    update_elements<n>(c, s, f, decay);
  } else {
    update_momentum<n>(c, s, f, decay, f.lr * ratio);
  }
}

/// n is a pack, or 1 where offsets do not allow packs.
template <Pass pass, int n, typename GradLow, typename Low>
__global__ void __launch_bounds__(block_threads) chunks_kernel(Buffers b, OptimizerSettings s) {
  if (b.state->skip != 0) return;
  const std::int32_t index = b.chunk_segments[blockIdx.x];
  const Segment segment = b.segments[index];
  const float ratio = pass == Pass::update && b.ratios != nullptr ? b.ratios[index] : 1.0f;
  if (segment.part.low_offset < 0) {
    run_chunk<pass, n, float, float>(b, s, segment, ratio);
  } else {
    run_chunk<pass, n, GradLow, Low>(b, s, segment, ratio);
  }
}

/// Each parameter's factor for the learning rate; 1 where decay does not apply.
__global__ void __launch_bounds__(block_threads) ratios_kernel(Buffers b, OptimizerSettings s) {
  if (b.state->skip != 0) return;
  const Segment segment = b.segments[blockIdx.x];
  double parameters = 0, others = 0;
  for (int i = static_cast<int>(threadIdx.x); i < segment.chunks; i += block_threads) {
    parameters += b.partials[segment.first_chunk + i].x;
    others += b.partials[segment.first_chunk + i].y;
  }
  const double parameter_total = block_sum(parameters);
  const double other_total = block_sum(others);
  if (threadIdx.x != 0) return;
  float ratio = 1.0f;
  if (segment.part.decay) {
    ratio = s.kind == OptimizerKind::lars ? lars_ratio(s, parameter_total, other_total)
                                          : lamb_ratio(parameter_total, other_total);
  }
  b.ratios[blockIdx.x] = ratio;
}

std::vector<Segment> cut(std::span<const ParameterSegment> parts) {
  std::vector<Segment> segments;
  std::int32_t chunks = 0;
  for (const ParameterSegment& part : parts) {
    const auto count = static_cast<std::int32_t>((part.count + chunk_elements - 1) / chunk_elements);
    segments.push_back({part, chunks, count});
    chunks += count;
  }
  return segments;
}

std::vector<std::int32_t> segments_of_chunks(std::span<const Segment> segments) {
  std::vector<std::int32_t> indices;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    indices.insert(indices.end(), static_cast<std::size_t>(segments[i].chunks), static_cast<std::int32_t>(i));
  }
  return indices;
}

bool allows_packs(std::span<const ParameterSegment> parts) {
  return std::all_of(parts.begin(), parts.end(), [](const ParameterSegment& part) {
    const std::int64_t low = part.low_offset < 0 ? 0 : part.low_offset;
    return part.master_offset % pack == 0 && part.moment_shift % pack == 0 && part.grad_offset % pack == 0 &&
           low % pack == 0;
  });
}

class OptimizerUpdateKernel final : public Kernel {
 public:
  OptimizerUpdateKernel(const KernelContext& context, Device& device)
      : OptimizerUpdateKernel(context, device, cut(context.op_as<OptimizerUpdate>().segments())) {}

  /// The step's state, then one ratio per segment, then one pair of sums per chunk.
  std::size_t workspace_bytes() const override {
    return partials_offset() + (per_parameter_ ? static_cast<std::size_t>(chunks_) * sizeof(double2) : 0);
  }

  void run(const KernelArgs& args) override {
    using Input = OptimizerUpdate::Input;
    const auto in = [&](int input) { return args.inputs[static_cast<std::size_t>(input)]; };
    auto* workspace = static_cast<std::byte*>(args.workspace);
    auto* state = reinterpret_cast<StepState*>(workspace);
    launch(begin_step_kernel, 1, 1, device_, settings_, static_cast<const float*>(in(Input::learning_rate)),
           static_cast<const float*>(in(Input::grad_norm)), static_cast<const float*>(in(Input::loss_scale)),
           static_cast<float*>(in(Input::updates)), counted_, state);
    if (chunks_ == 0) return;
    const Buffers buffers{optimizer_buffers(args.inputs),
                          segments_.data(),
                          chunk_segments_.data(),
                          state,
                          reinterpret_cast<double2*>(workspace + partials_offset()),
                          per_parameter_ ? reinterpret_cast<float*>(workspace + ratios_offset) : nullptr};
    if (per_parameter_) {
      run_pass<Pass::squares>(buffers);
      launch(ratios_kernel, segment_count_, block_threads, device_, buffers, settings_);
    }
    run_pass<Pass::update>(buffers);
  }

 private:
  static constexpr std::size_t ratios_offset = 64;
  static_assert(sizeof(StepState) <= ratios_offset);

  OptimizerUpdateKernel(const KernelContext& context, Device& device, const std::vector<Segment>& segments)
      : device_(device),
        settings_(context.op_as<OptimizerUpdate>().settings()),
        counted_(context.op_as<OptimizerUpdate>().counted()),
        per_parameter_(settings_.kind == OptimizerKind::lars || settings_.kind == OptimizerKind::lamb),
        packs_(allows_packs(context.op_as<OptimizerUpdate>().segments())),
        low_(context.inputs[OptimizerUpdate::low]),
        grad_low_(context.inputs[OptimizerUpdate::grad_low]),
        segment_count_(static_cast<unsigned>(segments.size())),
        chunks_(segments.empty() ? 0u : static_cast<unsigned>(segments.back().first_chunk + segments.back().chunks)),
        segments_(segments),
        chunk_segments_(segments_of_chunks(segments)) {}

  std::size_t partials_offset() const {
    const std::size_t ratios = per_parameter_ ? segment_count_ * sizeof(float) : 0;
    return ratios_offset + (ratios + sizeof(double2) - 1) / sizeof(double2) * sizeof(double2);
  }

  /// Gradients of a low-precision parameter are in low precision, or in fp32 after accumulation.
  template <Pass pass>
  void run_pass(const Buffers& buffers) {
    if (is_absent(low_)) {
      run_pass_as<pass, float, float>(buffers);
    } else {
      visit_floating(low_.dtype, [&](auto zero) {
        using Low = decltype(zero);
        if (grad_low_.dtype == DType::f32) {
          run_pass_as<pass, float, Low>(buffers);
        } else {
          run_pass_as<pass, Low, Low>(buffers);
        }
      });
    }
  }

  template <Pass pass, typename GradLow, typename Low>
  void run_pass_as(const Buffers& buffers) {
    if (packs_) {
      launch(chunks_kernel<pass, pack, GradLow, Low>, chunks_, block_threads, device_, buffers, settings_);
    } else {
      launch(chunks_kernel<pass, 1, GradLow, Low>, chunks_, block_threads, device_, buffers, settings_);
    }
  }

  Device& device_;
  OptimizerSettings settings_;
  UpdateCount counted_;
  bool per_parameter_;
  bool packs_;
  TensorDesc low_;
  TensorDesc grad_low_;
  unsigned segment_count_;
  unsigned chunks_;
  DeviceArray<Segment> segments_;
  DeviceArray<std::int32_t> chunk_segments_;
};

}  // namespace

std::unique_ptr<Kernel> make_optimizer_update(const KernelContext& context, Device& device) {
  return std::make_unique<OptimizerUpdateKernel>(context, device);
}

}  // namespace ptrain::cuda
