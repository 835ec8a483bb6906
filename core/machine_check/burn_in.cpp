#include "core/machine_check/burn_in.h"

#include "core/analysis/intervals.h"
#include "core/exec/benchmark_op.h"
#include "core/machine_check/probe.h"
#include "core/train/measure/cached_device_rates.h"
#include "core/train/measure/sensor_watch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain {
namespace {

constexpr double confidence = 0.95;

double choose_lap_seconds(const BurnInOptions& options) { return std::clamp(options.seconds / 30, 0.01, 2.0); }

/// The training precision with the fastest matrix product.
DType find_fastest_precision(const DeviceRates& rates) {
  DType best = DType::f32;
  double rate = rates.fp32.product.value_or(0);
  for (const auto& [dtype, of] : {std::pair(DType::bf16, &rates.bf16), std::pair(DType::f16, &rates.fp16)}) {
    if (of->product.value_or(0) <= rate) continue;
    best = dtype;
    rate = *of->product;
  }
  return best;
}

/// The largest of `sizes` expected to fit several times into half a lap and the memory.
template <typename Sizes, typename Make>
std::shared_ptr<BenchmarkOp> find_largest(const DeviceMemory& memory, const Sizes& sizes, double rate, double seconds,
                                          Make make) {
  std::shared_ptr<BenchmarkOp> op = make(sizes.front());
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double spare = static_cast<double>(memory.available()) / 4;
    if (op->cost().bytes * 8 > spare) break;  // the next size is several times as large
    std::shared_ptr<BenchmarkOp> larger = make(sizes.at(i));
    if (larger->cost().flops > rate * seconds / 8 || larger->cost().bytes > spare) break;
    op = std::move(larger);
  }
  return op;
}

std::vector<BurnInWork> make_heavy_work(Backend& backend, double seconds) {
  KernelOptions options;
  options.exhaustive_search = false;
  options.deterministic = true;
  const DeviceRates rates = cached_device_rates(backend, {});
  const DType dtype = find_fastest_precision(rates);
  const PrecisionRates& of = dtype == DType::f32 ? rates.fp32 : dtype == DType::bf16 ? rates.bf16 : rates.fp16;
  std::vector<BurnInWork> work;
  for (const auto& op :
       {find_largest(backend.memory(), product_sizes, of.product.value_or(0), seconds,
                     [&](const ProductSize& size) { return make_product(backend, dtype, size, options); }),
        find_largest(backend.memory(), convolution_sizes, of.convolution.value_or(0), seconds,
                     [&](const ConvolutionSize& size) { return make_convolution(backend, dtype, size, options); })}) {
    work.push_back({op->cost().flops,
                    [op, &stream = backend.stream()] {
                      op->run();
                      stream.synchronize();
                    },
                    [op] { return op->checksum(); }});
  }
  return work;
}

double compute_mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Check check_drift(const BurnInLaps& laps, const BurnInOptions& options) {
  Check check;
  check.what = "rate, last third versus first";
  check.expected = fmt::format("no more than {:g} % slower", options.drift_percent);
  const auto third = static_cast<std::ptrdiff_t>(laps.rates.size() / 3);
  if (third < fewest_of_each(confidence)) {
    check.reason = fmt::format("{} laps are too few for an interval", laps.rates.size());
    return check;
  }
  const std::vector<double> first(laps.rates.begin(), laps.rates.begin() + third);
  const std::vector<double> last(laps.rates.end() - third, laps.rates.end());
  const auto logs = [](std::vector<double> rates) {
    for (double& rate : rates) rate = std::log(rate);
    return rates;
  };
  const Interval change = rank_sum_interval(logs(first), logs(last), confidence);
  const auto percent = [](double log) { return 100 * std::expm1(log); };
  check.found =
      fmt::format("{:+.1f} % ({:+.1f} to {:+.1f}), {:.0f} to {:.0f} Gop/s", percent(change.estimate),
                  percent(change.lower), percent(change.upper), compute_mean(first) * 1e-9, compute_mean(last) * 1e-9);
  if (percent(change.upper) < -options.drift_percent) {
    check.verdict = CheckVerdict::failed;
  } else if (percent(change.lower) >= -options.drift_percent) {
    check.verdict = CheckVerdict::ok;
  } else {
    check.reason = "the interval includes the bound: too much noise, or too short";
  }
  return check;
}

