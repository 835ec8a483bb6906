#include "models/video/attention_cluster.h"

#include "core/ops/concat.h"
#include "core/ops/tensor/batched_matmul.h"
#include "core/ops/tensor/transpose.h"

#include <cmath>

namespace ptrain {
namespace {

class AttentionClusterBuilder final : public VideoBlocks {
 public:
  AttentionClusterBuilder(const AttentionClusterSpec& spec, Mode mode) : VideoBlocks(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    add_inputs(batch.rows);
    const ValueId video = attend("video", rgb_), audio = attend("audio", audio_);
    ValueId x = dropout("dropout", add("features", std::make_shared<Concat>(1), {video, audio}));
    x = activate("layers.0.tanh", Activation::tanh, dense("layers.0", x, spec_.first_layer));
    x = activate("layers.1.tanh", Activation::tanh, dense("layers.1", x, spec_.second_layer));
    return finish(classifier("classifier", x, spec_.classes, start(spec_.second_layer), constant_start(0)));
  }

 private:
  /// [N, heads * C] of frames [N,F,C].
  ValueId attend(const std::string& name, ValueId frames) {
    const std::int64_t heads = spec_.heads, width = channels(frames);
    const float root = std::sqrt(static_cast<float>(heads));
    const ValueId flat = reshape(name + ".frames", frames, {rows_ * max_frames_, width});
    const ValueId scores =
        reshape(name + ".scores", dense(name + ".attention", flat, heads), {rows_, max_frames_, heads});
    const ValueId by_head = add(name + ".by_head", std::make_shared<Transpose>(std::vector{0, 2, 1}), {scores});
    const ValueId weights =
        softmax(name + ".weights", exclude_padding(name + ".masked", by_head, {rows_, 1, max_frames_}));
    const ValueId means =
        add(name + ".means", std::make_shared<BatchedMatmul>(BatchedMatmulAttributes{}), {weights, frames});
    const auto per_head = [&](const char* kind) {
      const Initializer normal = normal_start(1 / std::sqrt(root));
      return reshape(name + kind + ".column", parameter(make_variable(name + kind, Shape{heads}, normal)), {heads, 1});
    };
    const ValueId scaled = combine(name + ".scaled", BinaryFunction::mul, means, per_head(".scale"));
    const ValueId shifted = combine(name + ".shifted", BinaryFunction::add, scaled, per_head(".shift"));
    const ValueId even =
        apply(name + ".even", UnaryFunction::affine, normalize(name + ".normalized", shifted), {1 / root, 0});
    return reshape(name + ".features", even, {rows_, heads * width});
  }

  const AttentionClusterSpec& spec_;
};

class AttentionCluster final : public Model {
 public:
  explicit AttentionCluster(const AttentionClusterSpec& spec) : spec_(spec) {}

  std::string name() const override { return "attention_cluster"; }
  std::string signature() const override {
    return fmt::format("{} classes={} heads={} hidden={}", name(), spec_.classes, spec_.heads, spec_.second_layer);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    return AttentionClusterBuilder(spec_, mode).build(batch);
  }
  DataKind reads() const override { return DataKind::video; }

 private:
  AttentionClusterSpec spec_;
};

}  // namespace

AttentionClusterSpec attention_cluster_spec(const Config& config, const DatasetInfo& data) {
  AttentionClusterSpec spec;
  static_cast<VideoSpec&>(spec) = video_spec(config, data);
  if (is_tiny(config)) {
    spec.heads = 4;
    spec.first_layer = spec.second_layer = 64;
  }
  return spec;
}

std::unique_ptr<Model> make_attention_cluster(const AttentionClusterSpec& spec) {
  return std::make_unique<AttentionCluster>(spec);
}

}  // namespace ptrain
