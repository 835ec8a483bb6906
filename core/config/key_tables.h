// The key table and its parts, one per group of sections.
#pragma once

#include "core/config/keys.h"
#include "core/config/model_catalog.h"
#include "core/config/source_catalog.h"

#include <vector>

namespace ptrain {

/// In the order of Config's members.
std::vector<Key> model_keys(const std::vector<ModelEntry>& models);       // model, device, seed, threads
std::vector<Key> numeric_keys();                                          // amp, flags, tf32, fusion, memory_plan
std::vector<Key> data_keys(const std::vector<DataSourceEntry>& sources);  // data
std::vector<Key> train_keys();                                            // train: length, optimizer, schedule
std::vector<Key> step_keys();    // train: what a step does, and how it is measured
std::vector<Key> method_keys();  // train: phases, mixing, averages, early stopping
std::vector<Key> run_keys();     // eval, dist, output, resume
std::vector<Key> test_keys();    // hidden_keys()

/// All keys, with the names of these models and sources as choices and in help texts.
std::vector<Key> make_keys(const std::vector<ModelEntry>& models, const std::vector<DataSourceEntry>& sources);

}  // namespace ptrain
