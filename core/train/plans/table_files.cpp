#include "core/train/plans/table_files.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/runtime/dynamic_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ptrain {
namespace {

/// A file of zeros that has no name.
class NamelessFile {
 public:
  NamelessFile(const std::filesystem::path& folder, std::size_t bytes) {
    std::string path = (folder / "ptrain-table-XXXXXX").string();
    file_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (file_ < 0) fail("train.tables.folder: {}: cannot write there: {}", folder.string(), std::strerror(errno));
    ::unlink(path.c_str());
    if (reserve(bytes)) return;
    const int error = errno;
    ::close(file_);
    fail("train.tables.folder: {}: cannot reserve {} MiB: {}", folder.string(), bytes >> 20, std::strerror(error));
  }
  ~NamelessFile() { ::close(file_); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  void* map(std::size_t bytes) const {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED) fail("train.tables.folder: cannot map {} MiB: {}", bytes >> 20, std::strerror(errno));
    ::madvise(memory, bytes, MADV_RANDOM);
    return memory;
  }

 private:
  /// Where the file system cannot reserve blocks, the room that require_room() found has to do.
  bool reserve(std::size_t bytes) const {
    if (::fallocate(file_, 0, 0, static_cast<off_t>(bytes)) == 0) return true;
    return errno == EOPNOTSUPP && ::ftruncate(file_, static_cast<off_t>(bytes)) == 0;
  }

  int file_ = -1;
};

void require_room(const std::filesystem::path& folder, std::size_t bytes) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return;
  const std::size_t free = static_cast<std::size_t>(status.f_bavail) * status.f_frsize;
  if (bytes <= free) return;
  fail("train.tables.folder: {}: tables of model.hash_buckets need {} MiB there, {} MiB are free", folder.string(),
       bytes >> 20, free >> 20);
}

}  // namespace

TableFiles::TableFiles(const std::filesystem::path& folder, const Model& model, Variables& variables) {
  make_folder(folder);
  std::vector<std::string> names;
  std::size_t all = 0;
  for (const std::string& name : list_table_variables(model)) {
    if (!variables.contains(name) || variables.at(name).view) continue;
    names.push_back(name);
    all += variables.at(name).desc.bytes();
  }
  require_room(folder, all);
  mappings_.reserve(names.size());
  for (const std::string& name : names) {
    Variables::Entry entry = variables.at(name);
    const std::size_t bytes = entry.desc.bytes();
    mappings_.push_back({NamelessFile(folder, bytes).map(bytes), bytes});
    entry.data = static_cast<std::byte*>(mappings_.back().memory);
    variables.replace(name, entry);
  }
}

TableFiles::~TableFiles() {
  for (const Mapping& mapping : mappings_) ::munmap(mapping.memory, mapping.bytes);
}

}  // namespace ptrain
