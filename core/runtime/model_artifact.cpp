#include "core/runtime/model_artifact.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/config/keys.h"
#include "core/config/value.h"
#include "core/data/factory.h"
#include "core/data/image/image_transform.h"
#include "core/data/source_registry.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/data/text/tokenizer.h"
#include "core/io/mapped_file.h"
#include "core/report/json_file.h"
#include "core/runtime/model_folder.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

using nlohmann::json;
namespace fs = std::filesystem;

void ImageInput::describe(Fields& field) {
  field("size", size, "px: side of a square, or height and width");
  field("resized_to", resized_to,
        "px to which an image is resized to cover it (a square: its shorter side) before the centre crop to size");
  field.any_list("mean", mean, {{"type", "number"}}, "red, green and blue, for pixels scaled to [0, 1]");
  field.any_list("stddev", stddev, {{"type", "number"}}, "divisor of the difference from the mean");
  field.maybe("orientation", orientation,
              "stored: images are read as they are stored; absent: they are turned upright by EXIF's orientation");
  field.maybe("framing", framing,
              "pad: an image is resized to fit into size, and padded at the right and bottom with the mean colour; "
              "absent: by resized_to");
  field.maybe("longest_side", longest_side,
              "px: `ptrain infer` reads larger images than size in their own, their longest side at most this; absent: "
              "all in size");
}

void TextColumns::describe(Fields& field) {
  field("text", text, "name of the column with the text; empty: the table had no header");
  field("second", second, "name of the column with the second sentence; empty: none, or no header");
  field("label", label, "name of the column with the label; empty: the table had no header");
  field("pairs", pairs, "whether its rows had two sentences");
}

void TextInput::describe(Fields& field) {
  field("max_length", max_length, "tokens, [CLS] and [SEP] included");
  field("lowercase", lowercase, "whether text is lower-cased and stripped of accents");
  field("vocabulary", vocabulary, "number of entries in the vocabulary");
  field.maybe("columns", columns, "columns of the training table; absent for other data");
  field.maybe("chat_template", chat_template, "data.chat_template of the chats that it learnt; absent for other data");
}

void FileCheck::describe(Fields& field) {
  field("bytes", bytes, "");
  field("crc32", crc32, "CRC-32 of the whole file, eight hex digits");
}

void FormatRecord::describe(Fields& field) {
  field.one_of("dtype", dtype, {"u8", "s8"}, "of the integers");
  field("scale", scale, "factor from integers to real values");
}

void QuantizationRecord::describe(Fields& field) {
  field("method", method, "method that chose the scales");
  field("calibration_hash", calibration_hash, "source of the calibration samples");
  field("calibration_samples", calibration_samples, "number of calibration samples");
  field("layers", layers, "layers computed in 8 bits, by name in the deployed graph");
  field("formats", formats, "formats of these layers' inputs and outputs, by name of the value");
}

void ModelDocument::describe(Fields& field) {
  field.document("ptrain.model/1", "Description of a folder with a trained model.");
  field("model", model, "name in the model registry");
  field("signature", signature, "distinguishes models with incompatible weights");
  field.any("keys", keys, "object", "values of the configuration keys that the model reads, by name");
  field("class_names", class_names, "class names in the order of the logits");
  field("image", image, "preprocessing of images; null for other models");
  field("text", text, "preprocessing of text; null for other models");
  field.maybe("quantization", quantization, "layers computed in 8 bits; absent if there are none");
  field("files", files, "the folder's other files");
  field("config_hash", config_hash, "configuration hash of the training run");
  field("hash", hash, "hash of this document without this field");
}

FileCheck check_file(const fs::path& path) {
  const MappedFile file(path);
  FileCheck check{static_cast<std::int64_t>(file.bytes().size()), fmt::format("{:08x}", crc32(file.bytes()))};
  file.check();
  return check;
}

