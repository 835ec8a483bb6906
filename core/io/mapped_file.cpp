#include "core/io/mapped_file.h"

#include "core/io/atomic_file.h"
#include "core/io/descriptor.h"
#include "core/io/file_identity.h"
#include "core/io/packed_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ptrain {

struct MappedFile::Mapping {
  std::string path;
  std::byte* data = nullptr;
  std::size_t size = 0;
  int descriptor = -1;
  FileIdentity identity;
  std::atomic<bool> lost{false};

  // The signal handler takes the lock too: it runs when mapped bytes are touched, which no lock holder does.
  static inline std::mutex all_lock;
  static inline std::vector<Mapping*> all;
  static inline struct sigaction action_before {};

  ~Mapping();
  void map(const OpenFile& file);
  void unmap();
  void make_known();
  [[noreturn]] void reject() const;
  static void answer_fault(int signal, siginfo_t* info, void* context);
};

namespace {

/// Replaces the rest of a mapping, from the page of `address` on, by zeros.
bool replace_rest(std::byte* end, const void* address) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / page * page;
  const std::size_t rest = reinterpret_cast<std::uintptr_t>(end) - begin;
  return ::mmap(reinterpret_cast<void*>(begin), rest, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

}  // namespace

void MappedFile::Mapping::answer_fault(int signal, siginfo_t* info, void*) {
  const std::lock_guard lock(all_lock);
  for (Mapping* mapping : all) {
    if (info->si_addr < mapping->data || info->si_addr >= mapping->data + mapping->size) continue;
    mapping->lost = true;
    if (replace_rest(mapping->data + mapping->size, info->si_addr)) return;
  }
  ::sigaction(signal, &action_before, nullptr);
  ::raise(signal);  // delivered when this returns, with the previous handler
}

void MappedFile::Mapping::make_known() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = answer_fault;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGBUS, &action, &action_before) == 0;
  }();
  const std::lock_guard lock(all_lock);
  if (installed) all.push_back(this);
}

void MappedFile::Mapping::map(const OpenFile& file) {
  if (file.bytes == 0) return;
  void* const address = ::mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (address == MAP_FAILED) throw UnreadableFile(path, std::strerror(errno));
  data = static_cast<std::byte*>(address);
  size = file.bytes;
  make_known();
}

void MappedFile::Mapping::unmap() {
  if (data == nullptr) return;
  const std::lock_guard lock(all_lock);
  std::erase(all, this);
  ::munmap(std::exchange(data, nullptr), std::exchange(size, 0));
}

MappedFile::Mapping::~Mapping() {
  if (descriptor >= 0) ::close(descriptor);
  unmap();
}

void MappedFile::Mapping::reject() const {
  throw UnreadableFile(path, "it became shorter, or its disk failed, while it was read");
}

MappedFile::MappedFile(const std::filesystem::path& path, PackedFile packed) : mapping_(std::make_unique<Mapping>()) {
  mapping_->path = path.string();
  const OpenFile stored = open_for_reading(path);
  mapping_->descriptor = stored.descriptor;
  mapping_->identity = identify_file(stored.descriptor);
  mapping_->map(stored);
  if (packed == PackedFile::as_stored || !is_packed(bytes())) return;
  const OpenFile unpacked = unpack_to_temporary_file(path, bytes());
  const Descriptor closed_at_end(unpacked.descriptor);  // the mapping keeps the file
  check();
  mapping_->unmap();
  mapping_->map(unpacked);
}

MappedFile::~MappedFile() = default;
MappedFile::MappedFile(MappedFile&& other) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept = default;

std::span<const std::byte> MappedFile::bytes() const { return {mapping_->data, mapping_->size}; }

void MappedFile::check() const {
  check_bytes();
  const FileIdentity now = identify_file(mapping_->descriptor);
  if (now.bytes < mapping_->identity.bytes) mapping_->reject();
  if (now != mapping_->identity) throw ChangedFile(mapping_->path);
}

void MappedFile::check_bytes() const {
  if (mapping_->lost) mapping_->reject();
}

}  // namespace ptrain
