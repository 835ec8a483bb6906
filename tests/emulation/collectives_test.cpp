// While ranks add up, nothing may be enqueued that waits for all of a device's work, and what they add is device
// memory: the emulation ends a program that does otherwise, so that every test over ranks checks that.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

namespace {

TEST(CollectivesDeathTest, NoMemoryIsAllocatedBesideThem) {
  ncclUniqueId id;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&communicator, 1, id, 0), ncclSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  void* value = nullptr;
  ASSERT_EQ(cudaMalloc(&value, sizeof(float)), cudaSuccess);
  ASSERT_EQ(ncclAllReduce(value, value, 1, ncclFloat32, ncclSum, communicator, stream), ncclSuccess);
  EXPECT_DEATH(cudaMalloc(&memory, 1), "memory is allocated while 1 collectives are in flight");
  EXPECT_DEATH(cudaMallocHost(&memory, 1), "memory is allocated while 1 collectives are in flight");
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess);
  cudaFree(memory);
  cudaFree(value);
  cudaStreamDestroy(stream);
  ncclCommDestroy(communicator);
}

TEST(CollectivesDeathTest, OnlyDeviceMemoryIsSummed) {
  ncclUniqueId id;
  ncclComm_t communicator = nullptr;
  void *host = nullptr, *device = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&communicator, 1, id, 0), ncclSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 1024), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, 1024), cudaSuccess);
  const auto sum = [&](void* memory, std::size_t count) {
    ncclAllReduce(memory, memory, count, ncclFloat32, ncclSum, communicator, nullptr);
  };
  EXPECT_DEATH(sum(host, 1), "what is summed .* is in the host's memory");
  EXPECT_DEATH(sum(device, 257), "what is summed .* reaches beyond its allocation");
  EXPECT_DEATH(sum(static_cast<char*>(device) + 2, 1), "what is summed .* is not aligned");
  cudaFreeHost(host);
  cudaFree(device);
  ncclCommDestroy(communicator);
}

}  // namespace
