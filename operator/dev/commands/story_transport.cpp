// SPDX-License-Identifier: Apache-2.0
#include "commands/story_transport.hpp"

#include "manifests/json_edit.hpp"

#include <jobcore/schema.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::op::stories {

namespace {

k8sio::api_error gone(const k8sio::http_request& request) {
    k8sio::api_error error;
    error.code = k8sio::errc::cancelled;
    error.method = request.method;
    error.path = request.target;
    return error;
}

/// The kind of a resource; that of the job for all of ours.
std::optional<core::object_kind> kind_of_plural(std::string_view plural) {
    for (const core::object_kind kind : core::all_child_kinds()) {
        if (kind->plural == plural) {
            return kind;
        }
    }
    const bool job = std::ranges::any_of(core::all_job_kinds, [&](core::job_kind kind) {
        return core::plural(kind) == plural;
    });
    return job ? std::optional(core::object_kind::job) : std::nullopt;
}

std::string verb_of(std::string_view method) {
    return method == "POST"     ? "create"
           : method == "DELETE" ? "delete"
           : method == "GET"    ? "confirm"
                                : "patch";
}

/// What a request does to a child or to the job; nothing of other requests.
std::optional<asked_action> read_action(const k8sio::http_request& request) {
    constexpr std::string_view place = "/namespaces/default/";
    const std::string_view target(request.target);
    const std::size_t at = target.find(place);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view rest = target.substr(at + place.size());
    rest = rest.substr(0, rest.find('?'));
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const auto kind = kind_of_plural(rest.substr(0, slash));
    std::string_view name = rest.substr(std::min(slash + 1, rest.size()));
    // The status of a child is an action (BEHAVIOUR.md 12.15), that of the job is a decision's.
    constexpr std::string_view status = "/status";
    if (kind && *kind != core::object_kind::job && name.ends_with(status)) {
        name.remove_suffix(status.size());
    }
    if (!kind || name.find('/') != std::string_view::npos) {
        return std::nullopt;
    }
    // A read of one pod is the live read that a decision has asked for.
    if (request.method == "GET" && (*kind != core::object_kind::pod || name.empty())) {
        return std::nullopt;
    }
    asked_action out{*kind, {}};
    out.what.verb = verb_of(request.method);
    out.what.kind = core::to_string(*kind);
    out.what.name =
        name.empty() ? manifests::string_at(request.body, "/metadata/name") : std::string(name);
    const std::string type = manifests::string_at(request.body, "/metadata/labels/replica-type");
    if (*kind == core::object_kind::pod && !type.empty()) {
        out.what.replica = fmt::format(
            "{}-{}", type, manifests::string_at(request.body, "/metadata/labels/replica-index")
        );
    }
    return out;
}

/// What has the name that a creation wanted: no child of the job.
k8sio::http_response object_of_another(std::string_view target) {
    k8sio::http_response out;
    out.status = 200;
    out.headers.emplace_back("Content-Type", "application/json");
    out.body = fmt::format(
        R"({{"metadata":{{"name":{},"namespace":"default","uid":"of-another"}}}})",
        core::json_string(target.substr(target.rfind('/') + 1))
    );
    return out;
}

}  // namespace

k8sio::http_response refusal_answer(const refusal_rule& rule) {
    k8sio::http_response out;
    const bool dying = rule.reason == "NamespaceTerminating";
    out.status = rule.code;
    out.headers.emplace_back("Content-Type", "application/json");
    out.body = fmt::format(
        R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":{},"reason":{},"code":{}{}}})",
        core::json_string(rule.message),
        core::json_string(dying ? "Forbidden" : rule.reason),
        rule.code,
        dying ? R"(,"details":{"causes":[{"reason":"NamespaceTerminating"}]})" : ""
    );
    return out;
}

/// Passes pieces on and lets itself be closed when the process dies.
class story_transport::stream final : public k8sio::response_stream {
public:
    stream(story_transport& owner, std::unique_ptr<k8sio::response_stream> inner)
        : owner_(&owner), inner_(std::move(inner)) {
        owner_->streams_.push_back(this);
    }
    ~stream() override { std::erase(owner_->streams_, this); }

    int status() const override { return inner_->status(); }
    std::string_view header(std::string_view name) const override { return inner_->header(name); }
    boost::asio::awaitable<k8sio::result<std::string_view>> read_some() override {
        return inner_->read_some();
    }
    void close() override { inner_->close(); }

private:
    story_transport* owner_;
    std::unique_ptr<k8sio::response_stream> inner_;
};

void story_transport::die() {
    dead_ = true;
    const auto streams = streams_;
    for (stream* s : streams) {
        s->close();
    }
}

boost::asio::awaitable<k8sio::result<k8sio::http_response>> story_transport::exchange(
    const k8sio::http_request& request, k8sio::steady_time deadline
) {
    const std::optional<asked_action> action = read_action(request);
    if (dead_) {
        co_return gone(request);
    }
    if (action) {
        if (auto refused = actions_(*action)) {
            const std::string collection = request.target.substr(0, request.target.find('?'));
            if (refused->status == 409 && action->what.verb == "create") {
                foreign_.insert(collection + "/" + action->what.name);
            }
            co_return *std::move(refused);
        }
    }
    if (request.method == "GET" && foreign_.erase(request.target) > 0) {
        co_return object_of_another(request.target);
    }
    auto answer = co_await inner_->exchange(request, deadline);
    if (request.method != "GET") {
        written_();
    }
    if (dead_) {
        co_return gone(request);
    }
    co_return answer;
}

boost::asio::awaitable<k8sio::result<std::unique_ptr<k8sio::response_stream>>>
story_transport::open_stream(const k8sio::http_request& request, std::chrono::nanoseconds idle) {
    std::unique_ptr<k8sio::response_stream> opened;
    if (dead_) {
        co_return gone(request);
    }
    auto answer = co_await inner_->open_stream(request, idle);
    if (answer.has_error()) {
        co_return std::move(answer).error();
    }
    if (dead_) {
        co_return gone(request);
    }
    opened = std::make_unique<stream>(*this, std::move(*answer));
    co_return opened;
}

}  // namespace signalbox::op::stories
