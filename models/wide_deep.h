// Wide & Deep (Cheng et al. 2016) over clicks: numbers and words that are numbered by hash. The deep part is
// PaddleRec's: each word's row of one table, and the numbers, through layers of 512, 256, 128 and 32. The wide part is
// PaddleRec's linear layer over the numbers and, as in the paper, a weight of each word.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/blocks.h"

namespace ptrain {

struct WideDeepSpec {
  std::int64_t numbers = 13;     // in a row of the table
  std::int64_t categories = 26;  // words in a row
  std::int64_t hash_buckets = 1'000'001;
  std::int64_t embedding_size = 9;
};

/// What the configuration and the data ask for.
WideDeepSpec wide_deep_spec(const Config& config, const DatasetInfo& data);

/// Its two tables hand back gradients of the rows that a batch reads.
std::unique_ptr<Model> make_wide_deep(const WideDeepSpec& spec);

}  // namespace ptrain
