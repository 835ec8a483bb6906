// What samples are, as data sets make them and models read them.
#pragma once

namespace ptrain {

/// A table has rows of numbers and of words, which are numbered by hash.
enum class DataKind { image, text, table };

}  // namespace ptrain
