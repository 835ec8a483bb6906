// doctor's load: every device at work for some minutes.
#pragma once

#include "core/machine_check/checks.h"

namespace ptrain {

struct BurnInRequest {
  double minutes = 0;  // 0: none
  double drift_percent = 5;
};

/// Holds every GPU, or all threads of the CPU where there is none, under load, and adds what came of it to `report`.
/// Returns the signal that ended it early, 0 for none.
int burn_in_machine(const BurnInRequest& request, CheckReport& report);

}  // namespace ptrain
