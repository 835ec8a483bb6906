#include "models/vision/vision_transformer.h"

#include "core/base/errors.h"
#include "core/ops/image/patch_embedding.h"
#include "core/ops/text/attention.h"
#include "core/ops/text/gather_token.h"
#include "models/vision/vision_blocks.h"

namespace ptrain {
namespace {

constexpr int patch_side = 16, vit_blocks = 12, vit_expansion = 4;

/// Differences between the forms. A block's parts follow its name.
struct PatchForm {
  std::string_view name;
  std::int64_t width;
  int heads;
  std::string_view patches, class_token, position, block, first_norm, qkv_weight, qkv_bias, attended, second_norm,
      first_layer, second_layer, norm, head;
};

constexpr PatchForm vit_b_16{"vit_b_16",
                             768,
                             12,
                             "conv_proj",
                             "class_token",
                             "encoder.pos_embedding",
                             "encoder.layers.encoder_layer_",
                             ".ln_1",
                             ".self_attention.in_proj_weight",
                             ".self_attention.in_proj_bias",
                             ".self_attention.out_proj",
                             ".ln_2",
                             ".mlp.0",
                             ".mlp.3",
                             "encoder.ln",
                             "heads.head"};
constexpr PatchForm deit_small{"deit_small", 384,       6,          "patch_embed.proj", "cls_token",
                               "pos_embed",  "blocks.", ".norm1",   ".attn.qkv.weight", ".attn.qkv.bias",
                               ".attn.proj", ".norm2",  ".mlp.fc1", ".mlp.fc2",         "norm",
                               "head"};

template <const PatchForm& form_>
class VisionTransformerBuilder final : public VisionBlocks {
 public:
  using VisionBlocks::VisionBlocks;

  BuiltModel build(const Bucket& batch) {
    require_own_size(batch);
    ValueId x = embedded(patches(std::string(form_.patches), inputs(batch), form_.width, patch_side));
    for (int i = 0; i < vit_blocks; ++i) {
      x = block(fmt::format("{}{}", form_.block, i), x, static_cast<float>(i) / static_cast<float>(vit_blocks - 1));
    }
    // Normalising all tokens would give the same result for the first.
    x = layer_norm(std::string(form_.norm), add("first_token", std::make_shared<GatherToken>(), {x}));
    return finish(class_scores(std::string(form_.head), x, normal_start(layer_norm_networks_deviation)));
  }

 private:
  void require_own_size(const Bucket& batch) const {
    if (image_size(batch) == spec().image_size) return;
    fail_usage(
        "{}: reads only images of {} px, for which it has positions, not {} px: leave train.phases and "
        "train.resize out",
        form_.name, spec().image_size, image_size(batch));
  }

  ValueId embedded(ValueId x) {
    const Shape& s = graph_.desc(x).shape;
    const std::int64_t width = s[3], length = s[1] * s[2] + 1;
    const Initializer start = normal_start(layer_norm_networks_deviation);
    ModelVariable token = make_variable(std::string(form_.class_token), Shape{width}, constant_start(0));
    token.files.front().external_shape = Shape{1, 1, width};
    ModelVariable position = make_variable(std::string(form_.position), Shape{length, width}, start);
    position.files.front().external_shape = Shape{1, length, width};
    const ValueId first = parameter(std::move(token));
    const auto outputs =
        graph_.add_node("tokens", std::make_shared<PatchEmbedding>(), {x, first, parameter(std::move(position))});
    lengths_ = outputs[PatchEmbedding::lengths];
    return outputs[PatchEmbedding::tokens];
  }

  /// `depth` in [0, 1].
  ValueId block(const std::string& name, ValueId x, float depth) {
    const auto part = [&](std::string_view of) { return fmt::format("{}{}", name, of); };
    const ValueId attended = attention(name, layer_norm(part(form_.first_norm), x));
    x = sum(name + ".add_attention", x, sample_dropout(name + ".attention_depth", attended, depth));
    const ValueId y = gelu_layers(part(form_.first_layer), part(form_.second_layer),
                                  layer_norm(part(form_.second_norm), x), vit_expansion * form_.width);
    return sum(name + ".add", x, sample_dropout(name + ".stochastic_depth", y, depth));
  }

  ValueId attention(const std::string& name, ValueId x) {
    const Shape weight{3 * form_.width, form_.width};
    const Initializer start = normal_start(layer_norm_networks_deviation);
    const ValueId qkv =
        linear(name + ".qkv", x, make_variable(fmt::format("{}{}", name, form_.qkv_weight), weight, start),
               make_variable(fmt::format("{}{}", name, form_.qkv_bias), Shape{weight[0]}, constant_start(0)));
    AttentionAttributes attrs;
    attrs.heads = form_.heads;
    attrs.algorithm = spec().attention;
    const ValueId heads = add(name + ".attention", std::make_shared<Attention>(attrs), {qkv, lengths_});
    return dense(fmt::format("{}{}", name, form_.attended), heads, form_.width);
  }

  ValueId lengths_ = no_value;
};

template <const PatchForm& form>
std::unique_ptr<Model> make_vision_transformer(const ImageSpec& spec) {
  if (spec.image_size.height % patch_side != 0 || spec.image_size.width % patch_side != 0) {
    fail_usage("data.image_size: {} px cannot be divided into patches of {} px", spec.image_size, patch_side);
  }
  return std::make_unique<ImageModel<VisionTransformerBuilder<form>>>(std::string(form.name), spec,
                                                                      fmt::format(" image_size={}", spec.image_size));
}

}  // namespace

std::unique_ptr<Model> make_vit_b_16(const ImageSpec& spec) { return make_vision_transformer<vit_b_16>(spec); }
std::unique_ptr<Model> make_deit_small(const ImageSpec& spec) { return make_vision_transformer<deit_small>(spec); }

}  // namespace ptrain
