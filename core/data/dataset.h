// The interface of every data source: number, form and content of samples.
#pragma once

#include "core/base/data_kind.h"
#include "core/base/enums.h"
#include "core/base/errors.h"
#include "core/data/batch.h"
#include "core/data/sample_random.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_table.h"
#include "core/io/image_decoder.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

enum class Split { train, eval };

/// Whether images are turned upright by their EXIF data, as PIL's ImageOps.exif_transpose does, or left as stored.
enum class ImageOrientation { exif, stored };

/// Whether `target` is all that is learnt: values make the labels numbers, masks a class per pixel, annotations boxes.
inline bool learns(const std::vector<std::string>& targets, std::string_view target) {
  return targets.size() == 1 && targets.front() == target;
}

/// How images of another size are brought to a model's in evaluation: resized to cover it and cropped to the centre, or
/// resized to fit into it and padded at the right and the bottom (data/image/framing.h).
enum class ImageFraming { crop, pad };

/// The form of an image: higher than wide, or not.
enum class ImageAspect { wide, tall };
inline ImageAspect get_aspect(std::int64_t height, std::int64_t width) {
  return height > width ? ImageAspect::tall : ImageAspect::wide;
}

/// Features of a video's frame, as in YouTube-8M: of its picture and of its sound.
inline constexpr std::int64_t rgb_features_per_frame = 1024, audio_features_per_frame = 128;

struct DatasetInfo {
  DataKind kind = DataKind::image;
  std::vector<std::string> targets{tensor_names::labels};  // names of the target tensors
  int classes = 0;                                         // 1 for values and tokens
  std::vector<std::string> class_names;                    // one per class
  std::vector<std::int64_t> category_ids;                  // of classes in annotation files; empty: their numbers

  // Images: u8 pixels [height, width, 3]; the model sees (pixel / 255 - mean[c]) / stddev[c]. A clip is `frames`
  // consecutive images.
  ImageSize image_size;
  int frames = 0;              // of a clip, those of all segments; 0: samples are images
  int frames_per_segment = 1;  // successive ones
  std::array<float, 3> mean{};
  std::array<float, 3> stddev{1.0f, 1.0f, 1.0f};
  ImageOrientation orientation = ImageOrientation::exif;
  ImageFraming framing = ImageFraming::crop;

  // Text and tokens: ids and token types [max_length]; every id is below vocab_size.
  int max_length = 0;  // of texts in images, their characters
  int vocab_size = 0;
  ColumnNames columns;         // those of the table that was read; empty without a header
  bool are_pairs = false;      // whether a sample is two sentences
  std::int32_t end_token = 0;  // of parallel text

  // Tables: f32 [dense_features], if any, and ids [categorical_features], each below hash_buckets. Multi-hot features
  // are bags of ids [categorical_features, bag_size], -1 after the last of each. With a dynamic table the ids are i64
  // keys.
  int dense_features = 0;
  int categorical_features = 0;
  int bag_size = 0;  // 0: one id for each feature
  std::int64_t hash_buckets = 0;
  bool dynamic_table = false;

  int max_frames = 0;  // of videos as features of their frames

  int images_per_sample() const { return frames > 0 ? frames : 1; }
};

/// Training options for images, in addition to the settings that their data set is opened with.
struct ImageForm {
  ImageSize size = {};           // empty: DatasetInfo's
  float smallest_crop = 0.08f;   // minimum share of an image's area in a random crop
  bool trivial_augment = false;  // applies one random operation to each image
  float erasing = 0;             // probability that a rectangle of the image is erased
};

/// A batch's row, to which one sample is written.
class SampleRow {
 public:
  /// The batch must outlive it.
  SampleRow(Batch& batch, std::int64_t row, const ImageForm& form = {}) : batch_(batch), row_(row), form_(form) {}

  bool has(std::string_view name) const { return batch_.has(name); }
  /// The row of the tensor of that name; T is its storage type.
  template <typename T>
  std::span<T> at(std::string_view name) const {
    return batch_.at(name).row<T>(row_);
  }
  /// Sets the single element of its row, if the batch has the tensor: samples for inference have no labels.
  template <typename T>
  void set(std::string_view name, T value) const {
    if (has(name)) at<T>(name)[0] = value;
  }
  /// Sets the labels at the label map's own size; the batch has masks.
  void set_label_map(PixelClasses map) const { batch_.label_maps.at(static_cast<std::size_t>(row_)) = std::move(map); }
  const ImageForm& form() const { return form_; }  // of its images

