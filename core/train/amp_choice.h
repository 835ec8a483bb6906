// Which AMP level and low precision a run takes: what the configuration asks for, and what the device is measured to be
// faster at where that says auto.
#pragma once

#include "core/base/device_rates.h"
#include "core/base/dtype.h"
#include "core/config/config.h"
#include "core/train/ranks.h"

#include <optional>
#include <string>

namespace ptrain {

/// What low precision brings to a model, by the rates of 3x3 convolutions or of matrix products.
struct AmpAdvice {
  AmpLevel level = AmpLevel::O0;  // O1 where the gain is worth the casts
  DType dtype = DType::bf16;      // the better low precision
  double gain = 0;                // its rate over fp32's; 0: the device cannot run it
  std::string reason;             // "bf16 3x3 convolutions run at 0.62 of fp32's rate here (151 of 245 GFLOP/s)"
};

/// `preferred` is the backend's low precision, which stands unless the other is clearly faster.
AmpAdvice advise_amp(const DeviceRates& rates, MainWork work, DType preferred);

/// The choice that names `low`, one of the two low precisions.
AmpDType to_amp_dtype(DType low);

/// What one run takes.
struct AmpChoice {
  std::string requested;  // amp.level as it was asked for
  AmpLevel level = AmpLevel::O0;
  AmpDType dtype = AmpDType::automatic;  // automatic: the backend's
  std::string reason;                    // why auto came to this; empty where nothing was left to choose
  std::string note;                      // a word on a level that is slower than O0 here
};

/// `advice` decides what `asked` leaves open.
AmpChoice choose_amp(const AmpConfig& asked, const AmpAdvice& advice, DType preferred);

/// Puts level and dtype into `config` in place of auto, the same on every rank: those of the checkpoint that it resumes
/// from, else rank 0's choice by `rates` (null on the other ranks, or where nothing could be measured). Every rank
/// calls it, before anything is built.
AmpChoice settle_amp(Config& config, DType preferred, const DeviceRates* rates, const Ranks& ranks);

}  // namespace ptrain
