#include "core/train/state/best_model.h"

#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>

#include <cmath>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

}  // namespace

double metric_of(const EvalResult& result, BestMetric metric) {
  switch (metric) {
    case BestMetric::top1:
      return result.top1;
    case BestMetric::top5:
      return result.top5;
    case BestMetric::f1:
      return result.f1;
    case BestMetric::loss:
      return result.loss;
    case BestMetric::pearson:
      return result.values->pearson.value_or(std::nan(""));
    case BestMetric::spearman:
      return result.values->spearman.value_or(std::nan(""));
    case BestMetric::perplexity:
      return result.perplexity.value_or(std::nan(""));
    case BestMetric::none:
      break;
  }
  throw std::logic_error("internal error: no metric to be best by");
}

bool is_better(BestMetric metric, double value, double other) {
  const bool lowest = metric == BestMetric::loss || metric == BestMetric::perplexity;
  return lowest ? value < other : value > other;
}

bool BestModel::add(const EvalResult& result) {
  const BestMetric metric = config_.output.keep_best;
  const double value = metric_of(result, metric);
  const bool better = std::isfinite(value) && (!record_ || is_better(metric, value, record_->value));
  since_ = better ? 0 : since_ + 1;
  if (better) {
    record_ = BestReport{std::string(choice_name(metric)), value, result.step, result.epoch, folder().string()};
  }
  return better;
}

BestModel::State BestModel::state() const {
  const BestReport best = record_.value_or(BestReport{});
  return {record_ ? 1.0 : 0.0, best.value, static_cast<double>(best.step), static_cast<double>(best.epoch),
          static_cast<double>(since_)};
}

void BestModel::restore(const State& state) {
  const auto [known, value, step, epoch, since] = state;
  record_.reset();
  since_ = std::llround(since);
  if (known == 0) return;
  record_ = BestReport{std::string(choice_name(config_.output.keep_best)), value, std::llround(step),
                       std::llround(epoch), folder().string()};
}

fs::path BestModel::folder() const { return fs::path(config_.output.dir) / "best"; }

void replace_folder(const fs::path& folder, const std::function<void(const fs::path&)>& write) {
  const fs::path fresh = folder.parent_path() / fmt::format(".{}.ptrain.tmp", folder.filename().string());
  try {
    fs::remove_all(fresh);
    make_folder(fresh);
    write(fresh);
    // Where a file system cannot exchange two folders, a crash between the next two lines leaves the new one only.
    if (!fs::exists(folder) || renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
      fs::remove_all(folder);
      fs::rename(fresh, folder);
    }
    fs::remove_all(fresh);
  } catch (const fs::filesystem_error& error) {
    fail("{}: cannot be replaced: {}", folder.string(), error.code().message());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw;
  }
}

}  // namespace ptrain
