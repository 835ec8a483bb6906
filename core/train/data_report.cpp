#include "core/train/data_report.h"

#include "core/data/tensor_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {

namespace {

/// Tells how many classes no sample of the files has; empty: none, or the data are synthetic or not labelled.
std::string describe_empty_classes(const Dataset& data, std::string_view split) {
  const DatasetInfo& info = data.info();
  const bool labelled = std::ranges::find(info.targets, tensor_names::labels) != info.targets.end();
  if (!labelled || info.kind == DataKind::table || data.origin(0).file.empty()) return {};
  std::vector<bool> occurs(static_cast<std::size_t>(info.classes));
  for (std::int64_t i = 0; i < data.size(); ++i) occurs.at(static_cast<std::size_t>(data.label(i))) = true;
  const auto first = std::ranges::find(occurs, false);
  if (first == occurs.end()) return {};
  return fmt::format("{} of {} classes have no {} sample, first \"{}\"", std::ranges::count(occurs, false),
                     info.classes, split, info.class_names.at(static_cast<std::size_t>(first - occurs.begin())));
}

}  // namespace

DataFindings examine_data(const DataConfig& data, std::int64_t seed, const Dataset& training,
                          const Dataset* evaluation) {
  constexpr double many_unknown = 0.05;
  DataFindings found;
  found.notes = training.notes();
  found.report.training_samples = training.size();
  if (std::string empty = describe_empty_classes(training, "training"); !empty.empty())
    found.notes.push_back(std::move(empty));
  if (evaluation != nullptr) {
    found.report.evaluation_samples = evaluation->size();
    found.notes.insert(found.notes.end(), evaluation->notes().begin(), evaluation->notes().end());
    if (const std::string empty = describe_empty_classes(*evaluation, "evaluation"); !empty.empty()) {
      found.notes.push_back(
          empty +
          ": macro F1 counts one as 0 where it is predicted and leaves it out where it is not, as scikit-learn does");
    }
  }
  if (const double dev = data.split.dev; dev > 0) {
    found.report.split = {dev, seed};
    found.notes.push_back(fmt::format(
        "data.split.dev {}: {} samples train{}, the same part of each class by seed {}", dev, training.size(),
        evaluation == nullptr ? "" : fmt::format(", {} evaluate", evaluation->size()), seed));
  }
  const std::optional<TokenCount> count = training.count_unknown();
  if (!count || count->tokens == 0) return found;
  const double share = static_cast<double>(count->unknown) / static_cast<double>(count->tokens);
  found.report.unknown_tokens = share;
  if (share >= many_unknown) {
    found.notes.push_back(
        fmt::format("{:.1f} % of the training text's tokens are [UNK]: {} has no entries for them (data.vocab)",
                    100 * share, data.vocab));
  }
  return found;
}

}  // namespace ptrain
