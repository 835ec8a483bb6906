// doctor's checks: the machine against what is expected of it.
#pragma once

#include "core/machine_check/checks.h"

#include <string>

namespace ptrain {

struct AcceptanceOptions {
  std::string expected_file;  // empty: what data sheets and the devices themselves say
  std::string save_file;      // gets what is found, as later checks expect it; empty: none
};

/// Measures every device for some seconds. Throws Error{usage} for files.
CheckReport check_machine(const AcceptanceOptions& options);

/// Prints the report, as JSON or as a table. Throws Error{failed} when a check failed.
void finish_checks(const CheckReport& report, bool as_json);

}  // namespace ptrain
