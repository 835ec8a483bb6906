#include "core/ops/image/patch_embedding.h"

#include "core/ops/require.h"

namespace ptrain {

std::vector<TensorDesc> PatchEmbedding::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_floating(inputs[x], "x");
  require(inputs[x].shape.rank() == 4, "x: expected patches [N,H,W,C], got {}", inputs[x].to_string());
  const Shape& s = inputs[x].shape;
  const std::int64_t length = s[1] * s[2] + 1;
  require_desc(inputs[class_token], {DType::f32, Shape{s[3]}}, "class_token");
  require_desc(inputs[position], {DType::f32, Shape{length, s[3]}}, "position");
  return {{inputs[x].dtype, Shape{s[0], length, s[3]}}, {DType::i32, Shape{s[0]}}};
}

void PatchEmbedding::gradient(GradientBuilder& builder) const {
  const ValueId dtokens = builder.output_gradient(tokens);
  if (dtokens == no_value) return;
  const Shape& s = builder.desc(builder.input(x)).shape;
  const std::vector<ValueId> gradients =
      builder.emit(std::make_shared<PatchEmbeddingGrad>(PatchEmbeddingGradAttributes{s[1], s[2]}), {dtokens});
  for (int i = x; i <= position; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i)]);
  }
}

std::string PatchEmbeddingGrad::attributes() const {
  return fmt::format("height={} width={}", attributes_.height, attributes_.width);
}

std::vector<TensorDesc> PatchEmbeddingGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "dtokens");
  const Shape& s = inputs[0].shape;
  const auto& [height, width] = attributes_;
  require(s.rank() == 3 && s[1] == height * width + 1, "dtokens: expected [N,{},C], got {}", height * width + 1,
          inputs[0].to_string());
  return {
      {inputs[0].dtype, Shape{s[0], height, width, s[2]}}, {DType::f32, Shape{s[2]}}, {DType::f32, Shape{s[1], s[2]}}};
}

}  // namespace ptrain
