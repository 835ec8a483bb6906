// What the networks for click prediction have in common.
#pragma once

#include "core/ops/tensor/reduce.h"
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
  /// [B, categorical features, embedding size]: each category's row of the table NAME.weight, or the sum or mean of
  /// those of a bag of them.
  ValueId look_up(const std::string& name, Initializer start);
  /// The logits [B, 1] of a linear model: a weight per dense feature, NAME.numbers, and per category, NAME.words, of
  /// which the categories of a bag are summed or averaged.
  ValueId weigh_features(const std::string& name);
  /// `weight` [outputs, inputs] of variance 1 / inputs, and a bias: PaddleRec's initialisation.
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);
  /// Layers NAME.0 and so on of those outputs, each with a ReLU.
  ValueId dense_layers(const std::string& name, ValueId x, std::span<const std::int64_t> outputs);
  /// `x` and the dense features, if there are any.
  std::vector<ValueId> with_dense_features(ValueId x) const;
  /// The logits [B, 1] of layers deep.layers of those outputs over the rows [B, ...] of all inputs.
  ValueId score_deeply(std::vector<ValueId> inputs, std::span<const std::int64_t> outputs);
  ValueId sum(const std::string& name, ValueId a, ValueId b);

  /// Over axis 1.
  ValueId total_over(const std::string& name, ValueId x, KeepDims keep);

  const ClickSpec spec_;
  ValueId dense_features_ = no_value;  // none where there are no dense features
  ValueId categorical_features_;

 private:
  /// Replaces keys by rows: those that they have, or get in training.
  void find_rows();
  /// The table NAME.weight [hash_buckets, width].
  ValueId add_table(const std::string& name, std::int64_t width, Initializer start);
  /// [B, categorical features, H]: the sum or mean of each bag's rows of `table` [hash_buckets, H].
  ValueId reduce_bags(const std::string& name, ValueId table);
  /// f32 [B, categorical features, 1]: the ids of each bag, and 1 for an empty one.
  ValueId count_ids();

  ValueId bag_counts_ = no_value;
  ValueId keys_ = no_value, fresh_rows_ = no_value;  // of a dynamic table; fresh rows in training
};

}  // namespace ptrain
