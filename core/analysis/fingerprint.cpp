#include "core/analysis/fingerprint.h"

#include "core/base/hash.h"
#include "core/config/text.h"
#include "core/report/environment.h"
#include "core/report/schema_parts.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace ptrain {
namespace {

using nlohmann::json;

/// "Intel(R) Xeon(R) Processor" without the marks.
std::string plain(std::string name) {
  for (const char* mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (std::size_t at; (at = name.find(mark)) != std::string::npos;) name.erase(at, std::string_view(mark).size());
  }
  return name.substr(0, name.find(" @"));
}

/// One object per GPU, with the name that the driver gives it.
json accelerators() {
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

json fingerprint(const json& environment) {
  const json& cpu = environment.at("cpu");
  json devices = json::array();
  for (const json& device : environment.at("devices")) devices.push_back(device.value("name", "accelerator"));
  const json identity = {{"cpu", cpu.at("model")},
                         {"features", cpu.at("features")},
                         {"cores", cpu.at("usable_cores")},
                         {"devices", devices}};
  std::string name = fmt::format("{} {} cores", plain(cpu.at("model")), cpu.at("usable_cores").get<int>());
  if (!devices.empty()) {
    name = devices.size() == 1 ? devices.front().get<std::string>()
                               : fmt::format("{} {}", devices.size(), devices.front().get<std::string>());
  }
  return {{"name", folder_name(lower_case(name))},
          {"hash", fmt::format("fnv1a64:{:016x}", fnv1a64(identity.dump()))},
          {"cpu", cpu.at("model")},
          {"cores", cpu.at("usable_cores")},
          {"devices", devices},
          {"memory_gib", std::llround(environment.at("memory_bytes").get<double>() / (1 << 30))}};
}

json this_machine() {
  EnvironmentRequest request;
  request.devices = accelerators();
  return fingerprint(capture_environment(request));
}

json fingerprint_schema() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  return object_of({{"name", text("fit for a folder")},
                    {"hash", text("over processor, features, usable cores and accelerators")},
                    {"cpu", text("")},
                    {"cores", count("usable")},
                    {"devices", list_of(text("name"), "accelerators")},
                    {"memory_gib", count("")}},
                   "the machine");
}

}  // namespace ptrain
