// Chooses a run's AMP level and low precision: the configured ones or, for auto, those that measured rates favour.
#pragma once

#include "core/base/device_rates.h"
#include "core/base/dtype.h"
#include "core/config/config.h"
#include "core/train/ranks.h"

#include <optional>
#include <string>

namespace ptrain {

/// The gain from low precision for a model, by the rates of 3x3 convolutions or of matrix products.
struct AmpAdvice {
  AmpLevel level = AmpLevel::O0;  // O1 if the gain outweighs the casts
  DType dtype = DType::bf16;      // the faster low precision
  double gain = 0;                // its rate over fp32's; 0: the device cannot run it
  std::string reason;             // "bf16 3x3 convolutions run at 0.62 of fp32's rate here (151 of 245 GFLOP/s)"
};

/// `preferred` is the backend's low precision, used unless the other is clearly faster.
AmpAdvice advise_amp(const DeviceRates& rates, MainWork work, DType preferred);

/// The configuration value for one of the two low precisions.
AmpDType to_amp_dtype(DType low);

/// A run's AMP settings.
struct AmpChoice {
  std::string requested;  // amp.level as configured
  AmpLevel level = AmpLevel::O0;
  AmpDType dtype = AmpDType::automatic;  // automatic: the backend's
  std::string reason;                    // why auto chose this; empty if nothing was automatic
  std::string note;                      // warns of a level that is slower than O0 here
};

/// `advice` decides what `requested` leaves open.
AmpChoice choose_amp(const AmpConfig& requested, const AmpAdvice& advice, DType preferred);

/// Replaces auto in `config` by a level and dtype, the same on every rank: those of the checkpoint that it resumes
/// from, else rank 0's choice by `rates` (null on the other ranks, or if nothing could be measured). Every rank calls
/// it, before anything is built.
AmpChoice settle_amp(Config& config, DType preferred, const DeviceRates* rates, const Ranks& ranks);

}  // namespace ptrain
