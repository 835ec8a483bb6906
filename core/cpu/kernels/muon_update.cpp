// Muon on the CPU: oneDNN's matrix products on a copy of the direction in the workspace.
#include "core/ops/training/muon_update.h"

#include "core/base/parallel.h"
#include "core/base/round_up.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/onednn/onednn_operation.h"
#include "core/ops/math/muon.h"
#include "core/ops/training/optimizer_buffers.h"

#include <array>

namespace ptrain::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

/// A row-major fp32 matrix, or the transpose of one.
struct Matrix {
  std::int64_t rows, columns;
  Tag tag = Tag::ab;

  memory::desc desc() const { return {{rows, columns}, memory::data_type::f32, tag}; }
  Matrix transposed() const { return {columns, rows, tag == Tag::ab ? Tag::ba : Tag::ab}; }
};

/// The product of two matrices in two inputs, or in one input that is both.
std::unique_ptr<OnednnOperation> make_product(const Matrix& left, const Matrix& right) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Matrix out{left.rows, right.columns};
  const auto desc = forward_desc<dnnl::matmul>(engine, user_scratchpad(), left.desc(), right.desc(), out.desc());
  return std::make_unique<OnednnOperation>(
      engine, dnnl::matmul(desc), desc.scratchpad_desc(),
      std::vector<Binding>{{DNNL_ARG_SRC, 0, DType::f32, left.desc(), left.desc()},
                           {DNNL_ARG_WEIGHTS, 1, DType::f32, right.desc(), right.desc()}},
      std::vector<Binding>{{DNNL_ARG_DST, 0, DType::f32, out.desc(), out.desc()}},
      std::string("matmul:") + desc.impl_info_str());
}

class MuonUpdateKernel final : public Kernel {
 public:
  explicit MuonUpdateKernel(const KernelContext& context)
      : attributes_(context.op_as<MuonUpdate>().attrs()),
        low_dtype_(context.inputs[MuonUpdate::Input::low].dtype),
        grad_low_dtype_(context.inputs[MuonUpdate::Input::grad_low].dtype),
        wide_(attributes_.rows <= attributes_.columns) {
    const Matrix x{attributes_.rows, attributes_.columns};
    const Matrix gram{gram_side(attributes_), gram_side(attributes_)};
    gram_ = wide_ ? make_product(x, x.transposed()) : make_product(x.transposed(), x);
    square_ = make_product(gram, gram);
    step_ = wide_ ? make_product(gram, x) : make_product(x, gram);
  }

  std::size_t workspace_bytes() const override {
    std::size_t most = 0;
    for (const auto* product : {&gram_, &square_, &step_}) most = std::max(most, (*product)->workspace_bytes());
    return products_offset() + most;
  }
  KernelRecord record() const override { return step_->record(); }

  void run(const KernelArgs& args) override {
    using Input = MuonUpdate::Input;
    const auto in = [&](std::size_t input) { return static_cast<float*>(args.inputs[input]); };
    StepFactors factors;
    if (!begin_step(attributes_.settings, in(Input::learning_rate), in(Input::grad_norm), in(Input::loss_scale),
                    in(Input::updates), UpdateCount::later, factors))
      return;
    const OptimizerBuffers buffers = optimizer_buffers(args.inputs);
    if (attributes_.segment.low_offset < 0) {
      update<float, float>(buffers, factors, args.workspace);
    } else if (low_dtype_ == DType::bf16) {
      update_low<bf16>(buffers, factors, args.workspace);
    } else {
      update_low<f16>(buffers, factors, args.workspace);
    }
  }

 private:
  std::int64_t gram_count() const { return gram_side(attributes_) * gram_side(attributes_); }
  static std::size_t padded_bytes(std::int64_t count) {
    return round_up(static_cast<std::size_t>(count) * sizeof(float), 64);
  }
  std::size_t products_offset() const {
    return 2 * padded_bytes(attributes_.segment.count) + 2 * padded_bytes(gram_count());
  }

