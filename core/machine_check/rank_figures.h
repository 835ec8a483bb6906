// Which of many ranks is slower than the others, from figures that all measured at the same time.
#pragma once

#include "core/analysis/intervals.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

/// Of the intervals of ranks' distances.
inline constexpr double rank_confidence = 0.99;

/// A figure of every rank, larger is better: in each lap all ranks measured it at the same time.
struct RankFigure {
  std::string what;                       // "matrix product, fp32"
  std::string unit;                       // "Gop/s"
  double tolerance = 0;                   // the share by which a rank may be below the others: 0.1
  std::vector<std::vector<double>> laps;  // by lap and rank, in the unit; not positive: not measured
};

/// A rank's distance from the median of the others, in percent.
struct RankDistance {
  int rank = 0;
  Interval percent;
};

/// The distances of all ranks that have one: measured in several laps, beside at least two others.
std::vector<RankDistance> compare_ranks(const RankFigure& figure);
/// Those of which the whole 99 % interval (signed ranks over laps) is below the tolerance, worst first.
std::vector<RankDistance> find_slow_ranks(const RankFigure& figure);

/// An exchange of two ranks.
struct LinkSample {
  int lap = 0, first = 0, second = 0;
  double rate = 0;
};

/// What the links of each rank reach in each lap: the upper quartile of its exchanges' rates. A slow link of one rank
/// slows all its own exchanges, and few of each other rank's. `what`, unit and tolerance are left to the caller.
RankFigure combine_links(const std::vector<LinkSample>& samples, int ranks, int lap_count);

/// A link between two ranks that is slower than both ranks' links are.
struct LinkDistance {
  int first = 0, second = 0;
  Interval percent;  // from the slower of both ranks' combine_links()
};

/// The `most` pairs whose exchanges are farthest below what both ranks reach, by more than the tolerance in their
/// median: to be measured again alone.
std::vector<LinkDistance> find_doubtful_links(const std::vector<LinkSample>& samples, const RankFigure& links,
                                              std::size_t most);

}  // namespace ptrain
