// Which machine a figure belongs to: what its speed depends on and nothing that names it or its owner.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace ptrain {

/// {"name", "hash", "cpu", "cores", "devices", "memory_gib"} from a report's `environment`. The name is fit for a
/// folder
/// ("intel-xeon-processor-2-cores"); the hash is over processor with its features, usable cores and accelerators.
nlohmann::json fingerprint(const nlohmann::json& environment);
/// Of the machine this runs on; NVIDIA's accelerators as the driver lists them in /proc.
nlohmann::json this_machine();
nlohmann::json fingerprint_schema();

/// Letters, digits, ".", "_", "=", "," and "-" stay, anything else becomes "-", once.
std::string folder_name(std::string_view text);

}  // namespace ptrain
