// SPDX-License-Identifier: Apache-2.0
//
// The whole operator in a story: on an embedded API server, in one thread and virtual time.
#include "cli/stories/operator_cluster.hpp"

#include "commands/stand_ins.hpp"
#include "commands/story_transport.hpp"
#include "controller/controller.hpp"
#include "controller/resource_table.hpp"
#include "manifests/json_edit.hpp"
#include "pods/binding.hpp"

#include <jobcore/schema.hpp>
#include <k8sio/client.hpp>
#include <k8sio/clock.hpp>
#include <k8sio/server/api_server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace signalbox::op::stories {

namespace {

namespace asio = boost::asio;

constexpr const char* the_namespace = "default";
/// The operator gathers what it observes, and answers travel: it has acted when so long nothing was
/// written.
constexpr core::milliseconds quiet{200};
/// But it is not waited for longer than that: somebody may write all the time.
constexpr core::milliseconds soon{2000};

/// A server with our definitions, compiled once for all stories.
struct our_kinds {
    our_kinds() {
        for (const core::job_kind kind : core::all_job_kinds) {
            const auto added = server.add_custom_resource(core::crd_json(kind));
            if (added.has_error()) {
                throw story_stopped(added.error().text());
            }
        }
    }

    static k8sio::server::server_options options() {
        k8sio::server::server_options out;
        out.uid_seed = 0xdef;
        return out;
    }

    asio::io_context loop;
    k8sio::virtual_clock time{loop.get_executor(), k8sio::wall_time()};
    k8sio::server::api_server server{loop.get_executor(), time, options()};
};

/// One process of the operator.
struct operator_process {
    std::unique_ptr<story_transport> way;
    std::unique_ptr<k8sio::client> api;
    std::unique_ptr<controller> work;
    std::shared_ptr<bool> ended = std::make_shared<bool>(false);
};

class operator_cluster final : public cluster {
public:
    explicit operator_cluster(const story& of)
        : policy_(of.policy),
          time_(loop_.get_executor(), k8sio::wall_time(story_begin())),
          server_(loop_.get_executor(), time_),
          way_of_user_(server_.connect()),
          user_(*way_of_user_, time_) {
        static const our_kinds kinds;
        server_.share_custom_resources(kinds.server);
        for (const core::served_kind& kind : of.served.all()) {
            serve(kind.kind);
        }
        kind_ = core::parse_job_kind(manifests::string_at(of.job, "/kind")).value();
        name_ = manifests::string_at(of.job, "/metadata/name");
        // The story's first steps may be about the operator's first writes: it starts with them.
        job_to_create_ = manifests::without(
            of.job, {"/metadata/uid", "/metadata/creationTimestamp", "/metadata/generation"}
        );
        job_to_create_ =
            manifests::with_string(job_to_create_, "/metadata/namespace", the_namespace);
    }

    ~operator_cluster() override {
        end_process();
        const auto limit = time_.steady_now() + std::chrono::seconds(120);
        while (!dead_.empty() && time_.has_pending() && time_.next_at() < limit) {
            time_.advance_to_next();
            poll();
            std::erase_if(dead_, [](const auto& process) { return *process->ended; });
        }
        server_.stop();
        poll();
    }

    core::instant now() const override {
        return std::chrono::time_point_cast<core::milliseconds>(time_.wall_now());
    }
    core::milliseconds slack() const override { return soon; }

    std::optional<core::instant> next_due() override {
        if (!time_.has_pending()) {
            return std::nullopt;
        }
        const auto next = std::max(time_.next_at(), time_.steady_now()) - time_.steady_now();
        return now() + std::chrono::ceil<core::milliseconds>(next);
    }

    void go_to(core::instant when) override {
        advance(when - now());
        settle();
    }

    void settle() override {
        begin();
        const core::instant end = now() + soon;
        core::instant quiet_until = now() + quiet;
        while (now() < std::min(end, quiet_until)) {
            const std::size_t before = changes_;
            bury_pods();
            step(std::min(end, quiet_until));
            quiet_until = changes_ != before ? now() + quiet : quiet_until;
        }
    }

    std::string job() override {
        look();
        return job_;
    }
    std::vector<child_object> children() override {
        look();
        return children_;
    }
    std::vector<told_event> events() override {
        look();
        return events_;
    }
    const std::vector<done_action>& actions() const override { return actions_; }

    std::vector<core::explain_line> explain() override {
        begin();
        for (const explained_job& job : process_->work->explain(the_namespace, name_)) {
            return job.lines;
        }
        return {};
    }

