// Exchanges run on a separate stream: each starts when the compute stream has written its data, and the compute stream
// waits for all of them where the graph says so. The streams are connected only by events, so a step can be
// captured.
#include "core/cuda/library/nccl_collectives.h"

#include "core/base/errors.h"
#include "core/base/rank_slice.h"
#include "core/cuda/device/check.h"

#include <nccl.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

namespace ptrain::cuda {
namespace {

void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) fail("{}: {}", call, ncclGetErrorString(result));
}

ncclDataType_t nccl_type(DType dtype) {
  if (dtype == DType::i32) return ncclInt32;
  invariant(is_floating(dtype), "an exchange of other than floating values and 32-bit integers");
  return dtype == DType::bf16 ? ncclBfloat16 : dtype == DType::f16 ? ncclFloat16 : ncclFloat32;
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const Device& device, HostCollectives& host) : host_(host), compute_(device.stream()) {
    ncclUniqueId id{};
    if (host.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    host.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
    check(ncclCommInitRank(&communicator_, host.world_size(), id, host.rank()), "ncclCommInitRank");
    CUDA_CHECK(cudaStreamCreateWithFlags(&exchange_, cudaStreamNonBlocking));
    for (cudaEvent_t* event : {&ready_, &done_}) {
      CUDA_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    // When a rank is gone, kernels that wait for it would spin forever. NCCL ends them at once but returns only when no
    // recorded step refers to the communicator any more; those are freed with the training thread, which learns of the
    // failure when this call returns.
    on_failure_ = host.on_failure([this] {
      aborted_ = true;
      abort_ = std::thread([this] { ncclCommAbort(communicator_); });
    });
  }

  /// Plans that were recorded with it must be destroyed before.
  ~NcclCollectives() override {
    on_failure_.reset();
    if (abort_.joinable()) {
      abort_.join();
    } else {
      ncclCommDestroy(communicator_);
    }
    cudaEventDestroy(ready_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(exchange_);
  }

  int rank() const override { return host_.rank(); }
  int world_size() const override { return host_.world_size(); }

  void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) override {
    const ncclRedOp_t sum = reduction(factor);
    exchange("ncclAllReduce", [&] {
      return ncclAllReduce(data, data, static_cast<std::size_t>(count), nccl_type(dtype), sum, communicator_,
                           exchange_);
    });
  }

  void start_reduce_scatter(void* data, std::int64_t count, DType dtype, float factor) override {
    const ncclRedOp_t sum = reduction(factor);
    exchange_slices("ncclReduce", data, count, dtype, [&](void* slice, std::size_t size, int rank) {
      return ncclReduce(slice, slice, size, nccl_type(dtype), sum, rank, communicator_, exchange_);
    });
  }

  void start_all_gather(void* data, std::int64_t count, DType dtype) override {
    exchange_slices("ncclBroadcast", data, count, dtype, [&](void* slice, std::size_t size, int rank) {
      return ncclBroadcast(slice, slice, size, nccl_type(dtype), rank, communicator_, exchange_);
    });
  }

  void wait_all_reduces() override {
    CUDA_CHECK(cudaEventRecord(done_, exchange_));
    CUDA_CHECK(cudaStreamWaitEvent(compute_, done_, 0));
  }

  void note_progress() override { host_.note_progress(); }
  std::string_view engine() const override { return "nccl"; }
  bool adds_in_rank_order() const override { return false; }

 private:
  /// Makes `call` on the exchange stream once what the compute stream has written is there.
  template <typename Call>
  void exchange(const char* name, Call&& call) {
    CUDA_CHECK(cudaEventRecord(ready_, compute_));
    CUDA_CHECK(cudaStreamWaitEvent(exchange_, ready_, 0));
    const ncclResult_t result = aborted_ ? ncclSystemError : call();
    if (aborted_) host_.barrier();  // throws the failure
    check(result, name);
  }

  /// One group of calls, for every rank's slice: NCCL's own reduce-scatter and all-gather need slices of one size.
  template <typename Call>
  void exchange_slices(const char* name, void* data, std::int64_t count, DType dtype, Call&& call) {
    exchange(name, [&] {
      ncclResult_t result = ncclGroupStart();
      for (int rank = 0; rank < world_size() && result == ncclSuccess; ++rank) {
        const RankSlice slice = rank_slice(count, rank, world_size());
        if (slice.count() == 0) continue;
        result = call(static_cast<std::byte*>(data) + slice.begin * static_cast<std::int64_t>(element_size(dtype)),
                      static_cast<std::size_t>(slice.count()), rank);
      }
      const ncclResult_t ended = ncclGroupEnd();
      return result == ncclSuccess ? ended : result;
    });
  }

  ncclRedOp_t reduction(float factor) const {
    const bool mean = std::abs(factor * static_cast<float>(world_size()) - 1.0f) < 1e-6f;
    invariant(mean || factor == 1.0f, "a sum on GPUs is a sum or a mean");
    return mean ? ncclAvg : ncclSum;
  }

  HostCollectives& host_;
  cudaStream_t compute_, exchange_ = nullptr;
  cudaEvent_t ready_ = nullptr, done_ = nullptr;
  ncclComm_t communicator_ = nullptr;
  std::atomic<bool> aborted_ = false;
  std::thread abort_;
  std::shared_ptr<void> on_failure_;
};

}  // namespace

std::shared_ptr<Collectives> make_nccl_collectives(const Device& device, HostCollectives& host) {
  return std::make_shared<NcclCollectives>(device, host);
}

}  // namespace ptrain::cuda
