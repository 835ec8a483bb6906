// Keys are searched in parallel. Those without a row are rare after the first steps and get one on one thread, in the
// order of the batch.
#include "core/ops/sparse/find_rows.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ptrain::cpu {
namespace {

/// How many keys there are, from the inputs of an op that has `received_counts` at `index`, of such a shape.
class KeyCount {
 public:
  KeyCount(std::int64_t most, std::span<const TensorDesc> inputs, int index)
      : most_(most), index_(static_cast<std::size_t>(index)) {
    if (has_input(inputs, index)) ranks_ = inputs[index_].shape[0] - 1;
  }
  std::int64_t read(const KernelArgs& args) const {
    if (ranks_ == 0) return most_;
    const auto* counts = static_cast<const std::int32_t*>(args.inputs[index_]);
    return std::accumulate(counts, counts + ranks_, std::int64_t{0});
  }
  /// Whether no rank asks another for any.
  bool none_anywhere(const KernelArgs& args) const {
    return ranks_ > 0 && static_cast<const std::int32_t*>(args.inputs[index_])[ranks_] == 0;
  }

 private:
  std::int64_t most_, ranks_ = 0;
  std::size_t index_;
};

class FindRowsKernel final : public Kernel {
 public:
  explicit FindRowsKernel(const KernelContext& context)
      : attributes_(context.op_as<FindRows>().attrs()),
        count_(context.inputs[FindRows::keys].shape.count(), context.inputs, FindRows::received_counts),
        capacity_(static_cast<std::size_t>(context.inputs[FindRows::index_keys].shape[0])) {}

  void run(const KernelArgs& args) override {
    if (attributes_.ahead && count_.none_anywhere(args)) return;
    State state = read(args);
    const bool repeats = attributes_.inserts && std::exchange(state.counts[RowIndex::ahead], 0) != 0;
    if (attributes_.inserts && !repeats) begin_step(state);
    const auto* keys = static_cast<const std::int64_t*>(args.inputs[FindRows::keys]);
    auto* rows = static_cast<std::int32_t*>(args.outputs[FindRows::rows]);
    const std::int64_t count = count_.read(args);
    parallel_for(count, 256, [&](std::int64_t begin, std::int64_t end) {
      state.index.find({keys + begin, keys + end}, rows + begin);
    });
    if (!attributes_.inserts) return;
    auto* fresh = static_cast<std::int32_t*>(args.outputs[FindRows::fresh]);
    if (repeats) {
      std::fill_n(fresh, count, RowIndex::no_row);
    } else {
      add_rows(state, {keys, static_cast<std::size_t>(count)}, rows, fresh);
    }
  }

 private:
  struct State {
    std::span<std::int64_t> keys, counts;
    RowIndex index;
    std::uint8_t* seen;
    float* scores;
    std::int32_t* freed;
    std::int64_t reusable;  // the first of the free list, which this step may give out
  };

  State read(const KernelArgs& args) const {
    const std::span keys(static_cast<std::int64_t*>(args.inputs[FindRows::index_keys]), capacity_);
    const std::span slots(static_cast<std::int32_t*>(args.inputs[FindRows::slots]),
                          static_cast<std::size_t>(RowIndex::slots_for(std::ssize(keys))));
    const std::span counts(static_cast<std::int64_t*>(args.inputs[FindRows::counts]), RowIndex::counts_size);
    return {keys,
            counts,
            RowIndex(keys, slots, counts),
            static_cast<std::uint8_t*>(args.inputs[FindRows::seen]),
            static_cast<float*>(args.inputs[FindRows::scores]),
            static_cast<std::int32_t*>(args.inputs[FindRows::freed]),
            counts[RowIndex::freed]};
  }

  void begin_step(State& state) const {
    std::int64_t& steps = state.counts[RowIndex::steps];
    if (attributes_.sweep && steps > 0 && steps % attributes_.sweep->every == 0) sweep(state);
    ++steps;
  }

