// Learns the vocabulary of a byte-level BPE from texts (Sennrich et al., "Neural Machine Translation of Rare Words with
// Subword Units", 2016, over bytes as Radford et al. 2019).
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

namespace ptrain {

/// The contents of a tokenizer.json with `size` tokens at most: "</s>", "<pad>", the 256 bytes and merges, learnt from
/// the lines of `text`. The most frequent pair of adjacent tokens within words is merged first; of equally frequent
/// pairs the one with the smaller ids, as in the package `tokenizers`. Pairs that occur once are not merged. A text is
/// read as if a space were before it, so that its first word has the tokens that it has elsewhere.
/// Throws Error{usage} where `size` is too small for the bytes.
nlohmann::ordered_json learn_byte_bpe(std::string_view text, std::int64_t size);

}  // namespace ptrain
