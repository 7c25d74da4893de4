// SPDX-License-Identifier: Apache-2.0
//
// What a decision costs through the doors of C++ and C. Reads a request `decide` a line, and prints
// `<door> <microseconds>` for each door and request, one run; doors.py adds Python, and compares.
#include "jobcore/decide.hpp"
#include "jobcore/text.hpp"
#include "signalbox/jobcore.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace core = signalbox::core;

namespace {

std::string text_of(const rapidjson::Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

/// The request read once, as a C++ program keeps it.
class kept_records {
public:
    explicit kept_records(const std::string& request) {
        rapidjson::Document document;
        document.Parse(request.data(), request.size());
        job_ = *core::read_job(text_of(document["job"]));
        now_ = core::parse_time(document["now"].GetString()).value();
        for (const auto& child : document["children"].GetArray()) {
            const std::string_view kind = child["kind"].GetString();
            if (kind == "Pod") {
                pods_.push_back(core::decode_pod(text_of(child)).value());
            } else {
                const auto known = core::parse_child_kind(child["apiVersion"].GetString(), kind);
                children_.push_back(core::decode_child(known.value(), text_of(child)).value());
            }
        }
        for (const core::pod_record& pod : pods_) {
            pod_views_.push_back(&pod);
        }
        for (const core::child_record& child : children_) {
            child_views_.push_back(&child);
        }
    }
    void decide() const {
        (void)core::decide(job_, {pod_views_, child_views_, {}, {}, {}}, core::policy(), now_);
    }

private:
    core::job_object job_;
    core::instant now_{};
    std::deque<core::pod_record> pods_;
    std::deque<core::child_record> children_;
    std::vector<const core::pod_record*> pod_views_;
    std::vector<const core::child_record*> child_views_;
};

/// By the processor's time, which other programs do not change much; long enough for that clock.
void measure(std::string_view door, const std::function<void()>& work) {
    work();
    const std::clock_t start = std::clock();
    int n = 0;
    while (std::clock() - start < CLOCKS_PER_SEC / 10) {
        work();
        ++n;
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    fmt::print("{} {:.2f}\n", door, seconds * 1e6 / n);
}

void answered(int code, signalbox_jobcore_text& answer) {
    if (code != SIGNALBOX_JOBCORE_OK) {
        std::abort();
    }
    signalbox_jobcore_free(&answer);
}

}  // namespace

int main() {
    std::string request;
    while (std::getline(std::cin, request)) {
        const kept_records records(request);
        measure("C++-records", [&] { records.decide(); });
        measure("C++-text", [&] { (void)core::text::call(request); });
        std::shared_ptr<const core::compiled_job> kept;
        measure("C++-text-kept", [&] { (void)core::text::call(request, kept); });
        signalbox_jobcore_text answer;
        measure("C", [&] {
            answered(signalbox_jobcore_call(request.data(), request.size(), &answer), answer);
        });
        signalbox_jobcore_job* job = nullptr;
        if (signalbox_jobcore_open(&job) != SIGNALBOX_JOBCORE_OK) {
            return 1;
        }
        measure("C-handle", [&] {
            answered(
                signalbox_jobcore_job_call(job, request.data(), request.size(), &answer), answer
            );
        });
        signalbox_jobcore_close(job);
    }
    return 0;
}
