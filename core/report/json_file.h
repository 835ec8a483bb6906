// Reads and writes ptrain's own JSON documents, checked against their schema both ways.
#pragma once

#include "core/io/atomic_file.h"
#include "core/report/fields.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace ptrain {

/// Parses one file. Throws Error{failed} with one line naming it when it is unreadable or not complete JSON.
nlohmann::json read_json(const std::filesystem::path& path);

/// Reads a document of `schema`, whose title is "ptrain.<kind>/<version>". Throws Error{failed} for another kind of
/// document or one that does not fit, Error{inconclusive} for another version of this kind.
nlohmann::json read_document(const std::filesystem::path& path, const nlohmann::json& schema);

/// Throws as read_document does if `content`, read from `path`, is no document of `schema`.
void check_document(const std::filesystem::path& path, const nlohmann::json& content, const nlohmann::json& schema);

/// Writes `content`, indented and atomically; creates folders as needed. Throws std::logic_error when it does not fit
/// `schema` (a bug), Error{failed} when it cannot be written.
void write_document(const nlohmann::json& content, const nlohmann::json& schema, const std::filesystem::path& path,
                    Flush flush = Flush::yes);

/// The same for a struct that declares its fields.
template <Described T>
T read_document(const std::filesystem::path& path) {
  return read_fields<T>(read_document(path, schema_of_fields<T>()));
}
template <Described T>
void write_document(const T& content, const std::filesystem::path& path, Flush flush = Flush::yes) {
  write_document(write_fields(content), schema_of_fields<T>(), path, flush);
}

/// A value for display: a string without its quotes, "-" for null.
std::string to_text(const nlohmann::json& value);

}  // namespace ptrain
