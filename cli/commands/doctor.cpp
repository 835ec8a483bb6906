// ptrain doctor: reports what this machine offers, what is missing and how to get it.
#include "cli/commands.h"
#include "cli/machine_check/burn_in_request.h"
#include "cli/machine_check/machine.h"
#include "cli/machine_check/ranks_request.h"
#include "cli/number_range.h"
#include "cli/open_device.h"
#include "core/base/machine_load.h"
#include "core/base/machine_memory.h"
#include "core/base/parallel.h"
#include "core/base/signals.h"
#include "core/cpu/cpu_backend.h"
#include "core/report/build_info.h"
#include "core/report/environment.h"
#include "core/train/amp_choice.h"
#include "core/train/measure/cached_device_rates.h"
#include "core/train/run/run_environment.h"

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

json read_gpu_state() {
  const std::string reason = cuda::unavailable_reason();
  const BackendInfo info = cuda::cuda_info();
  return {{"usable", reason.empty()},   {"reason", reason},    {"devices", describe_devices(info.devices)},
          {"libraries", info.versions}, {"files", info.files}, {"missing", info.missing}};
}

/// The precision that amp.level auto selects for each kind of model.
json recommend_amp(const DeviceRates& rates, DType preferred) {
  const auto advice = [&](MainWork work) {
    const AmpAdvice amp = advise_amp(rates, work, preferred);
    return json{{"level", enum_name(amp.level)},
                {"dtype", enum_name(to_amp_dtype(amp.dtype))},
                {"gain", amp.gain},
                {"reason", amp.reason}};
  };
  return {{"images", advice(MainWork::convolutions)}, {"text", advice(MainWork::products)}};
}

/// Files used by the shipped configurations, relative to the working directory.
json find_assets() {
  struct Asset {
    const char* name;
    const char* path;
    const char* how;
  };
  constexpr Asset assets[] = {
      {"Fashion-MNIST", "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz",
       "apt-get install dataset-fashion-mnist"},
      {"SST-2", "data/sst2/train.tsv", "scripts/fetch_data.sh"},
      {"MiniLM-L6", "weights/all-minilm-l6-v2/model.safetensors", "scripts/fetch_weights.sh"},
  };
  json list = json::array();
  for (const auto& [name, path, how] : assets) {
    std::error_code error;
    list.push_back({{"name", name}, {"path", path}, {"found", std::filesystem::exists(path, error)}, {"get", how}});
  }
  return list;
}

json diagnose() {
  const auto backend = make_backend({});
  const LoadWatch watch;
  const DeviceRates rates = remeasure_rates(*backend, {});
  const std::optional<OtherLoad> load = watch.measure();
  EnvironmentReport environment = capture_environment({thread_count(), {}, json::array(), rates});
  environment.noise.others = load;
  json state = write_fields(environment);
  state["slowed_by"] = environment.slowed_by() == nullptr ? json() : json(load->warning());
  state["available_memory_bytes"] = available_memory_bytes();
  state["compute"] = backend->library();
  state["cpu_kernels"] = make_backend({DeviceKind::cpu, {}})->info().versions.at(cpu::own_kernels_entry);
  state["amp"] = recommend_amp(rates, backend->kernels().preferred_low_precision());
  state["gpu"] = read_gpu_state();
  state["assets"] = find_assets();
  return state;
}

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// "245 / 184 Gop/s, one thread 125 / 93": of products and convolutions.
std::string format_rates(const json& rates) {
  const auto rate = [&](const char* name) {
    return rates[name].is_null() ? std::string("-") : fmt::format("{:.0f}", rates[name].get<double>() * 1e-9);
  };
  std::string words = fmt::format("{} / {} Gop/s", rate("product"), rate("convolution"));
  if (!rates["product_one_thread"].is_null() || !rates["convolution_one_thread"].is_null())
    words += fmt::format(", one thread {} / {}", rate("product_one_thread"), rate("convolution_one_thread"));
  return words;
}

void print_rates(const json& state) {
  const json& rates = state["rates"];
  fmt::print("rates          of a matrix product / a 3x3 convolution\n");
  for (const char* precision : {"fp32", "bf16", "fp16", "int8"})
    fmt::print("  {:<12} {}\n", precision, format_rates(rates[precision]));
  const json& one = rates["memory_bandwidth_one_thread"];
  fmt::print("  {:<12} {:.1f} GB/s{}\n", "memory", rates["memory_bandwidth"].get<double>() * 1e-9,
             one.is_null() ? "" : fmt::format(", one thread {:.1f}", one.get<double>() * 1e-9));
  for (const auto& [kind, amp] : state["amp"].items())
    fmt::print("AMP, {:<9} {}: {}\n", kind, text(amp["level"]), text(amp["reason"]));
}

