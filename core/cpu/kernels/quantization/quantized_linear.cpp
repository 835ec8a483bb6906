// Linear layer of 8-bit integers through oneDNN: inner product or matmul, with scales, bias and activation in the pass.
#include "core/ops/quantization/quantized_linear.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/quantization/int8_operation.h"

namespace ptrain::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Op = QuantizedLinear;

/// One layer with the arguments of either primitive.
class Int8Linear {
 public:
  explicit Int8Linear(const KernelContext& context)
      : context_(context),
        attributes_(context.op_as<Op>().attrs()),
        has_bias_(has_input(context.inputs, Op::bias)),
        in_(context.inputs[Op::w].shape[1]),
        out_(context.inputs[Op::w].shape[0]),
        x_({context.inputs[Op::x].count() / in_, in_}, onednn_type(context.inputs[Op::x].dtype), Tag::ab),
        y_({context.inputs[Op::x].count() / in_, out_}, onednn_type(context.outputs[0].dtype), Tag::ab) {}

  std::unique_ptr<Kernel> inner_product() const {
    const memory::desc w({out_, in_}, memory::data_type::s8, Tag::any), bias = channels();
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto attributes = int8_attributes({false, attributes_.activation}, 1, attributes_.y.has_value());
    using Primitive = dnnl::inner_product_forward;
    return operation<Primitive>(has_bias_ ? forward_desc<Primitive>(engine_, attributes, kind, x_, w, bias, y_)
                                          : forward_desc<Primitive>(engine_, attributes, kind, x_, w, y_),
                                {{out_, in_}, memory::data_type::s8, Tag::ab}, bias, "inner_product");
  }

  std::unique_ptr<Kernel> matmul() const {
    const memory::desc w({in_, out_}, memory::data_type::s8, Tag::any);
    const memory::desc bias({1, out_}, memory::data_type::f32, Tag::ab);
    const auto attributes = int8_attributes({false, attributes_.activation}, 2, attributes_.y.has_value());
    using Primitive = dnnl::matmul;
    return operation<Primitive>(has_bias_ ? forward_desc<Primitive>(engine_, attributes, x_, w, bias, y_)
                                          : forward_desc<Primitive>(engine_, attributes, x_, w, y_),
                                {{in_, out_}, memory::data_type::s8, Tag::ba}, bias, "matmul");
  }

 private:
  memory::desc channels() const { return {{out_}, memory::data_type::f32, Tag::a}; }

  template <typename Primitive>
  std::unique_ptr<Kernel> operation(const typename Primitive::primitive_desc& desc, const memory::desc& stored_w,
                                    const memory::desc& bias, std::string_view form) const {
    const Constancy constancy = context_.options.constant_weights ? Constancy::constant : Constancy::varies;
    std::vector<Binding> inputs{{DNNL_ARG_SRC, Op::x, attributes_.x.dtype, x_, x_},
                                {DNNL_ARG_WEIGHTS, Op::w, DType::s8, stored_w, desc.weights_desc(), constancy},
                                {scales_argument(DNNL_ARG_WEIGHTS), Op::w_scale, DType::f32, channels(), channels()}};
    if (has_bias_) inputs.push_back({DNNL_ARG_BIAS, Op::bias, DType::f32, bias, bias});
    const Binding result{DNNL_ARG_DST, 0, context_.outputs[0].dtype, y_, y_};
    return int8_operation<Primitive>(engine_, desc, fmt::format("{}:{}", form, desc.impl_info_str()), inputs, result,
                                     attributes_.x, attributes_.y);
  }

  const KernelContext& context_;
  const QuantizedLinearAttributes& attributes_;
  bool has_bias_;
  std::int64_t in_, out_;
  memory::desc x_, y_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

std::unique_ptr<Kernel> make_quantized_linear(const KernelContext& context) {
  const Int8Linear layer(context);
  std::vector<std::unique_ptr<Kernel>> candidates;
  for (const auto make : {&Int8Linear::inner_product, &Int8Linear::matmul}) {
    try {
      candidates.push_back((layer.*make)());
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
    }
  }
  return choose_kernel(context, std::move(candidates));
}

}  // namespace ptrain::cpu
