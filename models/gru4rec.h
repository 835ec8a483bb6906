// GRU4Rec (Hidasi et al. 2016, Hidasi and Karatzoglou 2018) for the next item of a session: an item's row of a table, a
// GRU, and products with the rows of all items. Variables have the names of the authors' PyTorch code.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "models/blocks.h"

namespace ptrain {

struct Gru4RecSpec {
  std::int64_t items = 10'000;
  std::int64_t units = 100;  // of the GRU, and of an item's row
  std::int64_t max_length = 20;
  float dropout = 0;           // of the GRU's states
  std::int64_t negatives = 0;  // items drawn for each session in training
  bool samples = false;        // training compares the next item with those of the batch and these, not with all
};

/// The spec for a configuration and data.
Gru4RecSpec gru4rec_spec(const Config& config, const DatasetInfo& data);

/// Reads sessions of item numbers, padded at their ends to spec.max_length; scores are of all items after each. Where
/// training samples, it reads the next items and sampled_items too, and outputs them as candidates, of which its scores
/// are (core/data/tensor_names.h).
std::unique_ptr<Model> make_gru4rec(const Gru4RecSpec& spec);

}  // namespace ptrain
