// Data that kernels derive from constant weights, shared by all plans that read the same weights.
#pragma once

#include <any>
#include <map>
#include <vector>

namespace ptrain {

/// Keyed by the weights' address and the derived form. Not thread-safe.
class ConstantStore {
 public:
  /// The result of `make` for the weights at `from`, computed once. `Form` is comparable and includes everything that
  /// determines the result; copies of `Made` share their contents.
  template <typename Made, typename Form, typename Make>
  Made get(const void* from, const Form& form, const Make& make) {
    for (const Entry& entry : entries_[from]) {
      const auto* known = std::any_cast<Form>(&entry.form);
      if (known != nullptr && *known == form) return std::any_cast<const Made&>(entry.made);
    }
    Made made = make();
    entries_[from].push_back({form, made});
    return made;
  }

  /// Call when weights have changed.
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::any form, made;
  };

  std::map<const void*, std::vector<Entry>> entries_;
};

}  // namespace ptrain
