// GPT-2's byte-level BPE as far as the tests need it.
#pragma once

#include "core/io/atomic_file.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace ptrain::testing {

/// Writes vocab.json and merges.txt into `folder`; returns the golden file that they are of.
inline nlohmann::json write_gpt2_vocabulary(const std::filesystem::path& folder) {
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/gpt2_bpe.json");
  nlohmann::json json = nlohmann::json::parse(file);
  write_file_atomic(folder / "vocab.json", json["vocabulary"].dump());
  write_file_atomic(folder / "merges.txt", json["merges"].get<std::string>());
  return json;
}

}  // namespace ptrain::testing
