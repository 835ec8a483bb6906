// A ring of batch slots. Workers claim a few rows at a time, oldest batch first; next() returns slots in order. A mutex
// guards the ring's counters, never the loading itself.
#include "core/data/loader/loader.h"

#include "core/base/counted.h"
#include "core/base/threads.h"
#include "core/data/loader/batch_slot.h"
#include "core/data/loader/epoch_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace ptrain {
namespace {

std::int64_t count_samples(const Dataset& dataset, const LoaderOptions& options) {
  return options.samples > 0 ? std::min(options.samples, dataset.size()) : dataset.size();
}

void check(const Dataset& dataset, const LoaderOptions& options) {
  if (options.batch_size < 1) fail_usage("batch size must be at least 1, got {}", options.batch_size);
  if (options.workers < 0) fail_usage("workers must be at least 0, got {}", options.workers);
  if (options.prefetch < 1) fail_usage("prefetch must be at least 1, got {}", options.prefetch);
  if (options.rank < 0 || options.rank >= options.world_size) {
    fail_usage("rank {} is not below the world size {}", options.rank, options.world_size);
  }
  if (dataset.size() == 0) fail("the data set has no samples");
  const EpochLayout plan(count_samples(dataset, options), options);
  if (plan.batches_per_epoch() == 0) {
    fail_usage("the data set has {} samples, fewer than one batch of {} x {} rank(s)", dataset.size(),
               options.batch_size, options.world_size);
  }
}

/// Whether steps are to have images of one form: sizes of both forms are drawn.
bool groups_images(const LoaderOptions& options) {
  return options.order == SampleOrder::shuffled && !select_sizes(options.sizes, ImageAspect::wide).empty() &&
         !select_sizes(options.sizes, ImageAspect::tall).empty();
}

/// Rows that a worker claims at once: few, so that all workers fill the first batch together.
std::int64_t claim_size(const LoaderOptions& options) {
  return std::clamp<std::int64_t>(options.batch_size / (4 * std::max(1, options.workers)), 1, 32);
}

}  // namespace

struct Loader::State {
  State(const Dataset& source, const LoaderOptions& wanted)
      : dataset(source), options(wanted), plan(count_samples(source, wanted), wanted), claim(claim_size(wanted)) {
    // One more than prefetched: the batch that the caller holds.
    slots.resize(static_cast<std::size_t>(options.workers == 0 ? 1 : options.prefetch + 1));
    for (BatchSlot& slot : slots) allocate(slot, dataset, options.images, options.batch_size);
    scratches.resize(static_cast<std::size_t>(std::max(1, options.workers)));
    for (Scratch& scratch : scratches) {
      if (options.make_decoder) scratch.decoder = options.make_decoder();
    }
    if (options.order == SampleOrder::balanced) classes = samples_by_class(dataset);
    if (groups_images(options)) groups = group_by_aspect(dataset);
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work_ready.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  BatchSlot& slot(std::int64_t sequence) {
    return slots[static_cast<std::size_t>(sequence % static_cast<std::int64_t>(slots.size()))];
  }
  bool past_end(std::int64_t sequence) const {
    return options.epochs > 0 && sequence >= options.epochs * plan.batches_per_epoch();
  }
  std::int64_t count_rows(std::int64_t sequence) const { return plan.count(sequence % plan.batches_per_epoch()); }

  void start(std::int64_t sequence) {
    BatchSlot& target = slot(sequence);
    const std::int64_t epoch = sequence / plan.batches_per_epoch(), index = sequence % plan.batches_per_epoch();
    set_order(target, static_cast<std::uint64_t>(epoch));
    prepare(target, dataset, options, epoch, index, plan.begin(index));
    target.rows_left = count_rows(sequence);
  }
  void set_order(BatchSlot& target, std::uint64_t epoch) const {
    target.order.reset();
    target.grouped_order.reset();
    if (options.order == SampleOrder::sequential) return;
    if (!groups.wide.empty() && !groups.tall.empty()) {
      target.grouped_order.emplace(options.seed, epoch, groups,
                                   options.batch_size * options.world_size * options.batches_per_step);
    } else {
      target.order.emplace(options.seed, epoch, dataset.size(), options.shuffle_window,
                           options.order == SampleOrder::balanced ? &classes : nullptr);
    }
  }
  void fill(std::int64_t sequence, std::int64_t first, std::int64_t last, Scratch& scratch) {
    BatchSlot& target = slot(sequence);
    const std::int64_t begin = plan.begin(target.batch.index);
    constexpr std::int64_t ahead = 8;
    std::array<DrawnSample, ahead> drawn;
    const auto draw = [&](std::int64_t row) {
      DrawnSample& sample = drawn[static_cast<std::size_t>(row % ahead)];
      const DrawnSample due = sample;
      if (row < last) {
        sample = draw_sample(target, dataset, options, begin + row);
        dataset.prefetch(sample.index);
      }
      return due;
    };
    for (std::int64_t row = first; row < std::min(first + ahead, last); ++row) draw(row);
    for (std::int64_t row = first; row < last; ++row) {
      fill_row(target, dataset, options, row, draw(row + ahead), scratch);
    }
  }

  bool can_claim() const {
    return !paused && !past_end(filling) && filling < delivered + static_cast<std::int64_t>(slots.size()) - 1;
  }
  void work(Scratch& scratch);
  const Batch& deliver(BatchSlot& ready, std::int64_t filled);
  void note(const BadRow& bad);

  const Dataset& dataset;
  const LoaderOptions options;
  const EpochLayout plan;
  const std::int64_t claim;
  ClassSamples classes;  // balanced: the samples to draw from
  ImageGroups groups;    // where steps are to have images of one form
  std::vector<BatchSlot> slots;
  std::vector<Scratch> scratches;  // of the workers, or of the caller if there are none
  std::vector<std::thread> threads;

  // Batches are numbered over all epochs. Guarded by `mutex`:
  std::mutex mutex;
  std::condition_variable work_ready;
  std::condition_variable batch_ready;
  std::int64_t filling = 0;    // the batch whose rows are being claimed
  std::int64_t next_row = 0;   // its first unclaimed row
  std::int64_t delivered = 0;  // the next batch for the caller
  int busy = 0;                // workers that hold a claim
  std::int64_t device_decoded = 0;
  bool paused = false;
  bool stopping = false;

  // Used by the caller's thread only:
  double reader_seconds = 0;
  std::set<std::int64_t> bad;
  BadSamples bad_samples;
};

void Loader::State::work(Scratch& scratch) {
  std::unique_lock lock(mutex);
  for (;;) {
    work_ready.wait(lock, [this] { return stopping || can_claim(); });
    if (stopping) return;
    if (next_row == 0) start(filling);
    const std::int64_t sequence = filling;
    const std::int64_t first = next_row;
    const std::int64_t rows = count_rows(sequence);
    const std::int64_t last = std::min(rows, first + claim);
    next_row = last;
    if (last == rows) {
      ++filling;
      next_row = 0;
    }
    ++busy;
    lock.unlock();
    fill(sequence, first, last, scratch);
    lock.lock();
    --busy;
    device_decoded += std::exchange(scratch.device_decoded, 0);
    slot(sequence).rows_left -= last - first;
    batch_ready.notify_all();
  }
}

void Loader::State::note(const BadRow& row) {
  if (!bad.insert(row.index).second) return;
  bad_samples.add({1, {row.message}});
  if (bad_samples.count > options.max_bad_samples) {
    if (options.max_bad_samples == 0) fail("{}", row.message);
    fail("{} (more than {} bad samples)", row.message, options.max_bad_samples);
  }
  // In an evaluation a rank reads its part of the samples alone.
  const std::int64_t ranks = options.order == SampleOrder::sequential ? options.world_size : 1;
  const std::int64_t samples = count_samples(dataset, options) / ranks;
  if (static_cast<double>(bad_samples.count) > options.max_bad_share * static_cast<double>(samples)) {
    fail("{} (more bad samples than data.max_bad_share {} of {} allows)", row.message, options.max_bad_share,
         counted(samples, "sample"));
  }
}

const Batch& Loader::State::deliver(BatchSlot& ready, std::int64_t filled) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(filled); ++row) {
    if (ready.errors[row]) std::rethrow_exception(ready.errors[row]);
    for (const BadRow& found : ready.bad_rows[row]) note(found);
  }
  finish_batch(ready, filled);
  if (options.order != SampleOrder::sequential && ready.batch.count < filled)
    fail("every sample of the data set is bad; the first: {}", bad_samples.first.front());
  if (options.collate) options.collate(ready.batch);
  return ready.batch;
}

