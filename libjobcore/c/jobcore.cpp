// SPDX-License-Identifier: Apache-2.0
//
// The door for C: the text API with lengths, codes and owners; no exception leaves it.
#include "signalbox/jobcore.h"

#include "jobcore/decide.hpp"
#include "jobcore/text.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace core = signalbox::core;

struct signalbox_jobcore_job {
    std::shared_ptr<const core::compiled_job> kept;
};

namespace {

constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max();

/// The code for what `work` throws.
template <class Work>
int guarded(Work work) noexcept {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return SIGNALBOX_JOBCORE_NO_MEMORY;
    } catch (...) {
        return SIGNALBOX_JOBCORE_DEFECT;
    }
}

int give(const std::string& text, signalbox_jobcore_text& answer) {
    auto* data = static_cast<char*>(std::malloc(text.size() + 1));
    if (data == nullptr) {
        return SIGNALBOX_JOBCORE_NO_MEMORY;
    }
    std::memcpy(data, text.c_str(), text.size() + 1);
    answer = {data, text.size()};
    return SIGNALBOX_JOBCORE_OK;
}

/// `call` on the request, if there is one and a place for its answer.
template <class Call>
int answered(const char* request, std::size_t size, signalbox_jobcore_text* answer, Call call) {
    if (answer == nullptr) {
        return SIGNALBOX_JOBCORE_BAD_ARGUMENT;
    }
    *answer = {nullptr, 0};
    if ((request == nullptr && size > 0) || size > most_bytes) {
        return SIGNALBOX_JOBCORE_BAD_ARGUMENT;
    }
    const std::string_view text(size == 0 ? "" : request, size);
    return guarded([&] { return give(call(text), *answer); });
}

}  // namespace

const char* signalbox_jobcore_version() {
    return SIGNALBOX_JOBCORE_VERSION;
}

const char* signalbox_jobcore_api_version() {
    return core::text::api_version.data();  // of a literal
}

int signalbox_jobcore_call(const char* request, std::size_t size, signalbox_jobcore_text* answer) {
    return answered(request, size, answer, [](std::string_view text) {
        return core::text::call(text);
    });
}

void signalbox_jobcore_free(signalbox_jobcore_text* answer) {
    if (answer != nullptr) {
        std::free(answer->data);
        *answer = {nullptr, 0};
    }
}

int signalbox_jobcore_open(signalbox_jobcore_job** job) {
    if (job == nullptr) {
        return SIGNALBOX_JOBCORE_BAD_ARGUMENT;
    }
    *job = new (std::nothrow) signalbox_jobcore_job();
    return *job == nullptr ? SIGNALBOX_JOBCORE_NO_MEMORY : SIGNALBOX_JOBCORE_OK;
}

int signalbox_jobcore_job_call(
    signalbox_jobcore_job* job,
    const char* request,
    std::size_t size,
    signalbox_jobcore_text* answer
) {
    if (job == nullptr) {
        if (answer != nullptr) {
            *answer = {nullptr, 0};
        }
        return SIGNALBOX_JOBCORE_BAD_ARGUMENT;
    }
    return answered(request, size, answer, [job](std::string_view text) {
        return core::text::call(text, job->kept);
    });
}

void signalbox_jobcore_close(signalbox_jobcore_job* job) {
    delete job;
}
