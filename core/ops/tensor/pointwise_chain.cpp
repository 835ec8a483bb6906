#include "core/ops/tensor/pointwise_chain.h"

#include "core/ops/require.h"

#include <algorithm>

namespace ptrain {

bool is_pointwise_step(const Op& op) {
  constexpr std::array<std::string_view, 4> kernels{"binary", "binary_grad", "unary", "unary_grad"};
  return std::find(kernels.begin(), kernels.end(), op.kernel()) != kernels.end();
}

std::string PointwiseChain::attributes() const {
  std::string text;
  for (const PointwiseStep& step : attrs().steps) {
    text += fmt::format("{}{}(", text.empty() ? "" : " ", step.op->type());
    for (const int operand : step.operands) {
      if (operand >= 0) text += fmt::format("{}{}", text.back() == '(' ? "" : ",", operand);
    }
    text += step.op->attributes().empty() ? ")" : fmt::format(" {})", step.op->attributes());
  }
  return text;
}

std::vector<TensorDesc> PointwiseChain::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, most_inputs);
  const std::vector<PointwiseStep>& steps = attrs().steps;
  require(static_cast<int>(inputs.size()) == attrs().inputs, "expected {} inputs, got {}", attrs().inputs,
          inputs.size());
  require(!steps.empty() && steps.size() <= most_steps, "expected 1 to {} steps, got {}", most_steps, steps.size());
  std::vector<TensorDesc> values(inputs.begin(), inputs.end());
  for (const PointwiseStep& step : steps) {
    require(is_pointwise_step(*step.op), "{} is not a pointwise op", step.op->type());
    const std::size_t count = step.op->kernel() == "unary" ? 1 : step.op->kernel() == "binary_grad" ? 3 : 2;
    std::vector<TensorDesc> operands;
    for (std::size_t i = 0; i < count; ++i) {
      require(step.operands[i] < static_cast<int>(values.size()), "{} reads a step that comes later", step.op->type());
      operands.push_back(step.operands[i] < 0 ? absent_input() : values[static_cast<std::size_t>(step.operands[i])]);
    }
    values.push_back(step.op->infer(operands).front());
  }
  for (std::size_t i = inputs.size(); i < values.size(); ++i) require_desc(values[i], values.back(), "a step");
  return {values.back()};
}

Cost PointwiseChain::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(attrs().steps.size()) * static_cast<double>(outputs[0].count()),
          traffic(inputs, outputs)};
}

}  // namespace ptrain
