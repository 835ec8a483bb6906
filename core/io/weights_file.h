// Weights as others publish them: one file of safetensors, of PyTorch's or Paddle's, several with an index, or a GGUF
// file.
#pragma once

#include "core/io/gguf.h"
#include "core/io/pickled_weights.h"
#include "core/io/safetensors.h"

#include <deque>
#include <variant>

namespace ptrain {

/// The file of weights that `path` means: itself, or in a folder model.safetensors, pytorch_model.bin, or the index of
/// several of them (model.safetensors.index.json, pytorch_model.bin.index.json), the first that is there.
std::filesystem::path find_weights_file(const std::filesystem::path& path);

/// The tensors of one file, of all files that transformers' index ("weight_map": the file of each tensor) names, or of
/// a GGUF file, under transformers' names.
class WeightsFile {
 public:
  /// `path` as find_weights_file takes it. Throws Error{failed} naming the file that is missing or damaged, or the
  /// tensor that the index promises and its file lacks.
  explicit WeightsFile(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const std::vector<const NamedTensor*>& tensors() const { return tensors_; }
  /// A safetensors file's own; empty for others and for several files.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  /// As SafetensorsFile::check, of all files.
  void check() const;

 private:
  using File = std::variant<SafetensorsFile, PickledWeightsFile, GgufFile>;

  const File& add(const std::filesystem::path& path);

  std::string path_;
  std::deque<File> files_;
  std::vector<NamedTensor> renamed_;  // of a GGUF file
  std::vector<const NamedTensor*> tensors_;
  SafetensorsMetadata metadata_;
};

}  // namespace ptrain
