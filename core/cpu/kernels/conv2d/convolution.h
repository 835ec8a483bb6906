// Shared by the three convolution kernels: a problem as oneDNN describes it, and its candidate implementations.
#pragma once

#include "core/cpu/onednn/epilogue.h"
#include "core/cpu/onednn/onednn_operation.h"
#include "core/ops/image/conv2d.h"

#include <functional>
#include <set>

namespace ptrain::cpu {

/// A convolution in oneDNN's terms. Data is N,C,H,W in NHWC order; weights are K,C,R,S (with groups in front) in KRSC
/// order.
class ConvolutionProblem {
 public:
  using Dims = dnnl::memory::dims;
  ConvolutionProblem(const Conv2dAttributes& conv, const Shape& x, const Shape& w, const Shape& y);

  dnnl::memory::desc x(dnnl::memory::data_type type) const { return {x_, type, dnnl::memory::format_tag::nhwc}; }
  dnnl::memory::desc y(dnnl::memory::data_type type) const { return {y_, type, dnnl::memory::format_tag::nhwc}; }
  /// Weights as the model stores them.
  dnnl::memory::desc stored_w(dnnl::memory::data_type type) const;
  /// One fp32 value per output channel.
  dnnl::memory::desc bias() const { return {{y_[1]}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a}; }
  /// Weights in the layout that the primitive prefers.
  dnnl::memory::desc any_w(dnnl::memory::data_type type) const { return {w_, type, dnnl::memory::format_tag::any}; }

  using Forward = dnnl::convolution_forward::primitive_desc;
  /// Forward descriptor for data, weights and result types; a hint for the backward ones.
  Forward forward(dnnl::memory::data_type data, dnnl::memory::data_type weights) const {
    return forward(data, weights, false, {});
  }
  /// The same with an optional bias and an epilogue.
  Forward forward(dnnl::memory::data_type data, dnnl::memory::data_type weights, bool has_bias,
                  const Epilogue& epilogue) const;
  /// For 8-bit data and weights, a result of type `result`, and attributes from int8_attributes.
  Forward int8_forward(dnnl::memory::data_type data, dnnl::memory::data_type result, bool has_bias,
                       const dnnl::primitive_attr& attributes) const;
  /// The mask of the weights' output channel dimensions for oneDNN's scales.
  int channel_mask() const { return grouped_ ? 3 : 1; }
  /// The hint must outlive iteration over the descriptor's implementations: oneDNN reads it again for each.
  dnnl::convolution_backward_data::primitive_desc grad_input(dnnl::memory::data_type data, const Forward& hint) const;
  /// Weight gradients are fp32 for any data type.
  dnnl::convolution_backward_weights::primitive_desc grad_weight(dnnl::memory::data_type data,
                                                                 const Forward& hint) const;

  /// Whether oneDNN's implementation of that name writes past the result: the AMX kernel for filters of one pixel takes
  /// tiles of pixels in pairs, and where an image is three of them, as at most 48 pixels are, a fourth (oneDNN 3.2).
  bool overruns(const std::string& name) const {
    return name.starts_with("jit_1x1") && name.ends_with("_amx") && y_[2] * y_[3] <= 48;
  }

  const dnnl::engine& engine() const { return engine_; }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  Dims x_, w_, y_, strides_, dilations_, padding_before_, padding_after_;
  bool grouped_;
};

/// Calls `add(type)` with the data's own compute type; if oneDNN has no implementation for it (bf16 on an old CPU),
/// with fp32.
void with_compute_type(DType dtype, const std::function<void(dnnl::memory::data_type)>& add);

/// Whether oneDNN's implementation of that name is a fallback.
inline bool is_slow_reference(const std::string& name) {
  return name.starts_with("ref") || name.starts_with("gemm") || name.starts_with("jit_gemm");
}

/// Whether oneDNN's implementation of that name targets processors older than any that this program supports. The
/// depthwise one reads a residual in whole aligned vectors past the last channel (oneDNN 3.2: it crashes with 9
/// channels).
inline bool is_outdated(const std::string& name) { return name.ends_with(":sse41"); }

/// Appends one operation per implementation that `desc` offers: the first, or up to three with exhaustive search. A
/// slow reference is left out unless it is the only one, and iteration stops there (oneDNN 2.6 crashes on Arm). Each
/// counts once: oneDNN 3.2 offers again what its cache holds, so that candidates would depend on what ran before.
template <typename Primitive, typename Desc, typename MakeBindings>
void add_candidates(std::vector<std::unique_ptr<Kernel>>& list, const ConvolutionProblem& problem, Desc desc, bool all,
                    MakeBindings&& make_bindings) {
  constexpr std::size_t most = 3;
  const std::size_t before = list.size();
  std::set<std::string> offered;
  do {
    const std::string name = desc.impl_info_str();
    if (is_outdated(name) || problem.overruns(name) || !offered.insert(name).second) continue;
    if (is_slow_reference(name) && !list.empty()) return;
    const auto [inputs, outputs] = make_bindings(desc);
    list.push_back(std::make_unique<OnednnOperation>(problem.engine(), Primitive(desc), desc.scratchpad_desc(), inputs,
                                                     outputs, name));
    if (is_slow_reference(name)) return;
  } while ((list.size() == before || (all && list.size() < most)) && desc.next_impl());
}

}  // namespace ptrain::cpu
