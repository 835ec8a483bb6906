// The YAML file with a machine's expected properties and rates; configs/expected/ has examples.
//
//   about: rack 7, before it was handed over
//   tolerance: 0.1             # fraction by which a measured rate or clock may be lower
//   gpus: 8                    # number of GPUs
//   cpu: {model: AMD EPYC 9474F 48-Core Processor, threads: 48, fp32_product: 3100}
//   gpu: {model: NVIDIA H200, driver: 580.95.05, pcie_width: 16}     # each GPU
//
// Keys of cpu and gpu are those of machine_metrics(). Values of a GPU that the file lacks come from
// default_expectations().
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

/// Throws Error{usage}: "FILE:LINE: KEY: expected ..., got ...", or the unknown key and the nearest known one.
ExpectedMachine load_expected(const std::filesystem::path& file);

/// Throws Error{usage} where `file` exists: expected values are not overwritten.
void require_absent(const std::filesystem::path& file);

/// Writes the properties of `machine` in the form that load_expected() reads.
void save_expected(const ExpectedMachine& machine, const std::filesystem::path& file);

/// Combines several GPUs: the lowest of each figure, and texts that are equal on all.
DeviceMetrics combine_metrics(std::span<const DeviceMetrics> parts);

}  // namespace ptrain
