// Python's pickles, protocols 2 to 5, as data: numbers, texts, containers and references. Nothing that a file names is
// ever called: what would be is kept as an object with its name, and only names that the caller expects are accepted.
// The instructions are those of CPython's Lib/pickletools.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct PickleValue {
  enum class Kind {
    none,
    boolean,
    integer,
    real,
    text,  // also Python 2's strings
    bytes,
    tuple,
    list,
    dict,       // also an OrderedDict
    name,       // of something in a module: "torch.FloatStorage"
    object,     // what calling a name would give
    persistent  // a reference to something outside the pickle, such as a storage
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // boolean, integer
  double real = 0;
  std::string_view text;                       // text, bytes, name
  std::vector<const PickleValue*> items = {};  // of a tuple or list; keys and values of a dict in turn; an object's
                                               // name, arguments and, if it has one, state; what a reference says
};

/// A parsed pickle. Values may refer to themselves.
class Pickle {
 public:
  /// `names` are accepted, besides OrderedDict; texts and bytes point into `bytes`. Throws Error{failed}, one line with
  /// `file`: it is truncated or damaged, names something else, or has an instruction that no such file needs.
  Pickle(std::span<const std::byte> bytes, std::string_view file, std::span<const std::string_view> names);

  const PickleValue& root() const { return *root_; }

 private:
  class Machine;

  std::deque<PickleValue> values_;
  std::deque<std::string> names_;  // that values of kind name point to
  const PickleValue* root_ = nullptr;
};

/// Whether `bytes` begin as a pickle of protocol 2 to 5 does.
bool is_pickle(std::span<const std::byte> bytes);

/// The value of a text key; null where `value` is no dict, or has no such key.
const PickleValue* find_key(const PickleValue& value, std::string_view key);

}  // namespace ptrain