 private:
  Batch& batch_;
  std::int64_t row_;
  ImageForm form_;
};

/// Memory that one worker reuses between samples.
struct Scratch {
  std::vector<std::uint8_t> file;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> turned;
  std::vector<std::uint8_t> resized;
  std::vector<float> weights;
  std::vector<float> row;
  std::vector<std::int32_t> bounds;
  std::vector<std::int32_t> first_ids;
  std::vector<std::int32_t> second_ids;
  std::unique_ptr<ImageDecoder> decoder;  // on a device; null: the host decodes
  std::int64_t device_decoded = 0;        // number of images that `decoder` decoded
};

/// A sample whose own data is bad (truncated, corrupt, unreadable); the loader may skip it. The message names the file.
class BadSample : public Error {
 public:
  explicit BadSample(const std::string& message) : Error(ExitCode::failed, message) {}
};

/// Number of tokens of a text, and of those unknown to the vocabulary ([UNK]).
struct TokenCount {
  std::int64_t tokens = 0;
  std::int64_t unknown = 0;
};

/// The origin of a sample, for people.
struct SampleOrigin {
  std::string file = {};                    // empty: no file
  bool is_picture = false;                  // the file is the sample itself, an image
  std::optional<std::int64_t> line = {};    // of a table, from 1
  std::optional<std::int64_t> record = {};  // in a file of many samples, from 0
  std::optional<std::int64_t> id = {};      // in an annotation file
  std::string text = {}, second = {};       // of text
  std::optional<float> value = {};          // to predict
};

/// The input tensors of samples; images of `size` (empty: the data's own).
std::vector<TensorSpec> input_tensors(const DatasetInfo& data, ImageSize size = {});
/// The targets in data.targets with one number per sample: labels and values. Data sets with others override tensors().
std::vector<TensorSpec> target_tensors(const DatasetInfo& data);

class Dataset {
 public:
  virtual ~Dataset() = default;
  const DatasetInfo& info() const { return info_; }
  virtual std::int64_t size() const = 0;
  /// All tensors of a sample, inputs and targets, with images in `form`. By default input_tensors() and
  /// target_tensors().
  virtual std::vector<TensorSpec> tensors(const ImageForm& form) const;
  /// Writes sample `index` (0 <= index < size()) into `out`, a row of tensors().
  /// Thread-safe as long as `scratch` is the calling thread's own. Throws BadSample.
  virtual void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const = 0;
  /// Begins to bring a small sample into caches: it is loaded soon. Thread-safe.
  virtual void prefetch(std::int64_t) const {}
  /// A sample's class, 0 <= label < classes; 0 for tasks without classes. Thread-safe.
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// The form of its image; wide where that is not known before it is decoded. Thread-safe.
  virtual ImageAspect aspect(std::int64_t) const { return ImageAspect::wide; }
  /// Thread-safe. Empty for samples generated from random numbers.
  virtual SampleOrigin origin(std::int64_t) const { return {}; }
  /// Counts unknown tokens of texts, in at most ten thousand samples spread over the data set; none for other data.
  virtual std::optional<TokenCount> count_unknown() const { return std::nullopt; }
  /// The text of tokens that a model generated; none for data without texts to generate. Thread-safe.
  virtual std::optional<std::string> decode(std::span<const std::int32_t> /*ids*/) const { return std::nullopt; }
  /// Changes with names, order, labels, values and texts of the samples, but not with the pixels of images or the
  /// folder that they are in. Of millions of samples, with those of one in so many.
  virtual std::uint64_t fingerprint() const;
  /// Notes for the user from opening the data, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  /// The fingerprint by at most so many samples, spread evenly.
  std::uint64_t fingerprint_of(std::int64_t most_samples) const;

  DatasetInfo info_;
  std::vector<std::string> notes_;
};

}  // namespace ptrain
