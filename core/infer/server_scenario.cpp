#include "core/infer/server_scenario.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/signals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace ptrain {
namespace {

constexpr double percentile = 0.99;
constexpr std::int64_t least_arrivals = 662;  // queries required with one of them late

double draw_gap(const RandomStream& random, std::uint64_t index, double rate) {
  return -std::log1p(-static_cast<double>(random.uniform(index))) / rate;
}

void wait_until(const Stopwatch& watch, double time) {
  const double left = time - watch.seconds();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

}  // namespace

Arrivals serve_arrivals(const Server& server, double rate, double bound_ms, double seconds, std::uint64_t seed) {
  const RandomStream random{seed, 0, 0};
  const std::int64_t planned = std::max(least_arrivals, static_cast<std::int64_t>(std::ceil(rate * seconds)));
  const std::int64_t most_late = most_over(planned, percentile);
  Arrivals found;
  std::vector<double> waiting;  // times of arrival
  std::uint64_t arrived = 0;
  std::int64_t late = 0;
  double last = 0;
  double next = draw_gap(random, arrived, rate);
  const Stopwatch watch;
  while (static_cast<std::int64_t>(found.latencies.size()) < planned && late <= most_late) {
    InterruptibleWork::check(fmt::format("at {:.1f} samples/s", rate));
    wait_until(watch, next);
    const double now = watch.seconds();
    waiting.clear();
    while (next <= now && static_cast<std::int64_t>(waiting.size()) < server.most) {
      waiting.push_back(next);
      next += draw_gap(random, ++arrived, rate);
    }
    if (waiting.empty()) continue;
    last = waiting.back();
    server.answer(static_cast<std::int64_t>(waiting.size()));
    const double finished = watch.seconds();
    for (const double time : waiting) {
      found.latencies.push_back((finished - time) * 1e3);
      late += found.latencies.back() > bound_ms ? 1 : 0;
    }
  }
  found.rate = static_cast<double>(found.latencies.size()) / last;
  found.seconds = watch.seconds();
  found.held = hold_percentile(late, static_cast<std::int64_t>(found.latencies.size()), percentile);
  return found;
}

Arrivals find_server_rate(const Server& server, const ScenarioOptions& options, const RateTried& tried) {
  constexpr double resolution = 0.02, above = 1.05, back = 0.99, short_part = 0.2;
  constexpr std::int64_t singles = 20;
  std::uint64_t seed = 0;
  const auto try_rate = [&](double rate, double seconds) {
    Arrivals arrivals = serve_arrivals(server, rate, options.bound_ms, seconds, ++seed);
    tried(rate, arrivals.held.met);
    return arrivals;
  };
  double single = 0;  // s
  for (std::int64_t i = 0; i < singles; ++i) {
    const Stopwatch watch;
    server.answer(1);
    single = std::max(1e-9, i == 0 ? watch.seconds() : std::min(single, watch.seconds()));
  }
  if (single * 1e3 > options.bound_ms) {
    fail("no rate keeps latencies within {} ms: a single sample takes {:.2f} ms; give another --bound",
         options.bound_ms, single * 1e3);
  }
  const Stopwatch batch;
  server.answer(server.most);
  // Throughput is bounded by full batches, or by single samples.
  double high = 1.1 * std::max(static_cast<double>(server.most) / std::max(batch.seconds(), 1e-9), 1 / single), low = 0;
  while (high - low > resolution * high) {
    const double middle = (low + high) / 2;
    (try_rate(middle, options.seconds * short_part).held.met ? low : high) = middle;
    if (high < 0.1) fail("no rate keeps latencies within {} ms: give another --bound", options.bound_ms);
  }
  // Short trials, some of which fail by chance, found the approximate rate.
  for (double rate = above * (low > 0 ? low : high);; rate *= back) {
    Arrivals arrivals = try_rate(rate, options.seconds);
    if (arrivals.held.met) return arrivals;
    if (rate < 0.1) fail("no rate keeps latencies within {} ms: give another --bound", options.bound_ms);
  }
}

}  // namespace ptrain
