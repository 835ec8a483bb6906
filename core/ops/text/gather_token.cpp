#include "core/ops/text/gather_token.h"

#include "core/ops/require.h"

namespace ptrain {

std::string GatherToken::attributes() const { return fmt::format("index={}", index_); }

std::vector<TensorDesc> GatherToken::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 2);
  require_floating(inputs[x], "x");
  if (inputs.size() > 1) {
    require_offsets(inputs[offsets]);
    require(inputs[x].shape.rank() == 2 && index_ == 0, "cannot select token {} of packed {}", index_,
            inputs[x].to_string());
    return {{inputs[x].dtype, Shape{inputs[offsets].shape[0] - 1, inputs[x].shape[1]}}};
  }
  require(inputs[x].shape.rank() == 3 && index_ >= 0 && index_ < inputs[x].shape[1], "cannot select token {} of {}",
          index_, inputs[x].to_string());
  return {{inputs[x].dtype, Shape{inputs[x].shape[0], inputs[x].shape[2]}}};
}

void GatherToken::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(x)) return;
  const Shape& shape = builder.desc(builder.input(x)).shape;
  std::vector<ValueId> inputs{dy};
  if (shape.rank() == 2) inputs.push_back(builder.input(offsets));
  const auto op = std::make_shared<GatherTokenGrad>(index_, shape[-2]);
  builder.set_input_gradient(x, builder.emit(op, std::move(inputs)).front());
}

std::string GatherTokenGrad::attributes() const { return fmt::format("index={} tokens={}", index_, tokens_); }

std::vector<TensorDesc> GatherTokenGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 2);
  require_floating(inputs[dy], "dy");
  require(inputs[dy].shape.rank() == 2, "dy: expected [B,H], got {}", inputs[dy].to_string());
  if (inputs.size() == 1) return {{inputs[dy].dtype, Shape{inputs[dy].shape[0], tokens_, inputs[dy].shape[1]}}};
  require_desc(inputs[offsets], {DType::i32, Shape{inputs[dy].shape[0] + 1}}, "offsets");
  return {{inputs[dy].dtype, Shape{tokens_, inputs[dy].shape[1]}}};
}

}  // namespace ptrain
