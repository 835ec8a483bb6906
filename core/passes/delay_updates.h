// Updates by the gradients of the step before, so that ranks exchange while they compute (dist.updates: delayed).
//
// A step ends by starting the exchange of its gradients, from buffers of their own, and the next one's update applies
// them. With divided tables a step also gets the rows that the next batch reads, in three exchanges (numbers, ids,
// rows) that start one after the other where parts of its arithmetic are done; these nodes are of Pass::fetch and
// read inputs named next_input + the name of the batch's. Tables are updated before the rows are looked up. So whatever
// a step reads lacks one step's gradients, its predecessor's, and nothing else. A table that grows gets the next
// batch's rows then too; those that it takes from rare keys go to no other before their last gradient has come
// (FindRowsAttributes::ahead).
//
// A first step, whose predecessor has none, runs up to Pass::exchange. Its own rows are got by a run of Pass::fetch on
// its own batch. Pass::update alone applies what the last step has exchanged.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

inline constexpr const char* next_input = "next.";  // prefix of inputs: of the next batch

/// Whether steps of the graph get the rows of the next batch.
bool looks_ahead(const Graph& graph);

/// Delays the updates of a graph from add_grad_allreduce. Throws Error{usage} naming the key where that is not
/// possible: loss scaling, whose factor belongs to one step, and tables with sparse gradients of which every rank has
/// all rows.
Graph delay_updates(const Graph& graph);

}  // namespace ptrain
