// BLEU (Papineni et al. 2002) and chrF (Popovic 2015) of a corpus of translations, as sacreBLEU computes them by
// default.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The tokens that sacreBLEU's tokeniser 13a makes of a line, as mteval-v13a.pl does: four entities are replaced, and
/// punctuation is split off unless it is within a number.
std::vector<std::string> tokenize_13a(std::string_view line);

class TranslationScores {
 public:
  /// Counts a translation and its one reference.
  void add(std::string_view translation, std::string_view reference);

  /// In percent; n-grams up to 4, exponential smoothing; 0 without a matching word.
  double bleu() const;
  /// In percent; n-grams of up to 6 characters, spaces left out, recall weighing twice as much as precision.
  double chrf() const;

  /// All counts, which merge() adds to another object.
  std::vector<double> state() const;
  static constexpr std::size_t state_size = 2 * 4 + 2 + 3 * 6;
  void merge(std::span<const double> state);

  /// The settings of both, in sacreBLEU's words.
  static std::string signature();

 private:
  static constexpr std::size_t word_orders = 4, character_orders = 6;
  struct CharacterCounts {
    double translation = 0, reference = 0, matches = 0;
  };

  std::array<double, word_orders> matches_{}, totals_{};  // n-grams of words of the translations
  double length_ = 0, reference_length_ = 0;              // words
  std::array<CharacterCounts, character_orders> characters_{};
};

}  // namespace ptrain
