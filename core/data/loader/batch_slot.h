// One prefetched batch: rows are independent, so any thread may fill any of them.
#pragma once

#include "core/data/batch.h"
#include "core/data/dataset.h"
#include "core/data/loader/epoch_order.h"
#include "core/data/loader/loader.h"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// A bad sample that was found while filling a row.
struct BadRow {
  std::int64_t index = 0;
  std::string message;
};

struct BatchSlot {
  Batch batch;
  std::optional<EpochOrder> order;            // empty for sequential, and where there is the next one
  std::optional<GroupedOrder> grouped_order;  // where steps have images of one form
  std::vector<std::vector<BadRow>> bad_rows;  // per row, almost always empty
  std::vector<std::exception_ptr> errors;     // per row
  std::int64_t rows_left = 0;                 // not yet filled; guarded by the loader's mutex
};

/// The sizes of that form.
std::vector<ImageSize> select_sizes(const std::vector<ImageSize>& sizes, ImageAspect aspect);

/// Makes the slot's batch, for samples of `dataset` with images of `form`.
void allocate(BatchSlot& slot, const Dataset& dataset, const ImageForm& form, std::int64_t rows);

/// Makes the slot, which has its order, ready for batch `index` of `epoch` from `position` of the order on. Its images
/// may have another size than those before it.
void prepare(BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options, std::int64_t epoch,
             std::int64_t index, std::int64_t position);

/// The sample at `position` of the epoch's order.
DrawnSample draw_sample(const BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options,
                        std::int64_t position);

/// Loads row `row` from `sample`. Stores errors in the slot; does not throw.
void fill_row(BatchSlot& slot, const Dataset& dataset, const LoaderOptions& options, std::int64_t row,
              DrawnSample sample, Scratch& scratch) noexcept;

/// After all rows are filled: closes the gaps of samples that were left out, and pads the rest.
void finish_batch(BatchSlot& slot, std::int64_t filled);

}  // namespace ptrain
