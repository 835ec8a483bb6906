#include "core/base/gpu_datasheet.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

namespace ptrain {
namespace {

struct Row {
  std::string_view model;
  double fp8;              // TFLOP/s; 0: it has none
  double low, tf32, fp32;  // TFLOP/s
  double bandwidth;        // TB/s
  // 0: absent, or it differs among GPUs of that name.
  double memory;  // GB
  double watts;
  double pcie_generation;
  double nvlink_links, nvlink;  // NVLink: GB/s of each link in one direction
  bool bf16 = true;
};

constexpr double lanes = 16;

// The first row whose model is in the GPU's name applies.
constexpr Row known_gpus[] = {
    {"B200", 4500, 2250, 1125, 75, 8.0, 180, 1000, 5, 18, 50},
    {"GH200", 1979, 990, 494.5, 67, 4.0, 96, 0, 0, 0, 0},
    {"H200 NVL", 1671, 835.5, 417.5, 60, 4.8, 141, 600, 5, 0, 0},
    {"H200", 1979, 989.5, 494.5, 67, 4.8, 141, 700, 5, 18, 25},
    {"H100 NVL", 1671, 835.5, 417.5, 60, 3.9, 94, 400, 5, 0, 0},
    {"H100 PCIe", 1513, 756.5, 378, 51, 2.0, 80, 350, 5, 0, 0},
    {"H100 80GB HBM3", 1979, 989.5, 494.5, 67, 3.35, 80, 700, 5, 18, 25},
    {"A100-SXM4-80GB", 0, 312, 156, 19.5, 2.039, 80, 400, 4, 12, 25},
    {"A100 80GB PCIe", 0, 312, 156, 19.5, 1.935, 80, 300, 4, 0, 0},
    {"A100-SXM4-40GB", 0, 312, 156, 19.5, 1.555, 40, 400, 4, 12, 25},
    {"A100-PCIE-40GB", 0, 312, 156, 19.5, 1.555, 40, 250, 4, 0, 0},
    {"A100", 0, 312, 156, 19.5, 1.555, 40, 0, 4, 0, 0},
    {"A40", 0, 149.7, 74.8, 37.4, 0.696, 48, 300, 4, 0, 0},
    {"A30", 0, 165, 82, 10.3, 0.933, 24, 165, 4, 0, 0},
    {"A10", 0, 125, 62.5, 31.2, 0.6, 24, 150, 4, 0, 0},
    {"L40S", 733, 362, 183, 91.6, 0.864, 48, 350, 4, 0, 0},
    {"L40", 362, 181, 90.5, 90.5, 0.864, 48, 300, 4, 0, 0},
    {"L4", 242, 121, 60, 30.3, 0.3, 24, 72, 4, 0, 0},
    {"GeForce RTX 4090", 330.3, 165.2, 82.6, 82.6, 1.008, 24, 450, 4, 0, 0},
    {"V100-SXM2-32GB", 0, 125, 15.7, 15.7, 0.9, 32, 300, 3, 6, 25, false},
    {"V100-SXM2-16GB", 0, 125, 15.7, 15.7, 0.9, 16, 300, 3, 6, 25, false},
    {"V100", 0, 112, 14, 14, 0.9, 16, 250, 3, 0, 0, false},
    {"T4", 0, 65, 8.1, 8.1, 0.3, 16, 70, 3, 0, 0, false},
};

/// "H100-PCIe" and "h100 pcie" are the same name.
bool is_same_letter(char a, char b) {
  const auto separates = [](char c) { return c == ' ' || c == '-' || c == '_'; };
  if (separates(a) && separates(b)) return true;
  return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
}

/// Whether `name` has `model` as whole words: "A10" is not in "NVIDIA A100-SXM4-80GB", "A100" is.
bool has_words(std::string_view name, std::string_view model) {
  const auto in_word = [](const char* c) { return std::isalnum(static_cast<unsigned char>(*c)); };
  for (const char* from = name.begin();;) {
    const char* const at = std::search(from, name.end(), model.begin(), model.end(), is_same_letter);
    if (at == name.end()) return false;
    const char* const end = at + model.size();
    if ((at == name.begin() || !in_word(at - 1)) && (end == name.end() || !in_word(end))) return true;
    from = at + 1;
  }
}

/// The rows whose model begins with a user's short name ("h100"), the fastest first.
std::vector<const Row*> rows_called(std::string_view short_name) {
  std::vector<const Row*> rows;
  for (const Row& row : known_gpus) {
    const std::string_view model = row.model;
    const bool is_called = !short_name.empty() && short_name.size() <= model.size() &&
                           has_words(model.substr(0, short_name.size() + 1), short_name);
    if (is_called) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::greater(), [](const Row* row) { return std::pair(row->low, row->bandwidth); });
  return rows;
}

/// Those of a short name or the one of a full name.
std::vector<const Row*> find_rows(std::string_view gpu_name) {
  constexpr std::string_view maker = "NVIDIA ";
  if (gpu_name.starts_with(maker)) gpu_name.remove_prefix(maker.size());
  if (std::vector<const Row*> rows = rows_called(gpu_name); !rows.empty()) return rows;
  for (const Row& row : known_gpus) {
    if (has_words(gpu_name, row.model)) return {&row};
  }
  return {};
}

}  // namespace

std::optional<GpuDataSheet> find_datasheet(std::string_view gpu_name) {
  constexpr double tera = 1e12;
  for (const char* other : {"MIG", "Laptop", "4090 D"}) {
    if (has_words(gpu_name, other)) return std::nullopt;
  }
  const auto known = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
  const std::vector<const Row*> rows = find_rows(gpu_name);
  if (rows.empty()) return std::nullopt;
  const Row* const row = rows.front();
  std::vector<std::string_view> slower;
  for (std::size_t i = 1; i < rows.size(); ++i) slower.push_back(rows[i]->model);
  return GpuDataSheet{row->model,
                      std::move(slower),
                      {row->fp8 * tera, row->low * tera, row->tf32 * tera, row->fp32 * tera, row->bandwidth * tera},
                      row->bf16,
                      known(row->memory),
                      known(row->watts),
                      known(row->pcie_generation),
                      row->pcie_generation > 0 ? std::optional(lanes) : std::nullopt,
                      known(row->nvlink_links),
                      known(row->nvlink)};
}

std::optional<GpuRates> datasheet_rates(std::string_view gpu_name) {
  const std::optional<GpuDataSheet> sheet = find_datasheet(gpu_name);
  return sheet ? std::optional(sheet->rates) : std::nullopt;
}

std::optional<double> datasheet_peak_flops(std::string_view gpu_name, DType dtype, bool tf32) {
  const std::optional<GpuRates> rates = datasheet_rates(gpu_name);
  return rates ? std::optional(rates->flops(dtype, tf32)) : std::nullopt;
}

std::string datasheet_models() {
  std::string models;
  for (const Row& row : known_gpus) {
    if (!models.empty()) models += ", ";
    models += row.model;
  }
  return models;
}

}  // namespace ptrain
