// A trained model as a folder that needs nothing else: model.safetensors, and model.json, which says what they are the
// weights of, what goes in and what the answers mean. The graph is made again from the model's name and keys.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/passes/quantize_layers.h"
#include "core/report/fields.h"

#include <filesystem>
#include <span>

namespace ptrain {

/// How an image becomes the model's input: it is resized until it just covers `resized_to`, the centre is cropped.
struct ImageInput {
  ImageSize size, resized_to;
  nlohmann::json mean, stddev;  // three numbers each

  void describe(Fields& field);
};

/// How a text becomes the model's input: WordPiece with the vocabulary in vocab.txt, or a
/// byte-level BPE with vocab.json and merges.txt.
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

/// How a value's 8-bit integers stand for it.
struct FormatRecord {
  std::string dtype;
  double scale = 0;

  void describe(Fields& field);
};

/// What of a model is computed in 8 bits, and what that was found with. Names are those of the deployed graph, whose
/// variables the weights file then holds.
struct QuantizationRecord {
  std::string method, calibration_hash;
  std::int64_t calibration_samples = 0;
  std::vector<std::string> layers;
  std::map<std::string, FormatRecord> formats;

  void describe(Fields& field);
};

/// model.json, `ptrain.model/1`.
struct ModelDocument {
  std::string model, signature;
  nlohmann::json keys;
  std::vector<std::string> class_names;
  std::optional<ImageInput> image;
  std::optional<TextInput> text;
  std::optional<QuantizationRecord> quantization;
  std::map<std::string, FileCheck> files;
  std::string config_hash, hash;

  void describe(Fields& field);
};

namespace model_files {
inline constexpr const char* document = "model.json";
inline constexpr const char* weights = "model.safetensors";
inline constexpr const char* architecture = "config.json";    // where the model has one
inline constexpr const char* vocabulary = "vocab.txt";        // of text, unless it was made up
inline constexpr const char* byte_vocabulary = "vocab.json";  // in its place, with merges
inline constexpr const char* merges = "merges.txt";
}  // namespace model_files

/// A weights file and, where it is a quantized model's, what of it is in 8 bits.
struct TrainedWeights {
  TrainedWeights(std::filesystem::path path) : file(std::move(path)) {}

  std::filesystem::path file;
  std::optional<QuantizationScheme> quantization = {};
};

/// A folder that was checked: its files are those that model.json was written with.
struct ModelArtifact {
  std::filesystem::path folder;
  ModelDocument document;
  Config config;     // as much as a model is made from
  DatasetInfo data;  // likewise

  TrainedWeights weights() const;
  bool has_vocabulary() const { return has(model_files::vocabulary) || has(model_files::byte_vocabulary); }
  std::filesystem::path vocabulary() const {
    return folder / (has(model_files::byte_vocabulary) ? model_files::byte_vocabulary : model_files::vocabulary);
  }

 private:
  bool has(const char* file) const { return document.files.contains(file); }
};

/// Writes model.json and what else the model needs beside the weights that `folder` has already. Throws Error{failed}
/// on I/O.
void write_model_document(const std::filesystem::path& folder, const Config& config, const Model& model,
                          const DatasetInfo& data);

/// A folder of one of the models that are `known`. Throws Error{failed} with one line naming the file that is missing,
/// damaged or was altered, Error{inconclusive} for another version of model.json.
ModelArtifact open_trained_model(const std::filesystem::path& folder, std::span<const ModelEntry> known);

/// Throws Error{failed} when `made`, from the folder's keys, is not the model whose weights these are.
void require_same_model(const ModelArtifact& trained, const Model& made);

/// Throws Error{usage} when the model reads neither images nor sentences: `what` says what has no place for clips, rows
/// of tables and running text.
void require_images_or_sentences(const ModelArtifact& trained, const std::string& what);

/// Copies the model's files, and nothing else, to `out`. Throws Error{failed} on I/O.
void copy_trained_model(const ModelArtifact& trained, const std::filesystem::path& out);

/// The same for a model whose quantized weights lie in `out` already.
void copy_as_quantized(const ModelArtifact& trained, const QuantizationRecord& quantization,
                       const std::filesystem::path& out);

/// Throws Error{usage} when `out` is the model's own folder.
void require_other_folder(const ModelArtifact& trained, const std::filesystem::path& out);

}  // namespace ptrain
