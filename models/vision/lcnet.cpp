#include "models/vision/lcnet.h"

#include "core/ops/concat.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/slice.h"

namespace ptrain {

/// Pooling and convolutions over 2x2 px are padded at the right and the bottom.
ValueId LcnetBlocks::lcnet_stem(const std::string& name, ValueId x) {
  const std::int64_t middle = lcnet_channels_ / 2;
  x = conv_bn_relu(name + ".stem1", x, {.channels = middle, .kernel = 3, .stride = 2});
  ValueId y = conv_bn_relu(name + ".stem2a", x, {.channels = middle / 2, .kernel = 2});
  y = conv_bn_relu(name + ".stem2b", y, {.channels = middle, .kernel = 2});
  const ValueId pooled = cut_first(name + ".pool.cut", max_pool(name + ".pool", x, 2, 1, 1));
  x = add(name + ".concat", std::make_shared<Concat>(3), {pooled, y});
  x = conv_bn_relu(name + ".stem3", x, {.channels = middle, .kernel = 3, .stride = 2});
  return conv_bn_relu(name + ".stem4", x, {.channels = lcnet_channels_, .kernel = 1});
}

ValueId LcnetBlocks::lcnet_stage(const LcnetStage& stage, ValueId x) {
  for (std::size_t i = 0; i < stage.blocks.size(); ++i) {
    x = block(fmt::format("backbone.{}.{}", stage.name, i), x, stage.blocks[i]);
  }
  return x;
}

ValueId LcnetBlocks::conv_bn_relu(const std::string& name, ValueId x, const ConvSpec& spec) {
  ValueId y = convolution(name + ".conv", x, spec);
  if (spec.kernel % 2 == 0) y = cut_first(name + ".cut", y);
  return relu(name + ".relu", batch_norm(name + ".bn", y, NormStart::one));
}

/// Without the first row and column, those of padding at the left and the top.
ValueId LcnetBlocks::cut_first(const std::string& name, ValueId x) {
  const Shape shape = graph_.desc(x).shape;
  x = add(name + ".rows", std::make_shared<Slice>(SliceAttributes{1, 1, shape[1]}), {x});
  return add(name + ".columns", std::make_shared<Slice>(SliceAttributes{2, 1, shape[2]}), {x});
}

ValueId LcnetBlocks::block(const std::string& name, ValueId x, const LcnetBlock& form) {
  const std::int64_t outputs = form.widening * lcnet_channels_;
  const bool is_residual = form.stride == LcnetStride::none && outputs == channels(x);
  x = mix_pixels(name + (is_residual ? ".token_mixer.rep_dw" : ".token_mixer.dw_conv"), x, form.stride);
  if (form.excites) {
    x = squeeze_excite(name + ".token_mixer.se", x,
                       {channels(x) / 4, Activation::relu, Activation::hard_sigmoid, ".conv1", ".conv2"});
  }
  const std::string mixer = name + ".channel_mixer";
  ValueId y = conv_norm(mixer + ".expand.conv", mixer + ".expand.bn", x, {.channels = 2 * channels(x), .kernel = 1});
  y = activate(Activation::gelu_erf, mixer + ".act", y);
  y = conv_norm(mixer + ".compress.conv", mixer + ".compress.bn", y, {.channels = outputs, .kernel = 1},
                is_residual ? NormStart::zero : NormStart::one);
  return is_residual ? sum(name + ".add", x, y) : y;
}

ValueId LcnetBlocks::mix_pixels(const std::string& name, ValueId x, LcnetStride stride) {
  ValueId y = convolution(name + ".conv", x, depthwise(x, stride == LcnetStride::both ? 2 : 1));
  if (stride == LcnetStride::rows) y = take_even_rows(name + ".even", y);
  return batch_norm(name + ".bn", y, NormStart::one);
}

/// A stride of 2 in height after one of 1.
ValueId LcnetBlocks::take_even_rows(const std::string& name, ValueId x) {
  const Shape shape = graph_.desc(x).shape;
  const Shape pairs{shape[0], shape[1] / 2, 2, shape[2] * shape[3]};
  x = add(name + ".pairs", std::make_shared<Reshape>(pairs), {x});
  x = add(name + ".first", std::make_shared<Slice>(SliceAttributes{2, 0, 1}), {x});
  return add(name, std::make_shared<Reshape>(Shape{shape[0], shape[1] / 2, shape[2], shape[3]}), {x});
}

}  // namespace ptrain
