// What every reference model offers: its graph for any batch size, and of every variable what it starts from and what
// weights files call it.
#pragma once

#include "core/base/data_kind.h"
#include "core/graph/graph.h"
#include "core/model/bucket.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Deployed, a model answers, and what its loss needs may be missing or of another form.
enum class Mode { training, evaluation, deployment };

/// Starting values of a variable.
struct Initializer {
  enum class Kind { constant, normal, uniform };
  Kind kind = Kind::constant;
  float value = 0;              // constant: the value; normal: standard deviation; uniform: bound of [-value, value)
  std::int64_t zero_from = -1;  // channels of the last axis from here on are zero; -1: none
};

/// How a variable here, or some of its rows, corresponds to a tensor in a weights file.
struct WeightMapping {
  enum class Layout {
    rows,        // there [rows, ...]: rows `row_begin`.. of the variable here
    conv_krsc,   // here [K,R,S,C'], there [K,C,R,S]; channels from C to C' are zero here
    image_row,   // here [K,P C], of a layer that reads an image of P pixels as one row; there [K,C P]
    transposed,  // here [K,C], there [C,K]
  };
  std::string variable;
  std::string external;  // torchvision's or transformers' name
  Shape external_shape;
  Layout layout = Layout::rows;
  std::int64_t row_begin = 0;
  std::int64_t pixels = 1;  // P of image_row
  bool head =
      false;  // the classifier: may be missing, or have another class count, when weights are loaded to fine-tune
  std::vector<std::string> other_names = {};  // names that other files have for it, the likelier first
  std::string step_counter = {};              // i64 [] behind it in a file, which counts steps; empty: none
  std::string added_row = {};  // a tensor whose first row is added to each of these, where a file has it; empty: none
};

/// A parameter or state of a model, all of it said where it is declared.
struct ModelVariable {
  std::string name;
  Shape shape;
  Initializer initializer;
  std::vector<WeightMapping> files;  // in the order in which files hold them
};

/// A forward graph with the model's outputs by name, and its variables in the order of their declaration. What is to be
/// learnt of the outputs is the task's to add (core/tasks).
struct BuiltModel {
  Graph graph;
  std::vector<ModelVariable> variables;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string name() const = 0;
  /// One line that tells apart models whose checkpoints do not fit each other.
  virtual std::string signature() const = 0;
  /// Throws Error{usage} when the input size does not fit.
  virtual BuiltModel construct(const Bucket& batch, Mode mode) const = 0;
  /// What the graph that runs a batch of these extents is built for: graphs are static, and few different ones serve
  /// all batches. As many rows as the batch has. Where text is packed, the tokens are a capacity T for those of the
  /// batch; where it is not, as here, one graph does for any number of them.
  virtual Bucket bucket_for(const Bucket& batch, Mode) const { return Bucket(batch).set(extent_names::tokens, 0); }
  /// What other tools want beside the weights, as config.json; empty when they want nothing.
  virtual std::string config_json() const { return {}; }
  virtual DataKind reads() const = 0;
  /// Whether it reads sequences of tokens: sentences, or running text.
  bool is_text() const { return reads() == DataKind::text || reads() == DataKind::tokens; }
  /// What one sample is, in reports and units: image, clip, sequence or sample (of a table).
  virtual std::string sample() const { return sample_name(reads()); }

  Graph build(const Bucket& batch, Mode mode) const { return construct(batch, mode).graph; }
  /// Every parameter and state, the same for all batches and modes.
  std::vector<ModelVariable> variables() const { return construct(1, Mode::evaluation).variables; }
  /// The tensors of a weights file, in its order.
  std::vector<WeightMapping> weights() const;
};

/// Fills `values` by `initializer`, from Philox keyed by `seed` and the variable's name.
void initialize(const Initializer& initializer, const Shape& shape, std::string_view name, std::uint64_t seed,
                std::span<float> values);

/// True for the names of batch norms' running means and variances.
bool is_running_statistic(std::string_view name);

/// True for matrices and convolution filters: what usual recipes apply weight decay to (no biases, no norms).
bool is_weight_matrix(const Shape& shape);

}  // namespace ptrain
