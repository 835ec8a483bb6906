#include "core/machine_check/rank_figures.h"

#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ptrain {
namespace {

constexpr std::size_t fewest_others = 2;

/// The median of `sorted` without one of its values.
double find_median_without(const std::vector<double>& sorted, double value) {
  const auto place = static_cast<std::size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
  const auto at = [&](std::size_t i) { return sorted[i < place ? i : i + 1]; };
  const std::size_t count = sorted.size() - 1;
  return count % 2 == 1 ? at(count / 2) : (at(count / 2 - 1) + at(count / 2)) / 2;
}

/// By rank, the logarithms of its figure over the others' median in each lap.
std::vector<std::vector<double>> compute_distances(const RankFigure& figure) {
  std::vector<std::vector<double>> distances(figure.laps.empty() ? 0 : figure.laps.front().size());
  for (const std::vector<double>& lap : figure.laps) {
    std::vector<double> sorted;
    for (const double value : lap) {
      if (value > 0) sorted.push_back(std::log(value));
    }
    if (sorted.size() <= fewest_others) continue;
    std::ranges::sort(sorted);
    for (std::size_t rank = 0; rank < lap.size(); ++rank) {
      if (lap[rank] <= 0) continue;
      const double own = std::log(lap[rank]);
      distances[rank].push_back(own - find_median_without(sorted, own));
    }
  }
  return distances;
}

bool is_below(const Interval& percent, double tolerance) { return percent.bounded && percent.upper < -100 * tolerance; }

using Pair = std::pair<int, int>;

}  // namespace

std::vector<RankDistance> compare_ranks(const RankFigure& figure) {
  const std::vector<std::vector<double>> distances = compute_distances(figure);
  std::vector<RankDistance> result;
  for (std::size_t rank = 0; rank < distances.size(); ++rank) {
    if (distances[rank].size() < 2) continue;
    result.push_back({static_cast<int>(rank), in_percent(signed_rank_interval(distances[rank], rank_confidence))});
  }
  return result;
}

std::vector<RankDistance> find_slow_ranks(const RankFigure& figure) {
  std::vector<RankDistance> slow = compare_ranks(figure);
  std::erase_if(slow, [&](const RankDistance& one) { return !is_below(one.percent, figure.tolerance); });
  std::ranges::sort(slow, {}, [](const RankDistance& one) { return one.percent.estimate; });
  return slow;
}

RankFigure combine_links(const std::vector<LinkSample>& samples, int ranks, int lap_count) {
  constexpr double part = 0.75;
  std::vector<std::vector<std::vector<double>>> rates(
      static_cast<std::size_t>(lap_count), std::vector<std::vector<double>>(static_cast<std::size_t>(ranks)));
  for (const LinkSample& sample : samples) {
    auto& lap = rates[static_cast<std::size_t>(sample.lap)];
    for (const int rank : {sample.first, sample.second}) lap[static_cast<std::size_t>(rank)].push_back(sample.rate);
  }
  RankFigure figure;
  for (const auto& lap : rates) {
    std::vector<double>& values = figure.laps.emplace_back();
    for (const std::vector<double>& of_rank : lap) values.push_back(of_rank.empty() ? 0 : quantile(of_rank, part));
  }
  return figure;
}

std::vector<LinkDistance> find_doubtful_links(const std::vector<LinkSample>& samples, const RankFigure& links,
                                              std::size_t most) {
  std::map<Pair, std::vector<double>> by_pair;
  for (const LinkSample& sample : samples) {
    const std::vector<double>& reached = links.laps[static_cast<std::size_t>(sample.lap)];
    const double least =
        std::min(reached[static_cast<std::size_t>(sample.first)], reached[static_cast<std::size_t>(sample.second)]);
    by_pair[std::minmax(sample.first, sample.second)].push_back(std::log(sample.rate / least));
  }
  std::vector<LinkDistance> doubtful;
  for (const auto& [pair, distances] : by_pair) {
    if (quantile(distances, 0.5) >= std::log1p(-links.tolerance)) continue;
    doubtful.push_back({pair.first, pair.second, in_percent(signed_rank_interval(distances, rank_confidence))});
  }
  std::ranges::sort(doubtful, {}, [](const LinkDistance& one) { return one.percent.estimate; });
  if (doubtful.size() > most) doubtful.resize(most);
  return doubtful;
}

}  // namespace ptrain
