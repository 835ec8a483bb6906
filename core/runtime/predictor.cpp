#include "core/runtime/predictor.h"

#include "core/base/rng.h"

#include <algorithm>
#include <bit>

namespace ptrain {
namespace {

/// What stands in the rows behind is nobody's; of text each is one token.
void pad_rows(Batch& batch, std::int64_t rows) {
  const std::size_t from = batch.labels.size(), to = static_cast<std::size_t>(rows);
  if (from >= to) return;
  batch.pixels.resize(batch.pixels.size() / from * to);
  batch.ids.resize(batch.ids.size() / from * to);
  batch.token_types.resize(batch.token_types.size() / from * to);
  batch.numbers.resize(batch.numbers.size() / from * to);
  batch.categories.resize(batch.categories.size() / from * to);
  if (!batch.lengths.empty()) batch.lengths.resize(to, 1);
  batch.labels.resize(to);
}

}  // namespace

Batch made_up_batch(const DatasetInfo& data, std::int64_t rows) {
  Batch batch;
  batch.count = rows;
  const RandomStream random{1, 0, 0};
  const auto fill = [&](auto& values, std::int64_t each, std::uint32_t below) {
    values.resize(static_cast<std::size_t>(rows * each));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::remove_reference_t<decltype(values[i])>>(random.bits(i) % below);
    }
  };
  if (data.kind == DataKind::image) {
    fill(batch.pixels, std::int64_t{3} * data.images_per_sample() * data.image_size * data.image_size, 256);
  } else if (data.kind == DataKind::table) {
    fill(batch.numbers, data.numbers, 2);
    fill(batch.categories, data.categories, static_cast<std::uint32_t>(data.hash_buckets));
  } else {
    fill(batch.ids, data.max_length, static_cast<std::uint32_t>(data.vocab_size));
    fill(batch.token_types, data.max_length, 1);
    batch.lengths.assign(static_cast<std::size_t>(rows), data.max_length);
  }
  batch.labels.resize(static_cast<std::size_t>(rows));
  return batch;
}

std::int64_t Predictor::rows_for(std::int64_t inputs) const {
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(inputs)));
  return std::min(rows, model_.batch_size());
}

void Predictor::prepare(const DatasetInfo& data) {
  for (std::int64_t rows = 1;; rows = rows_for(2 * rows)) {
    Batch batch = made_up_batch(data, rows);
    model_.run(batch);
    if (rows == most()) return;
  }
}

std::vector<float> Predictor::run(Batch& batch) {
  pad_rows(batch, rows_for(batch.count));
  std::vector<float> logits = model_.run(batch);
  logits.resize(static_cast<std::size_t>(batch.count * model_.classes()));
  for (std::int64_t row = 0; row < batch.count; ++row) {
    require_finite(
        std::span(logits).subspan(static_cast<std::size_t>(row * classes()), static_cast<std::size_t>(classes())),
        fmt::format("input {}", row));
  }
  return logits;
}

}  // namespace ptrain
