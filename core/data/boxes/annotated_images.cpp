#include "core/data/boxes/annotated_images.h"

#include <algorithm>
#include <bit>

namespace ptrain {
namespace {

constexpr auto row_size = static_cast<std::size_t>(annotation_columns);
constexpr std::int64_t no_object = -1;  // in the first column

std::int64_t to_bits(double value) { return std::bit_cast<std::int64_t>(value); }
double from_bits(std::int64_t bits) { return std::bit_cast<double>(bits); }

}  // namespace

void write_objects(std::span<const AnnotatedObject> objects, std::span<std::int64_t> rows) {
  invariant(objects.size() * row_size <= rows.size(), "a sample has more objects than rows");
  std::ranges::fill(rows, no_object);
  for (const AnnotatedObject& one : objects) {
    const std::array<std::int64_t, row_size> row{one.label,           to_bits(one.box[0]), to_bits(one.box[1]),
                                                 to_bits(one.box[2]), to_bits(one.box[3]), to_bits(one.area),
                                                 one.crowd ? 1 : 0};
    std::ranges::copy(row, rows.begin());
    rows = rows.subspan(row_size);
  }
}

std::vector<AnnotatedObject> read_objects(std::span<const std::int64_t> rows) {
  std::vector<AnnotatedObject> objects;
  for (; rows.size() >= row_size && rows[0] != no_object; rows = rows.subspan(row_size)) {
    objects.push_back({static_cast<std::int32_t>(rows[0]),
                       {from_bits(rows[1]), from_bits(rows[2]), from_bits(rows[3]), from_bits(rows[4])},
                       from_bits(rows[5]),
                       rows[6] == 1});
  }
  return objects;
}

TensorSpec annotation_tensor(std::size_t most) {
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, most));
  return {tensor_names::annotations, DType::i64, {rows, annotation_columns}, static_cast<double>(no_object)};
}

bool is_learnable(const AnnotatedObject& object, int width, int height) {
  const auto& [x, y, w, h] = object.box;
  return !object.crowd && w > 0 && h > 0 && x < width && y < height && x + w > 0 && y + h > 0;
}

}  // namespace ptrain
