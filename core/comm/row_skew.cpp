#include "core/comm/row_skew.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// The sum of term(i) for i from 1 to `count`, of a smooth function: the first ones one by one, others in bins.
template <typename Term>
double add_up(double count, const Term& term) {
  constexpr double alone = 4096, ratio = 1.02;
  double sum = 0;
  for (double i = 1; i <= std::min(count, alone); ++i) sum += term(i);
  for (double begin = alone + 1; begin <= count;) {
    const double end = std::min(count + 1, std::ceil(begin * ratio));  // behind the bin
    sum += (end - begin) * term(std::sqrt(begin * (end - 1)));
    begin = end;
  }
  return sum;
}

}  // namespace

RowsRead count_rows_read(double ids, double rows, double zipf, int ranks) {
  if (rows <= 1) return {std::min(1.0, ids)};
  const auto chance = [&](double likelihood) { return -std::expm1(ids * std::log1p(-likelihood)); };
  if (zipf == 0) return {rows * chance(1 / rows)};
  const auto weight = [&](double i) { return std::pow(i, -zipf); };
  const double all = add_up(rows, weight);
  const auto is_read = [&](double i) { return chance(weight(i) / all); };
  const double different = add_up(rows, is_read);
  const double both = add_up(rows, [&](double i) { return is_read(i) * is_read(i); });
  // Of the rows that one rank is asked for: where rows lie, and who reads them.
  const double variance = (ranks - 1) * both + different - both;
  return {different, 1 + std::sqrt(2 * std::log(ranks) * variance) / different};
}

}  // namespace ptrain
