// A trained model as a self-contained folder: model.safetensors, and model.json, which describes the model, its inputs
// and its outputs. The graph is rebuilt from the model's name and keys.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/passes/quantize_layers.h"
#include "core/report/fields.h"
#include "core/runtime/model_folder.h"

#include <filesystem>
#include <span>

namespace ptrain {

/// Preprocessing of images: resize until the image just covers `resized_to`, then crop the centre; or resize until it
/// just fits into `size`, then pad.
struct ImageInput {
  ImageSize size, resized_to;
  nlohmann::json mean, stddev;             // three numbers each
  std::optional<std::string> orientation;  // "stored": EXIF's is not applied
  std::optional<std::string> framing;      // "pad"
  std::optional<std::int64_t> longest_side;
  static constexpr std::int64_t most_longest_side = 8192;

  void describe(Fields& field);
};

/// The columns of the table that a model was trained on.
struct TextColumns {
  std::string text, second, label;
  bool pairs = false;

  void describe(Fields& field);
};

/// Preprocessing of text, by the vocabulary that the folder has.
struct TextInput {
  std::int64_t max_length = 0;
  bool lowercase = true;
  std::int64_t vocabulary = 0;
  std::optional<TextColumns> columns = {};
  std::optional<std::string> chat_template = {};  // name of a ChatTemplate; absent: it did not learn chats

  void describe(Fields& field);
};

struct FileCheck {
  std::int64_t bytes = 0;
  std::string crc32;

  void describe(Fields& field);
  bool operator==(const FileCheck&) const = default;
};

/// Reads the whole file. Throws as MappedFile does.
FileCheck check_file(const std::filesystem::path& path);

/// The 8-bit format of a value.
struct FormatRecord {
  std::string dtype;
  double scale = 0;

  void describe(Fields& field);
};

/// The 8-bit layers of a model, and how it was calibrated. Names are those of the deployed graph, whose variables the
/// weights file then holds.
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
inline constexpr const char* architecture = "config.json";  // if the model has one
inline constexpr const char* vocabulary = "vocab.txt";  // for text, or another of vocabulary_names, unless synthetic
inline constexpr const char* tokenizer = "tokenizer_config.json";  // with a vocabulary, for other libraries
}  // namespace model_files

/// A weights file, an adapter for it and, for a quantized model, its quantization.
struct TrainedWeights {
  TrainedWeights(std::filesystem::path path) : file(std::move(path)) {}

  std::filesystem::path file;
  std::filesystem::path adapter = {};  // a folder of PEFT's; empty: the model has none, or `file` has its adapters
  std::optional<QuantizationScheme> quantization = {};
};

/// A validated folder: its files are those that model.json was written with.
struct ModelArtifact {
  std::filesystem::path folder;
  ModelDocument document;
  Config config;                       // only the keys that define the model
  DatasetInfo data;                    // likewise
  std::filesystem::path adapter = {};  // of weights()
  std::filesystem::path gguf = {};     // file of weights and vocabulary; empty: the folder has them

  TrainedWeights weights() const;
  bool has_vocabulary() const;
  std::filesystem::path vocabulary() const;
};

/// Writes model.json and the model's other files next to the weights, which `folder` has already. Throws Error{failed}
/// on I/O.
void write_model_document(const std::filesystem::path& folder, const Config& config, const Model& model,
                          const DatasetInfo& data);

/// Opens a folder with one of the `known` models. Throws Error{failed} with one line naming the file that is missing,
/// damaged or was modified, Error{inconclusive} for another version of model.json.
ModelArtifact open_trained_model(const std::filesystem::path& folder, std::span<const ModelEntry> known);

/// Throws Error{failed} when `made`, built from the folder's keys, does not fit the weights.
void require_same_model(const ModelArtifact& trained, const Model& made);

/// Throws Error{usage} when the model reads neither images nor sentences; `what` ends the message: why clips, rows of
/// tables and running text are not supported.
void require_images_or_sentences(const ModelArtifact& trained, const std::string& what);

/// Throws as ModelFolderWriter and require_other_folder do.
ModelFolderWriter claim_model_folder(const ModelArtifact& trained, const std::filesystem::path& out);

/// Copies only the model's files to `out`, in place of an earlier model. Throws Error{failed} on I/O.
void copy_trained_model(const ModelArtifact& trained, const std::filesystem::path& out);

/// The same for other weights, which `out` has already, and the document that describes them.
void copy_with_weights(const ModelArtifact& trained, ModelDocument document, const std::filesystem::path& out);
/// The same for the model's weights after quantization.
void copy_as_quantized(const ModelArtifact& trained, const QuantizationRecord& quantization,
                       const std::filesystem::path& out);

/// Throws Error{usage} when `out` is the model's own folder.
void require_other_folder(const ModelArtifact& trained, const std::filesystem::path& out);

}  // namespace ptrain