  void sweep(State& state) const {
    for (std::int64_t row = 0; row < state.counts[RowIndex::rows]; ++row) {
      if (state.keys[static_cast<std::size_t>(row)] == RowIndex::no_key) continue;
      state.scores[row] *= attributes_.sweep->decay;
      if (state.scores[row] >= attributes_.sweep->evict_below) continue;
      state.index.erase(static_cast<std::int32_t>(row));
      state.scores[row] = 0;
      state.freed[state.counts[RowIndex::freed]++] = static_cast<std::int32_t>(row);
      ++state.counts[RowIndex::evicted];
    }
    if (!attributes_.ahead) state.reusable = state.counts[RowIndex::freed];
  }

  void add_rows(State& state, std::span<const std::int64_t> keys, std::int32_t* rows, std::int32_t* fresh) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      fresh[i] = RowIndex::no_row;
      if (keys[i] == RowIndex::no_key) continue;
      if (rows[i] == RowIndex::no_row) rows[i] = state.index.find(keys[i]);  // that this batch added
      if (rows[i] == RowIndex::no_row) {
        if (admits(state, keys[i])) {
          rows[i] = fresh[i] = add_row(state, keys[i]);
        } else {
          ++state.counts[RowIndex::unadmitted];
        }
      }
      if (state.scores != nullptr && rows[i] != RowIndex::no_row) state.scores[rows[i]] += 1;
    }
  }

  /// Counts the occurrence. Keys that share a counter are admitted early.
  bool admits(State& state, std::int64_t key) const {
    if (attributes_.admit_after <= 1) return true;
    const std::int64_t counters = RowIndex::counters_for(std::ssize(state.keys));
    std::uint8_t& counter = state.seen[RowIndex::counter_at(attributes_.shard.place_on_rank(key), counters)];
    if (counter < 255) ++counter;
    return counter >= attributes_.admit_after;
  }

  std::int32_t add_row(State& state, std::int64_t key) const {
    if (state.reusable > 0) {
      const std::int32_t row = state.freed[--state.reusable];
      state.freed[state.reusable] = state.freed[--state.counts[RowIndex::freed]];
      state.index.assign(key, row);
      return row;
    }
    if (state.counts[RowIndex::rows] == std::ssize(state.keys)) fail_full(state.keys.size());
    return state.index.append(key);
  }

  [[noreturn]] void fail_full(std::size_t rows) const {
    const RowShard& shard = attributes_.shard;
    const std::string whose =
        shard.world_size > 1 ? fmt::format("rank {}'s share of {}", shard.rank, rows) : fmt::format("its {}", rows);
    fail(
        "the embedding table is full: training has seen more categories than {} rows (model.hash_buckets); raise that, "
        "or keep rare ones out with model.admit_after or train.tables.sweep_every_steps",
        whose);
  }

  FindRowsAttributes attributes_;
  KeyCount count_;
  std::size_t capacity_;
};

class StartRowsKernel final : public Kernel {
 public:
  explicit StartRowsKernel(const KernelContext& context)
      : attributes_(context.op_as<StartRows>().attrs()),
        count_(context.inputs[StartRows::fresh].shape[0], context.inputs, StartRows::received_counts) {
    const Shape& table = context.inputs[StartRows::table].shape;
    width_ = table.rank() == 2 ? table[1] : 1;
  }

  void run(const KernelArgs& args) override {
    const auto* fresh = static_cast<const std::int32_t*>(args.inputs[StartRows::fresh]);
    const auto* keys = static_cast<const std::int64_t*>(args.inputs[StartRows::keys]);
    auto* table = static_cast<float*>(args.inputs[StartRows::table]);
    const auto width = static_cast<std::size_t>(width_);
    parallel_for(count_.read(args), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (fresh[i] < 0) continue;
        const RandomStream stream{attributes_.seed, static_cast<std::uint64_t>(keys[i]), attributes_.stream};
        fill_values(attributes_.initializer, stream, 0, width, {table + fresh[i] * width_, width});
      }
    });
  }

 private:
  StartRowsAttributes attributes_;
  KeyCount count_;
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<Kernel> make_find_rows(const KernelContext& context) {
  return std::make_unique<FindRowsKernel>(context);
}

std::unique_ptr<Kernel> make_start_rows(const KernelContext& context) {
  return std::make_unique<StartRowsKernel>(context);
}

}  // namespace ptrain::cpu
