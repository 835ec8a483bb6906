// Wide & Deep (Cheng et al. 2016) for click prediction from dense and hashed categorical features. The deep part is
// PaddleRec's: each category's row of one table, and the dense features, through layers of 512, 256, 128 and 32. The
// wide part is PaddleRec's linear layer over the dense features and, as in the paper, a weight per category.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/blocks.h"

namespace ptrain {

struct WideDeepSpec {
  std::int64_t dense_features = 13;        // per row
  std::int64_t categorical_features = 26;  // per row
  std::int64_t hash_buckets = 1'000'001;
  std::int64_t embedding_size = 9;
};

/// The spec for a configuration and data.
WideDeepSpec wide_deep_spec(const Config& config, const DatasetInfo& data);

/// Its two tables have sparse gradients of the rows that a batch reads.
std::unique_ptr<Model> make_wide_deep(const WideDeepSpec& spec);

}  // namespace ptrain
