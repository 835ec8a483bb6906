// The fused parameter update on the CPU: every segment is split over the threads, in one pass over memory.
#include "core/ops/training/optimizer_update.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/training/optimizer_buffers.h"

#include <stdexcept>

namespace ptrain::cpu {
namespace {

template <typename Grad, typename Low>
void write_low(const ParameterRun<Grad, Low>& r) {
  if (r.low == nullptr) return;
  for (std::int64_t i = 0; i < r.count; ++i) r.low[i] = Low(r.p[i]);
}

template <typename Grad, typename Low>
void update_momentum(const ParameterRun<Grad, Low>& r, const OptimizerSettings& s, const StepFactors& f, float decay,
                     float lr) {
  if (r.m == nullptr) {
    for (std::int64_t i = 0; i < r.count; ++i) {
      float velocity = 0.0f;
      momentum_step(r.p[i], static_cast<float>(r.g[i]) * f.gradient_scale, velocity, lr, 0.0f, decay, false);
    }
    return;
  }
  const bool nesterov = s.nesterov;
  for (std::int64_t i = 0; i < r.count; ++i) {
    momentum_step(r.p[i], static_cast<float>(r.g[i]) * f.gradient_scale, r.m[i], lr, s.momentum, decay, nesterov);
  }
}

template <typename Grad, typename Low>
void update_adamw(const ParameterRun<Grad, Low>& r, const OptimizerSettings& s, const StepFactors& f, float decay) {
  // Local copies, which stores cannot alias: otherwise the loop is not vectorized.
  const float beta1 = s.beta1, beta2 = s.beta2, epsilon = s.epsilon, lr = f.lr;
  const float scale = f.gradient_scale, correction1 = f.correction1, correction2 = f.correction2;
  for (std::int64_t i = 0; i < r.count; ++i) {
    const float gradient = static_cast<float>(r.g[i]) * scale;
    const float direction = adam_direction(gradient, r.m[i], r.v[i], beta1, beta2, epsilon, correction1, correction2);
    r.p[i] = adamw_step(r.p[i], direction, lr, decay);
  }
}

template <typename Grad, typename Low>
void update_adam(const ParameterRun<Grad, Low>& r, const OptimizerSettings& settings, const StepFactors& factors,
                 float decay) {
  const OptimizerSettings s = settings;  // copies, as above
  const StepFactors f = factors;
  for (std::int64_t i = 0; i < r.count; ++i) {
    r.p[i] = adam_step(r.p[i], static_cast<float>(r.g[i]) * f.gradient_scale, r.m[i], r.v[i], s, f, decay);
  }
}

template <typename Grad, typename Low>
void update_adagrad(const ParameterRun<Grad, Low>& r, const OptimizerSettings& s, const StepFactors& f, float decay) {
  const float lr = f.lr, scale = f.gradient_scale, initial = s.initial_accumulator, epsilon = s.epsilon;
  for (std::int64_t i = 0; i < r.count; ++i) {
    r.p[i] = adagrad_step(r.p[i], static_cast<float>(r.g[i]) * scale, r.m[i], lr, decay, initial, epsilon);
  }
}

template <bool with_velocity, bool centered, typename Grad, typename Low>
void update_rmsprop_as(const ParameterRun<Grad, Low>& r, const OptimizerSettings& settings, const StepFactors& f,
                       float decay) {
  const OptimizerSettings s = settings;
  const float lr = f.lr, scale = f.gradient_scale;
  float* const velocity = with_velocity ? r.v : nullptr;
  float* const mean = centered ? (with_velocity ? r.w : r.v) : nullptr;
  for (std::int64_t i = 0; i < r.count; ++i) {
    r.p[i] = rmsprop_step(s, r.p[i], static_cast<float>(r.g[i]) * scale, lr, decay, r.m[i],
                          with_velocity ? velocity + i : nullptr, centered ? mean + i : nullptr);
  }
}

template <typename Grad, typename Low>
void update_rmsprop(const ParameterRun<Grad, Low>& r, const OptimizerSettings& s, const StepFactors& f, float decay) {
  if (s.momentum > 0.0f) {
    s.centered ? update_rmsprop_as<true, true>(r, s, f, decay) : update_rmsprop_as<true, false>(r, s, f, decay);
  } else {
    s.centered ? update_rmsprop_as<false, true>(r, s, f, decay) : update_rmsprop_as<false, false>(r, s, f, decay);
  }
}

/// Updates a range of a parameter with any optimizer that treats elements independently.
template <typename Grad, typename Low>
void update_run(const ParameterRun<Grad, Low>& r, const OptimizerSettings& s, const StepFactors& f, float decay,
                float lr) {
  switch (s.kind) {
    case OptimizerKind::adamw:
      return update_adamw(r, s, f, decay);
    case OptimizerKind::adam:
      return update_adam(r, s, f, decay);
    case OptimizerKind::adagrad:
      return update_adagrad(r, s, f, decay);
    case OptimizerKind::rmsprop:
      return update_rmsprop(r, s, f, decay);
    case OptimizerKind::momentum:
    case OptimizerKind::sgd:
    case OptimizerKind::lars:
      return update_momentum(r, s, f, decay, lr);
    case OptimizerKind::lamb:
    case OptimizerKind::muon:
      break;
  }
  throw std::logic_error("internal error: an optimizer that needs whole parameters");
}

class OptimizerUpdateKernel final : public Kernel {
 public:
  explicit OptimizerUpdateKernel(const KernelContext& context)
      : op_(context.op_as<OptimizerUpdate>()),
        low_dtype_(context.inputs[OptimizerUpdate::low].dtype),
        grad_low_dtype_(context.inputs[OptimizerUpdate::grad_low].dtype) {}

