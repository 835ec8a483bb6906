// What samples are, as data sets make them and models read them. Tokens are blocks of running text: each token's label
// is the next one.
#pragma once

namespace ptrain {

/// A table has rows of numbers and of words, which are numbered by hash.
enum class DataKind { image, text, table, tokens };

/// What one sample of it is called in reports and units.
constexpr const char* sample_name(DataKind kind) {
  switch (kind) {
    case DataKind::image:
      return "image";
    case DataKind::text:
    case DataKind::tokens:
      return "sequence";
    case DataKind::table:
      return "sample";
  }
  return nullptr;
}

}  // namespace ptrain
