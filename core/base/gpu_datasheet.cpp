#include "core/base/gpu_datasheet.h"

#include <algorithm>
#include <cctype>

namespace ptrain {
namespace {

struct DataSheet {
  std::string_view model;
  double low, tf32, fp32;  // TFLOP/s
  double bandwidth;        // TB/s
};

// The first whose model is in the GPU's name counts.
constexpr DataSheet data_sheets[] = {
    {"B200", 2250, 1125, 75, 8.0},
    {"GH200", 990, 494.5, 67, 4.0},
    {"H200 NVL", 835.5, 417.5, 60, 4.8},
    {"H200", 989.5, 494.5, 67, 4.8},
    {"H100 NVL", 835.5, 417.5, 60, 3.9},
    {"H100 PCIe", 756.5, 378, 51, 2.0},
    {"H100 80GB HBM3", 989.5, 494.5, 67, 3.35},
    {"A100-SXM4-80GB", 312, 156, 19.5, 2.039},
    {"A100 80GB PCIe", 312, 156, 19.5, 1.935},
    {"A100", 312, 156, 19.5, 1.555},
    {"A40", 149.7, 74.8, 37.4, 0.696},
    {"A30", 165, 82, 10.3, 0.933},
    {"A10", 125, 62.5, 31.2, 0.6},
    {"L40S", 362, 183, 91.6, 0.864},
    {"L40", 181, 90.5, 90.5, 0.864},
    {"L4", 121, 60, 30.3, 0.3},
};

bool same_letter(char a, char b) {
  return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
}

/// Whether `name` has `model` as whole words: "A10" is not in "NVIDIA A100-SXM4-80GB", "A100" is.
bool has_words(std::string_view name, std::string_view model) {
  const auto in_word = [](const char* c) { return std::isalnum(static_cast<unsigned char>(*c)); };
  for (const char* from = name.begin();;) {
    const char* const at = std::search(from, name.end(), model.begin(), model.end(), same_letter);
    if (at == name.end()) return false;
    const char* const behind = at + model.size();
    if ((at == name.begin() || !in_word(at - 1)) && (behind == name.end() || !in_word(behind))) return true;
    from = at + 1;
  }
}

}  // namespace

std::optional<GpuRates> datasheet_rates(std::string_view gpu_name) {
  constexpr double tera = 1e12;
  if (has_words(gpu_name, "MIG")) return std::nullopt;
  for (const DataSheet& sheet : data_sheets) {
    if (!has_words(gpu_name, sheet.model)) continue;
    return GpuRates{sheet.low * tera, sheet.tf32 * tera, sheet.fp32 * tera, sheet.bandwidth * tera};
  }
  return std::nullopt;
}

std::optional<double> datasheet_peak_flops(std::string_view gpu_name, DType dtype, bool tf32) {
  const std::optional<GpuRates> rates = datasheet_rates(gpu_name);
  return rates ? std::optional(rates->flops(dtype, tf32)) : std::nullopt;
}

std::string datasheet_models() {
  std::string models;
  for (const DataSheet& sheet : data_sheets) {
    if (!models.empty()) models += ", ";
    models += sheet.model;
  }
  return models;
}

}  // namespace ptrain