  void run(const KernelArgs& args) override {
    using Input = OptimizerUpdate::Input;
    const auto in = [&](std::size_t input) { return static_cast<float*>(args.inputs[input]); };
    StepFactors factors;
    if (!begin_step(op_.settings(), in(Input::learning_rate), in(Input::grad_norm), in(Input::loss_scale),
                    in(Input::updates), op_.counted(), factors))
      return;
    const OptimizerBuffers buffers = optimizer_buffers(args.inputs);
    for (const ParameterSegment& segment : op_.segments()) {
      if (segment.low_offset < 0) {
        update<float, float>(buffers, segment, factors);
      } else if (low_dtype_ == DType::bf16) {
        update_low<bf16>(buffers, segment, factors);
      } else {
        update_low<f16>(buffers, segment, factors);
      }
    }
  }

 private:
  /// Gradients of a low-precision parameter are in low precision, or in fp32 after accumulation.
  template <typename Low>
  void update_low(const OptimizerBuffers& b, const ParameterSegment& segment, const StepFactors& f) const {
    if (grad_low_dtype_ == DType::f32) {
      update<float, Low>(b, segment, f);
    } else {
      update<Low, Low>(b, segment, f);
    }
  }

  template <typename Grad, typename Low>
  void update(const OptimizerBuffers& b, const ParameterSegment& segment, const StepFactors& f) const {
    const OptimizerSettings& s = op_.settings();
    const float decay = segment.decay ? s.weight_decay : 0.0f;
    float lr = f.lr;
    if (s.kind == OptimizerKind::lars && segment.decay)
      lr *= trust_ratio(parameter_run<Grad, Low>(b, segment, 0, segment.count), f);
    if (s.kind == OptimizerKind::lamb) {
      update_lamb(parameter_run<Grad, Low>(b, segment, 0, segment.count), segment, f);
      return;
    }
    parallel_for(segment.count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t block = 4096;  // small enough to copy to low precision from cache
      for (std::int64_t at = begin; at < end; at += block) {
        const auto r = parameter_run<Grad, Low>(b, segment, at, std::min(end, at + block));
        update_run(r, s, f, decay, lr);
        write_low(r);
      }
    });
  }

  /// LARS's factor for one parameter.
  template <typename Grad, typename Low>
  float trust_ratio(const ParameterRun<Grad, Low>& r, const StepFactors& f) const {
    double p2 = 0, g2 = 0;
    for (std::int64_t i = 0; i < r.count; ++i) {
      const double g = static_cast<double>(static_cast<float>(r.g[i]) * f.gradient_scale);
      p2 += static_cast<double>(r.p[i]) * r.p[i];
      g2 += g * g;
    }
    return lars_ratio(op_.settings(), p2, g2);
  }

  /// LAMB: the Adam direction plus decay, scaled per parameter.
  template <typename Grad, typename Low>
  void update_lamb(const ParameterRun<Grad, Low>& r, const ParameterSegment& segment, const StepFactors& f) const {
    const OptimizerSettings& s = op_.settings();
    const float decay = segment.decay ? s.weight_decay : 0.0f;
    auto direction = [&](std::int64_t i) {
      return adam_direction(r.m[i], r.v[i], s.epsilon, f.correction1, f.correction2) + decay * r.p[i];
    };
    double p2 = 0, d2 = 0;
    for (std::int64_t i = 0; i < r.count; ++i) {
      adam_direction(static_cast<float>(r.g[i]) * f.gradient_scale, r.m[i], r.v[i], s.beta1, s.beta2, s.epsilon,
                     f.correction1, f.correction2);
      const double d = static_cast<double>(direction(i));
      p2 += static_cast<double>(r.p[i]) * r.p[i];
      d2 += d * d;
    }
    const float rate = f.lr * (segment.decay ? lamb_ratio(p2, d2) : 1.0f);
    for (std::int64_t i = 0; i < r.count; ++i) r.p[i] -= rate * direction(i);
    write_low(r);
  }

  const OptimizerUpdate& op_;
  DType low_dtype_;
  DType grad_low_dtype_;
};

}  // namespace

std::unique_ptr<Kernel> make_optimizer_update(const KernelContext& context) {
  return std::make_unique<OptimizerUpdateKernel>(context);
}

}  // namespace ptrain::cpu
