// A made-up two-by-two sweep for the tests of effects and of figures.
#pragma once

#include "core/analysis/run_set.h"
#include "tests/unit/analysis/example_runs.h"

#include <cmath>
#include <random>
#include <string>

namespace ptrain {

/// A two-by-two factorial whose throughput is 100 * (1 + a) (1 + b) (1 + ab where both), with noise of 1 %.
inline RunSet factorial(double a, double b, double ab, int repeats, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.01);
  RunSet set;
  set.suite.emplace().suite = "example";
  set.suite->axes = {{"amp.level", "level", {"O0", "O1"}}, {"fusion", "fusion", {"off", "full"}}};
  for (const int i : {0, 1}) {
    for (const int j : {0, 1}) {
      const std::string name = std::string("level=") + (i ? "O1" : "O0") + ",fusion=" + (j ? "full" : "off");
      set.suite->cases.push_back({name, "", {{"amp.level", i ? "O1" : "O0"}, {"fusion", j ? "full" : "off"}}, ""});
      MeasuredCase item{name, {}};
      for (int r = 0; r < repeats; ++r) {
        const double rate = 100 * (1 + i * a) * (1 + j * b) * (1 + i * j * ab) * std::exp(noise(random));
        item.runs.push_back(example_run(name, r, 16 / rate * 1e3));
        item.runs.back().record.settings = set.suite->cases.back().settings;
      }
      set.cases.push_back(std::move(item));
    }
  }
  return set;
}

}  // namespace ptrain
