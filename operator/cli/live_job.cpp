// SPDX-License-Identifier: Apache-2.0
#include "cli/live_job.hpp"

#include "cli/cluster_session.hpp"
#include "cli/job_lookup.hpp"
#include "controller/resource_table.hpp"
#include "controller/served_kinds.hpp"

#include <k8sio/client.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

using core::object_kind;
using k8sio::resource_type;

class reader {
public:
    reader(k8sio::client& api, const std::string& ns, const job_target& target)
        : api_(&api), ns_(ns), name_(target.name), lookup_(api, ns, target) {}

    asio::awaitable<void> run() {
        job_lookup& jobs = lookup_;
        co_await jobs.run();
        out_.error = lookup_.problem();
        if (!out_.error.empty()) {
            co_return;
        }
        for (found_job& job : lookup_.found()) {
            add(type_of(job.kind), std::move(job.json));
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

    asio::awaitable<void> discover() {
        core::capabilities served;
        listed_.push_back(object_kind::pod);
        for (const watched_kind& kind : watched_children()) {
            core::served answer = core::served::yes;
            if (is_listed(*kind.type)) {
                answer = core::served::no;
            } else if (kind.when == watched::if_served) {
                const auto found = co_await k8sio::ask_discovery(*api_, *kind.type);
                answer = served_by(found);
            }
            if (kind.when == watched::if_served) {
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

    /// In a version that goes first, as the operator takes it.
    bool is_listed(const resource_type& type) const {
        return std::ranges::any_of(listed_, [&](object_kind other) {
            return is_same_resource(type_of(other, {}), type);
        });
    }

    /// Children of all jobs found; pods are indispensable, other kinds may be forbidden to read.
    asio::awaitable<void> list(object_kind kind) {
        std::size_t next = 0;
        while (next < lookup_.found().size()) {
            const found_job& job = lookup_.found()[next++];
            const resource_type& type = type_of(kind, job.kind);
            const std::function<void(std::string)> take = [&](std::string json) {
                add(type, std::move(json));
            };
            k8sio::list_options options;
            options.label_selector = children_of(job.uid);
            const auto wrong = co_await list_each(*api_, type, ns_, options, take);
            if (wrong) {
                note_unlisted(kind, type, *wrong);
                co_return;
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
    job_lookup lookup_;
    std::vector<object_kind> listed_;
    live_read out_;
};

live_read refuse(std::string why) {
    live_read out;
    out.error = std::move(why);
    return out;
}

}  // namespace

live_read read_live(
    const cluster_options& cluster, const std::string& target, const std::string& ns
) {
    const std::optional<job_target> wanted = parse_job_target(target);
    if (!wanted) {
        return refuse(no_job_target(target));
    }
    cluster_session session(cluster, ns);
    if (!session.problem().empty()) {
        return refuse(session.problem());
    }
    reader reads(session.api(), session.ns(), *wanted);
    session.run(reads.run());
    return reads.take();
}

}  // namespace signalbox::op::cli
