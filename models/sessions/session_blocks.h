// Shared by models that score a session's next item from the items before it.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/ops/sequence/recurrent.h"
#include "models/blocks.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ptrain {

struct SessionSpec {
  std::int64_t items = 10'000;
  std::int64_t units = 100;  // of the GRU, and of an item's row
  std::int64_t max_length = 20;
  float dropout = 0;           // of the GRU's states
  std::int64_t negatives = 0;  // items drawn for each session in training
  bool samples = false;        // training compares the next item with those of the batch and these, not with all
};

/// The spec for a configuration and data.
SessionSpec session_spec(const Config& config, const DatasetInfo& data);

/// Reads sessions of item numbers, padded at their ends to spec.max_length. Where training samples, it reads the next
/// items and sampled_items too, and outputs them as candidates, of which its scores are (core/data/tensor_names.h).
class SessionBlocks : public Blocks {
 public:
  SessionBlocks(const SessionSpec& spec, Mode mode) : Blocks(mode, spec.dropout), spec_(spec) {}

 protected:
  /// Adds the items of sessions as inputs, and returns their rows [L,N,units] of the table, step by step.
  ValueId look_up_steps(std::int64_t sessions, ValueId table);
  /// The states [L,N,units] of a GRU after each step. `bias_hh` is that of the state's part, which a GRU that resets
  /// first does not have.
  ValueId gru(const std::string& name, ValueId x, RecurrentCell cell);
  /// What is computed step by step, [L,N,C], by session: [N,L,C]; of deployed models what it is after the last item,
  /// [N,C].
  ValueId by_session(ValueId steps);
  /// Whether scores are of candidates, not of all items.
  bool has_candidates() const { return training() && spec_.samples; }
  /// The items that come next in the batch's sessions, then those drawn: i32 [K]. Padding is -1, whose rows are zeros.
  ValueId add_candidates(std::int64_t sessions);
  /// The rows of `table` that belong to candidates.
  ValueId pick(const std::string& name, ValueId table, ValueId candidates);
  /// The authors' start of GRU4Rec, Xavier's, from the extents of a matrix; of one with gates, its columns count a
  /// part.
  static Initializer start(std::int64_t rows, std::int64_t columns, float gates = 1);

  const SessionSpec& spec_;

 private:
  ValueId lengths_ = no_value;
};

/// The model of that name which Builder, SessionBlocks, builds.
template <typename Builder>
class SessionModel final : public Model {
 public:
  SessionModel(std::string name, const SessionSpec& spec) : name_(std::move(name)), spec_(spec) {}

  std::string name() const override { return name_; }
  std::string signature() const override {
    return fmt::format("{} items={} units={}", name_, spec_.items, spec_.units);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return Builder(spec_, mode).build(batch); }
  DataKind reads() const override { return DataKind::tokens; }

 private:
  std::string name_;
  SessionSpec spec_;
};

}  // namespace ptrain
