// Filling, compacting and padding the rows of a batch.
#include "core/data/loader/batch_slot.h"

#include "core/data/image/random_erasing.h"
#include "core/data/image/trivial_augment.h"

#include <algorithm>
#include <cstddef>

namespace ptrain {
namespace {

template <typename T>
std::span<T> row_of(std::vector<T>& values, std::int64_t row, std::size_t length) {
  return std::span<T>(values).subspan(static_cast<std::size_t>(row) * length, length);
}

template <typename T>
void move_row(std::vector<T>& values, std::int64_t from, std::int64_t to, std::size_t length) {
  if (length == 0 || from == to) return;
  const auto source = row_of(values, from, length);
  std::copy(source.begin(), source.end(), row_of(values, to, length).begin());
}

/// Of the rows of an allocated batch.
struct RowLengths {
  std::size_t pixels;
  std::size_t tokens;
  std::size_t numbers;
  std::size_t categories;
  explicit RowLengths(const Batch& batch)
      : pixels(batch.pixels.size() / batch.labels.size()),
        tokens(batch.ids.size() / batch.labels.size()),
        numbers(batch.numbers.size() / batch.labels.size()),
        categories(batch.categories.size() / batch.labels.size()) {}
};

/// Where the sample at `position` of a part of the data set lies.
std::int64_t spaced(std::int64_t position, const Dataset& dataset, const LoaderOptions& options) {
  const bool part = options.samples > 0 && options.samples < dataset.size();
  return part ? position * dataset.size() / options.samples : position;
}

/// What is done to images behind their data set; to all frames of a clip the same.
void change_images(const SampleView& view, const DatasetInfo& info, const LoaderOptions& options, std::uint64_t draws,
                   std::int64_t index, Scratch& scratch) {
  const std::size_t bytes = view.pixels.size() / static_cast<std::size_t>(info.images_per_sample());
  for (std::size_t from = 0; from < view.pixels.size(); from += bytes) {
    const std::span<std::uint8_t> image = view.pixels.subspan(from, bytes);
    if (options.images.trivial_augment) {
      augment_trivially(image, view.form.size, {options.seed, draws, index, DataStream::change}, scratch.resized);
    }
    if (options.images.erasing > 0) {
      erase_randomly(image, view.form.size, options.images.erasing, mean_colour(info),
                     {options.seed, draws, index, DataStream::erase});
    }
  }
}

}  // namespace

void allocate(BatchSlot& slot, const DatasetInfo& info, const LoaderOptions& options) {
  const auto rows = static_cast<std::size_t>(options.batch_size);
  const std::size_t tokens = info.kind == DataKind::image ? 0 : static_cast<std::size_t>(info.max_length);
  const int asked = options.images.size > 0 ? options.images.size : info.image_size;
  const int size = info.kind == DataKind::image ? asked : 0;
  slot.batch.image_size = size;
  slot.batch.pixels.resize(rows * static_cast<std::size_t>(info.images_per_sample()) * static_cast<std::size_t>(size) *
                           static_cast<std::size_t>(size) * 3);
  slot.batch.ids.resize(rows * tokens);
  slot.batch.token_types.resize(rows * tokens);
  slot.batch.lengths.resize(tokens > 0 ? rows : 0);
  slot.batch.numbers.resize(rows * static_cast<std::size_t>(info.numbers));
  slot.batch.categories.resize(rows * static_cast<std::size_t>(info.categories));
  slot.batch.labels.resize(rows);
  slot.batch.values.resize(info.head == Head::regression ? rows : 0);
  slot.batch.sample_indices.resize(rows);
  slot.bad_rows.resize(rows);
  slot.errors.resize(rows);
}

void fill_row(BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options, std::int64_t row,
              std::int64_t position, Scratch& scratch) noexcept {
  const auto at = static_cast<std::size_t>(row);
  Batch& batch = slot.batch;
  const RowLengths lengths(batch);
  slot.errors[at] = nullptr;
  slot.bad_rows[at].clear();
  SampleView view{row_of(batch.pixels, row, lengths.pixels),
                  row_of(batch.ids, row, lengths.tokens),
                  row_of(batch.token_types, row, lengths.tokens),
                  lengths.tokens > 0 ? &batch.lengths[at] : nullptr,
                  {static_cast<int>(batch.image_size), options.images.smallest_crop},
                  row_of(batch.numbers, row, lengths.numbers),
                  row_of(batch.categories, row, lengths.categories)};
  try {
    auto [index, repeat] = slot.order ? (*slot.order)[position] : DrawnSample{spaced(position, dataset, options)};
    const std::uint64_t draws = static_cast<std::uint64_t>(batch.epoch) ^ repeat << 40;  // others each time
    for (;;) {
      try {
        const SampleRandom random(options.seed, draws, index);
        batch.labels[at] = dataset.load(index, random, scratch, view);
        batch.sample_indices[at] = index;
        if (!batch.values.empty()) batch.values[at] = dataset.value(index);
        if (batch.image_size > 0) change_images(view, dataset.info(), options, draws, index, scratch);
        return;
      } catch (const BadSample& bad) {
        slot.bad_rows[at].push_back({index, bad.what()});
      }
      const auto bad_count = static_cast<std::int64_t>(slot.bad_rows[at].size());
      const bool give_up = bad_count > options.max_bad_samples || bad_count >= dataset.size();
      if (options.order == SampleOrder::sequential || give_up) {
        batch.sample_indices[at] = -1;
        return;
      }
      index = (index + 1) % dataset.size();
    }
  } catch (...) {
    slot.errors[at] = std::current_exception();
  }
}

void finish_batch(BatchSlot& slot, std::int64_t filled) {
  Batch& batch = slot.batch;
  const RowLengths lengths(batch);
  std::int64_t kept = 0;
  for (std::int64_t row = 0; row < filled; ++row) {
    if (batch.sample_indices[static_cast<std::size_t>(row)] < 0) continue;
    move_row(batch.pixels, row, kept, lengths.pixels);
    move_row(batch.ids, row, kept, lengths.tokens);
    move_row(batch.token_types, row, kept, lengths.tokens);
    if (lengths.tokens > 0) move_row(batch.lengths, row, kept, 1);
    move_row(batch.numbers, row, kept, lengths.numbers);
    move_row(batch.categories, row, kept, lengths.categories);
    move_row(batch.labels, row, kept, 1);
    if (!batch.values.empty()) move_row(batch.values, row, kept, 1);
    move_row(batch.sample_indices, row, kept, 1);
    ++kept;
  }
  batch.count = kept;
  const auto from = static_cast<std::ptrdiff_t>(kept);
  const auto fill_from = [from](auto& values, std::size_t length, auto value) {
    std::fill(values.begin() + from * static_cast<std::ptrdiff_t>(length), values.end(), value);
  };
  fill_from(batch.pixels, lengths.pixels, std::uint8_t{0});
  fill_from(batch.ids, lengths.tokens, 0);
  fill_from(batch.token_types, lengths.tokens, 0);
  if (lengths.tokens > 0) fill_from(batch.lengths, 1, 1);
  fill_from(batch.numbers, lengths.numbers, 0.0f);
  fill_from(batch.categories, lengths.categories, 0);
  for (auto row = kept; kept > 0 && row < static_cast<std::int64_t>(batch.labels.size()); ++row) {
    move_row(batch.categories, 0, row, lengths.categories);
  }
  fill_from(batch.labels, 1, 0);
  if (!batch.values.empty()) fill_from(batch.values, 1, std::numeric_limits<float>::quiet_NaN());
  fill_from(batch.sample_indices, 1, -1);
}

}  // namespace ptrain
