// The weight of new values in a moving average, for both backends.
#pragma once

#include "core/base/host_device.h"

namespace ptrain {

/// After `updates` updates, the one that made the new values included; see MovingAverage.
PTRAIN_HD inline float moving_average_share(float decay, float updates) {
  const float warm_up = (1.0f + updates) / (10.0f + updates);
  return 1.0f - (decay < warm_up ? decay : warm_up);
}

}  // namespace ptrain
