#include "core/exec/rates.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/exec/benchmark_op.h"
#include "core/exec/kernel_timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace ptrain {
namespace {

constexpr std::array<DType, 3> precisions{DType::f32, DType::bf16, DType::f16};

/// One kind of work in every precision and size.
struct Work {
  std::size_t sizes;
  /// Throws Error where the device has no such kernel.
  std::function<std::unique_ptr<BenchmarkOp>(DType, std::size_t size)> make;
  /// The same work in 8-bit integers; null where the device has no such kernel.
  std::function<std::function<void()>(std::size_t size)> make_int8;
};

/// CPU time of the calling thread: other load of the machine does not affect the timing of a single thread.
class ThreadTimeLapTimer final : public LapTimer {
 public:
  void start() override {
    seconds_.clear();
    last_ = now();
  }
  void lap() override {
    const double time = now();
    seconds_.push_back(time - last_);
    last_ = time;
  }
  std::span<const double> seconds() override { return seconds_; }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  std::vector<double> seconds_;
  double last_ = 0;
};

/// A device and the clock for its launches.
struct Timed {
  Backend& backend;
  LapTimer& timer;
};

/// Best seconds of each launch, with interleaved samples; infinity where it is null or fails.
std::vector<double> time_interleaved(const Timed& device, const std::vector<std::function<void()>>& launches) {
  std::vector<KernelLaunch> candidates;
  for (const auto& launch : launches) {
    candidates.emplace_back([&launch] {
      if (!launch) fail("cannot run");
      launch();
    });
  }
  return time_launches(device.timer, candidates);
}

/// Operations/s in each of `precisions` and in int8, 0 where it cannot run.
using RateOfEach = std::array<double, precisions.size() + 1>;

/// Rates of the precisions that `wanted` selects.
RateOfEach measure_size(const Timed& device, const Work& work, std::size_t size,
                        const std::function<bool(std::size_t)>& wanted) {
  std::vector<std::unique_ptr<BenchmarkOp>> ops;
  std::vector<std::function<void()>> launches(precisions.size() + 1);
  for (std::size_t i = 0; i < precisions.size(); ++i) {
    if (!wanted(i)) continue;
    try {
      BenchmarkOp* op = ops.emplace_back(work.make(precisions[i], size)).get();
      launches[i] = [op] { op->run(); };
    } catch (const Error&) {
      continue;
    }
  }
  if (ops.empty()) return {};
  if (wanted(precisions.size())) launches.back() = work.make_int8(size);
  const std::vector<double> seconds = time_interleaved(device, launches);
  RateOfEach rates{};
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = ops.front()->cost().flops / seconds[i];
  return rates;
}

/// The better of two measurements for each precision.
RateOfEach take_best(const RateOfEach& a, const RateOfEach& b) {
  RateOfEach best{};
  for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::max(a[i], b[i]);
  return best;
}

/// Rates at the size at which fp32 runs long enough to make launch and wait overhead negligible; `expected_fp32` is its
/// rate if known, since a busy machine makes short multi-threaded work look slow. Where
/// fp32 cannot run, the smallest size. A precision that is far slower than fp32 at that size, as an emulated one is,
/// keeps that rate: larger sizes would take seconds.
RateOfEach measure(const Timed& device, const Work& work, double expected_fp32) {
  constexpr double long_enough = 2e-3;
  constexpr double hopeless = 1.0 / 8;
  const int rounds = expected_fp32 > 0 ? 3 : 1;  // several threads wait for each other and are disturbed more often
  const RateOfEach smallest = measure_size(device, work, 0, [](std::size_t) { return true; });
  if (smallest[0] == 0) return smallest;
  const auto promising = [&](std::size_t i) { return smallest[i] > hopeless * smallest[0]; };
  std::size_t size = 0;
  for (double fp32 = std::max(expected_fp32, smallest[0]);
       size + 1 < work.sizes && work.make(DType::f32, size)->cost().flops < long_enough * fp32;) {
    fp32 = std::max(fp32, measure_size(device, work, ++size, [](std::size_t i) { return i == 0; })[0]);
  }
  RateOfEach rates{};
  for (int round = 0; round < rounds; ++round) rates = take_best(rates, measure_size(device, work, size, promising));
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (!promising(i)) rates[i] = smallest[i];
  }
  return rates;
}

