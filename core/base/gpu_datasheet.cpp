#include "core/base/gpu_datasheet.h"

#include <cctype>

namespace ptrain {
namespace {

struct DataSheet {
  std::string_view model;
  double low;   // fp16 and bf16, TFLOP/s
  double tf32;  // TFLOP/s
  double fp32;  // TFLOP/s
};

// The first whose model is in the GPU's name counts.
constexpr DataSheet data_sheets[] = {
    {"B200", 2250, 1125, 75},
    {"GH200", 990, 494.5, 67},
    {"H200 NVL", 835.5, 417.5, 60},
    {"H200", 989.5, 494.5, 67},
    {"H100 NVL", 835.5, 417.5, 60},
    {"H100 PCIe", 756.5, 378, 51},
    {"H100 80GB HBM3", 989.5, 494.5, 67},
    {"A100", 312, 156, 19.5},
    {"A40", 149.7, 74.8, 37.4},
    {"A30", 165, 82, 10.3},
    {"A10", 125, 62.5, 31.2},
    {"L40S", 362, 183, 91.6},
    {"L40", 181, 90.5, 90.5},
    {"L4", 121, 60, 30.3},
};

/// Whether `name` has `model` as whole words: "A10" is not in "NVIDIA A100-SXM4-80GB", "A100" is.
bool has_words(std::string_view name, std::string_view model) {
  const auto in_word = [&](std::size_t i) {
    return i < name.size() && std::isalnum(static_cast<unsigned char>(name[i]));
  };
  for (std::size_t at = name.find(model); at != name.npos; at = name.find(model, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + model.size())) return true;
  }
  return false;
}

}  // namespace

std::optional<double> datasheet_peak_flops(std::string_view gpu_name, DType dtype, bool tf32) {
  constexpr double tera = 1e12;
  if (has_words(gpu_name, "MIG")) return std::nullopt;
  for (const DataSheet& sheet : data_sheets) {
    if (!has_words(gpu_name, sheet.model)) continue;
    if (is_low_precision(dtype)) return sheet.low * tera;
    return (tf32 ? sheet.tf32 : sheet.fp32) * tera;
  }
  return std::nullopt;
}

}  // namespace ptrain
