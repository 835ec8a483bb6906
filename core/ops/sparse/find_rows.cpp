#include "core/ops/sparse/find_rows.h"

#include "core/ops/require.h"

namespace ptrain {

namespace {

void require_received_counts(std::span<const TensorDesc> inputs, int index) {
  if (!has_input(inputs, index)) return;
  const TensorDesc& counts = inputs[static_cast<std::size_t>(index)];
  require(counts.dtype == DType::i32 && counts.shape.rank() == 1, "received_counts: expected i32 [ranks + 1], got {}",
          counts.to_string());
}

}  // namespace

std::string FindRows::attributes() const {
  const RowShard& shard = attributes_.shard;
  std::string text;
  if (shard.world_size > 1) text = fmt::format("rank={} world_size={} ", shard.rank, shard.world_size);
  if (!attributes_.inserts) return text;
  text += fmt::format("inserts admit_after={}{}", attributes_.admit_after, attributes_.ahead ? " ahead" : "");
  if (!attributes_.sweep) return text;
  const RowSweep& sweep = *attributes_.sweep;
  return fmt::format("{} sweep={} decay={} evict_below={}", text, sweep.every, sweep.decay, sweep.evict_below);
}

std::vector<TensorDesc> FindRows::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, received_counts, input_count);
  require_received_counts(inputs, received_counts);
  require(inputs[keys].dtype == DType::i64 && inputs[keys].shape.rank() >= 1, "keys: expected i64 [...], got {}",
          inputs[keys].to_string());
  require(inputs[index_keys].dtype == DType::i64 && inputs[index_keys].shape.rank() == 1,
          "index keys: expected i64 [capacity], got {}", inputs[index_keys].to_string());
  const std::int64_t capacity = inputs[index_keys].shape[0], n = inputs[keys].shape.count();
  require_desc(inputs[slots], {DType::i32, Shape{RowIndex::slots_for(capacity)}}, "slots");
  require_desc(inputs[counts], {DType::i64, Shape{RowIndex::counts_size}}, "counts");
  const bool counts_seen = attributes_.inserts && attributes_.admit_after > 1;
  require(counts_seen == has_input(inputs, seen), "seen: expected with admit_after above 1 alone");
  if (counts_seen) require_desc(inputs[seen], {DType::u8, Shape{RowIndex::counters_for(capacity)}}, "seen");
  const bool sweeps = attributes_.inserts && attributes_.sweep;
  require(sweeps == has_input(inputs, scores) && sweeps == has_input(inputs, freed),
          "scores and freed: expected with a sweep alone");
  if (sweeps) {
    require_desc(inputs[scores], {DType::f32, Shape{capacity}}, "scores");
    require_desc(inputs[freed], {DType::i32, Shape{capacity}}, "freed");
  }
  std::vector<TensorDesc> outputs{{DType::i32, inputs[keys].shape}};
  if (attributes_.inserts) outputs.push_back({DType::i32, Shape{n}});
  return outputs;
}

Cost FindRows::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  constexpr double cache_lines = 2 * 64.0;  // of a slot and its key
  const auto n = static_cast<double>(inputs[keys].shape.count());
  return {0, traffic(inputs.first(1), outputs) + n * cache_lines};
}

std::string StartRows::attributes() const {
  constexpr std::array<std::string_view, 3> kinds{"constant", "normal", "uniform"};
  return fmt::format("{} {}", kinds.at(static_cast<std::size_t>(attributes_.initializer.kind)),
                     attributes_.initializer.value);
}

std::vector<TensorDesc> StartRows::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, received_counts, input_count);
  require_received_counts(inputs, received_counts);
  require(inputs[keys].dtype == DType::i64, "keys: expected i64, got {}", inputs[keys].to_string());
  require_desc(inputs[fresh], {DType::i32, Shape{inputs[keys].shape.count()}}, "fresh");
  const int rank = inputs[table].shape.rank();
  require(inputs[table].dtype == DType::f32 && (rank == 1 || rank == 2),
          "table: expected f32 [rows,H] or [rows], got {}", inputs[table].to_string());
  return {};
}

}  // namespace ptrain