/// Bytes/s of adding two tensors larger than any cache, or as large as available memory permits.
double measure_bandwidth(const Timed& device, const KernelOptions& options) {
  constexpr std::int64_t least = std::int64_t{1} << 22;
  std::int64_t count = std::int64_t{1} << 25;
  const std::size_t spare = device.backend.memory().available() / 4;
  while (count > least && 3 * sizeof(float) * static_cast<std::size_t>(count) > spare) count /= 2;
  const auto add = make_addition(device.backend, count, options);
  return add->cost().bytes / time_interleaved(device, {[&] { add->run(); }}).front();
}

struct AllRates {
  RateOfEach product, convolution;
  double bandwidth = 0;
};

/// `expected`: fp32's rate for product and convolution; 0: unknown.
AllRates measure_all(const Timed& device, const KernelOptions& options, double expected) {
  Backend& backend = device.backend;
  const Work products{
      product_sizes.size(),
      [&](DType dtype, std::size_t size) { return make_product(backend, dtype, product_sizes.at(size), options); },
      [&](std::size_t size) { return backend.instruments().int8_product(product_sizes.at(size)); }};
  const Work convolutions{
      convolution_sizes.size(),
      [&](DType dtype, std::size_t size) {
        return make_convolution(backend, dtype, convolution_sizes.at(size), options);
      },
      [&](std::size_t size) { return backend.instruments().int8_convolution(convolution_sizes.at(size)); }};
  return {measure(device, products, expected), measure(device, convolutions, expected),
          measure_bandwidth(device, options)};
}

std::optional<double> find_known_rate(double rate) { return rate > 0 ? std::optional(rate) : std::nullopt; }

/// Calls `set` with each precision's rates and its index in RateOfEach.
void for_each_precision(DeviceRates& rates, const std::function<void(PrecisionRates&, std::size_t)>& set) {
  std::size_t i = 0;
  for (PrecisionRates* of : {&rates.fp32, &rates.bf16, &rates.fp16, &rates.int8}) set(*of, i++);
}

/// Limits parallel loops to the calling thread while it exists.
class OneThread {
 public:
  OneThread() { set_thread_count(1); }
  ~OneThread() { set_thread_count(threads_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  int others_too() const { return threads_; }

 private:
  int threads_ = thread_count();
};

/// Returns the fp32 rate to expect of all threads.
double measure_one_thread(Backend& backend, const KernelOptions& options, DeviceRates& rates) {
  const OneThread alone;
  ThreadTimeLapTimer timer;
  const AllRates one = measure_all({backend, timer}, options, 0);
  for_each_precision(rates, [&](PrecisionRates& of, std::size_t i) {
    of.product_one_thread = find_known_rate(one.product.at(i));
    of.convolution_one_thread = find_known_rate(one.convolution.at(i));
  });
  rates.memory_bandwidth_one_thread = one.bandwidth;
  rates.threads = alone.others_too();
  return one.product[0] * rates.threads;
}

}  // namespace

double measure_peak_flops(Backend& backend, DType dtype, const KernelOptions& options) {
  constexpr double long_enough = 0.5e-3;  // makes launch and wait overhead negligible
  constexpr std::int64_t most_width = 8192;
  const auto timer = backend.stream().make_lap_timer();
  for (ProductSize size{4096, 1024};; size.width *= 2) {
    const auto op = make_product(backend, dtype, size, options, &backend.kernels().search_cache());
    const double seconds = time_interleaved({backend, *timer}, {[&] { op->run(); }}).front();
    if (seconds >= long_enough || size.width == most_width) return op->cost().flops / seconds;
  }
}

DeviceRates measure_rates(Backend& backend, const KernelOptions& options) {
  KernelOptions quick = options;
  quick.exhaustive_search = false;
  DeviceRates rates;
  const bool on_host = backend.info().devices.empty();
  const double expected = on_host ? measure_one_thread(backend, quick, rates) : 0;
  const auto timer = backend.stream().make_lap_timer();
  const AllRates all = measure_all({backend, *timer}, quick, expected);
  for_each_precision(rates, [&](PrecisionRates& of, std::size_t i) {
    of.product = find_known_rate(all.product.at(i));
    of.convolution = find_known_rate(all.convolution.at(i));
  });
  rates.memory_bandwidth = all.bandwidth;
  backend.memory().restart_peak();
  return rates;
}

}  // namespace ptrain
