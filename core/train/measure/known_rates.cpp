#include "core/train/measure/known_rates.h"

#include "core/base/hash.h"
#include "core/io/cache_directory.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

/// The file of a device's rates.
struct KnownRates {
  std::string device;
  DeviceRates rates;

  void describe(Fields& field) {
    field.document("ptrain.rates/1", "How fast a device computes, as measured.");
    field("device", device, "what the rates hold for");
    field("rates", rates, "");
  }
};

std::string device_of(Backend& backend, const KernelOptions& options) {
  return backend.search_cache().device() + (options.tf32 ? ", TF32" : "");
}

std::filesystem::path file_of(const std::string& device) {
  return cache_directory() / fmt::format("rates-{:016x}.json", fnv1a64(device));
}

}  // namespace

DeviceRates known_rates(Backend& backend, const KernelOptions& options) {
  const std::string device = device_of(backend, options);
  std::error_code error;
  if (std::filesystem::exists(file_of(device), error)) {
    try {
      const auto known = read_document<KnownRates>(file_of(device));
      if (known.device == device) return known.rates;
    } catch (const std::exception&) {  // one that cannot be read counts as none
    }
  }
  return renew_rates(backend, options);
}

DeviceRates renew_rates(Backend& backend, const KernelOptions& options) {
  KnownRates measured{device_of(backend, options), measure_rates(backend, options)};
  try {
    write_document(measured, file_of(measured.device), Flush::no);
  } catch (const std::exception&) {  // a cache that cannot be written costs the next run the measurement
  }
  return measured.rates;
}

}  // namespace ptrain
