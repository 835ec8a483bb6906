// The machine and software that a report's figures were made with. No host or user names.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct CpuInfo {
  std::string model;
  int physical_cores = 0;  // of the whole machine
  int logical_cores = 0;
  int usable_cores = 0;               // that this process may run on
  std::vector<std::string> features;  // of those that matter for speed: "avx2", "avx512_bf16", ...
};

CpuInfo read_cpu();
std::string utc_time();  // "2025-01-31T12:00:00Z"

struct EnvironmentRequest {
  int threads = 0;                                   // compute threads the run uses
  std::map<std::string, std::string> libraries;      // name to version, such as {"oneDNN", "3.2.0"}
  nlohmann::json devices = nlohmann::json::array();  // one object per accelerator
};

/// The report's `environment`.
nlohmann::json capture_environment(const EnvironmentRequest& request);

}  // namespace ptrain
