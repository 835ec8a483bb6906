// Keeps an option that names a file to write from costing a file that is needed.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace ptrain {

/// Whether all files below a folder that is an input count as inputs, or those alone that are known as needed.
enum class FolderInputs { are_inputs, are_places };

/// Throws Error{usage} naming `option` if `out` is a folder, or if writing it would replace an input of the command, by
/// whatever path or link, or a file that something else made: a document of another schema than `kind` ("ptrain.infer";
/// empty: what is written is no document), a run's or a model's other files, or a configuration. An input may be a
/// folder, of which existing files but those of `kind` are inputs if `folders` says so. Other files may be replaced,
/// and so may what is no regular file.
void require_free_output(std::string_view option, const std::filesystem::path& out,
                         const std::vector<std::filesystem::path>& inputs, std::string_view kind = {},
                         FolderInputs folders = FolderInputs::are_places);

/// Throws Error{usage} naming `option` if `out` exists and does not look as what an earlier run of the command wrote: a
/// document of this program, or a text that begins with the same word as `text`, which is to be written; pages have
/// this program's title.
void require_earlier_output(std::string_view option, const std::filesystem::path& out, std::string_view text);

}  // namespace ptrain
