// Which machine a figure belongs to: what its speed depends on and nothing that names it or its owner.
#pragma once

#include "core/report/environment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

/// The name is such as "intel-xeon-processor-2-cores".
struct Fingerprint {
  std::string name;
  std::string hash;
  std::string cpu;
  int cores = 0;
  std::vector<std::string> devices;
  std::int64_t memory_gib = 0;

  void describe(Fields& field) {
    field("name", name, "fit for a folder");
    field("hash", hash, "over processor, features, usable cores and accelerators");
    field("cpu", cpu, "");
    field("cores", cores, "usable");
    field("devices", devices, "accelerators' names");
    field("memory_gib", memory_gib, "");
  }
};

/// Of the machine that a report was measured on.
Fingerprint fingerprint(const EnvironmentReport& environment);
/// Of the machine this runs on; NVIDIA's accelerators as the driver lists them in /proc.
Fingerprint this_machine();

/// Letters, digits, ".", "_", "=", "," and "-" stay, anything else becomes "-", once.
std::string folder_name(std::string_view text);

}  // namespace ptrain