namespace {

constexpr int least_length = 5;  // minimum of the tokenizer

std::string compute_hash(json document) {
  document.erase("hash");
  return fmt::format("fnv1a64:{:016x}", fnv1a64(document.dump()));
}

json select_model_keys(const Config& config) {
  const ModelEntry& entry = config.model.entry;
  json keys = json::object();
  for (const Key& key : config_keys()) {
    if (key.name == "model.classes" || entry.reads_key(key.name)) keys[key.name] = key.get(config);
  }
  return keys;
}

const ModelEntry& find_entry(const ModelDocument& document, std::span<const ModelEntry> known,
                             const std::string& where) {
  for (const ModelEntry& entry : known) {
    if (entry.name == document.model) return entry;
  }
  fail("{}: model: this version of ptrain has no {}", where, quoted_name(document.model));
}

/// Parses a key's value; an error is damage here, not a mistake in a configuration.
json checked(const Key& key, const std::string& text, const std::string& where) {
  try {
    return check_text(key, text, where);
  } catch (const Error& error) {
    fail("{}", error.what());
  }
}

/// The keys' values, and other values that make_model reads from a configuration.
Config make_config(const ModelDocument& document, const ModelEntry& entry, const fs::path& folder) {
  const std::string where = (folder / model_files::document).string();
  Config config;
  config.model.weights = (folder / model_files::weights).string();  // its folder has the architecture file
  for (const auto& [name, value] : document.keys.items()) {
    const Key* key = find_key(name);
    if (key == nullptr) fail("{}: keys: {}: this version of ptrain has no such key", where, quoted_name(name));
    key->set(config, checked(*key, to_text(value), where));
  }
  config.model.entry = entry;
  return config;
}

std::array<float, 3> three_numbers(const json& list, const char* name, const std::string& where) {
  std::array<float, 3> values{};
  if (list.size() != values.size()) fail("{}: image.{}: expected three numbers", where, name);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = list[i].get<float>();
  return values;
}

/// Checks a number against the range of the equivalent configuration key.
int number_of_key(const char* key, std::int64_t value, const std::string& where) {
  return checked(*find_key(key), std::to_string(value), where).get<int>();
}

DatasetInfo make_dataset_info(const ModelDocument& document, const ModelEntry& entry, const std::string& where) {
  DatasetInfo data;
  data.kind = entry.reads;
  data.class_names = document.class_names;
  data.classes = static_cast<int>(document.class_names.size());
  if (data.kind == DataKind::image) {
    if (!document.image) fail("{}: image: missing, but {} reads images", where, document.model);
    const Key& size = *find_key("data.image_size");
    if (document.image->orientation == "stored") data.orientation = ImageOrientation::stored;
    if (document.image->framing == "pad") data.framing = ImageFraming::pad;
    data.image_size = image_size_from_json(checked(size, to_text(document.image->size), where)).value();
    if (document.image->longest_side.value_or(0) > ImageInput::most_longest_side) {
      fail("{}: image.longest_side: expected an integer from 0 to {}", where, ImageInput::most_longest_side);
    }
    data.mean = three_numbers(document.image->mean, "mean", where);
    data.stddev = three_numbers(document.image->stddev, "stddev", where);
    for (const float value : data.stddev) {
      if (!(value > 0) || !std::isfinite(value)) fail("{}: image.stddev: expected numbers above 0", where);
    }
  } else if (data.kind != DataKind::video && data.kind != DataKind::table) {
    if (!document.text) fail("{}: text: missing, but {} reads text", where, document.model);
    data.max_length = number_of_key("data.max_length", document.text->max_length, where);
    if (data.max_length < least_length) fail("{}: text.max_length: expected at least {}", where, least_length);
    data.vocab_size = number_of_key("model.vocab_size", document.text->vocabulary, where);
    if (const auto& name = document.text->chat_template; name && !choice_from_name<ChatTemplate>(*name)) {
      fail("{}: text.chat_template: expected one of {}, got {}", where, fmt::join(EnumNames<ChatTemplate>::names, ", "),
           quoted_name(*name));
    }
    if (const std::optional<TextColumns>& columns = document.text->columns) {
      data.columns = {columns->text, columns->second, columns->label};
      data.are_pairs = columns->pairs;
    }
  }
  return data;
}

void require_unaltered(const ModelDocument& document, const fs::path& folder) {
  if (!document.files.contains(model_files::weights)) {
    fail("{}: files: has no {}", (folder / model_files::document).string(), model_files::weights);
  }
  for (const auto& [name, expected] : document.files) {
    if (fs::path(name).filename() != name) {
      fail("{}: files: {} is in another folder", (folder / model_files::document).string(), quoted_name(name));
    }
    const FileCheck found = check_file(folder / name);
    if (found.bytes != expected.bytes) {
      fail("{}: has {} bytes, but {} was written with {}: truncated, or another file", (folder / name).string(),
           found.bytes, model_files::document, expected.bytes);
    }
    if (found.crc32 != expected.crc32) {
      fail("{}: was modified: its CRC-32 is {}, in {} it is {}", (folder / name).string(), found.crc32,
           model_files::document, expected.crc32);
    }
  }
}

/// Validates names and scales, which messages and kernels rely on.
void require_sound(const QuantizationRecord& quantization, const std::string& where) {
  const auto require_plain = [&](const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!plain) fail("{}: quantization: {} is not a layer's name", where, quoted_name(name));
  };
  for (const std::string& name : quantization.layers) require_plain(name);
  for (const auto& [name, format] : quantization.formats) {
    require_plain(name);
    const auto scale = static_cast<float>(format.scale);
    if (!std::isfinite(scale) || !(scale > 0)) {
      fail("{}: quantization: formats: {}: expected a finite scale above 0, got {}", where, name, format.scale);
    }
  }
}

