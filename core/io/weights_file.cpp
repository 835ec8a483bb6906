#include "core/io/weights_file.h"

#include "core/base/errors.h"

#include <nlohmann/json.hpp>

#include <set>

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The index's tensors by the file that has them.
std::map<std::string, std::set<std::string>> read_index(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const json index = json::parse(text, nullptr, false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty()) {
    fail("{}: expected safetensors, or an index of weights in several files, which has a weight_map", path.string());
  }
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, name] : map->items()) {
    if (!name.is_string() || name != fs::path(name.get<std::string>()).filename().string()) {
      fail("{}: weight_map: {}: expected the name of a file beside the index", path.string(), quoted_name(tensor));
    }
    files[name.get<std::string>()].insert(tensor);
  }
  file.check();
  return files;
}

}  // namespace

fs::path find_weights_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  const fs::path one = path / "model.safetensors", index = path / "model.safetensors.index.json";
  return !fs::exists(one, error) && fs::exists(index, error) ? index : one;
}

WeightsFile::WeightsFile(const fs::path& path) {
  const fs::path file = find_weights_file(path);
  path_ = file.string();
  if (file.extension() == ".gguf") {
    gguf_ = std::make_unique<GgufFile>(file);
    renamed_ = tensors_by_transformers_names(*gguf_);
    for (const NamedTensor& tensor : renamed_) tensors_.push_back(&tensor);
  } else if (file.extension() != ".json") {
    files_.push_back(std::make_unique<SafetensorsFile>(file));
    metadata_ = files_.front()->metadata();
  } else {
    for (const auto& [name, expected] : read_index(file)) {
      files_.push_back(std::make_unique<SafetensorsFile>(file.parent_path() / name));
      for (const std::string& tensor : expected) {
        if (files_.back()->find(tensor) != nullptr) continue;
        fail("{}: has no tensor {}, which {} says is there", files_.back()->path(), quoted_name(tensor), path_);
      }
    }
  }
  for (const auto& part : files_)
    for (const NamedTensor& tensor : part->tensors()) tensors_.push_back(&tensor);
}

void WeightsFile::check() const {
  for (const auto& file : files_) file->check();
  if (gguf_ != nullptr) gguf_->check();
}

}  // namespace ptrain
