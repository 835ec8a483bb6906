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

bool wants_masks(const std::vector<std::string>& targets) {
  return std::ranges::find(targets, tensor_names::object_masks) != targets.end();
}

void write_objects(std::span<const AnnotatedObject> objects, std::span<std::int64_t> rows) {
  invariant(objects.size() * row_size <= rows.size(), "a sample has more objects than rows");
  std::ranges::fill(rows, no_object);
  for (const AnnotatedObject& one : objects) {
    const std::array<std::int64_t, row_size> row{one.label,           to_bits(one.box[0]), to_bits(one.box[1]),
                                                 to_bits(one.box[2]), to_bits(one.box[3]), to_bits(one.area),
                                                 one.crowd ? 1 : 0,   one.first_run,       one.runs};
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
                       rows[6] == 1,
                       {},
                       rows[7],
                       rows[8]});
  }
  return objects;
}

TensorSpec annotation_tensor(std::size_t most) {
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, most));
  return {tensor_names::annotations, DType::i64, {rows, annotation_columns}, static_cast<double>(no_object)};
}

TensorSpec mask_tensor(std::size_t most) {
  return {tensor_names::object_masks, DType::i32, {static_cast<std::int64_t>(std::max<std::size_t>(1, most))}};
}

std::size_t count_runs(std::span<const AnnotatedObject> objects) {
  std::size_t runs = 0;
  for (const AnnotatedObject& one : objects) runs += count_run_lengths(one.mask);
  return runs;
}

void write_masks(std::span<AnnotatedObject> objects, std::span<std::int32_t> row) {
  std::size_t next = 0;
  for (AnnotatedObject& one : objects) {
    const std::vector<std::int64_t> counts = parse_run_lengths(one.mask, "a mask");
    invariant(next + counts.size() <= row.size(), "a sample has more runs than its tensor");
    one.first_run = static_cast<std::int64_t>(next);
    one.runs = static_cast<std::int64_t>(counts.size());
    std::int64_t end = 0;
    for (const std::int64_t count : counts) row[next++] = static_cast<std::int32_t>(end += count);
  }
}

RunLengths read_mask(const AnnotatedObject& object, std::span<const std::int32_t> row, ImageSize size) {
  RunLengths mask{size.height, size.width, {}};
  std::int64_t last = 0;
  for (const std::int32_t end :
       row.subspan(static_cast<std::size_t>(object.first_run), static_cast<std::size_t>(object.runs))) {
    mask.counts.push_back(end - last);
    last = end;
  }
  return mask;
}

bool is_learnable(const AnnotatedObject& object, int width, int height) {
  const auto& [x, y, w, h] = object.box;
  return !object.crowd && w > 0 && h > 0 && x < width && y < height && x + w > 0 && y + h > 0;
}

}  // namespace ptrain
