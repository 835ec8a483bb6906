// What the networks for click prediction have in common.
#pragma once

#include "models/blocks.h"
#include "models/clicks/click_model.h"

#include <span>

namespace ptrain {

/// A linear model of all features, plus layers over them.
BuiltModel build_wide_deep(const ClickSpec& spec, const Bucket& batch, Mode mode);
/// Layers over all features.
BuiltModel build_ctr_dnn(const ClickSpec& spec, const Bucket& batch, Mode mode);
/// A linear model, the products of all pairs of fields, and layers over the fields.
BuiltModel build_deepfm(const ClickSpec& spec, const Bucket& batch, Mode mode);
/// Layers over the dense features, crosses of what they give with the categories' rows, and layers over that.
BuiltModel build_dlrm_dcnv2(const ClickSpec& spec, const Bucket& batch, Mode mode);

/// A graph that begins with a batch's features.
class ClickBlocks : public Blocks {
 public:
  ClickBlocks(const ClickSpec& spec, const Bucket& batch, Mode mode);

 protected:
  /// [B, categorical features, embedding size]: each category's row of the table NAME.weight.
  ValueId look_up(const std::string& name, Initializer start);
  /// The logits [B, 1] of a linear model: a weight per dense feature, NAME.numbers, and per category, NAME.words.
  ValueId weigh_features(const std::string& name);
  /// `weight` [outputs, inputs] of variance 1 / inputs, and a bias: PaddleRec's initialisation.
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);
  /// Layers NAME.0 and so on of those outputs, each with a ReLU.
  ValueId dense_layers(const std::string& name, ValueId x, std::span<const std::int64_t> outputs);
  /// The logits [B, 1] of layers deep.layers of those outputs over the rows [B, ...] of all inputs.
  ValueId score_deeply(std::vector<ValueId> inputs, std::span<const std::int64_t> outputs);
  ValueId sum(const std::string& name, ValueId a, ValueId b);

  const ClickSpec spec_;
  ValueId dense_features_, categorical_features_;
};

}  // namespace ptrain
