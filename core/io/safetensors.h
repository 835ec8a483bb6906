// Reads and writes the safetensors format, as Hugging Face defines it: u64 header length, JSON header, raw tensors.
#pragma once

#include "core/io/mapped_file.h"
#include "core/io/named_tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsIndex {
  std::vector<NamedTensor> tensors;  // in file order
  SafetensorsMetadata metadata;      // the header's __metadata__
};

/// Parses a whole safetensors file in memory; the tensors point into `bytes`. Throws Error{failed}, one line with
/// `file` and the tensor, for any error: header length, JSON, duplicate names, unknown types, shapes that do not match
/// the sizes, ranges outside the file, overlaps, holes. For a PyTorch pickle the message says how to convert it.
SafetensorsIndex parse_safetensors(std::span<const std::byte> bytes, std::string_view file);

/// A safetensors file, mapped and validated.
class SafetensorsFile {
 public:
  /// Throws as MappedFile and parse_safetensors do.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const std::vector<NamedTensor>& tensors() const { return index_.tensors; }
  const SafetensorsMetadata& metadata() const { return index_.metadata; }
  /// nullptr when there is no tensor of that name.
  const NamedTensor* find(std::string_view name) const;
  /// Throws Error{failed} when there is no tensor of that name, or its type is no DType.
  const NamedTensor& at(std::string_view name) const;
  /// As MappedFile::check; call it after copying the tensors.
  void check() const { file_.check(); }

 private:
  std::string path_;
  MappedFile file_;
  SafetensorsIndex index_;
  std::map<std::string_view, const NamedTensor*> by_name_;
};

/// The tensors in the order of a file where all are aligned: wider types first, else unchanged.
std::vector<NamedTensor> order_for_safetensors(std::span<const NamedTensor> tensors);

/// The start of a file that holds `tensors` in their order: the header's length and the header, padded so that the
/// first tensor is aligned.
std::string encode_safetensors_header(std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata);

/// Writes `tensors` atomically, directly from their memory, wider types first so that all are aligned. transformers
/// needs metadata {"format": "pt"}. Throws Error{failed} when the file cannot be written.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const SafetensorsMetadata& metadata = {{"format", "pt"}});

/// The bytes of a tensor, valid until the next call.
using ReadTensor = std::function<std::span<const std::byte>(const NamedTensor& tensor)>;

/// Likewise, reading one tensor at a time; of the tensors' own bytes only the number counts.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const SafetensorsMetadata& metadata, const ReadTensor& read);

}  // namespace ptrain
