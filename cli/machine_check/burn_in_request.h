// doctor --burn-in: keeps every device under load for several minutes.
#pragma once

#include "core/machine_check/checks.h"

namespace ptrain {

struct BurnInRequest {
  double minutes = 0;  // 0: no burn-in
  double drift_percent = 5;
};

/// Keeps every GPU, or without one all CPU threads, under load, and adds the checks to `report`. Returns the signal
/// that ended it early, 0 for none.
int burn_in_machine(const BurnInRequest& request, CheckReport& report);

}  // namespace ptrain
