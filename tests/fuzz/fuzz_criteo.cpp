// Lines of click logs from foreign bytes, looked up in their index.
#include "core/data/dataset.h"
#include "core/data/table/criteo_line.h"
#include "core/data/table/line_index.h"

#include <array>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ptrain;
  constexpr std::int64_t buckets = 1'000'001;
  const std::string file = "lines.tsv";
  const LineIndex lines({reinterpret_cast<const char*>(bytes), size});
  std::array<float, criteo_dense_features> numbers;
  std::array<std::int32_t, criteo_categorical_features> ids;
  for (std::int64_t i = 0; i < lines.size(); ++i) {
    try {
      parse_criteo_line(lines[i], {file, i + 1}, buckets, numbers, ids);
      for (const std::int32_t id : ids) {
        if (id < 0 || id >= buckets) std::abort();
      }
    } catch (const BadSample&) {
    }
  }
  return 0;
}
