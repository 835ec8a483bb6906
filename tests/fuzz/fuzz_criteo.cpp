// Lines of click logs of either form from foreign bytes, looked up in their index.
#include "core/data/dataset.h"
#include "core/data/table/criteo_line.h"
#include "core/data/table/line_index.h"
#include "core/data/table/slots_line.h"

#include <array>
#include <cstdlib>

namespace {

using namespace ptrain;

/// Whether the ids of a slot come before those that are none, and all are rows.
bool are_bags(std::span<const std::int32_t> ids, const DatasetInfo& data) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < -1 || ids[i] >= data.hash_buckets) return false;
    if (i % static_cast<std::size_t>(data.bag_size) != 0 && ids[i] >= 0 && ids[i - 1] < 0) return false;
  }
  return true;
}

void parse_slots(std::string_view line, const LinePlace& place) {
  DatasetInfo data;
  data.dense_features = 2;
  data.categorical_features = 12;
  data.bag_size = 3;
  data.hash_buckets = 1000;
  std::array<float, 2> numbers;
  std::array<std::int32_t, 36> ids;
  try {
    parse_slots_question(line, place, data, numbers, {ids, data.hash_buckets});
    if (!are_bags(ids, data)) std::abort();
  } catch (const BadSample&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::int64_t buckets = 1'000'001;
  const std::string file = "lines.tsv";
  const LineIndex lines({reinterpret_cast<const char*>(bytes), size});
  std::array<float, criteo_dense_features> numbers;
  std::array<std::int32_t, criteo_categorical_features> ids;
  for (std::int64_t i = 0; i < lines.size(); ++i) {
    parse_slots(lines[i], {file, i + 1});
    try {
      parse_criteo_line(lines[i], {file, i + 1}, numbers, {ids, buckets});
      for (const std::int32_t id : ids) {
        if (id < 0 || id >= buckets) std::abort();
      }
    } catch (const BadSample&) {
    }
  }
  return 0;
}
