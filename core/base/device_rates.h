// Measured compute rates of a device in each precision, and its memory bandwidth: AMP's level is chosen by them, and
// reports list them.
#pragma once

#include <optional>

namespace ptrain {

/// Operations per second (a multiply-add counts as two) of a matrix product and a 3x3 convolution; absent: the device
/// cannot run it.
struct PrecisionRates {
  std::optional<double> product, convolution;
  std::optional<double> product_one_thread, convolution_one_thread;

  template <typename Fields>
  void describe(Fields& field) {
    field("product", product, "operations/s of a matrix product, all threads; null: cannot run");
    field("convolution", convolution, "operations/s of a 3x3 convolution, all threads; null: cannot run");
    field("product_one_thread", product_one_thread, "null: cannot run, or not the CPU");
    field("convolution_one_thread", convolution_one_thread, "null: cannot run, or not the CPU");
  }
};

/// The operation that dominates a network's arithmetic.
enum class MainWork { convolutions, products };

struct DeviceRates {
  int threads = 0;
  PrecisionRates fp32, bf16, fp16, int8;
  std::optional<double> memory_bandwidth, memory_bandwidth_one_thread;

  template <typename Fields>
  void describe(Fields& field) {
    field("threads", threads, "CPU threads of the measurements; 0: not the CPU");
    field("fp32", fp32, "");
    field("bf16", bf16, "");
    field("fp16", fp16, "");
    field("int8", int8, "");
    field("memory_bandwidth", memory_bandwidth, "bytes/s of adding two large tensors, all threads");
    field("memory_bandwidth_one_thread", memory_bandwidth_one_thread, "null: not the CPU");
  }
};

}  // namespace ptrain
