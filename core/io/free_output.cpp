#include "core/io/free_output.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"
#include "core/io/run_files.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// The files of runs, models and checkpoints that say nowhere what they are.
constexpr std::array<std::string_view, 10> known_names{
    run_files::metrics,  run_files::predictions, run_files::trace, run_files::tensorboard,
    run_files::visualdl, "config.json",          "vocab.txt",      "vocab.json",
    "merges.txt",        "tokenizer.json"};
constexpr std::array<std::string_view, 10> known_endings{".safetensors", ".gguf",  ".pack", ".yaml", ".yml",
                                                         ".ckpt",        ".model", ".pt",   ".pth",  ".pdparams"};

constexpr std::string_view white_space = " \t\r\n,";

/// "ptrain.report/2": the schema that a document names; empty if it is none of this program's.
std::string read_schema(const fs::path& file) {
  constexpr std::size_t largest = std::size_t{64} << 20;
  std::error_code error;
  if (fs::file_size(file, error) > largest || error) return {};
  std::ifstream stream(file, std::ios::binary);
  if (stream.peek() != '{') return {};
  const nlohmann::json content = parse_json(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (!content.is_object() || !content.contains("schema") || !content["schema"].is_string()) return {};
  std::string schema = content["schema"];
  return schema.starts_with("ptrain.") ? schema : std::string{};
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const fs::path whole = fs::weakly_canonical(file), root = fs::weakly_canonical(folder);
  return std::mismatch(root.begin(), root.end(), whole.begin(), whole.end()).first == root.end();
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

void require_free_output(std::string_view option, const fs::path& out, const std::vector<fs::path>& inputs,
                         std::string_view kind, FolderInputs folders) {
  std::error_code error;
  if (fs::is_directory(out, error)) fail_usage("{} {}: is a folder; expected a file", option, out.string());
  if (out.empty() || !fs::is_regular_file(out, error)) return;
  const auto refuse = [&](const std::string& why) {
    fail_usage("{} {}: {}, which would be overwritten; choose another place", option, out.string(), why);
  };
  const std::string schema = read_schema(out);
  const bool is_own = !kind.empty() && schema.starts_with(std::string(kind) + "/");
  for (const fs::path& input : inputs) {
    if (fs::equivalent(input, out, error)) refuse("is an input of this command");
  }
  for (const fs::path& input : inputs) {
    const bool holds_it =
        !is_own && folders == FolderInputs::are_inputs && fs::is_directory(input, error) && is_inside(out, input);
    if (holds_it) refuse("is in " + input.string() + ", an input of this command");
  }
  if (is_own) return;
  if (!schema.empty()) refuse("is a document of " + schema);
  if (is_one_of(known_names, out.filename().string())) refuse("is a file of a run or a model");
  if (is_one_of(known_endings, out.extension().string())) refuse("is weights, data or a configuration");
}

void require_earlier_output(std::string_view option, const fs::path& out, std::string_view text) {
  std::error_code error;
  if (out.empty() || !fs::is_regular_file(out, error) || fs::file_size(out, error) == 0) return;
  std::string start(1024, '\0');
  std::ifstream stream(out, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  const auto find_word = [](std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(white_space), line.size());
    return line.substr(begin, std::min(line.find_first_of(white_space, begin), line.size()) - begin);
  };
  const bool is_page = find_word(start) == "<!doctype", has_title = start.find("<title>ptrain") != std::string::npos;
  if (!read_schema(out).empty() || (is_page ? has_title : find_word(start) == find_word(text))) return;
  fail_usage("{} {}: exists, and does not look as what this command wrote; choose another file, or remove it", option,
             out.string());
}

}  // namespace ptrain
