// Weights between this store and files under torchvision's or transformers' names.
#pragma once

#include "core/exec/variables.h"
#include "core/model/model.h"

#include <filesystem>

namespace ptrain {

/// Starting values of every parameter and state as the model declares them; optimizer state stays zero.
void initialize_variables(const Model& model, Variables& variables, std::uint64_t seed);

struct LoadedWeights {
  std::vector<std::string> fresh;   // classifier tensors the file lacks or has in another shape: kept as initialised
  std::vector<std::string> unused;  // tensors of the file that the model has no place for
};

/// Reads a safetensors file into the variables, tensors under any of the names that the model gives them.
/// Throws Error{failed} naming file and tensor when one is missing, has another shape or
/// a value that is not finite.
LoadedWeights load_weights(const std::filesystem::path& path, const Model& model, Variables& variables);

/// Writes the model's parameters and running statistics as fp32 safetensors. `steps`: BatchNorm's num_batches_tracked.
void save_weights(const std::filesystem::path& path, const Model& model, const Variables& variables,
                  std::int64_t steps);

/// Which low-precision copies to make: all of them, or those that no optimizer update writes (an O2 evaluation of a
/// run that trains at another level).
enum class LowPrecisionCopies { all, untrained };

/// Copies every fp32 master into its low-precision copy (O2), after the masters were written.
void refresh_low_precision(Variables& variables, LowPrecisionCopies which);

/// While it lives, the parameters are their moving average, where one is kept.
class AveragedWeights {
 public:
  explicit AveragedWeights(Variables& variables) : variables_(variables) { exchange(); }
  ~AveragedWeights() { exchange(); }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  void exchange();

  Variables& variables_;
};

/// A tensor in the file's layout from the variable's, and back. Shapes as the mapping says.
std::vector<float> to_external(const WeightMapping& mapping, const Shape& shape, std::span<const float> values);
void from_external(const WeightMapping& mapping, const Shape& shape, std::span<const float> external,
                   std::span<float> values);

}  // namespace ptrain
