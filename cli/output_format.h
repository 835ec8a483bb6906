// The options --json and --markdown of commands that print results.
#pragma once

#include "core/report/fields.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>

namespace ptrain {

struct FormatOptions {
  bool json = false;
  bool markdown = false;

  void add_to(CLI::App& command);
};

/// Formats a document as indented JSON with line end. Throws std::logic_error when it does not fit `schema` (a bug).
std::string document_text(const nlohmann::json& content, const nlohmann::json& schema);
template <Described T>
std::string document_text(const T& document) {
  return document_text(write_fields(document), schema_of_fields<T>());
}
template <Described T>
void print_document(const T& document) {
  fmt::print("{}", document_text(document));
}

}  // namespace ptrain
