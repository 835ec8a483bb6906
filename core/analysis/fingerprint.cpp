#include "core/analysis/fingerprint.h"

#include "core/base/hash.h"
#include "core/config/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace ptrain {
namespace {

using nlohmann::json;

/// "Intel(R) Xeon(R) Processor" without the marks.
std::string strip_marks(std::string name) {
  for (const char* mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (std::size_t at; (at = name.find(mark)) != std::string::npos;) name.erase(at, std::string_view(mark).size());
  }
  return name.substr(0, name.find(" @"));
}

/// One object per GPU, with the name that the driver gives it.
json find_accelerators() {
  json devices = json::array();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    std::ifstream file(entry.path() / "information");
    for (std::string line; std::getline(file, line);) {
      const std::size_t name = line.find_first_not_of(" \t", line.find(':') + 1);
      if (line.starts_with("Model:") && name != std::string::npos) devices.push_back({{"name", line.substr(name)}});
    }
  }
  return devices;
}

}  // namespace

std::string folder_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._=,-").find(c) != std::string_view::npos;
    if (kept) name += c;
    if (!kept && !name.empty() && name.back() != '-') name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() || name.front() == '.' ? "x" + name : name;
}

Fingerprint fingerprint(const EnvironmentReport& environment) {
  const CpuInfo& cpu = environment.cpu;
  Fingerprint machine;
  for (const json& device : environment.devices) machine.devices.push_back(device.value("name", "accelerator"));
  machine.name = fmt::format("{} {} cores", strip_marks(cpu.model), cpu.usable_cores);
  if (!machine.devices.empty()) {
    const std::string& first = machine.devices.front();
    machine.name = machine.devices.size() == 1 ? first : fmt::format("{} {}", machine.devices.size(), first);
  }
  machine.name = folder_name(lower_case(machine.name));
  const json identity = {
      {"cpu", cpu.model}, {"features", cpu.features}, {"cores", cpu.usable_cores}, {"devices", machine.devices}};
  machine.hash = fmt::format("fnv1a64:{:016x}", fnv1a64(identity.dump()));
  machine.cpu = cpu.model;
  machine.cores = cpu.usable_cores;
  machine.memory_gib = std::llround(static_cast<double>(environment.memory_bytes) / (1 << 30));
  return machine;
}

Fingerprint this_machine() {
  EnvironmentRequest request;
  request.devices = find_accelerators();
  return fingerprint(capture_environment(request));
}

}  // namespace ptrain
