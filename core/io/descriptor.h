// Owns an open file's descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace ptrain {

/// Closes the descriptor `value`, unless it is negative: the file could not be opened.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

}  // namespace ptrain
