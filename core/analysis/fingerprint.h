// Identifies the machine a figure belongs to: what its speed depends on, nothing that names it or its owner.
#pragma once

#include "core/report/environment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

/// `name` is such as "intel-xeon-processor-2-cores".
struct Fingerprint {
  std::string name;
  std::string hash;
  std::string cpu;
  int cores = 0;
  std::vector<std::string> devices;
  std::int64_t memory_gib = 0;

  void describe(Fields& field) {
    field("name", name, "usable as a folder name");
    field("hash", hash, "hash of processor, features, usable cores and accelerators");
    field("cpu", cpu, "");
    field("cores", cores, "usable");
    field("devices", devices, "accelerators' names");
    field("memory_gib", memory_gib, "");
  }
};

/// Fingerprint of the machine that a report was measured on.
Fingerprint fingerprint(const EnvironmentReport& environment);
/// Fingerprint of this machine; NVIDIA's accelerators as the driver lists them in /proc.
Fingerprint this_machine();

/// Keeps letters, digits, ".", "_", "=", "," and "-"; each run of other characters becomes one "-".
std::string folder_name(std::string_view text);

}  // namespace ptrain
