#include "core/train/predictions_file.h"

#include "core/data/image/class_colours.h"
#include "core/data/image/framing.h"
#include "core/data/image/png_image.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/io/base64.h"
#include "core/report/keep_top_errors.h"

#include <set>

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using Json = Prediction::Json;

/// The samples whose pictures are shown to people.
std::set<std::int64_t> select_worst(const std::vector<Prediction>& predictions) {
  struct Wrong {
    std::int64_t index = 0;
    double error = 0;
  };
  std::vector<Wrong> wrong;
  for (const Prediction& one : predictions) {
    if (one.is_wrong() && one.error > 0) wrong.push_back({one.index, one.error});
  }
  keep_top_errors(wrong, &Wrong::error);
  std::set<std::int64_t> worst;
  for (const Wrong& one : wrong) worst.insert(one.index);
  return worst;
}

/// The sample as the model saw it.
Batch load_sample(const Dataset& data, std::int64_t index) {
  const ImageForm form{.size = data.info().image_size};
  Batch batch(data.tensors(form), 1);
  Scratch scratch;
  data.load(index, SampleRandom(0, 0, index), scratch, SampleRow(batch, 0, form));
  return batch;
}

/// The pixels that the model saw; the frames of a clip below one another.
std::string find_picture(const Dataset& data, std::int64_t index) {
  const ImageSize size = data.info().image_size;
  const Batch sample = load_sample(data, index);
  return data_uri("image/png", encode_png(sample.values<std::uint8_t>(tensor_names::images), size.width,
                                          data.info().images_per_sample() * size.height));
}

/// The image that the model saw, twice: with the colours of the predicted classes, and at the right of the labels.
std::string make_overlay(const Dataset& data, const Prediction& one) {
  constexpr int most_width = 640;
  const Batch sample = load_sample(data, one.index);
  const ImageSize frame = data.info().image_size;
  const HostTensor* const placements = sample.find(tensor_names::placements);
  const ImageSize filled = placements == nullptr ? frame : read_placement(placements->row<float>(0)).filled_size(frame);
  const int step = 1 + (filled.width - 1) / most_width;  // one of `step` pixels each way
  const int width = (filled.width + step - 1) / step, height = (filled.height + step - 1) / step;
  const auto image = sample.values<std::uint8_t>(tensor_names::images);
  const auto labels = sample.values<std::int32_t>(tensor_names::masks);
  const IndexImage& predicted = one.label_map.value();
  const std::size_t count = 2 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  std::vector<std::uint8_t> pixels(count * 3);
  std::vector<std::int32_t> classes(count);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto from = static_cast<std::size_t>((std::int64_t{y} * frame.width + x) * step);
      const auto left = static_cast<std::size_t>(std::int64_t{2} * y * width + x);
      const std::size_t right = left + static_cast<std::size_t>(width);
      for (const std::size_t to : {left, right}) std::copy_n(image.begin() + 3 * from, 3, pixels.begin() + 3 * to);
      const std::ptrdiff_t row = std::int64_t{y} * step * predicted.height / filled.height;
      const std::ptrdiff_t column = std::int64_t{x} * step * predicted.width / filled.width;
      classes[left] = predicted.values[static_cast<std::size_t>(row * predicted.width + column)];
      classes[right] = labels[from];
    }
  }
  const DecodedImage doubled{2 * width, height, {pixels.data(), static_cast<std::size_t>(2 * width) * 3}};
  const auto colours = voc_palette(static_cast<std::size_t>(data.info().classes));
  return data_uri("image/png", encode_png(blend_classes(doubled, classes, colours), 2 * width, height));
}

Json make_line(const Dataset& data, const Prediction& one, bool shown) {
  const SampleOrigin origin = data.origin(one.index);
  Json line{{"index", one.index}};
  if (!origin.file.empty()) {
    line[origin.is_picture ? "picture" : "file"] = fs::absolute(origin.file).lexically_normal().string();
  }
  if (origin.line) line["line"] = *origin.line;
  if (origin.record) line["record"] = *origin.record;
  line["truth"] = one.label;
  line["prediction"] = one.answer;
  if (one.probability) line["probability"] = *one.probability;
  line["error"] = one.error;
  if (!origin.text.empty()) line["text"] = origin.text;
  if (!origin.second.empty()) line["second"] = origin.second;
  if (shown && data.info().kind == DataKind::image && !origin.is_picture)
    line["picture"] = find_picture(data, one.index);
  if (shown && one.label_map) line["overlay"] = make_overlay(data, one);
  return line;
}

}  // namespace

std::string pack_predictions(const std::vector<Prediction>& predictions) {
  Json list = Json::array();
  for (const Prediction& one : predictions) {
    Json map;
    if (one.label_map) map = {one.label_map->width, one.label_map->height, Json::binary(one.label_map->values)};
    list.push_back({one.index, one.answer, one.label, one.probability ? Json(*one.probability) : Json(), one.error,
                    std::move(map)});
  }
  std::string packed;
  Json::to_cbor(list, packed);
  return packed;
}

std::vector<Prediction> unpack_predictions(const std::string& packed) {
  std::vector<Prediction> predictions;
  for (Json& one : Json::from_cbor(packed)) {
    Prediction& made = predictions.emplace_back();
    made.index = one[0].get<std::int64_t>();
    made.answer = std::move(one[1]);
    made.label = std::move(one[2]);
    if (!one[3].is_null()) made.probability = one[3].get<double>();
    made.error = one[4].get<double>();
    const Json& map = one[5];
    if (!map.is_null()) made.label_map = {map[0].get<int>(), map[1].get<int>(), map[2].get_binary()};
  }
  return predictions;
}

void keep_shown_label_maps(std::vector<Prediction>& predictions) {
  const auto with_maps = std::ranges::count_if(predictions, [](const auto& one) { return one.label_map.has_value(); });
  if (static_cast<std::size_t>(with_maps) < 2 * most_top_errors) return;
  const std::set<std::int64_t> worst = select_worst(predictions);
  for (Prediction& one : predictions) {
    if (!worst.contains(one.index)) one.label_map.reset();
  }
}

void write_predictions(const fs::path& path, const Dataset& data, std::vector<Prediction> predictions) {
  std::ranges::sort(predictions, {}, &Prediction::index);
  const std::set<std::int64_t> worst = select_worst(predictions);
  make_folder(path.parent_path());
  AtomicFile file(path);
  for (const Prediction& one : predictions) {
    const Json line = make_line(data, one, worst.contains(one.index));
    file.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  file.commit();
}

}  // namespace ptrain