    std::string change_job(const std::string& patch) override {
        return changed(finish(user_.merge_patch(type_of(kind_), the_namespace, name_, patch)));
    }

    std::string change_child(
        core::object_kind kind, const std::string& name, const std::string& patch
    ) override {
        const bool status = parsed(patch).HasMember("status");
        if (kind == core::object_kind::pod && status) {
            bind(name);
        }
        return changed(finish(user_.merge_patch(
            type_of(kind, kind_), the_namespace, name, patch, status ? "status" : ""
        )));
    }

    std::string remove_child(core::object_kind kind, const std::string& name, bool at_once)
        override {
        if (at_once) {
            staying_.erase(name);
        }
        k8sio::delete_options options;
        if (at_once) {
            options.grace_seconds = 0;
        }
        return changed(finish(user_.remove(type_of(kind, kind_), the_namespace, name, options)));
    }

    void stay_terminating(const std::string& pod) override { staying_.insert(pod); }
    void refuse(const refusal_rule& rule) override { refusals_.push_back(rule); }

    void serve(core::object_kind kind) override {
        const auto added = server_.add_custom_resource(cli::stand_in(kind));
        if (added.has_error()) {
            throw story_stopped(added.error().text());
        }
        served_.insert(kind);
    }

    void write_log(const std::string&, const std::string&) override {}  // no one reads it here

    void restart_operator() override {
        end_process();
        start_process();
        ++changes_;
    }

private:
    void poll() {
        do {
            loop_.restart();
        } while (loop_.poll() > 0);
    }

    /// To the next time at which something is due, not beyond `limit`.
    void step(core::instant limit) {
        poll();
        auto by = std::chrono::nanoseconds(limit - now());
        if (time_.has_pending()) {
            by = std::min(
                by, std::max(time_.next_at() - time_.steady_now(), std::chrono::nanoseconds(0))
            );
        }
        time_.advance(std::max(by, std::chrono::nanoseconds(core::milliseconds(1))));
        poll();
        std::erase_if(dead_, [](const auto& process) { return *process->ended; });
    }

    void advance(core::milliseconds by) {
        const core::instant end = now() + by;
        while (now() < end) {
            step(end);
            bury_pods();
        }
    }

    template <class T>
    T finish(asio::awaitable<T> operation) {
        std::optional<T> value;
        asio::co_spawn(loop_, std::move(operation), [&value](std::exception_ptr broken, T result) {
            if (broken) {
                std::rethrow_exception(broken);
            }
            value.emplace(std::move(result));
        });
        for (int i = 0; i < 1000 && !value; ++i) {
            poll();
            if (!value) {
                step(now() + core::milliseconds(10));
            }
        }
        if (!value) {
            throw story_stopped("a request does not end");
        }
        return std::move(*value);
    }

    template <class T>
    std::string changed(const k8sio::result<T>& answer) {
        ++changes_;
        return answer.has_error() ? answer.error().text() : std::string();
    }

    /// The job and its operator, once.
    void begin() {
        if (job_to_create_.empty()) {
            return;
        }
        start_process();
        const std::string job = std::exchange(job_to_create_, std::string());
        const auto made = finish(user_.create(type_of(kind_), the_namespace, job));
        if (made.has_error()) {
            throw story_stopped(made.error().text());
        }
        ++changes_;
    }

    void start_process() {
        process_ = std::make_unique<operator_process>();
        process_->way = std::make_unique<story_transport>(
            server_.connect(),
            [this](const asked_action& asked) { return judge(asked); },
            [this] { ++changes_; }
        );
        process_->api = std::make_unique<k8sio::client>(*process_->way, time_);
        controller_options options;
        options.without = {};  // whatever scheduler the job asks for
        process_->work = std::make_unique<controller>(
            loop_.get_executor(), *process_->api, policy_, std::move(options)
        );
        asio::co_spawn(loop_, process_->work->run(), [ended = process_->ended](std::exception_ptr) {
            *ended = true;
        });
    }

    /// A dead process can do nothing any more, but its coroutines take a while to end.
    void end_process() {
        if (process_) {
            process_->way->die();
            process_->work->stop();
            dead_.push_back(std::move(process_));
        }
    }

