// The machine and software that a report's figures were made with. No host or user names.
#pragma once

#include "core/base/device_rates.h"
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
  int usable_cores = 0;               // that this process may run on
  std::optional<double> quota;        // CPUs' worth of time that control groups grant
  std::vector<std::string> features;  // of those that matter for speed: "avx2", "avx512_bf16", ...

  void describe(Fields& field) {
    field("model", model, "");
    field("physical_cores", physical_cores, "");
    field("logical_cores", logical_cores, "");
    field("usable_cores", usable_cores, "that the process may run on");
    field("quota", quota, "CPUs' worth of time that the container grants; null: no limit");
    field("features", features, "of those that matter for speed");
  }
};

/// What may make figures vary, where it can be read.
struct Noise {
  std::optional<std::string> governor;
  std::optional<double> load_average_1m;

  void describe(Fields& field) {
    field("governor", governor, "frequency governor");
    field("load_average_1m", load_average_1m, "load of the machine at the start");
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

  void describe(Fields& field) {
    field("time", time, "start, UTC");
    field("os", os, "");
    field("kernel", kernel, "");
    field("cpu", cpu, "processor");
    field("threads", threads, "compute threads of the run");
    field("memory_bytes", memory_bytes, "of the machine");
    field("memory_limit_bytes", memory_limit_bytes, "of the container; null: no limit");
    field("noise", noise, "what may make figures vary");
    field.any_list("devices", devices, {{"type", "object"}}, "accelerators");
    field("libraries", libraries, "version by name");
    field.maybe("rates", rates, "of the device, measured once on a machine; absent: not measured");
    field("ptrain", ptrain, "the program");
  }
};

/// Of this machine, and the time now in UTC, to the second.
CpuInfo read_cpu();
std::string utc_time();  // "2025-01-31T12:00:00Z"

struct EnvironmentRequest {
  int threads = 0;                                   // compute threads the run uses
  std::map<std::string, std::string> libraries;      // name to version, such as {"oneDNN", "3.2.0"}
  nlohmann::json devices = nlohmann::json::array();  // one object per accelerator
  std::optional<DeviceRates> rates = {};
};

/// What a report says of the machine, its libraries and its limits; what cannot be read is left out.
EnvironmentReport capture_environment(const EnvironmentRequest& request);

}  // namespace ptrain
