// NVIDIA's management library for tests: one GPU, 0000:3b:00.0, at 400.5 W under its power cap, that uses two joules
// between any two looks and does not know its temperature.
#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return std::strcmp(id, "0000:3b:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 400500;
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  static unsigned long long used = 1000000;
  *millijoules = used += 2000;
  return 0;
}

int nvmlDeviceGetClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1701 : 2602;
  return 0;
}

int nvmlDeviceGetTemperature(void*, int, unsigned*) { return 3; }

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4 | 0x1;
  return 0;
}

}  // extern "C"
