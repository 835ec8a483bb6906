#include "core/ops/text/rotary_embedding.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

#include <cmath>

namespace ptrain {
namespace {

double scale_frequency(double frequency, const RotaryScaling& s) {
  switch (s.kind) {
    case RotaryScaling::Kind::none:
      return frequency;
    case RotaryScaling::Kind::linear:
      return frequency / s.factor;
    case RotaryScaling::Kind::llama3: {
      constexpr double turn = 6.283185307179586;
      const double turns = static_cast<double>(s.original_length) * frequency / turn;  // within the original length
      if (turns > s.high_frequency_factor) return frequency;
      if (turns < s.low_frequency_factor) return frequency / s.factor;
      const double smooth = (turns - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
      return (1 - smooth) * frequency / s.factor + smooth * frequency;
    }
  }
  return frequency;
}

std::string describe(const RotaryScaling& s) {
  switch (s.kind) {
    case RotaryScaling::Kind::none:
      return "";
    case RotaryScaling::Kind::linear:
      return fmt::format(" scaling=linear factor={}", s.factor);
    case RotaryScaling::Kind::llama3:
      return fmt::format(" scaling=llama3 factor={} low={} high={} original_length={}", s.factor,
                         s.low_frequency_factor, s.high_frequency_factor, s.original_length);
  }
  return "";
}

}  // namespace

std::vector<float> rotary_frequencies(const RotaryAttributes& attributes) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < attributes.depth / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(attributes.depth);
    frequencies.push_back(
        static_cast<float>(scale_frequency(std::pow(attributes.theta, exponent), attributes.scaling)));
  }
  return frequencies;
}

RotaryTable::RotaryTable(RotaryAttributes attributes) : OpWith(attributes) {
  invariant(attributes.depth > 0 && attributes.depth % 2 == 0 && attributes.depth <= 1024,
            "rotary embedding: depth must be even and at most 1024");
}

std::string RotaryTable::attributes() const {
  return fmt::format("depth={} theta={}{}{}", attributes_.depth, attributes_.theta, describe(attributes_.scaling),
                     attributes_.sines_first ? " sines_first" : "");
}

std::vector<TensorDesc> RotaryTable::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 3);
  const bool packed = inputs.size() > offsets;
  require(inputs[ids].dtype == DType::i32 && inputs[ids].shape.rank() == (packed ? 1 : 2),
          "ids: expected i32 {}, got {}", packed ? "[T] with offsets" : "[B,S]", inputs[ids].to_string());
  if (packed) require_offsets(inputs[offsets]);
  if (inputs.size() > past) require_past(inputs[past], inputs[offsets]);
  return {{DType::f32, Shape{inputs[ids].shape[-1], attributes_.depth}}};
}

Cost RotaryTable::cost(std::span<const TensorDesc>, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic({}, outputs)};
}

std::string RotaryEmbedding::attributes() const {
  return fmt::format("heads={}{}", attributes_.heads, attributes_.inverse ? " inverse" : "");
}

std::vector<TensorDesc> RotaryEmbedding::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[x], "x");
  require(inputs[x].shape.rank() >= 2, "x: expected [B,S,W] or [T,W], got {}", inputs[x].to_string());
  const std::int64_t depth = inputs[table].shape[-1];
  require_desc(inputs[table], {DType::f32, Shape{inputs[x].shape[-2], depth}}, "table");
  require(attributes_.heads * depth <= inputs[x].shape[-1], "x: {} has fewer than {} heads of {} channels",
          inputs[x].to_string(), attributes_.heads, depth);
  return {inputs[x]};
}

void RotaryEmbedding::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(x)) return;
  RotaryEmbeddingAttributes back = attributes_;
  back.inverse = !back.inverse;
  builder.set_input_gradient(x,
                             builder.emit(std::make_shared<RotaryEmbedding>(back), {dy, builder.input(table)}).front());
}

Cost RotaryEmbedding::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const std::int64_t tokens = inputs[x].count() / inputs[x].shape[-1];
  const std::int64_t channels = attributes_.heads * inputs[table].shape[-1];
  return {3 * static_cast<double>(tokens * channels), traffic(inputs, outputs)};
}

}  // namespace ptrain
