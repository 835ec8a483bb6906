#include "core/analysis/bisect/change_location.h"

#include "core/report/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace ptrain {
namespace {

/// Variance that the level gains from run to run, in units of the noise's.
constexpr std::array<double, 4> drift_rates = {0, 0.01, 0.1, 1};
/// Standard deviation below which runs do not differ: a millionth.
constexpr double min_noise = 1e-6;
/// Deviations from the nearer level beyond which a run loses weight.
constexpr double outlier_threshold = 2;
constexpr int weight_rounds = 2;

using Column = std::vector<double>;

double multiply(const Column& a, const Column& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// A Kalman filter of the level, which whitens a column: its elements become uncorrelated, of equal variance.
class LevelFilter {
 public:
  LevelFilter(const Column& weights, double drift) {
    double variance = 0;  // of the level beside its first value, which is fitted
    for (const double weight : weights) {
      const double total = variance + 1 / weight;
      gains_.push_back(variance / total);
      scales_.push_back(1 / std::sqrt(total));
      log_determinant_ += std::log(total);
      variance = variance / (weight * total) + drift;
    }
  }

  double log_determinant() const { return log_determinant_; }
  /// What the standard deviation of one run is multiplied by.
  double scale(std::size_t run) const { return scales_[run]; }
  Column whiten(const Column& column) const {
    Column result;
    double level = 0;
    for (std::size_t i = 0; i < column.size(); ++i) {
      const double innovation = column[i] - level;
      result.push_back(innovation * scales_[i]);
      level += gains_[i] * innovation;
    }
    return result;
  }

 private:
  Column gains_, scales_;
  double log_determinant_ = 0;
};

/// Level and change that fit one hypothesis best, by least squares.
struct Fit {
  std::size_t first = 0;  // changed commit
  double drift = 0;
  double log_likelihood = 0;
  double level = 0, change = 0;
  double variance = 0;  // of the change
};

class Locator {
 public:
  Locator(std::span<const CommitRun> runs, std::size_t last)
      : runs_(runs), last_(last), weights_(runs.size(), 1.0), ones_(runs.size(), 1.0) {
    double mean = 0;
    for (const CommitRun& run : runs) mean += run.value / static_cast<double>(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      values_.push_back(runs[i].value - mean);  // for the sums' accuracy
      Column& column = columns_[runs[i].commit];
      column.resize(runs.size());
      column[i] = 1;
    }
  }

  ChangeLocation locate() {
    std::vector<Fit> fits = fit_all();
    for (int round = 0; round < weight_rounds; ++round) {
      reduce_weights(find_best(fits));
      fits = fit_all();
    }
    return combine(fits);
  }

 private:
  static const Fit& find_best(const std::vector<Fit>& fits) {
    return *std::max_element(fits.begin(), fits.end(),
                             [](const Fit& a, const Fit& b) { return a.log_likelihood < b.log_likelihood; });
  }

  std::vector<Fit> fit_all() const {
    std::vector<Fit> fits;
    for (const double drift : drift_rates) {
      const LevelFilter filter(weights_, drift);
      const Column y = filter.whiten(values_), one = filter.whiten(ones_);
      Column side(runs_.size(), 0.0);  // 1 for runs with the change, whitened
      for (std::size_t first = last_; first > 0; --first) {
        const auto measured = columns_.find(first);
        if (measured != columns_.end()) {
          const Column added = filter.whiten(measured->second);
          std::transform(side.begin(), side.end(), added.begin(), side.begin(), std::plus<>());
          fits.push_back(fit(y, one, side));
          fits.back().log_likelihood -= filter.log_determinant() / 2;
        } else {
          fits.push_back(fits.back());  // no run distinguishes it from its successor
        }
        fits.back().first = first;
        fits.back().drift = drift;
      }
    }
    return fits;
  }

  Fit fit(const Column& y, const Column& one, const Column& side) const {
    const double aa = multiply(one, one), ab = multiply(one, side), bb = multiply(side, side);
    const double ay = multiply(one, y), by = multiply(side, y), yy = multiply(y, y);
    const double determinant = aa * bb - ab * ab;
    const auto count = static_cast<double>(runs_.size());
    Fit result;
    result.level = (bb * ay - ab * by) / determinant;
    result.change = (aa * by - ab * ay) / determinant;
    const double left = std::max(0.0, yy - result.level * ay - result.change * by);
    const double squares = left + count * min_noise * min_noise;
    result.variance = squares / (count - 2) * aa / determinant;
    result.log_likelihood = -std::log(determinant) / 2 - (count - 2) / 2 * std::log(squares);
    return result;
  }

  /// Lowers the weight of runs far from both levels; an end's side is known.
  void reduce_weights(const Fit& fit) {
    const LevelFilter filter(weights_, fit.drift);
    Column residuals;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      residuals.push_back(values_[i] - fit.level - (runs_[i].commit >= fit.first ? fit.change : 0));
    }
    residuals = filter.whiten(residuals);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::size_t commit = runs_[i].commit;
      const double step = fit.change * filter.scale(i) * (commit >= fit.first ? 1 : -1);
      const bool is_end = commit == 0 || commit == last_;
      residuals[i] = is_end ? std::abs(residuals[i]) : std::min(std::abs(residuals[i]), std::abs(residuals[i] + step));
    }
    const double deviation = std::max(min_noise, deviation_scale * quantile(residuals, 0.5));
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const double ratio = outlier_threshold * deviation / std::max(residuals[i], outlier_threshold * deviation);
      weights_[i] = std::max(weights_[i] * ratio * ratio, min_noise);
    }
  }

  ChangeLocation combine(const std::vector<Fit>& fits) const {
    double highest = fits.front().log_likelihood;
    for (const Fit& fit : fits) highest = std::max(highest, fit.log_likelihood);
    double total = 0;
    for (const Fit& fit : fits) total += std::exp(fit.log_likelihood - highest);
    ChangeLocation result;
    result.probability.assign(last_ + 1, 0.0);
    result.freedom = static_cast<std::int64_t>(runs_.size()) - 2;
    double squares = 0;
    for (const Fit& fit : fits) {
      const double weight = std::exp(fit.log_likelihood - highest) / total;
      result.probability[fit.first] += weight;
      result.change += weight * fit.change;
      squares += weight * (fit.change * fit.change + fit.variance);
    }
    result.error = std::sqrt(std::max(0.0, squares - result.change * result.change));
    return result;
  }

  std::span<const CommitRun> runs_;
  std::size_t last_;
  Column weights_, ones_, values_;
  std::map<std::size_t, Column> columns_;  // 1 for the runs of a commit
};

/// The Bayes factor of the t statistic of `count` differences, with a normal prior of variance `spread`.
double compute_bayes_factor(double t, double count, double spread) {
  const double freedom = count - 1, widened = 1 + count * spread;
  return std::exp((freedom + 1) / 2 * (std::log1p(t * t / freedom) - std::log1p(t * t / (freedom * widened))) -
                  std::log(widened) / 2);
}

}  // namespace

Interval ChangeLocation::change_interval(double confidence) const {
  const double reach = student_quantile((1 + confidence) / 2, freedom) * error;
  return {change, change - reach, change + reach, true};
}

ChangeLocation locate_change(std::span<const CommitRun> runs, std::size_t last) { return Locator(runs, last).locate(); }

double compute_change_evidence(std::span<const double> differences) {
  if (differences.size() < 2) return 1;
  const Statistics summary = summarize(differences);
  const auto count = static_cast<double>(differences.size());
  const double t = summary.mean * std::sqrt(count) / std::hypot(summary.stdev, min_noise);
  return (compute_bayes_factor(t, count, 1) + compute_bayes_factor(t, count, 30)) / 2;
}

}  // namespace ptrain
