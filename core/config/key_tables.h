// The parts of the key table, one per group of sections; core/config/keys.cpp joins them.
#pragma once

#include "core/config/keys.h"

#include <vector>

namespace ptrain {

/// In the order of Config's members.
std::vector<Key> model_keys();    // model, device, seed, threads
std::vector<Key> numeric_keys();  // amp, flags, tf32, fusion, memory_plan
std::vector<Key> data_keys();     // data
std::vector<Key> train_keys();    // train: length, optimizer, schedule
std::vector<Key> step_keys();     // train: what a step does, and how it is measured
std::vector<Key> method_keys();   // train: phases, mixing, averages, early ends
std::vector<Key> run_keys();      // eval, dist, output, resume

}  // namespace ptrain