std::vector<std::string> names_of_classes(const DatasetInfo& data, std::int64_t classes) {
  std::vector<std::string> names = data.class_names;
  while (static_cast<std::int64_t>(names.size()) < classes) names.push_back(std::to_string(names.size()));
  return names;
}

}  // namespace

void write_model_document(const fs::path& folder, const Config& config, const Model& model, const DatasetInfo& data) {
  ModelDocument document;
  document.model = model.name();
  document.signature = model.signature();
  document.keys = select_model_keys(config);
  document.class_names = names_of_classes(data, config.model.classes);
  document.config_hash = config_hash(config);
  std::vector<std::string> files{model_files::weights};
  if (const std::string architecture = model.config_json(); !architecture.empty()) {
    write_file_atomic(folder / model_files::architecture, architecture);
    files.push_back(model_files::architecture);
  }
  if (data.kind == DataKind::image) {
    const bool pads = data.framing == ImageFraming::pad;
    const ImageTransform transform(data.image_size, Augmentation::none);
    const ImageSize resized_to = pads ? data.image_size : transform.resized_to();
    document.image = {data.image_size, resized_to, data.mean, data.stddev, {}, {}, {}};
    if (pads) document.image->framing = "pad";
    if (data.orientation == ImageOrientation::stored) document.image->orientation = "stored";
  } else if (model.is_text()) {
    document.text = {data.max_length, config.data.lowercase, data.vocab_size};
    const auto& source = find_source_row(config.data.source).entry;
    if (source.reads_key("data.chat_template")) {
      document.text->chat_template = enum_name(config.data.chat_template);
    }
    if (source.reads_key("data.columns.text")) {
      document.text->columns = {data.columns.first, data.columns.second, data.columns.label, data.are_pairs};
    }
    if (source.reads_key("data.vocab")) {
      VocabularyCopy vocabulary =
          copy_vocabulary(config.data.vocab, config.data.lowercase ? TextCase::lower : TextCase::keep);
      // What transformers' AutoTokenizer needs beside config.json and the vocabulary; it takes the case from here
      // alone.
      vocabulary.config["model_max_length"] = data.max_length;
      vocabulary.files[model_files::tokenizer] = vocabulary.config.dump(2) + "\n";
      for (const auto& [name, content] : vocabulary.files) {
        write_file_atomic(folder / name, content);
        files.push_back(name);
      }
    }
  }
  for (const std::string& name : files) document.files[name] = check_file(folder / name);
  document.hash = compute_hash(write_fields(document));
  write_document(document, folder / model_files::document);
}

ModelArtifact open_trained_model(const fs::path& folder, std::span<const ModelEntry> known) {
  const fs::path path = folder / model_files::document;
  if (!fs::is_directory(folder))
    fail("{}: no such folder; expected one with {}", folder.string(), path.filename().string());
  if (!fs::exists(path)) {
    fail("{}: has no {}: expected the folder of a run that ended, or of ptrain export", folder.string(),
         model_files::document);
  }
  const json content = read_document(path, schema_of_fields<ModelDocument>());
  if (const std::string hash = compute_hash(content); hash != content.at("hash")) {
    fail("{}: was modified: the hash of its content is {}, it says {}", path.string(), hash,
         to_text(content.at("hash")));
  }
  ModelArtifact trained;
  trained.folder = folder;
  trained.document = read_fields<ModelDocument>(content);
  require_unaltered(trained.document, folder);
  if (trained.document.quantization) require_sound(*trained.document.quantization, path.string());
  const ModelEntry& entry = find_entry(trained.document, known, path.string());
  trained.data = make_dataset_info(trained.document, entry, path.string());
  trained.config = make_config(trained.document, entry, folder);
  if (trained.data.kind == DataKind::table) {
    DataSettings settings;
    set_click_settings(settings, trained.config);
    set_click_features(trained.data, settings);
  }
  trained.data.max_frames = static_cast<int>(trained.config.data.max_frames);
  if (entry.reads_clips()) {
    set_clip_form(trained.data, trained.config.model.segments, frames_per_segment(trained.config));
  }
  if (trained.config.model.classes != trained.data.classes) {
    fail("{}: {} class names for {} classes", path.string(), trained.data.classes, trained.config.model.classes);
  }
  return trained;
}

