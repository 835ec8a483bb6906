// What a folder holds that a model is to be written to, so that nothing but an earlier model is overwritten.
#pragma once

#include "core/io/folder_lock.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

namespace ptrain {

/// Names of the files that a run, an export or a quantization may write as a model: model.json, weights, architecture
/// and vocabularies.
std::span<const std::string_view> list_model_names();

/// The first of the files of a model in `folder`; none: there is no such file.
std::optional<std::filesystem::path> find_model_file(const std::filesystem::path& folder);

/// The first of them that is not of a model written by this program: that the folder's model.json does not name, or
/// names with other content.
std::optional<std::filesystem::path> find_foreign_model_file(const std::filesystem::path& folder);

/// Whether `folder` has weights of this program without model.json, which is written last: where it is a run's folder,
/// the run was killed between the two.
bool is_unfinished_model(const std::filesystem::path& folder);

/// A file of a run in `folder`: its report, metrics or checkpoint.
std::optional<std::filesystem::path> find_run_file(const std::filesystem::path& folder);

/// Throws Error{usage} where a model written to `out` would replace files that no earlier export or quantization wrote.
void require_free_model_folder(const std::filesystem::path& out);

/// Throws Error{usage} naming `option` if `file` is one of those that a model in `out` may have.
void require_outside_model(std::string_view option, const std::filesystem::path& file,
                           const std::filesystem::path& out);

/// Removes the model's files, model.json first, and those of an unfinished model.
void remove_model(const std::filesystem::path& folder);

/// Writes a model beside the one that a folder has, which stays until the new one is complete.
class ModelFolderWriter {
 public:
  /// Creates `out` and locks it, and removes what a killed writer left. Throws as FolderLock and
  /// require_free_model_folder do.
  explicit ModelFolderWriter(const std::filesystem::path& out);
  /// Removes what was not put in place.
  ~ModelFolderWriter();
  ModelFolderWriter(const ModelFolderWriter&) = delete;
  ModelFolderWriter& operator=(const ModelFolderWriter&) = delete;

  /// Where to write the model's files.
  const std::filesystem::path& folder() const { return written_; }
  /// Replaces the earlier model by the files in folder(), model.json last.
  void put_in_place();

 private:
  std::filesystem::path out_, written_;
  FolderLock lock_;
};

}  // namespace ptrain
