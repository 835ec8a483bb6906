// What a kernel computes from weights: once where they are constant, else at each run, in its workspace.
#pragma once

#include "core/cpu/constant_memory.h"
#include "core/exec/constant_store.h"

namespace ptrain::cpu {

class DerivedWeights {
 public:
  DerivedWeights(bool constant, std::size_t bytes) : constant_(constant), bytes_(bytes) {}

  std::size_t workspace_bytes() const { return constant_ ? 0 : bytes_; }
  /// As Kernel::weights_changed; until then, a kernel has its own.
  void weights_changed(ConstantStore& kept) {
    kept_ = &kept;
    made_.reset();
  }

  /// The result of fill(T*), for weights at `from`. `form` is as of ConstantStore; `workspace` has workspace_bytes().
  template <typename T, typename Form, typename Fill>
  const T* get(const void* from, const Form& form, void* workspace, const Fill& fill) {
    if (!constant_) {
      fill(static_cast<T*>(workspace));
      return static_cast<const T*>(workspace);
    }
    if (made_ == nullptr) {
      const auto make = [&] {
        Memory memory = allocate_constant(bytes_);
        fill(reinterpret_cast<T*>(memory.get()));
        return memory;
      };
      made_ = kept_ == nullptr ? make() : kept_->get<Memory>(from, form, make);
    }
    return reinterpret_cast<const T*>(made_.get());
  }

 private:
  using Memory = std::shared_ptr<std::byte>;

  bool constant_;
  std::size_t bytes_;
  ConstantStore* kept_ = nullptr;
  Memory made_;
};

}  // namespace ptrain::cpu