void require_same_model(const ModelArtifact& trained, const Model& made) {
  if (made.signature() == trained.document.signature) return;
  fail("{}: has weights of {}, but its keys define {}", (trained.folder / model_files::document).string(),
       quoted_name(trained.document.signature), made.signature());
}

void require_images_or_sentences(const ModelArtifact& trained, const std::string& what) {
  const DatasetInfo& data = trained.data;
  std::string reads;
  if (data.kind == DataKind::table) reads = "rows of tables";
  if (data.kind == DataKind::tokens) reads = "running text";
  if (data.kind == DataKind::parallel) reads = "texts to translate";
  if (data.kind == DataKind::video) reads = "features of videos";
  if (data.frames > 0) reads = fmt::format("clips of {} frames", data.frames);
  if (reads.empty()) return;
  fail_usage("{}: reads {}, which {}; use ptrain infer or bench infer", trained.folder.string(), reads, what);
}

/// The name of the folder's vocabulary; null without one.
static const char* find_vocabulary(const ModelDocument& document) {
  const auto found =
      std::ranges::find_if(vocabulary_names, [&](const char* name) { return document.files.contains(name); });
  return found == vocabulary_names.end() ? nullptr : *found;
}

bool ModelArtifact::has_vocabulary() const { return !gguf.empty() || find_vocabulary(document) != nullptr; }

fs::path ModelArtifact::vocabulary() const {
  if (!gguf.empty()) return gguf;
  invariant(has_vocabulary(), "the vocabulary of a model without one");
  return folder / find_vocabulary(document);
}

TrainedWeights ModelArtifact::weights() const {
  TrainedWeights weights(gguf.empty() ? folder / model_files::weights : gguf);
  weights.adapter = adapter;
  if (!document.quantization) return weights;
  QuantizationScheme& scheme = weights.quantization.emplace();
  scheme.source = (folder / model_files::document).string() + ": quantization";
  scheme.layers.insert(document.quantization->layers.begin(), document.quantization->layers.end());
  for (const auto& [name, record] : document.quantization->formats) {
    scheme.formats[std::string(tensor_names::current_name(name))] = {dtype_from_name(record.dtype),
                                                                     static_cast<float>(record.scale)};
  }
  return weights;
}

void require_other_folder(const ModelArtifact& trained, const fs::path& out) {
  std::error_code error;
  if (fs::equivalent(trained.folder, out, error)) fail_usage("--out {}: is the model's own folder", out.string());
}

void copy_as_quantized(const ModelArtifact& trained, const QuantizationRecord& quantization, const fs::path& out) {
  ModelDocument document = trained.document;
  document.quantization = quantization;
  copy_with_weights(trained, std::move(document), out);
}

void copy_with_weights(const ModelArtifact& trained, ModelDocument document, const fs::path& out) {
  for (auto& [name, check] : document.files) {
    if (name != model_files::weights) write_file_atomic(out / name, read_file(trained.folder / name));
    check = check_file(out / name);
  }
  document.hash = compute_hash(write_fields(document));
  write_document(document, out / model_files::document);
}

ModelFolderWriter claim_model_folder(const ModelArtifact& trained, const fs::path& out) {
  require_other_folder(trained, out);
  return ModelFolderWriter(out);
}

void copy_trained_model(const ModelArtifact& trained, const fs::path& out) {
  ModelFolderWriter writer = claim_model_folder(trained, out);
  const auto copy = [&](const std::string& name) {
    write_file_atomic(writer.folder() / name, read_file(trained.folder / name));
  };
  for (const auto& [name, check] : trained.document.files) copy(name);
  copy(model_files::document);
  writer.put_in_place();
}

}  // namespace ptrain