Loader::Loader(const Dataset& dataset, const LoaderOptions& options) {
  check(dataset, options);
  state_ = std::make_unique<State>(dataset, options);
  State* const state = state_.get();
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.workers); ++i) {
    state->threads.push_back(start_thread([state, i] { state->work(state->scratches[i]); }));
  }
}

Loader::~Loader() = default;

std::int64_t Loader::batches_per_epoch() const { return state_->plan.batches_per_epoch(); }

const Batch& Loader::next() {
  State& s = *state_;
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t sequence = 0;
  {
    std::unique_lock lock(s.mutex);
    sequence = s.delivered;
    invariant(!s.past_end(sequence), "Loader::next() past the last epoch");
    if (s.options.workers == 0) {
      s.start(sequence);
      s.fill(sequence, 0, s.count_rows(sequence), s.scratches[0]);
      s.device_decoded += std::exchange(s.scratches[0].device_decoded, 0);
    } else {
      s.batch_ready.wait(lock, [&s, sequence] { return s.filling > sequence && s.slot(sequence).rows_left == 0; });
    }
    ++s.delivered;
  }
  s.work_ready.notify_all();
  const Batch& batch = s.deliver(s.slot(sequence), s.count_rows(sequence));
  s.reader_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return batch;
}

void Loader::seek(std::int64_t epoch, std::int64_t batch_index) {
  State& s = *state_;
  invariant(epoch >= 0 && batch_index >= 0 && batch_index <= batches_per_epoch(), "Loader::seek() outside the epoch");
  {
    std::unique_lock lock(s.mutex);
    s.paused = true;
    s.batch_ready.wait(lock, [&s] { return s.busy == 0; });
    s.filling = s.delivered = epoch * batches_per_epoch() + batch_index;
    s.next_row = 0;
    s.paused = false;
  }
  s.work_ready.notify_all();
}

double Loader::reader_seconds() const { return state_->reader_seconds; }
const BadSamples& Loader::bad_samples() const { return state_->bad_samples; }

void BadSamples::add(const BadSamples& others) {
  count += others.count;
  for (const std::string& message : others.first) {
    if (first.size() < most_named) first.push_back(message);
  }
}

std::string BadSamples::text(std::string_view kind) const {
  const std::int64_t more = count - static_cast<std::int64_t>(first.size());
  return fmt::format("{} could not be read and {} left out: {}{}", counted(count, fmt::format("{} sample", kind)),
                     count == 1 ? "was" : "were", fmt::join(first, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

std::int64_t Loader::device_decoded() const {
  const std::lock_guard lock(state_->mutex);
  return state_->device_decoded;
}

}  // namespace ptrain
