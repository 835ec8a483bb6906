#include "core/io/pickle.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

namespace ptrain {
namespace {

constexpr std::size_t most_values = 2'000'000;  // of a pickle; a tensor takes about twenty
constexpr std::string_view ordered_dict = "collections.OrderedDict";

/// The instructions that are known.
enum class Instruction : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  dup = '2',
  none = 'N',
  true_value = 0x88,
  false_value = 0x89,
  int32 = 'J',
  uint8 = 'K',
  uint16 = 'M',
  long1 = 0x8a,
  float64 = 'G',
  text8 = 0x8c,
  text32 = 'X',
  text64 = 0x8d,
  string8 = 'U',
  string32 = 'T',
  bytes8 = 'C',
  bytes32 = 'B',
  bytes64 = 0x8e,
  bytearray64 = 0x96,
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  global_name = 'c',
  stack_global = 0x93,
  reduce = 'R',
  new_object = 0x81,
  build = 'b',
  put8 = 'q',
  put32 = 'r',
  memoize = 0x94,
  get8 = 'h',
  get32 = 'j',
  persistent_id = 'Q',
  protocol = 0x80,
  frame = 0x95
};

}  // namespace

/// Runs the instructions on a stack of values.
class Pickle::Machine {
 public:
  using Kind = PickleValue::Kind;
  using enum Instruction;

  Machine(Pickle& pickle, std::span<const std::byte> bytes, std::string_view file,
          std::span<const std::string_view> names)
      : pickle_(pickle), bytes_(bytes), file_(file), names_(names) {}

  const PickleValue* run() {
    while (true) {
      const auto instruction = static_cast<Instruction>(number<std::uint8_t>());
      if (instruction == stop) return pop_value();
      if (!push_scalar(instruction) && !change_container(instruction)) run_other(instruction);
    }
  }

 private:
  [[noreturn]] void fail_damaged(std::string_view what) const {
    fail("{}: a pickle that is truncated or damaged: {} at byte {}", file_, what, at_);
  }

