// Fills, compacts and pads the rows of a batch.
#include "core/data/loader/batch_slot.h"

#include "core/data/image/random_erasing.h"
#include "core/data/image/trivial_augment.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ptrain {
namespace {

/// The sample at `position` of an evenly spaced subset of the data set.
std::int64_t spaced(std::int64_t position, const Dataset& dataset, const LoaderOptions& options) {
  const bool part = options.samples > 0 && options.samples < dataset.size();
  return part ? position * dataset.size() / options.samples : position;
}

/// Of `sizes`; the same on every rank, and for all batches of a step.
ImageSize draw_size(const std::vector<ImageSize>& sizes, const LoaderOptions& options, std::int64_t epoch,
                    std::int64_t index) {
  SampleRandom random(options.seed, static_cast<std::uint64_t>(epoch), index / options.batches_per_step,
                      DataStream::size);
  return sizes[static_cast<std::size_t>(random.below(static_cast<int>(sizes.size())))];
}

/// Augmentations applied after the data set's own; the same for all frames of a clip.
void change_images(std::span<std::uint8_t> pixels, ImageSize size, const DatasetInfo& info,
                   const LoaderOptions& options, std::uint64_t draws, std::int64_t index, Scratch& scratch) {
  const std::size_t bytes = pixels.size() / static_cast<std::size_t>(info.images_per_sample());
  for (std::size_t from = 0; from < pixels.size(); from += bytes) {
    const std::span<std::uint8_t> image = pixels.subspan(from, bytes);
    if (options.images.trivial_augment) {
      apply_trivial_augment(image, size, {options.seed, draws, index, DataStream::change}, scratch.resized);
    }
    if (options.images.erasing > 0) {
      erase_randomly(image, size, options.images.erasing, mean_colour(info),
                     {options.seed, draws, index, DataStream::erase});
    }
  }
}

}  // namespace

std::vector<ImageSize> select_sizes(const std::vector<ImageSize>& sizes, ImageAspect aspect) {
  std::vector<ImageSize> selected;
  std::ranges::copy_if(sizes, std::back_inserter(selected),
                       [&](ImageSize size) { return get_aspect(size.height, size.width) == aspect; });
  return selected;
}

void allocate(BatchSlot& slot, const Dataset& dataset, const ImageForm& form, std::int64_t rows) {
  slot.batch = Batch(dataset.tensors(form), rows);
  slot.batch.sample_indices.resize(static_cast<std::size_t>(rows));
  slot.bad_rows.resize(static_cast<std::size_t>(rows));
  slot.errors.resize(static_cast<std::size_t>(rows));
}

void prepare(BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options, std::int64_t epoch,
             std::int64_t index, std::int64_t position) {
  if (options.choose_size || !options.sizes.empty()) {
    ImageForm form = options.images;
    if (options.choose_size) {
      form.size = options.choose_size(draw_sample(slot, dataset, options, position).index);
    } else {
      const auto sizes =
          slot.grouped_order ? select_sizes(options.sizes, slot.grouped_order->aspect(position)) : options.sizes;
      form.size = draw_size(sizes, options, epoch, index);
    }
    if (find_image_size(slot.batch) != form.size) allocate(slot, dataset, form, options.batch_size);
  }
  slot.batch.epoch = epoch;
  slot.batch.index = index;
}

DrawnSample draw_sample(const BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options,
                        std::int64_t position) {
  if (slot.grouped_order) return (*slot.grouped_order)[position];
  return slot.order ? (*slot.order)[position] : DrawnSample{spaced(position, dataset, options)};
}

void fill_row(BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options, std::int64_t row,
              DrawnSample sample, Scratch& scratch) noexcept {
  const auto at = static_cast<std::size_t>(row);
  Batch& batch = slot.batch;
  slot.errors[at] = nullptr;
  slot.bad_rows[at].clear();
  const ImageSize size = find_image_size(batch);
  const SampleRow out(batch, row, {size, options.images.smallest_crop});
  try {
    auto [index, repeat] = sample;
    const std::uint64_t draws = static_cast<std::uint64_t>(batch.epoch) ^ repeat << 40;  // differs between epochs
    for (;;) {
      try {
        const SampleRandom random(options.seed, draws, index);
        dataset.load(index, random, scratch, out);
        batch.sample_indices[at] = index;
        if (size.is_given()) {
          change_images(out.at<std::uint8_t>(tensor_names::images), size, dataset.info(), options, draws, index,
                        scratch);
        }
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
  batch.count = 0;
  for (std::int64_t row = 0; row < filled; ++row) {
    if (batch.sample_indices[static_cast<std::size_t>(row)] >= 0) batch.copy_row(row, batch.count++);
  }
  batch.fill_padding();
}

}  // namespace ptrain
