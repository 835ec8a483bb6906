#include "core/train/input/phased_loader.h"

namespace ptrain {

Loader& PhasedLoader::at(std::int64_t step) {
  const std::size_t phase = counts_.find_phase(step);
  const bool enters = !loader_ || phase != phase_;
  if (enters) enter(phase);
  const auto [epoch, index] = counts_.position(step);
  // With gradient accumulation an epoch may have leftover batches that do not fill a step.
  const std::int64_t micro_steps = counts_.phases[phase].micro_batches;
  if (enters || (index == 0 && micro_steps > 1)) loader_->seek(epoch, index * micro_steps);
  return *loader_;
}

void PhasedLoader::enter(std::size_t phase) {
  earlier_bad_samples_ = bad_samples();
  earlier_device_decoded_ = device_decoded();
  loader_.reset();
  loader_.emplace(data_, in_phase(options_, counts_.phases[phase]));
  phase_ = phase;
}

BadSamples PhasedLoader::bad_samples() const {
  BadSamples all = earlier_bad_samples_;
  if (loader_) all.add(loader_->bad_samples());
  return all;
}

std::int64_t PhasedLoader::device_decoded() const {
  return earlier_device_decoded_ + (loader_ ? loader_->device_decoded() : 0);
}

}  // namespace ptrain
