#include "core/train/predictions_file.h"

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
  std::vector<Prediction> wrong;
  std::ranges::copy_if(predictions, std::back_inserter(wrong), &Prediction::is_wrong);
  keep_top_errors(wrong, &Prediction::error);
  std::set<std::int64_t> worst;
  for (const Prediction& one : wrong) worst.insert(one.index);
  return worst;
}

/// The pixels that the model saw; the frames of a clip below one another.
std::string find_picture(const Dataset& data, std::int64_t index) {
  const ImageSize size = data.info().image_size;
  const int images = data.info().images_per_sample();
  const ImageForm form{.size = size};
  Batch batch(data.tensors(form), 1);
  Scratch scratch;
  data.load(index, SampleRandom(0, 0, index), scratch, SampleRow(batch, 0, form));
  return data_uri("image/png",
                  encode_png(batch.values<std::uint8_t>(tensor_names::images), size.width, images * size.height));
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
  return line;
}

}  // namespace

std::string pack_predictions(const std::vector<Prediction>& predictions) {
  Json list = Json::array();
  for (const Prediction& one : predictions) {
    list.push_back({one.index, one.answer, one.label, one.probability ? Json(*one.probability) : Json(), one.error});
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
  }
  return predictions;
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
