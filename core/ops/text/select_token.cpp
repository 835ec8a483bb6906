#include "core/ops/text/select_token.h"

#include "core/ops/require.h"

namespace ptrain {

std::string SelectToken::attributes() const { return fmt::format("index={}", index_); }

std::vector<TensorDesc> SelectToken::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 2);
  const TensorDesc& x = inputs[0];
  require_floating(x, "x");
  if (inputs.size() > 1) {
    require_offsets(inputs[1]);
    require(x.shape.rank() == 2 && index_ == 0, "cannot select token {} of packed {}", index_, x.to_string());
    return {{x.dtype, Shape{inputs[1].shape[0] - 1, x.shape[1]}}};
  }
  require(x.shape.rank() == 3 && index_ >= 0 && index_ < x.shape[1], "cannot select token {} of {}", index_,
          x.to_string());
  return {{x.dtype, Shape{x.shape[0], x.shape[2]}}};
}

void SelectToken::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const Shape& x = builder.desc(builder.input(0)).shape;
  std::vector<ValueId> inputs{dy};
  if (x.rank() == 2) inputs.push_back(builder.input(1));
  const auto op = std::make_shared<SelectTokenGrad>(index_, x[-2]);
  builder.set_input_gradient(0, builder.emit(op, std::move(inputs)).front());
}

std::string SelectTokenGrad::attributes() const { return fmt::format("index={} tokens={}", index_, tokens_); }

std::vector<TensorDesc> SelectTokenGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 2);
  const TensorDesc& dy = inputs[0];
  require_floating(dy, "dy");
  require(dy.shape.rank() == 2, "dy: expected [B,H], got {}", dy.to_string());
  if (inputs.size() == 1) return {{dy.dtype, Shape{dy.shape[0], tokens_, dy.shape[1]}}};
  require_desc(inputs[1], {DType::i32, Shape{dy.shape[0] + 1}}, "offsets");
  return {{dy.dtype, Shape{tokens_, dy.shape[1]}}};
}

}  // namespace ptrain
