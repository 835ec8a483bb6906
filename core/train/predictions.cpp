#include "core/train/predictions.h"

#include "core/data/image/png_image.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/io/base64.h"
#include "core/report/keep_worst.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using Line = nlohmann::ordered_json;

std::int64_t index_of(const Prediction& one) { return std::llround(one.index); }

/// The samples whose pictures people are shown.
std::set<std::int64_t> worst_of(const std::vector<Prediction>& predictions) {
  std::vector<Prediction> wrong;
  std::ranges::copy_if(predictions, std::back_inserter(wrong),
                       [](const Prediction& one) { return one.truth != one.answer; });
  keep_worst(wrong, &Prediction::probability);
  std::set<std::int64_t> worst;
  for (const Prediction& one : wrong) worst.insert(index_of(one));
  return worst;
}

/// The pixels that the model was shown; the frames of a clip one below the other.
std::string picture_of(const Dataset& data, std::int64_t index) {
  const int size = data.info().image_size;
  const int images = data.info().images_per_sample();
  const ImageForm form{.size = size};
  Batch batch(data.tensors(form), 1);
  Scratch scratch;
  data.load(index, SampleRandom(0, 0, index), scratch, SampleRow(batch, 0, form));
  return data_uri("image/png", encode_png(batch.values<std::uint8_t>(tensor_names::images), size, images * size));
}

Line line_of(const Dataset& data, const Prediction& one, bool shown) {
  const std::int64_t index = index_of(one);
  const SampleOrigin origin = data.origin(index);
  const auto name = [&](double label) { return data.info().class_names.at(static_cast<std::size_t>(label)); };
  Line line{{"index", index}};
  if (!origin.file.empty()) {
    line[origin.is_picture ? "picture" : "file"] = fs::absolute(origin.file).lexically_normal().string();
  }
  if (origin.line) line["line"] = *origin.line;
  if (origin.record) line["record"] = *origin.record;
  if (data.info().head == Head::regression) {
    line["truth"] = one.truth;
    line["prediction"] = one.answer;
  } else {
    line["truth"] = name(one.truth);
    line["prediction"] = name(one.answer);
    line["probability"] = one.probability;
  }
  if (!origin.text.empty()) line["text"] = origin.text;
  if (!origin.second.empty()) line["second"] = origin.second;
  if (shown && data.info().kind == DataKind::image && !origin.is_picture) line["picture"] = picture_of(data, index);
  return line;
}

}  // namespace

Prediction make_prediction(std::int64_t index, std::int32_t truth, std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < logits.size(); ++c) best = logits[c] > logits[best] ? c : best;
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - double{logits[best]});
  return {static_cast<double>(index), static_cast<double>(truth), static_cast<double>(best), 1 / sum};
}

void write_predictions(const fs::path& path, const Dataset& data, std::vector<Prediction> predictions) {
  std::ranges::sort(predictions, {}, &Prediction::index);
  const std::set<std::int64_t> worst = worst_of(predictions);
  make_folder(path.parent_path());
  AtomicFile file(path);
  for (const Prediction& one : predictions) {
    const Line line = line_of(data, one, worst.contains(index_of(one)));
    file.write(line.dump(-1, ' ', false, Line::error_handler_t::replace) + "\n");
  }
  file.commit();
}

}  // namespace ptrain