void print_human(const json& state) {
  const json& cpu = state["cpu"];
  const json& build = state["ptrain"];
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
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
  line("memory", fmt::format("{:.1f} GiB, {:.1f} GiB available", state["memory_bytes"].get<double>() / gib,
                             state["available_memory_bytes"].get<double>() / gib));
  if (!state["memory_limit_bytes"].is_null()) {
    line("memory limit", fmt::format("{:.1f} GiB", state["memory_limit_bytes"].get<double>() / gib));
  }
  line("compute", text(state["compute"]));
  line("CPU kernels", fmt::format("ptrain's own, for {}", text(state["cpu_kernels"])));
  print_rates(state);
  if (!state["slowed_by"].is_null()) line("load", text(state["slowed_by"]));
  const json& gpu = state["gpu"];
  for (const json& device : gpu["devices"]) {
    line("GPU", fmt::format("{}, {:.1f} GiB, compute capability {}", text(device["name"]),
                            device["memory_bytes"].get<double>() / gib, text(device["compute_capability"])));
  }
  if (!gpu["usable"].get<bool>()) line("GPU", fmt::format("not used: {}", text(gpu["reason"])));
  for (const auto& [name, version] : gpu["libraries"].items()) {
    const std::string file = gpu["files"].value(name, "");
    line(name, text(version) + (file.empty() ? "" : fmt::format(" ({})", file)));
  }
  for (const auto& [name, how] : gpu["missing"].items()) line(name, text(how));
  for (const json& asset : state["assets"]) {
    line(text(asset["name"]), asset["found"].get<bool>()
                                  ? "found at " + text(asset["path"])
                                  : fmt::format("not at {}; to get it: {}", text(asset["path"]), text(asset["get"])));
  }
}

struct DoctorOptions {
  RanksRequest ranks;
  bool as_json = false;
  bool check = false;
  bool describe_gpu = false;
  MachineCheckOptions acceptance;
  BurnInRequest burn_in;
};

/// Runs the checks, and prints what was measured even if a signal interrupts them.
void check(const DoctorOptions& options) {
  CheckReport report;
  if (options.check) report = check_machine(options.acceptance);
  report.time = utc_time();
  const int signal = options.burn_in.minutes > 0 ? burn_in_machine(options.burn_in, report) : 0;
  finish_checks(report, options.as_json);
  if (signal != 0) throw Interrupted(signal, "under load");
}

void doctor(const DoctorOptions& options) {
  if (options.ranks.ranks > 0) return compare_all_ranks(options.ranks, options.as_json);
  if (options.describe_gpu) {
    fmt::print("{}\n", cuda::gpu_description());
    return;
  }
  if (options.check || options.burn_in.minutes > 0) return check(options);
  const json state = diagnose();
  if (options.as_json) {
    fmt::print("{}\n", state.dump(2));
  } else {
    print_human(state);
  }
}

}  // namespace

void add_doctor_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("doctor", "show what this machine offers and what is missing");
  const auto options = std::make_shared<DoctorOptions>();
  command->add_flag("--json", options->as_json, "print JSON");
  command->add_flag("--describe-gpu", options->describe_gpu,
                    "print only cuDNN's description of the GPU, for estimate --compile-for");
  auto* const ranks =
      command
          ->add_option("--ranks", options->ranks.ranks,
                       "compare the ranks that mpirun or srun started, or N threads: arithmetic, memory, disk, links")
          ->expected(0, 1)
          ->default_str("2")
          ->check(CLI::Range(2, 65536))
          ->type_name("[N]");
  command
      ->add_option("--disk", options->ranks.disk,
                   "with --ranks: folder whose disk is measured; default: for temporary files")
      ->needs(ranks)
      ->type_name("DIR");
  auto* const checks =
      command
          ->add_flag("--check", options->check,
                     "measure every device, and check it against its data sheet, its own limits and --expect")
          ->excludes(ranks);
  command->add_option("--expect", options->acceptance.expected_file, "YAML file of expected values")
      ->needs(checks)
      ->type_name("FILE");
  command->add_option("--save", options->acceptance.save_file, "write the measured values to a file for later checks")
      ->needs(checks)
      ->type_name("FILE");
  command
      ->add_option("--burn-in", options->burn_in.minutes,
                   "keep every GPU, or all CPU threads, under load, and check rate and results")
      ->excludes(ranks)
      ->check(in_range(0.001, 1e5))
      ->type_name("MINUTES");
  command
      ->add_option("--drift", options->burn_in.drift_percent,
                   "largest accepted drop of the rate under load, in percent")
      ->check(in_range(0.1, 100.0))
      ->capture_default_str()
      ->type_name("PERCENT");
  command->footer(
      "Measures for a few seconds. With --check and --burn-in the exit code is 1 if a check fails.\nExamples:\n  "
      "ptrain "
      "doctor --json\n"
      "  ptrain doctor --check --save machine.yaml\n  ptrain doctor --check --expect machine.yaml\n  ptrain doctor "
      "--burn-in 60\n  mpirun -np 16 ptrain doctor --ranks");
  command->callback([options] { doctor(*options); });
}

}  // namespace ptrain
