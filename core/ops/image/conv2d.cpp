#include "core/ops/image/conv2d.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

/// Throws unless x[N,H,W,C], w[K,R,S,C/groups] and the geometry fit; returns y's shape.
Shape check_geometry(const Conv2dAttributes& conv, const Shape& x, const Shape& w) {
  require(x.rank() == 4, "expected images [N,H,W,C], got {}", x.to_string());
  require(w.rank() == 4, "expected weights [K,R,S,C/groups], got {}", w.to_string());
  require(conv.stride > 0 && conv.padding >= 0 && conv.groups > 0 && conv.dilation > 0, "bad geometry: {}",
          conv.to_string());
  require(w[0] % conv.groups == 0 && w[3] * conv.groups == x[3], "weights {} in {} groups do not fit {} input channels",
          w.to_string(), conv.groups, x[3]);
  const std::int64_t height = conv.output_size(x[1], w[1]);
  const std::int64_t width = conv.output_size(x[2], w[2]);
  require(height > 0 && width > 0, "images {} are smaller than the kernel {}", x.to_string(), w.to_string());
  return {x[0], height, width, w[0]};
}

/// Multiply-adds over every output element and kernel position, the padding's included.
double count_flops(const Shape& y, const Shape& w) {
  const std::int64_t depth = w.count() / w[0];
  return 2.0 * static_cast<double>(y.count()) * static_cast<double>(depth);
}

}  // namespace

std::string Conv2dAttributes::to_string() const {
  std::string text = fmt::format("stride={} padding={}", stride, padding);
  if (groups != 1) text += fmt::format(" groups={}", groups);
  if (dilation != 1) text += fmt::format(" dilation={}", dilation);
  return text;
}

std::int64_t Conv2dAttributes::output_size(std::int64_t size, std::int64_t kernel) const {
  const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

std::string Conv2d::attributes() const {
  std::string text = attributes_.to_string();
  if (activation_ != Activation::none) text += fmt::format(" activation={}", to_string(activation_));
  return text;
}

std::vector<TensorDesc> Conv2d::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 4);
  require_floating(inputs[x], "data");
  require_floating(inputs[w], "weight");
  const TensorDesc y{inputs[x].dtype, check_geometry(attributes_, inputs[x].shape, inputs[w].shape)};
  if (has_input(inputs, bias)) require_desc(inputs[bias], {DType::f32, Shape{inputs[w].shape[0]}}, "bias");
  if (has_input(inputs, residual)) require_desc(inputs[residual], y, "residual");
  return {y};
}

void Conv2d::gradient(GradientBuilder& builder) const {
  ValueId dy = builder.output_gradient(0);
  if (activation_ != Activation::none) {
    invariant(get_traits(activation_).saved == ActivationSaved::output,
              "a convolution saves only its result for the gradient of its activation");
    dy = builder.emit(std::make_shared<ActivationGrad>(activation_), {builder.output(0), dy})[0];
  }
  if (builder.input(residual) != no_value && builder.needs_gradient(residual)) {
    builder.set_input_gradient(residual, dy);
  }
  if (builder.input(bias) != no_value && builder.needs_gradient(bias)) {
    builder.set_input_gradient(bias, builder.emit(std::make_shared<Conv2dGradBias>(), {dy})[0]);
  }
  if (builder.needs_gradient(w)) {
    auto op =
        std::make_shared<Conv2dGradWeight>(Conv2dGradWeight::Attributes{attributes_, builder.desc(builder.input(w))});
    builder.set_input_gradient(w, builder.emit(std::move(op), {builder.input(x), dy})[0]);
  }
  if (builder.needs_gradient(x)) {
    auto op = std::make_shared<Conv2dGradInput>(
        Conv2dGradInput::Attributes{attributes_, builder.desc(builder.input(x)).shape});
    builder.set_input_gradient(x, builder.emit(std::move(op), {dy, builder.input(w)})[0]);
  }
}

Cost Conv2d::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(outputs[0].shape, inputs[w].shape), traffic(inputs, outputs)};
}

std::vector<TensorDesc> Conv2dGradInput::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[dy], "data");
  require_floating(inputs[w], "weight");
  const Shape y = check_geometry(attributes_.conv, attributes_.input_shape, inputs[w].shape);
  require(inputs[dy].shape == y, "expected dy {}, got {}", y.to_string(), inputs[dy].shape.to_string());
  return {{inputs[dy].dtype, attributes_.input_shape}};
}

void Conv2dGradInput::gradient(GradientBuilder& builder) const {
  const ValueId gradient = builder.output_gradient(0);
  if (builder.needs_gradient(w)) {
    auto op = std::make_shared<Conv2dGradWeight>(
        Conv2dGradWeight::Attributes{attributes_.conv, builder.desc(builder.input(w))});
    builder.set_input_gradient(w, builder.emit(std::move(op), {gradient, builder.input(dy)})[0]);
  }
  if (builder.needs_gradient(dy)) {
    auto op = std::make_shared<Conv2d>(attributes_.conv);
    builder.set_input_gradient(dy, builder.emit(std::move(op), {gradient, builder.input(w)})[0]);
  }
}

Cost Conv2dGradInput::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(inputs[dy].shape, inputs[w].shape), traffic(inputs, outputs)};
}

std::vector<TensorDesc> Conv2dGradWeight::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[x], "data");
  require(inputs[x].dtype == inputs[dy].dtype, "expected x and dy of one dtype, got {} and {}", inputs[x].to_string(),
          inputs[dy].to_string());
  require_floating(attributes_.weight, "weight");
  const Shape y = check_geometry(attributes_.conv, inputs[x].shape, attributes_.weight.shape);
  require(inputs[dy].shape == y, "expected dy {}, got {}", y.to_string(), inputs[dy].shape.to_string());
  return {attributes_.weight};
}

Cost Conv2dGradWeight::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(inputs[dy].shape, attributes_.weight.shape), traffic(inputs, outputs)};
}

std::vector<TensorDesc> Conv2dGradBias::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "dy");
  const Shape& dy = inputs[0].shape;
  require(dy.rank() == 4, "expected images [N,P,Q,K], got {}", dy.to_string());
  return {{DType::f32, Shape{dy[3]}}};
}

Cost Conv2dGradBias::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
