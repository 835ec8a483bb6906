#include "core/ops/tensor/select.h"

#include "core/ops/require.h"
#include "core/ops/tensor/broadcast.h"

#include <array>

namespace ptrain {
namespace {

void require_comparable(const TensorDesc& desc, const char* what) {
  require(is_floating(desc.dtype) || desc.dtype == DType::i32, "{}: expected a floating dtype or i32, got {}", what,
          desc.to_string());
}

}  // namespace

std::string_view to_string(Comparison comparison) {
  constexpr std::array<std::string_view, 6> names{"equal",      "not_equal", "less",
                                                  "less_equal", "greater",   "greater_equal"};
  return names[static_cast<std::size_t>(comparison)];
}

std::string Compare::attributes() const {
  return fmt::format("comparison={} constant={}", to_string(attrs().comparison), attrs().constant);
}

std::vector<TensorDesc> Compare::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 2);
  require_comparable(inputs[a], "a");
  if (!has_input(inputs, b)) return {{DType::u8, inputs[a].shape}};
  require(inputs[b].dtype == inputs[a].dtype, "b: expected {} as a, got {}", to_string(inputs[a].dtype),
          inputs[b].to_string());
  return {{DType::u8, broadcast_shape(std::array{inputs[a].shape, inputs[b].shape})}};
}

Cost Compare::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::string Where::attributes() const {
  return fmt::format("if_true={} if_false={}", attrs().if_true, attrs().if_false);
}

std::vector<TensorDesc> Where::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 3);
  require(inputs[mask].dtype == DType::u8, "mask: expected u8, got {}", inputs[mask].to_string());
  DType dtype = attrs().dtype;
  std::vector<Shape> shapes{inputs[mask].shape};
  for (const int operand : {b, a}) {
    if (!has_input(inputs, operand)) continue;
    const TensorDesc& desc = inputs[static_cast<std::size_t>(operand)];
    require_comparable(desc, operand == a ? "a" : "b");
    require(shapes.size() == 1 || desc.dtype == dtype, "a: expected {} as b, got {}", to_string(dtype),
            desc.to_string());
    dtype = desc.dtype;
    shapes.push_back(desc.shape);
  }
  return {{dtype, broadcast_shape(shapes)}};
}

void Where::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const auto zero_elsewhere = std::make_shared<Where>(WhereAttributes{});
  for (const int operand : {a, b}) {
    if (!builder.needs_gradient(operand)) continue;
    std::vector<ValueId> inputs{builder.input(mask), no_value, no_value};
    inputs[static_cast<std::size_t>(operand)] = dy;
    const ValueId chosen = builder.emit(zero_elsewhere, std::move(inputs)).front();
    builder.set_input_gradient(operand, sum_to(builder, chosen, builder.desc(builder.input(operand)).shape));
  }
}

Cost Where::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {0, traffic(inputs, outputs)};
}

}  // namespace ptrain
