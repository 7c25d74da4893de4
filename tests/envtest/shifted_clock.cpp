// SPDX-License-Identifier: Apache-2.0
//
// With LD_PRELOAD: the process has a clock that is SIGNALBOX_CLOCK_SHIFT seconds ahead. Its steady
// clock is as it was.
#include <sys/syscall.h>
#include <sys/time.h>

#include <cstdlib>
#include <ctime>

#include <unistd.h>

namespace {

long shift() {
    const char* const text = std::getenv("SIGNALBOX_CLOCK_SHIFT");
    return text == nullptr ? 0 : std::atol(text);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
    const long result = ::syscall(SYS_clock_gettime, clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        out->tv_sec += shift();
    }
    return static_cast<int>(result);
}

extern "C" int gettimeofday(timeval* out, void* zone) noexcept {
    const long result = ::syscall(SYS_gettimeofday, out, zone);
    if (result == 0) {
        out->tv_sec += shift();
    }
    return static_cast<int>(result);
}

extern "C" time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != nullptr) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
