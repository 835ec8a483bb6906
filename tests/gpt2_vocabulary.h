// GPT-2's byte-level BPE as far as the tests need it.
#pragma once

#include "core/io/atomic_file.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace ptrain::testing {

/// Writes vocab.json and merges.txt into `folder`; returns the golden file that they are of.
inline nlohmann::json write_gpt2_vocabulary(const std::filesystem::path& folder) {
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/gpt2_bpe.json");
  nlohmann::json json = nlohmann::json::parse(file);
  write_file_atomic(folder / "vocab.json", json["vocabulary"].dump());
  write_file_atomic(folder / "merges.txt", json["merges"].get<std::string>());
  return json;
}

/// Writes the same as tokenizer.json, with the marks of ChatML's chats as added tokens.
inline void write_chat_vocabulary(const std::filesystem::path& folder) {
  const nlohmann::json golden = write_gpt2_vocabulary(folder);
  const nlohmann::json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  nlohmann::json merges = nlohmann::json::array(), added = nlohmann::json::array();
  std::istringstream lines(golden["merges"].get<std::string>());
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
  }
  std::size_t id = golden["vocabulary"].size();
  added.push_back({{"id", golden["vocabulary"].at("<|endoftext|>")}, {"content", "<|endoftext|>"}});
  for (const char* mark : {"<|im_start|>", "<|im_end|>"}) added.push_back({{"id", id++}, {"content", mark}});
  const nlohmann::json model = {{"type", "BPE"}, {"vocab", golden["vocabulary"]}, {"merges", merges}};
  write_file_atomic(
      folder / "tokenizer.json",
      nlohmann::json{{"model", model}, {"pre_tokenizer", level}, {"decoder", level}, {"added_tokens", added}}.dump());
}

}  // namespace ptrain::testing
