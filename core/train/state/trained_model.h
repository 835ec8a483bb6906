// A trained model as a folder that needs nothing else: model.safetensors, and model.json, which says what they are the
// weights of, what goes in and what the answers mean. The graph is made again from the model's name and keys.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/report/fields.h"

#include <filesystem>

namespace ptrain {

/// How an image becomes the model's input: its shorter side is resized to `resized_to`, the centre is cropped.
struct ImageInput {
  std::int64_t size = 0;
  std::int64_t resized_to = 0;
  nlohmann::json mean, stddev;  // three numbers each

  void describe(Fields& field);
};

/// How a text becomes the model's input: BERT's WordPiece with the vocabulary in vocab.txt.
struct TextInput {
  std::int64_t max_length = 0;
  bool lowercase = true;
  std::int64_t vocabulary = 0;

  void describe(Fields& field);
};

struct FileCheck {
  std::int64_t bytes = 0;
  std::string crc32;

  void describe(Fields& field);
};

/// model.json, `ptrain.model/1`.
struct ModelDocument {
  std::string model, signature;
  nlohmann::json keys;
  std::vector<std::string> class_names;
  std::optional<ImageInput> image;
  std::optional<TextInput> text;
  std::map<std::string, FileCheck> files;
  std::string config_hash, hash;

  void describe(Fields& field);
};

namespace model_files {
inline constexpr const char* document = "model.json";
inline constexpr const char* weights = "model.safetensors";
inline constexpr const char* architecture = "config.json";  // where the model has one
inline constexpr const char* vocabulary = "vocab.txt";      // of text, unless it was made up
}  // namespace model_files

/// A folder that was checked: its files are those that model.json was written with.
struct TrainedModel {
  std::filesystem::path folder;
  ModelDocument document;
  Config config;     // as much as a model is made from
  DatasetInfo data;  // likewise

  std::filesystem::path weights() const { return folder / model_files::weights; }
  bool has_vocabulary() const { return document.files.contains(model_files::vocabulary); }
  std::filesystem::path vocabulary() const { return folder / model_files::vocabulary; }
};

/// Writes model.json and what else the model needs beside the weights that `folder` has already. Throws Error{failed}
/// on I/O.
void write_model_document(const std::filesystem::path& folder, const Config& config, const Model& model,
                          const DatasetInfo& data);

/// Throws Error{failed} with one line naming the file that is missing, damaged or was altered, Error{inconclusive} for
/// another version of model.json.
TrainedModel open_trained_model(const std::filesystem::path& folder);

/// Throws Error{failed} when `made`, from the folder's keys, is not the model whose weights these are.
void require_same_model(const TrainedModel& trained, const Model& made);

/// Copies the model's files, and nothing else, to `out`. Throws Error{failed} on I/O.
void copy_trained_model(const TrainedModel& trained, const std::filesystem::path& out);

}  // namespace ptrain
