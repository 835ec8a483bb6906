// Machine and software of a report's figures, without host or user names.
#pragma once

#include "core/base/device_rates.h"
#include "core/base/machine_load.h"
#include "core/report/build_info.h"
#include "core/report/fields.h"

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
  int usable_cores = 0;               // available to this process
  std::optional<double> quota;        // CPU limit of the control groups
  std::vector<std::string> features;  // those that affect speed: "avx2", "avx512_bf16", ...

  void describe(Fields& field) {
    field("model", model, "");
    field("physical_cores", physical_cores, "");
    field("logical_cores", logical_cores, "");
    field("usable_cores", usable_cores, "cores available to the process");
    field("quota", quota, "CPU limit of the container; null: no limit");
    field("features", features, "CPU features that affect speed");
  }
};

/// Sources of variance in figures, as far as readable.
struct Noise {
  std::optional<std::string> governor;
  std::optional<double> load_average_1m;
  std::optional<OtherLoad> others;

  void describe(Fields& field) {
    field("governor", governor, "frequency governor");
    field("load_average_1m", load_average_1m, "load of the machine at the start");
    field.maybe("others", others, "means while the steps were measured; absent: not known");
  }
};

struct EnvironmentReport {
  std::string time;
  std::string os;
  std::string kernel;
  CpuInfo cpu;
  int threads = 0;
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> memory_limit_bytes;
  Noise noise;
  nlohmann::json devices = nlohmann::json::array();
  std::map<std::string, std::string> libraries;
  std::optional<DeviceRates> rates;
  BuildInfo ptrain;

  /// What other programs did, where it made the run slower; null: nothing known. On a GPU one core suffices.
  const OtherLoad* slowed_by() const;

  void describe(Fields& field) {
    field("time", time, "start, UTC");
    field("os", os, "");
    field("kernel", kernel, "");
    field("cpu", cpu, "processor");
    field("threads", threads, "compute threads of the run");
    field("memory_bytes", memory_bytes, "memory of the machine");
    field("memory_limit_bytes", memory_limit_bytes, "memory limit of the container; null: no limit");
    field("noise", noise, "sources of variance");
    field.any_list("devices", devices, {{"type", "object"}}, "accelerators");
    field("libraries", libraries, "version by name");
    field.maybe("rates", rates, "rates of the device, measured once per machine; absent: not measured");
    field("ptrain", ptrain, "the program");
  }
};

/// This machine's CPU, and the time now in UTC, to the second.
CpuInfo read_cpu();
std::string utc_time();  // "2025-01-31T12:00:00Z"
/// The same of a time in seconds since 1970.
std::string utc_text(double seconds_since_1970);

struct EnvironmentRequest {
  int threads = 0;                                   // compute threads the run uses
  std::map<std::string, std::string> libraries;      // name to version, such as {"oneDNN", "3.2.0"}
  nlohmann::json devices = nlohmann::json::array();  // one object per accelerator
  std::optional<DeviceRates> rates = {};
};

/// Describes the machine, its libraries and its limits; what cannot be read is left out.
EnvironmentReport capture_environment(const EnvironmentRequest& request);

}  // namespace ptrain
