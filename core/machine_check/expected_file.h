// The YAML file of what a machine is expected to be and do; configs/expected/ has examples.
//
//   about: rack 7, before it was handed over
//   tolerance: 0.1             # share that a measured rate or clock may be lower by
//   gpus: 8                    # how many
//   cpu: {model: AMD EPYC 9474F 48-Core Processor, threads: 48, fp32_product: 3100}
//   gpu: {model: NVIDIA H200, driver: 580.95.05, pcie_width: 16}     # each
//
// Keys of cpu and gpu are machine_metrics()'. What a file does not say of a GPU is expected as default_expectations()
// has it.
#pragma once

#include "core/machine_check/machine_metrics.h"

#include <filesystem>
#include <optional>

namespace ptrain {

struct ExpectedMachine {
  std::string source;  // the file; empty: none
  std::string about;
  double tolerance = 0.1;
  std::optional<double> gpus;
  DeviceMetrics cpu, gpu;
};

/// Throws Error{usage}: "FILE:LINE: KEY: expected ..., got ...", or what is not a key and the nearest that is.
ExpectedMachine load_expected(const std::filesystem::path& file);

/// Throws Error{usage} where `file` is there already: what it expects is not overwritten.
void require_new(const std::filesystem::path& file);

/// Writes what `machine` has, so that load_expected() reads it back.
void save_expected(const ExpectedMachine& machine, const std::filesystem::path& file);

/// What several GPUs have in common: the lowest of each figure, and texts that are the same in all.
DeviceMetrics find_common_metrics(std::span<const DeviceMetrics> parts);

}  // namespace ptrain
