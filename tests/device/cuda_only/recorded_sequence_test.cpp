// A sequence of launches does its work at every run, whether it can be recorded or not.
#include "core/cuda/device/recorded_sequence.h"
#include "core/cuda/device/check.h"
#include "core/cuda/device/device_array.h"

#include <gtest/gtest.h>

#include <vector>

namespace ptrain::cuda {
namespace {

int read(const Device& device, const DeviceArray<int>& value) {
  int host = 0;
  CUDA_CHECK(cudaMemcpyAsync(&host, value.data(), sizeof host, cudaMemcpyDeviceToHost, device.stream()));
  CUDA_CHECK(cudaStreamSynchronize(device.stream()));
  return host;
}

/// Runs a copy from one place to another, after `before`, with another value each time; returns the calls.
int run_copies(Device& device, RecordedSequence& sequence, const std::function<void()>& before) {
  const DeviceArray<int> to(std::vector<int>{0});
  int calls = 0;
  const DeviceArray<int> from(std::vector<int>{0});
  for (int i = 1; i <= 4; ++i) {
    // On the sequence's stream, which does not wait for others.
    CUDA_CHECK(cudaMemcpyAsync(from.data(), &i, sizeof i, cudaMemcpyHostToDevice, device.stream()));
    CUDA_CHECK(cudaStreamSynchronize(device.stream()));
    sequence.run([&] {
      ++calls;
      CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), sizeof(int), cudaMemcpyDeviceToDevice, device.stream()));
      before();
    });
    EXPECT_EQ(read(device, to), i);
  }
  return calls;
}

TEST(RecordedSequenceOnDevice, IsRecordedOnceAndReplayed) {
  Device device(0);
  RecordedSequence sequence(device);
  EXPECT_EQ(run_copies(device, sequence, [] {}), 2);
  EXPECT_TRUE(sequence.steady());
  EXPECT_TRUE(device.take_notes().empty());
}

TEST(RecordedSequenceOnDevice, WhatCannotBeRecordedIsLaunchedOneByOne) {
  Device device(0);
  RecordedSequence sequence(device);
  EXPECT_EQ(run_copies(device, sequence, [&] { CUDA_CHECK(cudaStreamSynchronize(device.stream())); }), 5);
  EXPECT_TRUE(sequence.steady());
  EXPECT_EQ(device.take_notes().size(), 1u);
  EXPECT_TRUE(device.take_notes().empty());
}

}  // namespace
}  // namespace ptrain::cuda
