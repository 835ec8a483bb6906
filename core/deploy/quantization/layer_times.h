// How long layers take in 8 bits and in real numbers, and which are best left real so that the whole model is fastest.
#pragma once

#include "core/exec/backend.h"
#include "core/graph/graph.h"
#include "core/passes/amp.h"
#include "core/passes/quantize_layers.h"

namespace ptrain {

/// Seconds of one layer in real numbers and in 8 bits. Quantizing a value counts for the first layer that reads it.
struct LayerSeconds {
  double real = 0, int8 = 0;
};

/// Seconds of the nodes of a graph, whichever of its layers are in 8 bits; each problem is timed once, by itself on
/// made-up values. What is given to it outlives it.
class LayerTimes {
 public:
  /// `graph` is in fp32 and `real` says in which precision what stays real is computed; `scheme` has the formats.
  LayerTimes(Backend& backend, const Graph& graph, const QuantizationScheme& scheme, const AmpOptions& real);

  /// By name, where all layers of the scheme are in 8 bits; a layer's two forms are sampled by turns.
  std::map<std::string, LayerSeconds> by_layer();

  /// Of all nodes that are not the same whatever is in 8 bits: layers, poolings between them, quantize and dequantize.
  double of_model(const std::set<std::string>& int8_layers);

 private:
  struct Problem;
  Problem make_problem(const Graph& graph, const Node& node) const;
  double seconds(const Problem& problem);

  Backend& backend_;
  const Graph& graph_;
  QuantizationScheme scheme_;
  DType real_;
  std::map<std::string, const Node*> layers_;  // of the scheme, by name
  std::map<std::string, double> known_;        // seconds by problem
};

/// Moves one of `layers` at a time into `int8` or out of it as long as that makes the model faster by `of_model`.
std::set<std::string> find_fastest_layers(const std::set<std::string>& layers, std::set<std::string> int8,
                                          const std::function<double(const std::set<std::string>&)>& of_model);

}  // namespace ptrain
