#include "core/report/environment.h"

#include "core/base/control_group.h"
#include "core/base/host_name.h"
#include "core/base/machine_memory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

namespace ptrain {
namespace {

constexpr std::array<std::string_view, 16> listed_features = {
    "sse4_2",      "avx",         "avx2",        "fma",      "f16c",     "avx512f",  "avx512bw", "avx512vl",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_fp16", "asimd",    "bf16"};

/// First line of a small file of /proc or /sys; empty when unreadable.
std::string read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string read_operating_system() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string name = line.substr(12);
    std::erase(name, '"');
    return name;
  }
  return "Linux";
}

Noise read_noise() {
  const std::string governor = read_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  const std::string load = read_first_line("/proc/loadavg");
  Noise found;
  if (!governor.empty()) found.governor = governor;
  if (!load.empty()) found.load_average_1m = std::stod(load);
  return found;
}

}  // namespace

const OtherLoad* EnvironmentReport::slowed_by() const {
  if (!noise.others) return nullptr;
  return noise.others->slows(devices.empty() ? threads : 1) ? &*noise.others : nullptr;
}

CpuInfo read_cpu() {
  CpuInfo cpu;
  cpu.model = processor_name();
  std::set<std::string> cores;
  std::string package;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string field = line.substr(0, std::min(line.find('\t'), colon));
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (field == "processor") ++cpu.logical_cores;
    if (field == "physical id") package = value;
    if (field == "core id") cores.insert(package + "/" + value);
    if ((field == "flags" || field == "Features") && cpu.features.empty()) {
      std::istringstream words(value);
      const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
      for (const std::string_view feature : listed_features) {
        if (flags.contains(std::string(feature))) cpu.features.emplace_back(feature);
      }
    }
  }
  if (cpu.logical_cores == 0) cpu.logical_cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  cpu.physical_cores = cores.empty() ? cpu.logical_cores : static_cast<int>(cores.size());
  cpu_set_t usable;
  CPU_ZERO(&usable);
  cpu.usable_cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : cpu.logical_cores;
  cpu.quota = control_group_limits().cpus;
  return cpu;
}

std::string utc_time() {
  return utc_text(static_cast<double>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string utc_text(double seconds_since_1970) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

EnvironmentReport capture_environment(const EnvironmentRequest& request) {
  utsname kernel{};
  uname(&kernel);
  EnvironmentReport environment;
  environment.time = utc_time();
  environment.os = read_operating_system();
  environment.kernel = fmt::format("{} {}", kernel.sysname, kernel.release);
  environment.cpu = read_cpu();
  environment.threads = request.threads;
  environment.memory_bytes = memory_bytes();
  environment.memory_limit_bytes = control_group_limits().memory_bytes;
  environment.noise = read_noise();
  environment.devices = request.devices;
  environment.libraries = request.libraries;
  environment.rates = request.rates;
  environment.ptrain = build_info();
  return environment;
}

}  // namespace ptrain
