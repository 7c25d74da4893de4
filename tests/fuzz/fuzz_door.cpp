// SPDX-License-Identifier: Apache-2.0
//
// The door for C: any bytes as a request. By a single call, and by a handle that has been asked
// other things: lines of the input are requests.
#include "fuzz.hpp"
#include "signalbox/jobcore.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

using signalbox::fuzz::require;

namespace {

/// Checked, and given back.
std::string taken(int code, signalbox_jobcore_text& answer) {
    require(code == SIGNALBOX_JOBCORE_OK, "any bytes are answered");
    require(answer.data != nullptr && answer.data[answer.size] == '\0', "with a NUL behind it");
    require(std::strlen(answer.data) == answer.size, "and none inside");
    const std::string text(answer.data, answer.size);
    signalbox_jobcore_free(&answer);
    require(answer.data == nullptr, "what was given back is gone");
    rapidjson::Document document;
    document.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
    require(!document.HasParseError() && document.IsObject(), "the answer is a JSON object");
    require(
        document.HasMember("errors") != document.HasMember("operation"), "errors, or an answer"
    );
    return text;
}

std::string ask(std::string_view request) {
    signalbox_jobcore_text answer;
    const int code = signalbox_jobcore_call(request.data(), request.size(), &answer);
    return taken(code, answer);
}

std::string ask(signalbox_jobcore_job* job, std::string_view request) {
    signalbox_jobcore_text answer;
    const int code = signalbox_jobcore_job_call(job, request.data(), request.size(), &answer);
    return taken(code, answer);
}

signalbox_jobcore_job* opened() {
    signalbox_jobcore_job* job = nullptr;
    require(signalbox_jobcore_open(&job) == SIGNALBOX_JOBCORE_OK, "a handle is opened");
    return job;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest = signalbox::fuzz::text_of(data, size);
    signalbox_jobcore_job* const old = opened();
    do {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        // A copy of the very size, so that a byte read behind it is found.
        const std::string line(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::string single = ask(line);
        signalbox_jobcore_job* const fresh = opened();
        require(ask(fresh, line) == single, "a fresh handle answers as a single call");
        require(ask(fresh, line) == single, "and so it does again");
        signalbox_jobcore_close(fresh);
        (void)ask(old, line);  // it may know of an edit, and answer otherwise
    } while (!rest.empty());
    signalbox_jobcore_close(old);
    return 0;
}
