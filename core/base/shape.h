// The extents of a tensor, outermost first (N,H,W,C for images).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace ptrain {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  /// The extent of `axis`; a negative axis counts from the last one.
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)]; }
  /// Number of elements; 1 for a scalar (rank 0).
  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims_) n *= d;
    return n;
  }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  bool operator==(const Shape&) const = default;
  /// "[8,56,56,64]"
  std::string to_string() const;

 private:
  std::vector<std::int64_t> dims_;
};

}  // namespace ptrain
