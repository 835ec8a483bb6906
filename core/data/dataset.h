// What every data source offers: how many samples, what they are, and one sample by index.
#pragma once

#include "core/base/data_kind.h"
#include "core/base/enums.h"
#include "core/base/errors.h"
#include "core/data/batch.h"
#include "core/data/sample_random.h"
#include "core/data/tensor_names.h"
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

struct DatasetInfo {
  DataKind kind = DataKind::image;
  std::vector<std::string> targets{tensor_names::labels};  // what is to be learnt, by the names of its tensors
  int classes = 0;                                         // 1 of values, and of tokens
  std::vector<std::string> class_names;                    // one per class

  // Images: u8 pixels [height, width, 3]; the model sees (pixel / 255 - mean[c]) / stddev[c]. A clip is so
  // many frames of that form, one behind the other.
  ImageSize image_size;
  int frames = 0;  // of a clip; 0: samples are images
  std::array<float, 3> mean{};
  std::array<float, 3> stddev{1.0f, 1.0f, 1.0f};

  // Text and tokens: ids and token types [max_length]; every id is below vocab_size.
  int max_length = 0;
  int vocab_size = 0;

  // Tables: numbers f32 [numbers] and ids [categories], each below hash_buckets.
  int numbers = 0;
  int categories = 0;
  std::int64_t hash_buckets = 0;

  int images_per_sample() const { return frames > 0 ? frames : 1; }
};

/// What training asks of images beside what their data set is opened with.
struct ImageForm {
  ImageSize size = {};           // none said: DatasetInfo's
  float smallest_crop = 0.08f;   // share of an image's area that a random crop has at least
  bool trivial_augment = false;  // one drawn change of each
  float erasing = 0;             // probability that a rectangle of it is blanked
};

/// A batch's row, where one sample is written.
class SampleRow {
 public:
  /// The batch outlives it.
  SampleRow(Batch& batch, std::int64_t row, const ImageForm& form = {}) : batch_(batch), row_(row), form_(form) {}

  /// Of the tensor of that name, of which T is the storage type.
  template <typename T>
  std::span<T> at(std::string_view name) const {
    return batch_.at(name).row<T>(row_);
  }
  /// The one element of its row, where the batch has the tensor: what is only asked has no labels.
  template <typename T>
  void set(std::string_view name, T value) const {
    if (batch_.has(name)) at<T>(name)[0] = value;
  }
  const ImageForm& form() const { return form_; }  // of its images

 private:
  Batch& batch_;
  std::int64_t row_;
  ImageForm form_;
};

/// Memory that one worker reuses from sample to sample.
struct Scratch {
  std::vector<std::uint8_t> file;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> resized;
  std::vector<float> weights;
  std::vector<float> row;
  std::vector<std::int32_t> bounds;
  std::vector<std::int32_t> first_ids;
  std::vector<std::int32_t> second_ids;
  std::unique_ptr<ImageDecoder> decoder;  // a device's; null: the host decodes
  std::int64_t device_decoded = 0;        // images, by it
};

/// A sample whose own bytes are wrong (truncated, corrupt, unreadable); the loader may skip it. The message names the
/// file.
class BadSample : public Error {
 public:
  explicit BadSample(const std::string& message) : Error(ExitCode::failed, message) {}
};

/// Tokens of text, and how many of them the vocabulary has no entry for ([UNK]).
struct TokenCount {
  std::int64_t tokens = 0;
  std::int64_t unknown = 0;
};

/// Where a sample comes from, for people to find it again.
struct SampleOrigin {
  std::string file = {};                    // empty: it lies in none
  bool is_picture = false;                  // the file is the sample's own, JPEG or PNG
  std::optional<std::int64_t> line = {};    // of a table, from 1
  std::optional<std::int64_t> record = {};  // of a file of many, from 0
  std::string text = {}, second = {};       // of text
};

/// The tensors that a model reads of samples of that form; images of `size` (none said: the data's own).
std::vector<TensorSpec> input_tensors(const DatasetInfo& data, ImageSize size = {});
/// Those of data.targets that are one number of each sample: labels and values. A data set with others says itself what
/// they are like.
std::vector<TensorSpec> target_tensors(const DatasetInfo& data);

class Dataset {
 public:
  virtual ~Dataset() = default;
  const DatasetInfo& info() const { return info_; }
  virtual std::int64_t size() const = 0;
  /// What a sample is made of and what is to be learnt of it, its images in `form`. Unless a data set says otherwise:
  /// input_tensors() and target_tensors().
  virtual std::vector<TensorSpec> tensors(const ImageForm& form) const;
  /// Writes sample `index` (0 <= index < size()) into `out`, a row of tensors().
  /// Thread-safe as long as `scratch` is the calling thread's own. Throws BadSample.
  virtual void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const = 0;
  /// A sample's class, 0 <= label < classes; 0 where it has none. Thread-safe.
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// Thread-safe. Nothing of samples that were made from random numbers.
  virtual SampleOrigin origin(std::int64_t) const { return {}; }
  /// Of text that a vocabulary was looked up for, over samples from all of it, at most ten thousand; none of others.
  virtual std::optional<TokenCount> count_unknown() const { return std::nullopt; }
  /// What was found while the data was opened and its user should know, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  DatasetInfo info_;
  std::vector<std::string> notes_;
};

}  // namespace ptrain
