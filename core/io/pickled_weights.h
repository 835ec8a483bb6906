// Weights in Python's pickles: PyTorch's zip archives (.pt, .pth, .bin) and Paddle's .pdparams. Nothing in them is run
// (core/io/pickle.h).
#pragma once

#include "core/io/mapped_file.h"
#include "core/io/named_tensor.h"

#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The tensors of a dict of them, or of the one that a checkpoint keeps as state_dict, model, model_state_dict or
/// module.
struct PickledTensors {
  std::vector<NamedTensor> tensors;
  std::deque<std::string> copies;  // the bytes of those that are not stored in order, for tensors to point to
};

/// Whether `bytes` begin as such a file does, and not as safetensors.
bool are_pickled_weights(std::span<const std::byte> bytes);

/// Parses a whole file in memory; tensors point into `bytes` or `copies`. Throws Error{failed}, one line with `file`
/// and the tensor: another format, truncated or damaged, compressed, or with something else than tensors, numbers,
/// texts and containers in it.
PickledTensors parse_pickled_weights(std::span<const std::byte> bytes, std::string_view file);

class PickledWeightsFile {
 public:
  /// Throws as MappedFile and parse_pickled_weights do.
  explicit PickledWeightsFile(const std::filesystem::path& path)
      : file_(path), parsed_(parse_pickled_weights(file_.bytes(), path.string())) {}

  const std::vector<NamedTensor>& tensors() const { return parsed_.tensors; }
  /// As MappedFile::check; call it after copying the tensors.
  void check() const { file_.check(); }

 private:
  MappedFile file_;
  PickledTensors parsed_;
};

}  // namespace ptrain