  // Reading.
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail_damaged("it ends too early");
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()) + at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }
  template <typename Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == rest.npos) fail_damaged("a name without an end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // The stack. A mark is a null.
  PickleValue* make(Kind kind) {
    if (pickle_.values_.size() >= most_values) fail("{}: a pickle of more than {} values", file_, most_values);
    PickleValue& value = pickle_.values_.emplace_back();
    value.kind = kind;
    return &value;
  }
  PickleValue* push(Kind kind) {
    stack_.push_back(make(kind));
    return stack_.back();
  }
  PickleValue* top() const {
    if (stack_.empty() || stack_.back() == nullptr) fail_damaged("a value is missing");
    return stack_.back();
  }
  PickleValue* pop_value() {
    PickleValue* const value = top();
    stack_.pop_back();
    return value;
  }
  /// The values since the last mark, which are taken off with it.
  std::vector<const PickleValue*> pop_to_mark() {
    const auto found = std::find(stack_.rbegin(), stack_.rend(), nullptr);
    if (found == stack_.rend()) fail_damaged("a mark is missing");
    std::vector<const PickleValue*> values(found.base(), stack_.end());
    stack_.erase(found.base() - 1, stack_.end());
    return values;
  }
  void push_tuple(std::size_t size) {
    std::vector<const PickleValue*> items(size);
    for (std::size_t i = size; i > 0; --i) items[i - 1] = pop_value();
    push(Kind::tuple)->items = std::move(items);
  }
  void push_text(Kind kind, std::uint64_t size) {
    const std::string_view text = take(size);
    push(kind)->text = text;
  }
  void push_integer(Kind kind, std::int64_t integer) { push(kind)->integer = integer; }

  bool push_scalar(Instruction instruction) {
    switch (instruction) {
      case none:
        push(Kind::none);
        return true;
      case true_value:
      case false_value:
        push_integer(Kind::boolean, instruction == true_value);
        return true;
      case int32:
        push_integer(Kind::integer, number<std::int32_t>());
        return true;
      case uint8:
        push_integer(Kind::integer, number<std::uint8_t>());
        return true;
      case uint16:
        push_integer(Kind::integer, number<std::uint16_t>());
        return true;
      case long1:
        push_long();
        return true;
      case float64:
        push_real();
        return true;
      case text8:
      case string8:
        push_text(Kind::text, number<std::uint8_t>());
        return true;
      case text32:
      case string32:
        push_text(Kind::text, number<std::uint32_t>());
        return true;
      case text64:
        push_text(Kind::text, number<std::uint64_t>());
        return true;
      case bytes8:
        push_text(Kind::bytes, number<std::uint8_t>());
        return true;
      case bytes32:
        push_text(Kind::bytes, number<std::uint32_t>());
        return true;
      case bytes64:
      case bytearray64:
        push_text(Kind::bytes, number<std::uint64_t>());
        return true;
      default:
        return false;
    }
  }

  /// A little-endian number in two's complement.
  void push_long() {
    const std::string_view digits = take(number<std::uint8_t>());
    if (digits.size() > sizeof(std::int64_t)) {
      fail("{}: a number of {} bytes: a file of PyTorch before 1.6? Save it again with a newer one", file_,
           digits.size());
    }
    std::uint64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, digits.data(), digits.size());
    push_integer(Kind::integer, static_cast<std::int64_t>(value));
  }
  void push_real() {
    std::uint64_t bits = 0;
    for (const char byte : take(sizeof bits)) bits = bits << 8 | static_cast<unsigned char>(byte);
    push(Kind::real)->real = std::bit_cast<double>(bits);
  }

  bool change_container(Instruction instruction) {
    switch (instruction) {
      case empty_tuple:
        push(Kind::tuple);
        return true;
      case tuple: {
        std::vector<const PickleValue*> items = pop_to_mark();
        push(Kind::tuple)->items = std::move(items);
        return true;
      }
      case tuple1:
      case tuple2:
      case tuple3:
        push_tuple(instruction == tuple1 ? 1 : instruction == tuple2 ? 2 : 3);
        return true;
      case empty_list:
        push(Kind::list);
        return true;
      case append:
        add(Kind::list, {pop_value()});
        return true;
      case appends:
        add(Kind::list, pop_to_mark());
        return true;
      case empty_dict:
        push(Kind::dict);
        return true;
      case set_item: {
        const PickleValue* const value = pop_value();
        add(Kind::dict, {pop_value(), value});
        return true;
      }
      case set_items:
        add(Kind::dict, pop_to_mark());
        return true;
      default:
        return false;
    }
  }
  /// Adds to the container that is the last value.
  void add(Kind kind, const std::vector<const PickleValue*>& items) {
    PickleValue* const container = top();
    if (container->kind != kind || (kind == Kind::dict && items.size() % 2 != 0)) fail_damaged("items of no container");
    container->items.insert(container->items.end(), items.begin(), items.end());
  }

  void run_other(Instruction instruction) {
    switch (instruction) {
      case protocol:
        if (const auto version = number<std::uint8_t>(); version < 2 || version > 5) {
          fail("{}: a pickle of protocol {}: expected 2 to 5", file_, version);
        }
        return;
      case frame:
        number<std::uint64_t>();
        return;
      case mark:
        return stack_.push_back(nullptr);
      case pop:
        if (stack_.empty()) fail_damaged("a value is missing");
        return stack_.pop_back();
      case pop_mark:
        pop_to_mark();
        return;
      case dup:
        return stack_.push_back(top());
      case put8:
        return remember(number<std::uint8_t>());
      case put32:
        return remember(number<std::uint32_t>());
      case memoize:
        return remember(static_cast<std::uint32_t>(memo_.size()));
      case get8:
        return recall(number<std::uint8_t>());
      case get32:
        return recall(number<std::uint32_t>());
      case global_name: {
        const std::string_view module = line();
        return push_name(module, line());
      }
      case stack_global: {
        const PickleValue* const name = pop_value();
        const PickleValue* const module = pop_value();
        if (name->kind != Kind::text || module->kind != Kind::text) fail_damaged("a name that is no text");
        return push_name(module->text, name->text);
      }
      case reduce:
      case new_object:
        return push_object();
      case build:
        return set_state();
      case persistent_id: {
        const PickleValue* const reference = pop_value();
        push(Kind::persistent)->items = {reference};
        return;
      }
      default:
        fail("{}: instruction 0x{:02x} at byte {} of a pickle: no file of tensors needs it, and it is not read", file_,
             static_cast<unsigned>(instruction), at_ - 1);
    }
  }

  void remember(std::uint32_t key) { memo_[key] = top(); }
  void recall(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail_damaged("a value that was not kept");
    stack_.push_back(found->second);
  }

  void push_name(std::string_view module, std::string_view name) {
    std::string full = std::string(module) + "." + std::string(name);
    if (full != ordered_dict && std::find(names_.begin(), names_.end(), full) == names_.end()) {
      fail(
          "{}: names {}, which is not read: only tensors, numbers, texts and containers of them are; in Python, save "
          "the "
          "model's state_dict() alone",
          file_, quoted_name(full.substr(0, longest_shown)));
    }
    pickle_.names_.push_back(std::move(full));
    push(Kind::name)->text = pickle_.names_.back();
  }

  /// What a name would give for arguments: an empty dict, or an object that keeps both.
  void push_object() {
    const PickleValue* const arguments = pop_value();
    const PickleValue* const name = pop_value();
    if (name->kind != Kind::name || arguments->kind != Kind::tuple)
      fail_damaged("a call of something that has no name");
    if (name->text != ordered_dict) {
      push(Kind::object)->items = {name, arguments};
    } else if (arguments->items.empty()) {
      push(Kind::dict);
    } else {
      fail_damaged("an OrderedDict with arguments");
    }
  }
  void set_state() {
    const PickleValue* const state = pop_value();
    PickleValue* const object = top();
    if (object->kind == Kind::dict) return;  // attributes, such as _metadata of a state_dict
    if (object->kind != Kind::object || object->items.size() != 2) fail_damaged("a state of no object");
    object->items.push_back(state);
  }

  static constexpr std::size_t longest_shown = 100;  // of a name, in messages

  Pickle& pickle_;
  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::span<const std::string_view> names_;
  std::size_t at_ = 0;
  std::vector<PickleValue*> stack_;
  std::unordered_map<std::uint32_t, PickleValue*> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::string_view file, std::span<const std::string_view> names)
    : root_(Machine(*this, bytes, file, names).run()) {}

bool is_pickle(std::span<const std::byte> bytes) {
  return bytes.size() > 1 && bytes[0] == static_cast<std::byte>(Instruction::protocol) && bytes[1] >= std::byte{2} &&
         bytes[1] <= std::byte{5};
}

const PickleValue* find_key(const PickleValue& value, std::string_view key) {
  if (value.kind != PickleValue::Kind::dict) return nullptr;
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    const PickleValue& name = *value.items[i];
    if (name.kind == PickleValue::Kind::text && name.text == key) return value.items[i + 1];
  }
  return nullptr;
}

}  // namespace ptrain
