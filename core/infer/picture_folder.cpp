#include "core/infer/picture_folder.h"

#include "core/io/atomic_file.h"
#include "core/io/free_output.h"

#include <fmt/format.h>

namespace ptrain {

void require_free_pictures(std::string_view option, const std::filesystem::path& folder,
                           const std::vector<std::filesystem::path>& inputs) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".png") {
      require_free_output(option, entry.path(), inputs, "", FolderInputs::are_inputs);
    }
  }
}

PictureFolder::PictureFolder(std::filesystem::path folder) : folder_(std::move(folder)) { make_folder(folder_); }

std::filesystem::path PictureFolder::name_pictures(const std::string& image) {
  const std::string name = std::filesystem::path(image).stem().string();
  std::string free = name;
  for (int number = 2; !used_.insert(free).second; ++number) free = fmt::format("{}_{}", name, number);
  return folder_ / free;
}

void write_png(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  write_file_atomic(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace ptrain
