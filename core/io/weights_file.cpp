#include "core/io/weights_file.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <nlohmann/json.hpp>

#include <array>
#include <map>
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
  constexpr std::array<const char*, 4> names{"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                             "pytorch_model.bin.index.json"};
  for (const char* name : names) {
    if (fs::exists(path / name, error)) return path / name;
  }
  return path / names.front();
}

const WeightsFile::File& WeightsFile::add(const fs::path& path) {
  if (path.extension() == ".gguf") return files_.emplace_back(std::in_place_type<GgufFile>, path);
  if (are_pickled_weights(MappedFile(path).bytes())) {
    return files_.emplace_back(std::in_place_type<PickledWeightsFile>, path);
  }
  return files_.emplace_back(std::in_place_type<SafetensorsFile>, path);
}

WeightsFile::WeightsFile(const fs::path& path) {
  const fs::path file = find_weights_file(path);
  path_ = file.string();
  const auto point_to = [&](const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors) tensors_.push_back(&tensor);
  };
  if (file.extension() == ".json") {
    for (const auto& [name, expected] : read_index(file)) {
      const fs::path part = file.parent_path() / name;
      const std::size_t before = tensors_.size();
      std::visit([&](const auto& opened) { point_to(opened.tensors()); }, add(part));
      std::set<std::string_view> found;
      for (std::size_t i = before; i < tensors_.size(); ++i) found.insert(tensors_[i]->name);
      for (const std::string& tensor : expected) {
        if (found.contains(tensor)) continue;
        fail("{}: has no tensor {}, which {} says is there", part.string(), quoted_name(tensor), path_);
      }
    }
    return;
  }
  const File& opened = add(file);
  if (const auto* gguf = std::get_if<GgufFile>(&opened)) {
    renamed_ = rename_to_transformers(*gguf);
    point_to(renamed_);
    return;
  }
  if (const auto* safetensors = std::get_if<SafetensorsFile>(&opened)) metadata_ = safetensors->metadata();
  std::visit([&](const auto& one) { point_to(one.tensors()); }, opened);
}

void WeightsFile::check() const {
  for (const File& file : files_) std::visit([](const auto& one) { one.check(); }, file);
}

}  // namespace ptrain
