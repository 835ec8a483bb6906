// While ranks add up, nothing may be enqueued that waits for all of a device's work: the emulation ends a program that
// does it, so that every test over ranks is held to that.
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
  float value = 3;
  ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, communicator, stream), ncclSuccess);
  EXPECT_DEATH(cudaMalloc(&memory, 1), "memory is allocated while 1 collectives are in flight");
  EXPECT_DEATH(cudaMallocHost(&memory, 1), "memory is allocated while 1 collectives are in flight");
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess);
  cudaFree(memory);
  cudaStreamDestroy(stream);
  ncclCommDestroy(communicator);
}

}  // namespace
