#include "core/train/phases.h"

#include "core/base/errors.h"
#include "core/runtime/plan_set.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::int64_t most_sizes = 6;  // of growing images, each with its own plan
constexpr std::int64_t smallest_size = 8;

/// The list that defines the phases' ends, and its unit.
struct Ends {
  const std::vector<double>& list;
  PhaseUnit unit;
};

Ends compute_ends(const PhasesConfig& phases) {
  if (!phases.until_epoch.empty()) return {phases.until_epoch, PhaseUnit::epochs};
  if (!phases.until_step.empty()) return {phases.until_step, PhaseUnit::steps};
  return {phases.until, PhaseUnit::share};
}

std::vector<TrainingStage> listed_phases(const PhasesConfig& p, std::int64_t batch_size) {
  const auto [ends, unit] = compute_ends(p);
  const auto usual_batch = static_cast<double>(batch_size);
  std::vector<TrainingStage> phases;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto entry = [i](const std::vector<double>& list, double otherwise) {
      return list.empty() ? otherwise : list[i];
    };
    TrainingStage phase;
    const double batch = entry(p.batch_size, usual_batch);
    phase.batch_size = std::llround(batch);
    if (!p.image_size.empty()) phase.images.size = p.image_size[i];
    phase.images.smallest_crop = static_cast<float>(entry(p.smallest_crop, ImageForm{}.smallest_crop));
    phase.lr_scale = entry(p.lr_scale, batch / usual_batch);
    phase.until = ends[i];
    phase.unit = unit;
    phase.is_listed = true;
    phases.push_back(phase);
  }
  return phases;
}

/// Scales the longer side in proportion, to a multiple of 4 px.
ImageSize with_shorter_side(ImageSize full, std::int64_t side) {
  constexpr int granule = 4;
  const auto scaled = [&](std::int64_t own) {
    if (own == full.shorter_side()) return side;
    const double length = static_cast<double>(own * side) / full.shorter_side();
    return std::int64_t{std::llround(length / granule) * granule};
  };
  return {scaled(full.height), scaled(full.width)};
}

/// Sizes from resize.from up to the full one, with the shorter side in steps that suit convolutions. Each lasts until
/// the size that grows linearly between delay and finetune reaches the next.
std::vector<TrainingStage> growing_phases(const ResizeConfig& resize, ImageSize full_size) {
  const std::int64_t full = full_size.shorter_side();
  std::int64_t step = full > 64 ? 32 : 4;  // px
  const auto steps_up = static_cast<double>(full) * (1 - resize.from) / static_cast<double>(step);
  const std::int64_t first = std::max<std::int64_t>(smallest_size, full - std::llround(steps_up) * step);
  while ((full - first) / step > most_sizes) step *= 2;
  const std::int64_t sizes = (full - first + step - 1) / step;  // below the full one
  const double growing = 1 - resize.delay - resize.finetune;
  std::vector<TrainingStage> phases;
  for (std::int64_t i = 0; i < (growing > 0 ? sizes : std::min<std::int64_t>(sizes, 1)); ++i) {
    TrainingStage phase;
    phase.images.size = with_shorter_side(full_size, first + i * step);
    phase.until = resize.delay + growing * static_cast<double>(i + 1) / static_cast<double>(sizes);
    phases.push_back(phase);
  }
  if (resize.finetune > 0 || phases.empty()) phases.emplace_back().images.size = full_size;
  phases.back().until = 1;
  return phases;
}

/// Assigns consecutive steps to the phases.
void lay_out(StepCounts& counts, const TrainConfig& train) {
  double passes = 0;
  for (std::size_t i = 0; i < counts.phases.size(); ++i) {
    TrainingStage& phase = counts.phases[i];
    const auto per_epoch = static_cast<double>(phase.steps_per_epoch);
    phase.first_step = counts.total_steps;
    phase.steps_before = std::llround(passes * per_epoch);
    const bool last = i + 1 == counts.phases.size();
    const double share = last ? 1 : phase.until;
    const bool in_steps = last || phase.unit == PhaseUnit::share ? train.steps > 0 : phase.unit == PhaseUnit::steps;
    const double whole = static_cast<double>(train.steps > 0 ? train.steps : train.epochs);
    const double end = last || phase.unit == PhaseUnit::share ? share * whole : phase.until;
    phase.steps = std::llround(in_steps ? end : end * per_epoch) - (in_steps ? phase.first_step : phase.steps_before);
    if (phase.steps < 1) {
      fail_usage("train.phases: phase {} of {} has no step: {} come before it", i + 1, counts.phases.size(),
                 phase.first_step);
    }
    passes = static_cast<double>(phase.steps_before + phase.steps) / per_epoch;
    counts.total_steps += phase.steps;
  }
}

}  // namespace

std::vector<TrainingStage> configured_phases(const TrainConfig& train, const DataConfig& data) {
  std::vector<TrainingStage> phases(1);
  if (train.phases.any()) {
    phases = listed_phases(train.phases, data.batch_size);
  } else {
    if (train.resize.from < 1) phases = growing_phases(train.resize, data.image_size);
    for (TrainingStage& phase : phases) phase.batch_size = data.batch_size;
  }
  for (TrainingStage& phase : phases) {
    phase.images.trivial_augment = data.trivial_augment;
    phase.images.erasing = static_cast<float>(data.random_erasing);
    phase.drawn_sizes = train.multi_scale;
  }
  return phases;
}

