// SPDX-License-Identifier: Apache-2.0
#include "cli/live_job.hpp"

#include "cli/job_target.hpp"
#include "cli/settings.hpp"
#include "controller/definitions_wait.hpp"
#include "controller/resource_table.hpp"
#include "controller/served_kinds.hpp"
#include "manifests/json_edit.hpp"

#include <k8sio/client.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

using core::object_kind;
using k8sio::resource_type;

class reader {
public:
    reader(k8sio::client& api, std::string ns, std::string name, std::vector<core::job_kind> kinds)
        : api_(&api), ns_(std::move(ns)), name_(std::move(name)), kinds_(std::move(kinds)) {}

    asio::awaitable<void> run() {
        std::size_t tried = 0;
        while (tried < kinds_.size() && out_.error.empty()) {
            const core::job_kind kind = kinds_[tried++];
            co_await read_job(kind);
        }
        if (found_.empty() && out_.error.empty()) {
            out_.error =
                !unreadable_.empty() ? std::move(unreadable_)
                : served_
                    ? fmt::format("namespace {} has no training job {}", ns_, name_)
                    : fmt::format(
                          "the server does not serve {}; {}", core::api_version, how_to_install
                      );
        }
        if (!out_.error.empty()) {
            co_return;
        }
        co_await discover();
        for (const object_kind kind : listed_) {
            co_await list(kind);
        }
        out_.facts.now = std::chrono::time_point_cast<core::milliseconds>(api_->server_now());
    }

    live_read take() { return std::move(out_); }

private:
    void add(const resource_type& type, std::string json) {
        out_.objects.push_back(
            {type.api_version(), type.kind(), std::move(json), fmt::format("{}/{}", ns_, name_)}
        );
    }

    asio::awaitable<void> read_job(core::job_kind kind) {
        const resource_type& type = type_of(kind);
        k8sio::result<std::string> answer = co_await api_->get(type, ns_, name_);
        // A kind that nothing serves is answered without a Status that names an object.
        served_ = served_ || answer.has_value() || !answer.error().reason.empty();
        if (answer.has_value()) {
            found_.emplace_back(kind, manifests::string_at(*answer, "/metadata/uid"));
            add(type, std::move(*answer));
        } else if (answer.error().http_status == 403) {
            unreadable_ = answer.error().text();  // the job may be of a kind that may be read
        } else if (answer.error().http_status != 404) {
            out_.error = answer.error().text();
        }
    }

    asio::awaitable<void> discover() {
        core::capabilities served;
        listed_.push_back(object_kind::pod);
        for (const watched_kind& kind : watched_children()) {
            core::served answer = core::served::yes;
            if (kind.when == watched::if_served) {
                answer = co_await ask(*kind.type);
                served.set(kind.kind, answer);
            }
            if (answer == core::served::yes) {
                listed_.push_back(kind.kind);
            } else {
                out_.facts.complete.insert(kind.kind);
            }
        }
        out_.facts.served = served;
    }

    asio::awaitable<core::served> ask(const resource_type& type) {
        std::string target = "/apis/" + type.api_version();
        std::string none;
        const auto answer = co_await api_->raw("GET", std::move(target), none, none);
        core::served out = core::served::unknown;
        if (answer.has_value()) {
            out = find_in_discovery(*answer, type.plural()).value_or(core::served::unknown);
        } else if (answer.error().http_status == 404) {
            out = core::served::no;
        }
        co_return out;
    }

    /// Children of all jobs found; pods are indispensable, other kinds may be forbidden to read.
    asio::awaitable<void> list(object_kind kind) {
        std::size_t next = 0;
        std::string continue_token;
        while (next < found_.size()) {
            const resource_type& type = type_of(kind, found_[next].first);
            k8sio::list_options options;
            options.label_selector = "batch.tensorstack.dev/job-uid=" + found_[next].second;
            options.continue_token = std::move(continue_token);
            k8sio::result<k8sio::list_page> page = co_await api_->list(type, ns_, options);
            if (page.has_error()) {
                note_unlisted(kind, type, page.error());
                co_return;
            }
            for (std::string& item : page->items) {
                add(type, std::move(item));
            }
            continue_token = std::move(page->continue_token);
            if (continue_token.empty()) {
                ++next;
            }
        }
        out_.facts.complete.insert(kind);
    }

    void note_unlisted(object_kind kind, const resource_type& type, const k8sio::api_error& why) {
        std::string text = fmt::format("{} could not be listed: {}", type.plural(), why.text());
        if (kind == object_kind::pod) {
            out_.error = std::move(text);
        } else {
            out_.notes.push_back(std::move(text));
        }
    }

    k8sio::client* api_;
    std::string ns_;
    std::string name_;
    std::vector<core::job_kind> kinds_;
    std::vector<std::pair<core::job_kind, std::string>> found_;  ///< with their UIDs
    bool served_ = false;
    std::string unreadable_;  ///< why a kind may not be read
    std::vector<object_kind> listed_;
    live_read out_;
};

live_read refuse(std::string why) {
    live_read out;
    out.error = std::move(why);
    return out;
}

}  // namespace

live_read read_live(const cluster_options& cluster, const std::string& target, std::string ns) {
    std::optional<job_target> wanted = parse_job_target(target);
    if (!wanted) {
        return refuse(no_job_target(target));
    }
    asio::io_context loop(1);
    auto connection = k8sio::connect(loop.get_executor(), connect_to(cluster));
    if (connection.has_error()) {
        return refuse(connection.error().text());
    }
    if (ns.empty()) {
        ns = connection->ns();
    }
    reader reads(
        connection->api(), std::move(ns), std::move(wanted->name), std::move(wanted->kinds)
    );
    std::exception_ptr failed;
    asio::co_spawn(loop, reads.run(), [&](std::exception_ptr e) { failed = e; });
    loop.run();
    if (failed) {
        std::rethrow_exception(failed);
    }
    return reads.take();
}

}  // namespace signalbox::op::cli
