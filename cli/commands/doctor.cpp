// ptrain doctor: what this machine offers, and what is missing with the way to get it.
#include "cli/commands.h"
#include "cli/device.h"
#include "core/base/machine_memory.h"
#include "core/base/parallel.h"
#include "core/cpu/backend.h"
#include "core/report/build_info.h"
#include "core/report/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace ptrain {
namespace {

using nlohmann::json;

json gpu_state() {
  const std::string reason = cuda::unavailable_reason();
  const BackendInfo info = cuda::cuda_info();
  return {{"usable", reason.empty()},
          {"reason", reason},
          {"devices", describe_devices(info.devices)},
          {"libraries", info.versions},
          {"files", info.files}};
}

json low_precision(const CpuInfo& cpu) {
  const auto has = [&](std::string_view feature) {
    return std::find(cpu.features.begin(), cpu.features.end(), feature) != cpu.features.end();
  };
  if (has("amx_bf16")) return "bf16 native (AMX)";
  if (has("avx512_bf16")) return "bf16 native (AVX512-BF16)";
  return "bf16 emulated: AMP will not be faster than fp32 here";
}

/// Files that the shipped configurations read, from the folder that ptrain is run in.
json asset_state() {
  struct Asset {
    const char* name;
    const char* path;
    const char* how;
  };
  constexpr Asset kAssets[] = {
      {"Fashion-MNIST", "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz",
       "apt-get install dataset-fashion-mnist"},
      {"SST-2", "data/sst2/train.tsv", "scripts/fetch_data.sh"},
      {"MiniLM-L6", "weights/all-minilm-l6-v2/model.safetensors", "scripts/fetch_weights.sh"},
  };
  json list = json::array();
  for (const auto& [name, path, how] : kAssets) {
    std::error_code error;
    list.push_back({{"name", name}, {"path", path}, {"found", std::filesystem::exists(path, error)}, {"get", how}});
  }
  return list;
}

json diagnose() {
  const CpuInfo cpu = read_cpu();
  json state = write_fields(capture_environment({thread_count(), {}, json::array()}));
  state["available_memory_bytes"] = available_memory_bytes();
  state["compute"] = cpu::make_backend()->library();
  state["low_precision"] = low_precision(cpu);
  state["gpu"] = gpu_state();
  state["assets"] = asset_state();
  return state;
}

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void print_human(const json& state) {
  const json& cpu = state["cpu"];
  const json& build = state["ptrain"];
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const auto line = [](std::string_view what, const std::string& value) { fmt::print("{:<14} {}\n", what, value); };
  line("ptrain", fmt::format("{} {} ({}, {})", text(build["version"]), text(build["commit"]), text(build["compiler"]),
                             text(build["build_type"])));
  line("system", fmt::format("{}, {}", text(state["os"]), text(state["kernel"])));
  line("CPU", text(cpu["model"]));
  line("cores", fmt::format("{} usable of {} ({} physical)", text(cpu["usable_cores"]), text(cpu["logical_cores"]),
                            text(cpu["physical_cores"])));
  if (!cpu["quota"].is_null()) {
    line("CPU quota", fmt::format("{:g} CPUs' time, {} threads", cpu["quota"].get<double>(), text(state["threads"])));
  }
  line("features", fmt::format("{}", fmt::join(cpu["features"].get<std::vector<std::string>>(), " ")));
  line("low precision", text(state["low_precision"]));
  line("memory", fmt::format("{:.1f} GiB, {:.1f} GiB available", state["memory_bytes"].get<double>() / kGiB,
                             state["available_memory_bytes"].get<double>() / kGiB));
  if (!state["memory_limit_bytes"].is_null()) {
    line("memory limit", fmt::format("{:.1f} GiB", state["memory_limit_bytes"].get<double>() / kGiB));
  }
  line("compute", text(state["compute"]));
  const json& gpu = state["gpu"];
  for (const json& device : gpu["devices"]) {
    line("GPU", fmt::format("{}, {:.1f} GiB, compute capability {}", text(device["name"]),
                            device["memory_bytes"].get<double>() / kGiB, text(device["compute_capability"])));
  }
  if (!gpu["usable"].get<bool>()) line("GPU", fmt::format("not used: {}", text(gpu["reason"])));
  for (const auto& [name, version] : gpu["libraries"].items()) {
    const std::string file = gpu["files"].value(name, "");
    line(name, text(version) + (file.empty() ? "" : fmt::format(" ({})", file)));
  }
  for (const json& asset : state["assets"]) {
    line(text(asset["name"]), asset["found"].get<bool>()
                                  ? "found at " + text(asset["path"])
                                  : fmt::format("not at {}; to get it: {}", text(asset["path"]), text(asset["get"])));
  }
}

}  // namespace

void add_doctor_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("doctor", "say what this machine offers and what is missing");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "print JSON");
  command->footer("Example:\n  ptrain doctor --json");
  command->callback([as_json] {
    const json state = diagnose();
    if (*as_json) {
      fmt::print("{}\n", state.dump(2));
    } else {
      print_human(state);
    }
  });
}

}  // namespace ptrain
