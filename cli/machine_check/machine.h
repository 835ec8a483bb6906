// doctor --check: checks the machine against expected values.
#pragma once

#include "core/machine_check/checks.h"

#include <string>

namespace ptrain {

struct MachineCheckOptions {
  std::string expected_file;  // empty: values of data sheets and the devices themselves
  std::string save_file;      // output file of measured values, for later checks; empty: none
};

/// Measures every device for several seconds. Throws Error{usage} if expected_file cannot be read or save_file exists.
CheckReport check_machine(const MachineCheckOptions& options);

/// Prints the report, as JSON or as a table. Throws Error{failed} when a check failed.
void finish_checks(const CheckReport& report, bool as_json);

}  // namespace ptrain
