#include "core/train/measure/cached_device_rates.h"

#include "core/base/hash.h"
#include "core/base/machine_load.h"
#include "core/io/cache_directory.h"
#include "core/io/own_file.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

namespace ptrain {
namespace {

/// The file of a device's rates.
struct CachedDeviceRates {
  std::string device;
  bool disturbed = false;
  DeviceRates rates;

  void describe(Fields& field) {
    field.document("ptrain.rates/2", "Measured compute rates of a device.");
    field("device", device, "device that the rates are valid for");
    field("disturbed", disturbed, "other programs kept its cores busy meanwhile: the rates are valid for minutes");
    field("rates", rates, "");
  }
};

std::string describe_device(KernelLibrary& kernels, const KernelOptions& options) {
  return kernels.search_cache().device() + (options.tf32 ? ", TF32" : "");
}

/// Whether a file of rates still counts.
bool is_valid(const CachedDeviceRates& known, const std::filesystem::path& file) {
  constexpr std::chrono::minutes as_good_as_none_after(10);
  if (!known.disturbed) return true;
  const auto age = std::filesystem::file_time_type::clock::now() - std::filesystem::last_write_time(file);
  return age < as_good_as_none_after;
}

/// Empty if nothing is cached.
std::filesystem::path find_file(const std::string& device) {
  const std::filesystem::path folder = cache_directory();
  return folder.empty() ? folder : folder / fmt::format("rates-{:016x}.json", fnv1a64(device));
}

}  // namespace

DeviceRates cached_device_rates(Backend& backend, const KernelOptions& options) {
  const std::string device = describe_device(backend.kernels(), options);
  const std::filesystem::path path = find_file(device);
  if (!path.empty() && read_own_file(path).content) {
    try {
      const auto known = read_document<CachedDeviceRates>(path);
      if (known.device == device && is_valid(known, path)) return known.rates;
    } catch (const std::exception&) {  // an unreadable file counts as none
    }
  }
  return remeasure_rates(backend, options);
}

DeviceRates remeasure_rates(Backend& backend, const KernelOptions& options) {
  const LoadWatch watch;
  CachedDeviceRates measured{describe_device(backend.kernels(), options), false, measure_rates(backend, options)};
  const std::optional<OtherLoad> load = watch.measure();
  measured.disturbed = measured.rates.threads > 0 && load && load->slows(measured.rates.threads);
  const std::filesystem::path path = find_file(measured.device);
  if (path.empty()) return measured.rates;
  try {
    make_own_folder(path.parent_path());
    write_document(measured, path, Flush::no);
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  } catch (const std::exception&) {  // without the cache the next run measures again
  }
  return measured.rates;
}

}  // namespace ptrain