Check check_new_errors(const std::optional<double>& before, const std::optional<double>& after,
                       const std::string& no_sensors) {
  Check check{"", "uncorrected ECC errors under load", "", "0", CheckVerdict::skipped, no_sensors};
  if (!before || !after) {
    if (check.reason.empty()) check.reason = "not reported by the device";
    return check;
  }
  check.found = fmt::format("{}", *after - *before);
  check.verdict = *after > *before ? CheckVerdict::failed : CheckVerdict::ok;
  return check;
}

}  // namespace

BurnInLaps burn_in(std::span<const BurnInWork> work, const BurnInOptions& options) {
  std::vector<std::uint64_t> expected;
  std::vector<std::int64_t> repeats;
  double operations = 0;
  for (const BurnInWork& item : work) {
    item.run();
    expected.push_back(item.checksum());
    const double start = options.clock();
    item.run();
    const double seconds = std::max(1e-9, options.clock() - start);
    repeats.push_back(std::max<std::int64_t>(
        1, std::llround(choose_lap_seconds(options) / static_cast<double>(work.size()) / seconds)));
    operations += item.operations * static_cast<double>(repeats.back());
  }
  BurnInLaps laps;
  const double begin = options.clock();
  while (laps.seconds < options.seconds && !options.stopped()) {
    const double start = options.clock();
    for (std::size_t i = 0; i < work.size(); ++i) {
      for (std::int64_t repeat = 0; repeat < repeats[i]; ++repeat) work[i].run();
    }
    laps.rates.push_back(operations / std::max(1e-9, options.clock() - start));
    bool same = true;
    for (std::size_t i = 0; i < work.size(); ++i) same = work[i].checksum() == expected[i] && same;
    if (!same) ++laps.wrong;
    laps.seconds = options.clock() - begin;
    options.after_lap(laps);
  }
  return laps;
}

std::vector<Check> check_laps(const BurnInLaps& laps, const BurnInOptions& options) {
  Check results{"", "results", "", "the same in every lap", CheckVerdict::skipped, ""};
  if (laps.rates.empty()) {
    results.reason = "no lap was finished";
  } else {
    results.found = fmt::format("{} of {} laps differ", laps.wrong, laps.rates.size());
    results.verdict = laps.wrong > 0 ? CheckVerdict::failed : CheckVerdict::ok;
  }
  return {results, check_drift(laps, options)};
}

std::vector<Check> burn_in_device(Backend& backend, const std::string& device, const BurnInOptions& options) {
  const std::vector<BurnInWork> work = make_heavy_work(backend, choose_lap_seconds(options));
  std::string no_sensors;
  const auto sensors = sensors_or_reason(backend.instruments(), no_sensors);
  const auto between_looks = std::chrono::milliseconds(std::llround(std::clamp(options.seconds, 20.0, 1000.0)));
  std::optional<SensorWatch> watch;
  DeviceCondition before, after;
  if (sensors != nullptr) {
    before = sensors->condition();
    watch.emplace(backend.instruments().make_sensors(), between_looks).start();
  }
  const BurnInLaps laps = burn_in(work, options);
  std::vector<Check> checks = check_laps(laps, options);
  if (sensors != nullptr) after = sensors->condition();
  checks.push_back(check_new_errors(before.new_memory_errors, after.new_memory_errors, no_sensors));
  checks.push_back(check_throttling(device, watch ? watch->stop() : std::nullopt, no_sensors));
  for (Check& check : checks) check.device = device;
  return checks;
}

}  // namespace ptrain