Bucket full_bucket(std::int64_t rows, const Dataset& data, ImageSize requested) {
  const ImageSize size = requested.value_or(data.info().image_size);
  Bucket extents(rows, {{extent_names::tokens, rows * data.info().max_length},
                        {extent_names::height, size.height},
                        {extent_names::width, size.width}});
  for (const TensorSpec& spec : data.tensors({.size = size})) add_extents(spec, extents);
  return extents;
}

std::vector<ImageSize> find_image_sizes(const TrainingStage& phase) {
  return phase.drawn_sizes.empty() ? std::vector{phase.images.size} : phase.drawn_sizes;
}

std::vector<Bucket> phase_buckets(const std::vector<TrainingStage>& phases, const Dataset& data) {
  std::vector<Bucket> buckets;
  for (const TrainingStage& phase : phases) {
    for (const ImageSize& size : find_image_sizes(phase)) {
      buckets.push_back(full_bucket(phase.batch_size, data, size));
    }
  }
  const auto extent = [](const Bucket& bucket) {
    return bucket.rows * std::max<std::int64_t>(1, bucket.height() * bucket.width());
  };
  std::stable_sort(buckets.begin(), buckets.end(),
                   [&](const Bucket& a, const Bucket& b) { return extent(a) > extent(b); });
  return buckets;
}

std::size_t StepCounts::find_phase(std::int64_t step) const {
  const auto next = std::find_if(phases.begin() + 1, phases.end(),
                                 [step](const TrainingStage& phase) { return phase.first_step > step; });
  return static_cast<std::size_t>(next - phases.begin()) - 1;
}

DataPosition StepCounts::position(std::int64_t done) const {
  const TrainingStage& phase = phases[find_phase(done)];
  const std::int64_t number = phase.steps_before + done - phase.first_step;
  return {number / phase.steps_per_epoch, number % phase.steps_per_epoch};
}

std::int64_t StepCounts::micro_batches(std::int64_t step) const {
  const TrainingStage& phase = phases[find_phase(step)];
  return position(step).step + 1 == phase.steps_per_epoch ? phase.last_micro_batches : phase.micro_batches;
}

double StepCounts::epochs(std::int64_t done) const {
  const TrainingStage& phase = phases[find_phase(done)];
  return static_cast<double>(phase.steps_before + done - phase.first_step) / static_cast<double>(phase.steps_per_epoch);
}

std::int64_t StepCounts::steps_until(double epochs) const {
  const TrainingStage* phase = &phases.front();
  for (const TrainingStage& later : phases) {
    if (epochs * static_cast<double>(later.steps_per_epoch) >= static_cast<double>(later.steps_before)) phase = &later;
  }
  return phase->first_step + std::llround(epochs * static_cast<double>(phase->steps_per_epoch)) - phase->steps_before;
}

StepCounts count_steps(const TrainConfig& train, std::vector<TrainingStage> phases, const LoaderOptions& loader,
                       const Dataset& training, OutputUse use) {
  const bool trains = use == OutputUse::training, keeps_last = loader.remainder == Remainder::keep;
  if (trains && loader.world_size > 1 && keeps_last) {
    fail_usage("data.drop_last: false is not exact with {} ranks, whose parts of an epoch's last batch would differ",
               loader.world_size);
  }
  StepCounts counts{std::move(phases)};
  for (TrainingStage& phase : counts.phases) {
    LoaderOptions options = in_phase(loader, phase);
    options.workers = 0;
    const bool is_short = training.size() < options.batch_size * options.world_size;
    const std::int64_t batches = !trains && is_short ? 1 : Loader(training, options).batches_per_epoch();
    phase.micro_batches = phase.last_micro_batches = train.accumulate_steps;
    phase.steps_per_epoch = batches / phase.micro_batches;
    if (const std::int64_t left_over = batches % phase.micro_batches; left_over > 0 && keeps_last) {
      ++phase.steps_per_epoch;
      phase.last_micro_batches = left_over;
    }
    if (phase.steps_per_epoch == 0 && !trains) phase.steps_per_epoch = 1;
    if (phase.steps_per_epoch == 0) {
      fail_usage("train.accumulate_steps: {} batches are fewer than a step of {}", batches, train.accumulate_steps);
    }
  }
  lay_out(counts, train);
  return counts;
}

LoaderOptions in_phase(LoaderOptions loader, const TrainingStage& phase) {
  loader.batch_size = phase.batch_size;
  loader.images = phase.images;
  loader.sizes = phase.drawn_sizes;
  loader.batches_per_step = phase.micro_batches;
  return loader;
}

std::string phase_text(const TrainingStage& phase) {
  const std::string batch = fmt::format("batch {}", phase.batch_size);
  return phase.images.size.is_given() ? fmt::format("{} px, {}", phase.images.size, batch) : batch;
}

}  // namespace ptrain
