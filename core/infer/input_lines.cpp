#include "core/base/utf8.h"
#include "core/data/class_names.h"
#include "core/data/text/text_encoding.h"
#include "core/infer/inference_sources.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <iostream>
#include <iterator>

namespace ptrain {

std::vector<InputLine> split_lines(std::string_view text, const std::string& name) {
  std::vector<InputLine> lines;
  text = without_byte_order_mark(text);
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_utf8(line) || line.find('\0') != line.npos) fail("{}:{}: not UTF-8 text", name, number);
    lines.push_back({std::string(line), number});
  }
  return lines;
}

std::vector<InputLine> lines_of_argument(const std::string& argument, std::string_view expected,
                                         std::vector<std::string>& notes, TextFiles files) {
  if (argument == "-") return split_lines(read_standard_input(), "standard input");
  std::error_code error;
  if (std::filesystem::path(argument).extension() == ".txt" ||
      (files == TextFiles::any && std::filesystem::is_regular_file(argument, error))) {
    DecodedText file = decode_text(read_file(argument), argument, TextEncoding::automatic);
    if (!file.note.empty()) notes.push_back(std::move(file.note));
    return split_lines(file.text, argument);
  }
  if (std::filesystem::exists(argument, error)) {
    fail("{}: expected {}, or - for standard input", argument, expected);
  }
  if (argument.empty()) return {{"", 1}};
  return split_lines(argument, "the command line");
}

std::vector<std::string> read_paths() {
  std::vector<std::string> paths;
  for (InputLine& line : split_lines(read_standard_input(), "standard input")) {
    if (line.text.empty()) fail("standard input:{}: is empty, expected a path", line.number);
    paths.push_back(std::move(line.text));
  }
  return paths;
}

std::string read_standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::int32_t find_class(const DatasetInfo& data, std::string_view name) {
  const std::string composed = compose_class_name(std::string(name));
  const auto found = std::find_if(data.class_names.begin(), data.class_names.end(),
                                  [&](const std::string& known) { return compose_class_name(known) == composed; });
  return found == data.class_names.end() ? no_label : static_cast<std::int32_t>(found - data.class_names.begin());
}

}  // namespace ptrain
