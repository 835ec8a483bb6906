#include "core/train/data_report.h"

#include <fmt/format.h>

namespace ptrain {

DataFindings examine_data(const Config& config, const Dataset& training, const Dataset* evaluation) {
  constexpr double many_unknown = 0.05;
  DataFindings found;
  found.notes = training.notes();
  found.report.training_samples = training.size();
  if (evaluation != nullptr) {
    found.report.evaluation_samples = evaluation->size();
    found.notes.insert(found.notes.end(), evaluation->notes().begin(), evaluation->notes().end());
  }
  if (const double dev = config.data.split.dev; dev > 0) {
    found.report.split = {dev, config.seed};
    found.notes.push_back(fmt::format(
        "data.split.dev {}: {} samples train{}, the same part of each class by seed {}", dev, training.size(),
        evaluation == nullptr ? "" : fmt::format(", {} evaluate", evaluation->size()), config.seed));
  }
  const std::optional<TokenCount> count = training.count_unknown();
  if (!count || count->tokens == 0) return found;
  const double share = static_cast<double>(count->unknown) / static_cast<double>(count->tokens);
  found.report.unknown_tokens = share;
  if (share >= many_unknown) {
    found.notes.push_back(
        fmt::format("{:.1f} % of the training text's tokens are [UNK]: {} has no entries for them (data.vocab)",
                    100 * share, config.data.vocab));
  }
  return found;
}

}  // namespace ptrain