    std::optional<k8sio::http_response> judge(const asked_action& asked) {
        done_action done = asked.what;
        done.time = now();
        if (done.replica.empty() && asked.kind == core::object_kind::pod) {
            done.replica = replicas_[done.name];
        }
        ++changes_;
        for (refusal_rule& rule : refusals_) {
            const bool write = done.verb == "create" || done.verb == "patch";
            if (write && is_of(rule, done, asked.kind)) {
                rule.times -= rule.times > 0 ? 1 : 0;
                tell(fmt::format("{} {} {} is refused", done.verb, done.kind, done.name));
                return refusal_answer(rule);
            }
        }
        replicas_[done.name] = done.replica;
        tell(fmt::format("{} {} {}", done.verb, done.kind, done.name));
        actions_.push_back(std::move(done));
        return std::nullopt;
    }

    /// A pod that has a node is deleted with grace.
    void bind(const std::string& name) {
        const auto pod = finish(user_.get(k8sio::resources::pods(), the_namespace, name));
        if (pod.has_error() || !manifests::string_at(*pod, "/spec/nodeName").empty()) {
            return;
        }
        const std::string uid = manifests::string_at(*pod, "/metadata/uid");
        finish(user_.raw(
            "POST",
            k8sio::resources::pods().object_path(the_namespace, name, "binding"),
            "application/json",
            pods::binding_json(name, the_namespace, uid, "node-" + replicas_[name])
        ));
    }

    /// What a kubelet does: pods whose deletion was asked for are gone.
    void bury_pods() {
        for (const child_object& child : children()) {
            const bool goes =
                child.kind == core::object_kind::pod && !staying_.contains(child.name) &&
                !manifests::string_at(child.json, "/metadata/deletionTimestamp").empty();
            if (goes) {
                remove_child(child.kind, child.name, true);
            }
        }
    }

    /// Reads what there is, if anything was written since.
    void look() {
        begin();
        if (looked_at_ == changes_) {
            return;
        }
        looked_at_ = changes_;
        const auto job = finish(user_.get(type_of(kind_), the_namespace, name_));
        const std::string before = summary_of(job_);
        job_ = job.has_error() ? "" : *job;
        if (const std::string after = summary_of(job_); after != before) {
            tell("the job is " + after);
        }
        children_.clear();
        for (const core::object_kind kind : core::all_child_kinds()) {
            if (!kind->extension || served_.contains(kind)) {
                look_at_kind(kind);
            }
        }
        look_at_events();
    }

    std::vector<std::string> list(const k8sio::resource_type& type) {
        auto page = finish(user_.list(type, the_namespace, k8sio::list_options()));
        if (page.has_error()) {
            throw story_stopped(page.error().text());
        }
        return std::move(page->items);
    }

    void look_at_kind(core::object_kind kind) {
        for (std::string& item : list(type_of(kind, kind_))) {
            if (!manifests::string_at(item, "/metadata/ownerReferences/0/uid").empty()) {
                const std::string name = manifests::string_at(item, "/metadata/name");
                children_.push_back({kind, name, std::move(item)});
            }
        }
    }

    void look_at_events() {
        events_.clear();
        for (const std::string& item : list(k8sio::resources::events())) {
            const rapidjson::Document event = parsed(item);
            const auto count = event.FindMember("count");
            events_.push_back(
                {now(),
                 manifests::string_at(item, "/type") == "Warning",
                 manifests::string_at(item, "/reason"),
                 manifests::string_at(item, "/message"),
                 count != event.MemberEnd() && count->value.IsInt() ? count->value.GetInt() : 1}
            );
        }
    }

    core::policy policy_;
    asio::io_context loop_{1};
    k8sio::virtual_clock time_;
    k8sio::server::api_server server_;
    std::unique_ptr<k8sio::transport> way_of_user_;
    k8sio::client user_;
    core::job_kind kind_{};
    std::string name_, job_to_create_;
    std::unique_ptr<operator_process> process_;
    std::vector<std::unique_ptr<operator_process>> dead_;
    std::set<core::object_kind> served_;
    std::set<std::string> staying_;
    std::vector<refusal_rule> refusals_;
    std::map<std::string, std::string> replicas_;  ///< by the name of the pod
    std::vector<done_action> actions_;
    std::size_t changes_ = 0;  ///< writes of all
    std::size_t looked_at_ = std::size_t(-1);
    std::string job_;
    std::vector<child_object> children_;
    std::vector<told_event> events_;
};

std::unique_ptr<cluster> make_operator_cluster(const story& of) {
    return std::make_unique<operator_cluster>(of);
}

const registered_cluster the_operator(&make_operator_cluster);

}  // namespace

}  // namespace signalbox::op::stories
