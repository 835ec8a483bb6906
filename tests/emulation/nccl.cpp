// NCCL as far as ranks that are processes of one machine call it: sums in rank order and broadcasts, through shared
// memory.
#include "core/base/dtype.h"
#include "tests/emulation/emulated_stream.h"
#include "tests/emulation/pointer_checks.h"

#include <fcntl.h>
#include <nccl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>

namespace {

constexpr std::size_t slot_bytes = std::size_t{1} << 20;

/// At the start of the shared memory; zeroed as the kernel hands it out. A slot for each rank follows.
struct Meeting {
  std::atomic<int> arrived, generation;
  std::atomic<bool> aborted;
};

}  // namespace

/// What ncclComm_t points to.
struct ncclComm {
  int ranks, rank;
  std::size_t bytes;
  Meeting* meeting;
  std::shared_ptr<int> recorded = std::make_shared<int>();  // shared with what is recorded with this communicator

  char* slot(int of) const { return reinterpret_cast<char*>(meeting + 1) + static_cast<std::size_t>(of) * slot_bytes; }

  void barrier() const {
    const int generation = meeting->generation;
    if (++meeting->arrived == ranks) {
      meeting->arrived = 0;
      ++meeting->generation;
    }
    while (meeting->generation == generation && !meeting->aborted) sched_yield();
  }

  /// On every rank, or on `root` alone.
  template <typename T>
  void reduce(T* data, std::size_t count, float factor, std::optional<int> root) const {
    constexpr std::size_t most = slot_bytes / sizeof(T);
    for (std::size_t first = 0; first < count && !meeting->aborted; first += most) {
      const std::size_t part = std::min(most, count - first);
      std::copy_n(data + first, part, reinterpret_cast<T*>(slot(rank)));
      barrier();
      for (std::size_t i = 0; i < part && root.value_or(rank) == rank; ++i) {
        float sum = 0;
        for (int r = 0; r < ranks; ++r) sum += static_cast<float>(reinterpret_cast<const T*>(slot(r))[i]);
        data[first + i] = T(factor * sum);
      }
      barrier();
    }
  }

  void broadcast(char* data, std::size_t size, int root) const {
    for (std::size_t first = 0; first < size && !meeting->aborted; first += slot_bytes) {
      const std::size_t part = std::min(slot_bytes, size - first);
      if (rank == root) std::copy_n(data + first, part, slot(root));
      barrier();
      std::copy_n(slot(root), part, data + first);
      barrier();
    }
  }
};

extern "C" {

const char* ncclGetErrorString(ncclResult_t) { return "an error of the emulation"; }
ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  std::snprintf(id->internal, sizeof id->internal, "/emulated-nccl-%08x%08x", random(), random());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  const int file = shm_open(id.internal, O_CREAT | O_RDWR, 0600);
  const std::size_t bytes = sizeof(Meeting) + static_cast<std::size_t>(ranks) * slot_bytes;
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return ncclSystemError;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  *communicator = new ncclComm{ranks, rank, bytes, static_cast<Meeting*>(memory)};
  (*communicator)->barrier();
  if (rank == 0) shm_unlink(id.internal);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  munmap(communicator->meeting, communicator->bytes);
  delete communicator;
  return ncclSuccess;
}

/// Ends sums that are under way, and returns when nothing recorded refers to the communicator any more.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->meeting->aborted = true;
  while (communicator->recorded.use_count() > 1) usleep(1000);
  return ncclCommDestroy(communicator);
}

}  // extern "C"

namespace {

ncclResult_t reduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                    std::optional<int> root, ncclComm_t communicator, cudaStream_t stream) {
  if (from != to || (op != ncclSum && op != ncclAvg)) return ncclInvalidArgument;
  emulation::require_device_memory("what is summed", to, count * (type == ncclFloat32 ? 4 : 2),
                                   type == ncclFloat32 ? 4 : 2);
  const float factor = op == ncclAvg ? 1.0f / static_cast<float>(communicator->ranks) : 1.0f;
  emulation::enqueue(stream, [=, recorded = communicator->recorded] {
    ++emulation::collectives;
    if (type == ncclFloat32) communicator->reduce(static_cast<float*>(to), count, factor, root);
    if (type == ncclFloat16) communicator->reduce(static_cast<ptrain::f16*>(to), count, factor, root);
    if (type == ncclBfloat16) communicator->reduce(static_cast<ptrain::bf16*>(to), count, factor, root);
  });
  if (stream->origin == nullptr) stream->collectives = emulation::collectives;
  return type == ncclFloat32 || type == ncclFloat16 || type == ncclBfloat16 ? ncclSuccess : ncclInvalidArgument;
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream) {
  return reduce(from, to, count, type, op, std::nullopt, communicator, stream);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  return reduce(from, to, count, type, op, root, communicator, stream);
}

ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t element = type == ncclFloat32 ? 4 : 2;
  if (from != to || root < 0 || root >= communicator->ranks) return ncclInvalidArgument;
  emulation::require_device_memory("what is broadcast", to, count * element, element);
  emulation::enqueue(stream, [=, recorded = communicator->recorded] {
    ++emulation::collectives;
    communicator->broadcast(static_cast<char*>(to), count * element, root);
  });
  if (stream->origin == nullptr) stream->collectives = emulation::collectives;
  return ncclSuccess;
}

}  // extern "C"
