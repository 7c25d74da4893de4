// SPDX-License-Identifier: Apache-2.0
#include "commands/dev_watch.hpp"

#include "cli/hindrance.hpp"
#include "cli/log_lines.hpp"

#include <jobcore/account.hpp>
#include <jobcore/observed.hpp>
#include <jobcore/spec.hpp>
#include <jobcore/status.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <vector>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

/// A line of a log that goes on without an end is shown in pieces.
constexpr std::size_t longest_line = 4096;

class fields {
public:
    explicit fields(std::string_view json) {
        document_.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    }
    std::string text(const char* pointer) const {
        const rapidjson::Value* v =
            document_.HasParseError() ? nullptr : rapidjson::Pointer(pointer).Get(document_);
        return v != nullptr && v->IsString() ? v->GetString() : "";
    }
    std::int64_t number(const char* pointer) const {
        const rapidjson::Value* v =
            document_.HasParseError() ? nullptr : rapidjson::Pointer(pointer).Get(document_);
        return v != nullptr && v->IsInt64() ? v->GetInt64() : 0;
    }

private:
    rapidjson::Document document_;
};

}  // namespace

std::string display_name(std::string_view ns, std::string_view name) {
    return ns == "default" ? std::string(name) : fmt::format("{}/{}", ns, name);
}

void job_watch::upsert(std::string_view json) {
    const fields object(json);
    const core::job_status status = core::parse_status(json);
    job_row row;
    row.name = display_name(object.text("/metadata/namespace"), object.text("/metadata/name"));
    row.kind = object.text("/kind");
    row.phase = status.phase;
    row.ready = status.ready;
    row.restarts = status.backoff_count;
    row.reason = status.reason;
    row.duration = status.duration;
    row.hindrance = row.message = hindrance(status);
    const core::condition* failed = core::find_condition(status, "Failed");
    if (status.phase == core::job_phase::failed && failed != nullptr) {
        row.message = failed->message;
    }
    if (status.start_time && status.completion_time) {
        row.took = std::chrono::duration_cast<std::chrono::milliseconds>(
            *status.completion_time - *status.start_time
        );
    }
    if (status.progress && status.progress->last_updated) {
        row.training = core::training_in_words(status, *status.progress->last_updated);
        row.percentage = status.progress->percentage;
    }
    row.runs = status.aggregate && status.aggregate->running > 0;
    to_.job(object.text("/metadata/uid"), std::move(row), elapsed_());
    changed_();
}

void job_watch::remove(std::string_view json) {
    to_.job_gone(fields(json).text("/metadata/uid"), elapsed_());
    changed_();
}

void event_watch::upsert(std::string_view json) {
    const fields object(json);
    if (!core::parse_job_kind(object.text("/involvedObject/kind"))) {
        return;
    }
    job_event seen;
    seen.type = object.text("/type");
    seen.reason = object.text("/reason");
    seen.message = object.text("/message");
    seen.from = object.text("/source/component");
    if (seen.from.empty()) {
        seen.from = object.text("/reportingComponent");
    }
    seen.count = std::max<std::int64_t>(1, object.number("/count"));
    seen.at = elapsed_();
    to_.event(
        display_name(object.text("/involvedObject/namespace"), object.text("/involvedObject/name")),
        std::move(seen)
    );
    changed_();
}

void log_watch::upsert(std::string_view json) {
    const auto pod = core::decode_pod(json);
    // Before it has started there is no log to ask for.
    if (stopping_ || !pod || pod->containers.empty() || pod->phase == core::pod_phase::pending ||
        !known_.insert(pod->uid).second) {
        return;
    }
    source from;
    from.ns = fields(json).text("/metadata/namespace");
    from.pod = pod->name;
    from.job_uid = pod->owner_uid;
    from.replica = replica_name(*pod);
    from.container = training_container(*pod);
    from.has_sshd = is_sshd(json);
    ++reading_;
    asio::co_spawn(executor_, read(std::move(from)), [this](std::exception_ptr broken) {
        if (broken) {
            std::rethrow_exception(broken);
        }
        --reading_;
        ended_.notify();
    });
}

asio::awaitable<void> log_watch::read(source from) {
    k8sio::log_query query;
    query.container = from.container;
    query.follow = true;
    auto opened = co_await api_.open_log(from.ns, from.pod, query);
    if (opened.has_error() || stopping_) {
        co_return;  // the pod went; what it wrote is told by its job's status
    }
    const std::unique_ptr<k8sio::response_stream> stream = std::move(*opened);
    open_.insert(stream.get());
    std::string held;
    for (;;) {
        const auto piece = co_await stream->read_some();
        if (piece.has_error() || piece->empty()) {
            break;
        }
        take(from, held, *piece);
    }
    open_.erase(stream.get());
    if (!held.empty()) {
        tell(from, held);
    }
}

void log_watch::take(const source& from, std::string& held, std::string_view bytes) {
    held += bytes;
    const std::size_t last = held.rfind('\n');
    std::size_t begin = 0;
    // Of lines that are not printed only the last one is ever seen: no table is drawn for others.
    if (!to_.shows_logs() && last != std::string::npos && last > 0) {
        begin = held.rfind('\n', last - 1) + 1;
    }
    for (std::size_t end = held.find('\n', begin); end != std::string::npos;
         end = held.find('\n', begin)) {
        tell(from, std::string_view(held).substr(begin, end - begin));
        begin = end + 1;
    }
    held.erase(0, begin);
    const std::string_view bar = last_drawn(held);
    if (!bar.empty() && bar.size() <= longest_line) {
        to_.drawn(from.job_uid, from.replica, std::string(bar), elapsed_());
        held.erase(0, static_cast<std::size_t>(bar.data() - held.data()));
    } else if (held.size() > longest_line) {
        tell(from, std::exchange(held, {}));
    }
}

void log_watch::tell(const source& from, std::string_view line) {
    if (!from.has_sshd || !is_probe_noise(line)) {
        to_.log(from.job_uid, from.replica, std::string(last_drawn(line)), elapsed_());
    }
}

asio::awaitable<void> log_watch::stop() {
    const std::set<k8sio::response_stream*> open = open_;
    stopping_ = true;
    for (k8sio::response_stream* stream : open) {
        stream->close();
    }
    while (reading_ > 0) {
        co_await ended_.wait();
    }
}

}  // namespace signalbox::op::cli
