#include "models/video/nextvlad.h"

#include "core/ops/concat.h"
#include "core/ops/tensor/batched_matmul.h"

namespace ptrain {
namespace {

constexpr std::int64_t gate_reduction = 8;

class NextVladBuilder final : public VideoBlocks {
 public:
  NextVladBuilder(const NextVladSpec& spec, Mode mode) : VideoBlocks(spec, mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    add_inputs(batch.rows);
    const ValueId video = aggregate("video", rgb_), audio = aggregate("audio", audio_);
    ValueId x = dropout("dropout", add("features", std::make_shared<Concat>(1), {video, audio}));
    x = batch_norm("hidden_bn", project("hidden", x, spec_.hidden));
    ValueId gates = batch_norm("gate_bn", project("gate.0", x, spec_.hidden / gate_reduction));
    gates = project("gate.1", activate("gate.relu", Activation::relu, gates), spec_.hidden);
    x = combine("gated", BinaryFunction::mul, x, activate("gate.sigmoid", Activation::sigmoid, gates));
    return finish(classifier("classifier", x, spec_.classes, start(spec_.hidden), constant_start(0)));
  }

 private:
  /// [N, clusters * group] of frames [N,F,C]: of each cluster the sum of the groups' distances from its centre, weighed
  /// by the cluster's share of a group and by the group's attention.
  ValueId aggregate(const std::string& name, ValueId frames) {
    const std::int64_t clusters = spec_.clusters, groups = spec_.groups,
                       group = spec_.expansion * channels(frames) / groups;
    const std::int64_t all = rows_ * max_frames_, parts = max_frames_ * groups;
    const ValueId flat = reshape(name + ".frames", frames, {all, channels(frames)});
    const ValueId x = dense(name + ".expansion", flat, spec_.expansion * channels(frames));
    const ValueId nearness = batch_norm(name + ".cluster_bn", project(name + ".clusters", x, groups * clusters));
    const ValueId shares = softmax(name + ".shares", reshape(name + ".nearness", nearness, {all * groups, clusters}));
    const ValueId weights = reshape(
        name + ".weights", combine(name + ".weighed", BinaryFunction::mul, shares, attend(name + ".attention", x)),
        {rows_, parts, clusters});
    const auto product = std::make_shared<BatchedMatmul>(BatchedMatmulAttributes{Orientation::transposed});
    const ValueId sums = add(name + ".sums", product, {weights, reshape(name + ".groups", x, {rows_, parts, group})});
    const ValueId mass =
        reshape(name + ".mass", reduce(name + ".mass.sum", ReduceKind::sum, 1, weights), {rows_, clusters, 1});
    const ValueId centres = parameter(make_variable(name + ".centres", Shape{clusters, group}, start(clusters)));
    const ValueId distances = combine(name + ".distances", BinaryFunction::sub, sums,
                                      combine(name + ".centred", BinaryFunction::mul, mass, centres));
    return batch_norm(name + ".vlad_bn",
                      reshape(name + ".vlad", normalize(name + ".normalized", distances), {rows_, clusters * group}));
  }

  /// [N*F*groups,1]: how much each group of a frame's features counts; nothing in padding.
  ValueId attend(const std::string& name, ValueId x) {
    const std::int64_t all = rows_ * max_frames_;
    const ValueId scores = activate(name + ".sigmoid", Activation::sigmoid, dense(name, x, spec_.groups));
    const ValueId masked =
        combine(name + ".masked", BinaryFunction::mul, scores, reshape(name + ".mask", mask_, {all, 1}));
    return reshape(name + ".groups", masked, {all * spec_.groups, 1});
  }

  const NextVladSpec& spec_;
};

class NextVlad final : public Model {
 public:
  explicit NextVlad(const NextVladSpec& spec) : spec_(spec) {}

  std::string name() const override { return "nextvlad"; }
  std::string signature() const override {
    return fmt::format("{} classes={} clusters={} hidden={}", name(), spec_.classes, spec_.clusters, spec_.hidden);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    return NextVladBuilder(spec_, mode).build(batch);
  }
  DataKind reads() const override { return DataKind::video; }

 private:
  NextVladSpec spec_;
};

}  // namespace

NextVladSpec nextvlad_spec(const Config& config, const DatasetInfo& data) {
  NextVladSpec spec;
  static_cast<VideoSpec&>(spec) = video_spec(config, data);
  if (is_tiny(config)) {
    spec.expansion = 1;
    spec.groups = 4;
    spec.clusters = 8;
    spec.hidden = 64;
  }
  return spec;
}

std::unique_ptr<Model> make_nextvlad(const NextVladSpec& spec) { return std::make_unique<NextVlad>(spec); }

}  // namespace ptrain
