// A GPU as cuDNN's device property descriptor describes one, for plans where there is none.
#pragma once

namespace ptrain {

inline constexpr const char* described_h200 =
    R"({"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,)"
    R"("isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
    R"("l2CacheSize":62914560,"totalGlobalMem":150000000000,"deviceName":"NVIDIA H200"})";

}  // namespace ptrain
