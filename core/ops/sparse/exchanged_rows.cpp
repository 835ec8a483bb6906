#include "core/ops/sparse/exchanged_rows.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_ids(const TensorDesc& ids) {
  require(ids.dtype == DType::i32 || ids.dtype == DType::i64, "ids: expected i32 or i64, got {}", ids.to_string());
}

TensorDesc count_desc(std::int64_t counts) { return {DType::i32, Shape{counts}}; }
TensorDesc row_desc(std::int64_t rows, std::int64_t width) { return {DType::f32, Shape{rows, width}}; }
bool is_rows(const TensorDesc& desc, std::int64_t rows) {
  return desc.dtype == DType::f32 && desc.shape.rank() == 2 && desc.shape[0] == rows;
}

void require_counts(const TensorDesc& counts, const RowExchange& sizes) {
  require_desc(counts, count_desc(sizes.shard.world_size), "counts");
}

TensorDesc heard_desc(const RowExchange& sizes) { return {DType::i32, Shape{sizes.shard.world_size, 2}}; }

void require_received_counts(const TensorDesc& counts, const RowExchange& sizes) {
  require_desc(counts, count_desc(sizes.shard.world_size + 1), "received_counts");
}

void require_received(const TensorDesc& received, const RowExchange& sizes) {
  require_ids(received);
  require_shape(received, Shape{sizes.received()}, "received");
}

/// Results of so many rows for each of some widths, then a chunk of each rank for each.
std::vector<TensorDesc> describe_exchanged(std::int64_t rows, const RowExchange& sizes,
                                           std::span<const std::int64_t> widths) {
  std::vector<TensorDesc> outputs;
  for (const std::int64_t width : widths) outputs.push_back(row_desc(rows, width));
  for (const std::int64_t width : widths) {
    outputs.push_back(row_desc(sizes.shard.world_size * sizes.chunk(), width));
  }
  return outputs;
}

/// Bytes of a row of each of the results.
std::int64_t count_row_bytes(std::span<const TensorDesc> outputs) {
  std::int64_t bytes = 0;
  for (const TensorDesc& rows : outputs.first(outputs.size() / 2)) {
    bytes += rows.shape[1] * static_cast<std::int64_t>(element_size(rows.dtype));
  }
  return bytes;
}

}  // namespace

std::string UniqueIds::attributes() const {
  return fmt::format("world_size={}{}", attributes_.world_size, attributes_.by_key ? " by_key" : "");
}

std::vector<TensorDesc> UniqueIds::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_ids(inputs[0]);
  return {
      {DType::i32, inputs[0].shape}, {inputs[0].dtype, Shape{inputs[0].count()}}, count_desc(attributes_.world_size)};
}

std::string RowExchangeOp::attributes() const {
  return fmt::format("rank={} world_size={} ids={} rows={}{}", attributes_.shard.rank, attributes_.shard.world_size,
                     attributes_.ids, attributes_.rows, attributes_.shard.by_key ? " by_key" : "");
}

std::vector<TensorDesc> ExchangeCounts::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_counts(inputs[counts], attributes_);
  return {heard_desc(attributes_), heard_desc(attributes_)};
}

std::vector<TensorDesc> ExchangeIds::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_ids(inputs[unique]);
  require_shape(inputs[unique], Shape{attributes_.ids}, "unique");
  require_counts(inputs[counts], attributes_);
  require_desc(inputs[heard], heard_desc(attributes_), "heard");
  return {{inputs[unique].dtype, Shape{attributes_.received()}}, count_desc(attributes_.shard.world_size + 1)};
}

std::int64_t ExchangeIds::bytes_of_id(std::span<const TensorDesc> outputs) const {
  return static_cast<std::int64_t>(element_size(outputs[received].dtype));
}

std::vector<TensorDesc> ExchangeRows::infer(std::span<const TensorDesc> inputs) const {
  require(inputs.size() > tables, "expected a table");
  require_counts(inputs[counts], attributes_);
  require_received(inputs[received], attributes_);
  require_received_counts(inputs[received_counts], attributes_);
  std::vector<std::int64_t> widths;
  for (std::size_t i = tables; i < inputs.size(); ++i) {
    const bool looks_up = has_input(inputs, static_cast<int>(i));
    require(!looks_up || is_rows(inputs[i], attributes_.rows), "table: expected f32 [{},H], got {}", attributes_.rows,
            inputs[i].to_string());
    widths.push_back(looks_up ? inputs[i].shape[1] : 1);
  }
  return describe_exchanged(attributes_.ids, attributes_, widths);
}

std::int64_t ExchangeRows::bytes_of_id(std::span<const TensorDesc> outputs) const { return count_row_bytes(outputs); }

std::vector<TensorDesc> MergeRows::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_received(inputs[received], attributes_);
  require_received_counts(inputs[received_counts], attributes_);
  return {count_desc(attributes_.merged()), count_desc(attributes_.received()), count_desc(1),
          count_desc(attributes_.rows)};
}

std::vector<TensorDesc> KnownIds::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require(inputs[inverse].dtype == DType::i32, "inverse: expected i32, got {}", inputs[inverse].to_string());
  require_desc(inputs[known], row_desc(inputs[inverse].count(), 1), "known");
  return {inputs[inverse]};
}

std::string UniqueGradient::attributes() const { return fmt::format("factor={:g}", factor_); }

std::vector<TensorDesc> UniqueGradient::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  const std::int64_t ids = inputs[inverse].count();
  require(inputs[inverse].dtype == DType::i32, "inverse: expected i32, got {}", inputs[inverse].to_string());
  const bool fits = inputs[dy].dtype == DType::f32 && inputs[dy].shape.rank() >= 1 && inputs[dy].count() > 0 &&
                    ids % (inputs[dy].count() / inputs[dy].shape[-1]) == 0;
  require(fits, "dy {} does not fit ids {}", inputs[dy].to_string(), inputs[inverse].to_string());
  return {row_desc(ids, inputs[dy].shape[-1])};
}

Cost UniqueGradient::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> ExchangeGradients::infer(std::span<const TensorDesc> inputs) const {
  require(inputs.size() > gradients, "expected a gradient");
  require_counts(inputs[counts], attributes_);
  require_received_counts(inputs[received_counts], attributes_);
  require_desc(inputs[numbers], count_desc(attributes_.received()), "numbers");
  require_desc(inputs[used], count_desc(1), "used");
  std::vector<std::int64_t> widths;
  for (const TensorDesc& gradient : inputs.subspan(gradients)) {
    require(is_rows(gradient, attributes_.ids), "gradient: expected f32 [{},H], got {}", attributes_.ids,
            gradient.to_string());
    widths.push_back(gradient.shape[1]);
  }
  return describe_exchanged(attributes_.merged(), attributes_, widths);
}

std::int64_t ExchangeGradients::bytes_of_id(std::span<const TensorDesc> outputs) const {
  return count_row_bytes(outputs);
}

bool leaves_results_unwritten(const Op& op) {
  return dynamic_cast<const RowExchangeOp*>(&op) != nullptr || dynamic_cast<const UniqueGradient*>(&op) != nullptr;
}

std::vector<TensorDesc> RowsNorm::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 3);
  require(inputs[values].dtype == DType::f32 && inputs[values].shape.rank() == 2, "values: expected f32 [n,H], got {}",
          inputs[values].to_string());
  require_desc(inputs[used], count_desc(1), "used");
  return {{DType::f32, Shape{2}}};
}

}  // namespace ptrain
