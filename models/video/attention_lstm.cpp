#include "models/video/attention_lstm.h"

#include "core/ops/concat.h"
#include "core/ops/sequence/recurrent.h"
#include "core/ops/tensor/batched_matmul.h"
#include "core/ops/tensor/transpose.h"

#include <cmath>

namespace ptrain {
namespace {

enum class Direction { forward, backward };

class AttentionLstmBuilder final : public VideoBlocks {
 public:
  AttentionLstmBuilder(const AttentionLstmSpec& spec, Mode mode) : VideoBlocks(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    add_inputs(batch.rows);
    const ValueId video = attend("video", rgb_), audio = attend("audio", audio_);
    ValueId x = add("features", std::make_shared<Concat>(1), {video, audio});
    x = activate("layers.0.relu", Activation::relu, dense("layers.0", x, spec_.first_layer));
    x = activate("layers.1.tanh", Activation::tanh, dense("layers.1", x, spec_.second_layer));
    return finish(classifier("classifier", x, spec_.classes, start(spec_.second_layer), constant_start(0)));
  }

 private:
  /// [N, 2 units] of frames [N,F,C].
  ValueId attend(const std::string& name, ValueId frames) {
    const std::int64_t states = 2 * spec_.units;
    const ValueId flat = reshape(name + ".frames", frames, {rows_ * max_frames_, channels(frames)});
    const ValueId x =
        activate(name + ".projection.tanh", Activation::tanh, dense(name + ".projection", flat, spec_.projection));
    const ValueId both = add(
        name + ".states", std::make_shared<Concat>(2),
        {lstm(name + ".forward_lstm", x, Direction::forward), lstm(name + ".backward_lstm", x, Direction::backward)});
    const ValueId by_video = add(name + ".by_video", std::make_shared<Transpose>(std::vector{1, 0, 2}), {both});
    const ValueId dropped = dropout(name + ".dropout", by_video);
    const ValueId scores =
        project(name + ".attention", reshape(name + ".steps", dropped, {rows_ * max_frames_, states}), 1);
    const ValueId row = reshape(name + ".scores", scores, {rows_, 1, max_frames_});
    const ValueId weights = softmax(name + ".weights", exclude_padding(name + ".masked", row, {rows_, 1, max_frames_}));
    const ValueId mean =
        add(name + ".mean", std::make_shared<BatchedMatmul>(BatchedMatmulAttributes{}), {weights, dropped});
    return reshape(name + ".features", mean, {rows_, states});
  }

  /// The states [F,N,units] of frames [N*F,C]. Closed gates keep the state 0 in padding, from which the backward
  /// direction comes.
  ValueId lstm(const std::string& name, ValueId x, Direction direction) {
    const std::int64_t gates = 4 * spec_.units;
    const ValueId inputs = reshape(name + ".gates", dense(name + ".inputs", x, gates), {rows_, max_frames_, gates});
    const ValueId open = exclude_padding(name + ".masked", inputs, {rows_, max_frames_, 1});
    const ValueId steps = add(name + ".steps", std::make_shared<Transpose>(std::vector{1, 0, 2}), {open});
    const Initializer normal = normal_start(1 / std::sqrt(static_cast<float>(spec_.units)));
    const ValueId weight = parameter(make_variable(name + ".weight", Shape{gates, spec_.units}, normal));
    const ValueId peepholes = parameter(make_variable(name + ".peepholes", Shape{3 * spec_.units}, constant_start(0)));
    const auto op = std::make_shared<Recurrent>(
        RecurrentAttributes{.cell = RecurrentCell::lstm, .reverse = direction == Direction::backward});
    return graph_.add_node(name, op, {steps, weight, no_value, peepholes})[Recurrent::y];
  }

  const AttentionLstmSpec& spec_;
};

class AttentionLstm final : public Model {
 public:
  explicit AttentionLstm(const AttentionLstmSpec& spec) : spec_(spec) {}

  std::string name() const override { return "attention_lstm"; }
  std::string signature() const override {
    return fmt::format("{} classes={} units={} hidden={}", name(), spec_.classes, spec_.units, spec_.second_layer);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    return AttentionLstmBuilder(spec_, mode).build(batch);
  }
  DataKind reads() const override { return DataKind::video; }

 private:
  AttentionLstmSpec spec_;
};

}  // namespace

AttentionLstmSpec attention_lstm_spec(const Config& config, const DatasetInfo& data) {
  AttentionLstmSpec spec;
  static_cast<VideoSpec&>(spec) = video_spec(config, data);
  if (is_tiny(config)) {
    spec.projection = spec.units = 32;
    spec.first_layer = spec.second_layer = 64;
  }
  return spec;
}

std::unique_ptr<Model> make_attention_lstm(const AttentionLstmSpec& spec) {
  return std::make_unique<AttentionLstm>(spec);
}

}  // namespace ptrain
