// The inputs of inference: images, texts or rows of tables named by the user, as a data set for the loader.
#pragma once

#include "core/data/dataset.h"
#include "core/runtime/model_artifact.h"

#include <memory>
#include <mutex>

namespace ptrain {

/// The label of a sample without one.
inline constexpr std::int32_t no_label = -1;

/// Samples whose label or value may be unknown: no_label, or NaN.
class InferenceDataset : public Dataset {
 public:
  /// A path, or the text itself.
  virtual const std::string& name(std::int64_t index) const = 0;
  /// Whether each image is read in a size of its own, and so in a batch of its own.
  virtual bool has_own_sizes() const { return false; }
  /// That size; the model's where the image cannot be read. Thread-safe.
  virtual ImageSize choose_size(std::int64_t /*index*/) const { return info_.image_size; }
  /// Inputs that were unreadable so far, a line each, by index.
  std::map<std::int64_t, std::string> unread() const;

 protected:
  /// Keeps the message for unread().
  [[noreturn]] void reject(std::int64_t index, const std::string& message) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::string> unread_;
};

struct InferenceDataOptions {
  // For tables: header names of the sentences and of their labels; empty: looked up by default names.
  std::string column = {}, label_column = {};
  /// For images: they are read in the size that choose_own_size() gives; 0: in the model's.
  int longest_side = 0;  // px
};

/// Opens `arguments` as given on the command line. Images: files; folders, searched at any depth, where an image's
/// label is its folder if that has a class's name; data sets as in data.path of idx and CIFAR, of which the evaluation
/// samples are used, FOLDER[0] and so on, and for models of boxes those in COCO's or PASCAL VOC's form; "-" for one
/// path per line of standard input. Clips: folders of frames, and folders that contain such at any depth, where a
/// clip's label is its parent folder if that has a class's name; "-" likewise. Texts: .tsv, .csv, .jsonl and .json
/// tables with labels; .txt files of one sentence per line; "-" for such lines of standard input; anything else is
/// itself a sentence. A tab splits a sentence into a pair. Tables: files of Criteo's lines, with or without labels; "-"
/// for such lines of standard input. Videos: TFRecord files of their frames' features; "-" for one path per line of
/// standard input. Throws Error{failed} naming what is missing, is no text, has an unknown class as
/// label or unexpected fields, and when there is no input at all. Throws Error{usage} for language models, which
/// generate text (generation.h).
std::unique_ptr<InferenceDataset> open_inputs(const ModelArtifact& model, const std::vector<std::string>& arguments,
                                              const InferenceDataOptions& options);

}  // namespace ptrain
