// The parts of a kernel's workspace.
#pragma once

#include "core/base/round_up.h"

#include <cstddef>

namespace ptrain::cuda {

/// A range of the workspace that a kernel receives when it runs.
class WorkspacePart {
 public:
  WorkspacePart() = default;
  explicit WorkspacePart(std::size_t offset) : offset_(offset) {}
  void* in(void* workspace) const { return static_cast<std::byte*>(workspace) + offset_; }
  template <typename T>
  T* as(void* workspace) const {
    return static_cast<T*>(in(workspace));
  }

 private:
  std::size_t offset_ = 0;
};

/// Allocates consecutive parts, each aligned to 256 bytes.
class WorkspaceLayout {
 public:
  WorkspacePart take(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += round_up(bytes, alignment);
    return WorkspacePart(offset);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t alignment = 256;
  std::size_t bytes_ = 0;
};

}  // namespace ptrain::cuda
