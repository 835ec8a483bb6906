#include "core/runtime/model_folder.h"

#include "core/base/errors.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint.h"
#include "core/io/run_files.h"
#include "core/io/safetensors.h"
#include "core/report/json_file.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/weights.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// What model.json says; none where it is missing or not this program's.
std::optional<ModelDocument> read_model_document(const fs::path& folder) {
  const fs::path path = folder / model_files::document;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    return read_document<ModelDocument>(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Whether weights are of this program.
bool are_own_weights(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  try {
    const SafetensorsFile weights(file);
    return std::ranges::includes(weights.metadata(), own_metadata);
  } catch (const Error&) {  // damaged: not known to be its own
    return false;
  }
}

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(fs::symlink_status(file, error));
}

constexpr const char* unfinished_folder = ".unfinished_model";  // of a ModelFolderWriter

/// Whether it names a file of a folder, not a way elsewhere.
bool is_file_name(const std::string& name) { return fs::path(name).filename() == name; }

/// Removes what a killed writer left, of what it had put in place already too.
void remove_unfinished(const fs::path& out) {
  const std::optional<ModelDocument> document = read_model_document(out / unfinished_folder);
  if (document && !is_there(out / model_files::document)) {
    for (const auto& [name, check] : document->files) {
      const bool is_put = is_file_name(name) && is_there(out / name) && check_file(out / name) == check;
      if (is_put) fs::remove(out / name);
    }
  }
  std::error_code error;
  fs::remove_all(out / unfinished_folder, error);
}

/// Creates a folder, and returns its path.
const fs::path& created(const fs::path& folder) {
  make_folder(folder);
  return folder;
}

}  // namespace

std::span<const std::string_view> list_model_names() {
  static constexpr std::array<std::string_view, 9> names{
      model_files::document,  model_files::weights, model_files::architecture, model_files::tokenizer, "merges.txt",
      vocabulary_names.at(0), vocabulary_names[1],  vocabulary_names[2],       vocabulary_names[3]};
  return names;
}

std::optional<fs::path> find_model_file(const fs::path& folder) {
  for (const std::string_view name : list_model_names()) {
    if (is_there(folder / name)) return folder / name;
  }
  return std::nullopt;
}

std::optional<fs::path> find_foreign_model_file(const fs::path& folder) {
  const std::optional<ModelDocument> document = read_model_document(folder);
  for (const std::string_view name : list_model_names()) {
    const fs::path file = folder / name;
    if (!is_there(file) || (document && name == model_files::document)) continue;
    if (!document) return file;
    const auto written = document->files.find(std::string(name));
    if (written == document->files.end() || check_file(file) != written->second) return file;
  }
  return std::nullopt;
}

bool is_unfinished_model(const fs::path& folder) {
  return !is_there(folder / model_files::document) && are_own_weights(folder / model_files::weights);
}

std::optional<fs::path> find_run_file(const fs::path& folder) {
  for (const char* name : {run_files::report, run_files::metrics}) {
    if (is_there(folder / name)) return folder / name;
  }
  const std::vector<std::uint64_t> steps = list_checkpoints(folder);
  return steps.empty() ? std::nullopt : std::optional(checkpoint_path(folder, steps.back()));
}

void require_free_model_folder(const fs::path& out) {
  if (const auto file = find_run_file(out)) {
    fail_usage("--out {}: is the folder of a run: it has {}; choose another folder", out.string(), file->string());
  }
  if (const auto file = find_foreign_model_file(out)) {
    fail_usage(
        "--out {}: {} would be overwritten, and is not of an earlier export or quantization; choose another folder, or "
        "move it away",
        out.string(), file->string());
  }
}

void remove_model(const fs::path& folder) {
  if (is_unfinished_model(folder)) {
    for (const std::string_view name : list_model_names()) fs::remove(folder / name);
    return;
  }
  const std::optional<ModelDocument> document = read_model_document(folder);
  fs::remove(folder / model_files::document);
  if (!document) return;
  for (const auto& [name, check] : document->files) {
    if (is_file_name(name)) fs::remove(folder / name);
  }
}

void require_outside_model(std::string_view option, const fs::path& file, const fs::path& out) {
  std::error_code error;
  const fs::path given = fs::weakly_canonical(file, error), folder = fs::weakly_canonical(out, error);
  for (const std::string_view name : list_model_names()) {
    if (given == folder / name) {
      fail_usage("{} {}: is a name of the model that --out gets; choose another", option, file.string());
    }
  }
}

ModelFolderWriter::ModelFolderWriter(const fs::path& out)
    : out_(out), written_(out / unfinished_folder), lock_(created(out)) {
  remove_unfinished(out_);
  require_free_model_folder(out_);
  make_folder(written_);
}

ModelFolderWriter::~ModelFolderWriter() {
  std::error_code error;
  fs::remove_all(written_, error);
}

void ModelFolderWriter::put_in_place() {
  const auto document = read_document<ModelDocument>(written_ / model_files::document);
  remove_model(out_);
  for (const auto& [name, check] : document.files) fs::rename(written_ / name, out_ / name);
  fs::rename(written_ / model_files::document, out_ / model_files::document);
}

}  // namespace ptrain
