// Reads GGUF, llama.cpp's format of weights with metadata, versions 2 and 3 (ggml's docs/gguf.md): magic, version,
// counts, keys with typed values, tensor descriptions, aligned data.
#pragma once

#include "core/io/mapped_file.h"
#include "core/io/named_tensor.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Keys with their values: numbers, booleans, strings, and arrays of those.
using GgufMetadata = std::map<std::string, nlohmann::json, std::less<>>;

struct GgufIndex {
  /// In file order, slowest axis first as everywhere here. Quantised ones have other_type, "Q4_K", and blocks as bytes.
  std::vector<NamedTensor> tensors;
  GgufMetadata metadata;
};

/// Parses a whole file in memory; the tensors point into `bytes`. Throws Error{failed}, one line with `file` and the
/// key or tensor, for any error: another format or version, counts and lengths beyond the file, duplicate names,
/// unknown types, rows that are not whole blocks, ranges outside the file.
GgufIndex parse_gguf(std::span<const std::byte> bytes, std::string_view file);

/// A GGUF file, mapped and validated.
class GgufFile {
 public:
  /// Throws as MappedFile and parse_gguf do.
  explicit GgufFile(const std::filesystem::path& path)
      : path_(path.string()), file_(path), index_(parse_gguf(file_.bytes(), path_)) {}

  const std::string& path() const { return path_; }
  const std::vector<NamedTensor>& tensors() const { return index_.tensors; }
  const GgufMetadata& metadata() const { return index_.metadata; }
  /// The architecture's name, such as "llama". Throws Error{failed} where the file names none.
  std::string architecture() const;
  /// A number of the architecture, "block_count" of "llama.block_count"; `fallback` where it is missing. Throws
  /// Error{failed} if it is not a number, or missing and there is no `fallback`.
  double number(std::string_view key, std::optional<double> fallback = {}) const;
  /// The same, a positive integer.
  std::int64_t positive_integer(std::string_view key, std::optional<std::int64_t> fallback = {}) const;
  /// As MappedFile::check; call it after copying the tensors.
  void check() const { file_.check(); }

 private:
  std::string path_;
  MappedFile file_;
  GgufIndex index_;
};

/// The tensors, renamed as transformers names them. The rows of llama's queries and keys are marked as interleaved,
/// since conversion to GGUF permutes them. Other names stay.
std::vector<NamedTensor> rename_to_transformers(const GgufFile& file);

}  // namespace ptrain
