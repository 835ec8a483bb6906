// What kernels made of weights that stay as they are, for all plans that read the same ones.
#pragma once

#include <any>
#include <map>
#include <vector>

namespace ptrain {

/// By where the weights lie and what form they were given. Not for use by two threads at once.
class ConstantStore {
 public:
  /// What `make` makes of the weights at `from`, made once. `Form` is comparable and says everything that decides how
  /// `Made`, of which copies share what they hold, comes out.
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

  /// Weights have other values from now on.
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::any form, made;
  };

  std::map<const void*, std::vector<Entry>> entries_;
};

}  // namespace ptrain