  /// Gradients of a low-precision parameter are in low precision, or in fp32 after accumulation.
  template <typename Low>
  void update_low(const OptimizerBuffers& b, const StepFactors& f, void* workspace) {
    if (grad_low_dtype_ == DType::f32) {
      update<float, Low>(b, f, workspace);
    } else {
      update<Low, Low>(b, f, workspace);
    }
  }

  template <typename Grad, typename Low>
  void update(const OptimizerBuffers& b, const StepFactors& f, void* workspace) {
    const OptimizerSettings& s = attributes_.settings;
    const auto r = parameter_run<Grad, Low>(b, attributes_.segment, 0, attributes_.segment.count);
    auto* x = static_cast<float*>(workspace);
    const float unit = muon_unit_factor(take_in_gradient(r, f, x));
    parallel_for(r.count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) x[i] *= unit;
    });
    orthogonalize(x);
    const float rate = muon_rate(s.muon_scale, f.lr, attributes_.rows, attributes_.columns);
    const float decay = attributes_.segment.decay ? s.weight_decay : 0.0f;
    parallel_for(r.count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        r.p[i] = r.p[i] * (1.0f - f.lr * decay) - rate * x[i];
        if (r.low != nullptr) r.low[i] = Low(r.p[i]);
      }
    });
  }

  /// Computes the direction into x; returns the sum of its squares, added in a fixed order.
  template <typename Grad, typename Low>
  double take_in_gradient(const ParameterRun<Grad, Low>& r, const StepFactors& f, float* x) const {
    const OptimizerSettings s = attributes_.settings;
    constexpr std::int64_t block = 1 << 14;
    std::vector<double> partial(static_cast<std::size_t>((r.count + block - 1) / block));
    parallel_for(static_cast<std::int64_t>(partial.size()), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t at = first; at < last; ++at) {
        double squares = 0;
        for (std::int64_t i = at * block; i < std::min(r.count, (at + 1) * block); ++i) {
          x[i] = muon_momentum(static_cast<float>(r.g[i]) * f.gradient_scale, r.m[i], s.momentum, s.nesterov);
          squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        }
        partial[static_cast<std::size_t>(at)] = squares;
      }
    });
    double squares = 0;
    for (const double part : partial) squares += part;
    return squares;
  }

  /// The Newton-Schulz iteration in place; after x the workspace holds its next value, the Gram matrix and its square.
  void orthogonalize(float* x) {
    const std::size_t size = padded_bytes(attributes_.segment.count) / sizeof(float);
    const std::size_t gram_size = padded_bytes(gram_count()) / sizeof(float);
    float *next = x + size, *gram = next + size, *square = gram + gram_size;
    void* scratch = square + gram_size;
    for (int step = 0; step < NewtonSchulz::steps; ++step) {
      multiply(*gram_, x, x, gram, scratch);
      multiply(*square_, gram, gram, square, scratch);
      combine(gram, NewtonSchulz::b, square, NewtonSchulz::c, gram_count());
      multiply(*step_, wide_ ? gram : x, wide_ ? x : gram, next, scratch);
      combine(x, NewtonSchulz::a, next, 1.0f, attributes_.segment.count);
    }
  }

  static void multiply(OnednnOperation& product, float* left, float* right, float* out, void* scratch) {
    const std::array<void*, 2> inputs{left, right};
    const std::array<void*, 1> outputs{out};
    product.run({inputs, outputs, scratch});
  }

  /// x = a x + b y.
  static void combine(float* x, float a, const float* y, float b, std::int64_t count) {
    parallel_for(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) x[i] = a * x[i] + b * y[i];
    });
  }

  MuonUpdateAttributes attributes_;
  DType low_dtype_;
  DType grad_low_dtype_;
  bool wide_;  // whether the Gram matrix is over the rows
  std::unique_ptr<OnednnOperation> gram_, square_, step_;
};

}  // namespace

std::unique_ptr<Kernel> make_muon_update(const KernelContext& context) {
  return std::make_unique<MuonUpdateKernel>(context);
}

}  // namespace ptrain::cpu
