// What samples are, as data sets make them and models read them. Tokens are blocks of running text: each token's truth
// is the next one.
#pragma once

namespace ptrain {

enum class DataKind { image, text, tokens };

}  // namespace ptrain
