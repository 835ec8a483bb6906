// Weights as others publish them: one safetensors file, several with an index, or a GGUF file.
#pragma once

#include "core/io/gguf.h"
#include "core/io/safetensors.h"

#include <memory>

namespace ptrain {

/// The file of weights that `path` means: itself, or in a folder model.safetensors, else model.safetensors.index.json.
std::filesystem::path find_weights_file(const std::filesystem::path& path);

/// The tensors of a safetensors file, of all files that transformers' index ("weight_map": the file of each tensor)
/// names, or of a GGUF file, under transformers' names.
class WeightsFile {
 public:
  /// `path` as find_weights_file takes it. Throws Error{failed} naming the file that is missing or damaged, or the
  /// tensor that the index promises and its file lacks.
  explicit WeightsFile(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const std::vector<const NamedTensor*>& tensors() const { return tensors_; }
  /// The file's own; empty for several files.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  /// As SafetensorsFile::check, of all files.
  void check() const;

 private:
  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::unique_ptr<GgufFile> gguf_;
  std::vector<NamedTensor> renamed_;  // of gguf_
  std::vector<const NamedTensor*> tensors_;
  SafetensorsMetadata metadata_;
};

}  // namespace ptrain
