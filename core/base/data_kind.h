// The kind of samples that a data set yields and a model reads. Tokens are blocks of running text; each token's label
// is the next token. Parallel text is a source text and its translation. A video is the features of its frames.
#pragma once

namespace ptrain {

/// A table has rows of dense and of categorical features; categories are hashed to numbers.
enum class DataKind { image, text, table, tokens, parallel, video };

/// The noun for one sample in reports and units.
constexpr const char* sample_name(DataKind kind) {
  switch (kind) {
    case DataKind::image:
      return "image";
    case DataKind::text:
    case DataKind::tokens:
    case DataKind::parallel:
      return "sequence";
    case DataKind::table:
      return "sample";
    case DataKind::video:
      return "video";
  }
  return nullptr;
}

}  // namespace ptrain
