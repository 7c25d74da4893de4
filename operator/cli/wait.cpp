// SPDX-License-Identifier: Apache-2.0
//
// `signalbox wait`: until a job has come as far as is asked, or cannot come there any more.
#include "cli/cli.hpp"
#include "cli/cluster_session.hpp"
#include "cli/commands.hpp"
#include "cli/hindrance.hpp"
#include "cli/job_lookup.hpp"
#include "cli/print_line.hpp"
#include "cli/text_layout.hpp"
#include "controller/resource_table.hpp"
#include "k8sio/synchronization.hpp"
#include "manifests/duration.hpp"
#include "manifests/json_edit.hpp"

#include <jobcore/status.hpp>
#include <jobcore/strings.hpp>
#include <k8sio/client.hpp>
#include <k8sio/reflector.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <ostream>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

using core::job_phase;

/// What can be waited for.
struct goal {
    std::string_view name;
    bool (*is_reached)(job_phase phase);
    bool with_pods = true;  ///< false: reached when the job has no pod any more
};
/// From one look at pods to the next.
constexpr std::chrono::milliseconds look_interval{300};
constexpr std::array goals{
    goal{"Succeeded", [](job_phase p) { return p == job_phase::succeeded; }},
    goal{"Failed", [](job_phase p) { return p == job_phase::failed; }},
    goal{"Completed", [](job_phase p) { return core::is_final(p); }},
    goal{"Running", [](job_phase p) { return p == job_phase::running; }},
    goal{"Paused", [](job_phase p) { return p == job_phase::paused; }, /*with_pods=*/false}};

enum class standing { pending, reached, unreachable };

class job_wait final : public k8sio::reflector_sink {
public:
    /// `err` gets what hinders the job, as soon as that is seen.
    job_wait(cluster_session& session, const job_target& target, goal wanted, std::ostream& err)
        : api_(&session.api()),
          err_(&err),
          name_(target.name),
          lookup_(session.api(), session.ns(), target),
          goal_(wanted),
          changed_(session.loop().get_executor()),
          ended_(session.loop().get_executor()),
          executor_(session.loop().get_executor()) {}

    asio::awaitable<void> run(std::chrono::nanoseconds patience) {
        const auto start = api_->time().steady_now();
        job_lookup& jobs = lookup_;
        co_await jobs.run();
        error_ = lookup_.problem_unless_one();
        if (!error_.empty()) {
            co_return;
        }
        const found_job& job = lookup_.found().front();
        kind_ = job.kind;
        uid_ = job.uid;
        judge(job.json);
        if (state_ == standing::reached) {
            co_await look_at_pods();
        }
        if (state_ != standing::pending) {
            co_return;
        }
        const bool bounded = patience != never;
        k8sio::clock::timer_id timer = 0;
        if (bounded) {
            timer = api_->time().schedule(start + patience, [this] {
                timed_out_ = true;
                changed_.notify();
            });
        }
        follow();
        tell_hindrance();
        while (state_ == standing::pending && !timed_out_) {
            co_await changed_.wait();
            if (state_ == standing::reached) {
                co_await look_at_pods();
            }
        }
        api_->time().cancel(timer);
        api_->time().cancel(next_look_);
        watch_->stop();
        co_await ended_.wait();
    }

    /// Empty: the job was found.
    const std::string& error() const { return error_; }
    standing state() const { return state_; }
    bool deleted() const { return deleted_; }
    const core::job_status& status() const { return status_; }
    std::string_view wanted() const { return goal_.name; }
    /// `pytorchtrainingjob/mnist`
    std::string name() const { return kubectl_name(kind_, name_); }

    void replace_begin() override { listed_ = false; }
    void replace_end(std::string_view) override {
        if (!listed_) {
            gone();
        }
    }
    void upsert(std::string_view json) override {
        listed_ = true;
        if (manifests::string_at(std::string(json), "/metadata/uid") == uid_) {
            judge(json);
            tell_hindrance();
        } else {
            gone();  // another job of this name
        }
        changed_.notify();
    }
    void remove(std::string_view) override { gone(); }

private:
    void judge(std::string_view json) {
        status_ = core::parse_status(json);
        state_ = goal_.is_reached(status_.phase) ? standing::reached
                 : core::is_final(status_.phase) ? standing::unreachable
                                                 : standing::pending;
    }

    /// A paused job's pods train on until they have ended, for as long as their grace: it counts as
    /// paused once none is left.
    asio::awaitable<void> look_at_pods() {
        k8sio::list_options options;
        if (goal_.with_pods) {
            co_return;
        }
        options.label_selector = children_of(uid_);
        options.limit = 1;
        const auto page = co_await api_->list(k8sio::resources::pods(), lookup_.ns(), options);
        if (page.has_error() || page->items.empty() || state_ != standing::reached) {
            co_return;  // who may not see pods is not kept waiting for them
        }
        state_ = standing::pending;
        next_look_ = api_->time().schedule(api_->time().steady_now() + look_interval, [this] {
            if (state_ == standing::pending && goal_.is_reached(status_.phase)) {
                state_ = standing::reached;
            }
            changed_.notify();
        });
    }

    /// Each once: who waits for what does not come by itself is not left in silence.
    void tell_hindrance() {
        const std::string why = state_ == standing::pending ? hindrance(status_) : "";
        if (why != told_ && !why.empty()) {
            print_line(*err_, "{} waits: {}", name(), core::in_one_line(why));
        }
        told_ = why;
    }

    void gone() {
        // What was reached stays reached.
        if (state_ == standing::pending) {
            deleted_ = true;
            state_ = standing::unreachable;
        }
        changed_.notify();
    }

    void follow() {
        k8sio::reflector_options options;
        options.ns = lookup_.ns();
        options.field_selector = "metadata.name=" + name_;
        watch_ = std::make_unique<k8sio::reflector>(*api_, type_of(kind_), *this, options);
        asio::co_spawn(executor_, watch_->run(), [this](std::exception_ptr) { ended_.notify(); });
    }

    k8sio::client* api_;
    std::ostream* err_;
    std::string told_;  ///< what hinders the job
    std::string name_;
    job_lookup lookup_;
    goal goal_;
    k8sio::notification changed_;
    k8sio::notification ended_;
    asio::any_io_executor executor_;
    std::unique_ptr<k8sio::reflector> watch_;
    core::job_kind kind_ = core::job_kind::pytorch;
    std::string uid_;
    std::string error_;
    core::job_status status_;
    standing state_ = standing::pending;
    bool listed_ = false;
    bool deleted_ = false;
    bool timed_out_ = false;
    k8sio::clock::timer_id next_look_ = 0;
};

/// `Failed (BackoffLimitExceeded): what the condition says`
std::string described(const core::job_status& status) {
    std::string out(core::to_string(status.phase));
    if (out.empty()) {
        return "not looked at by the operator yet";
    }
    if (!status.reason.empty() && status.reason != out) {
        out += fmt::format(" ({})", status.reason);
    }
    const core::condition* why = core::find_condition(status, core::to_string(status.phase));
    if (status.phase == job_phase::failed && why != nullptr && !why->message.empty()) {
        out += ": " + why->message;
    }
    const std::string hindered = hindrance(status);
    return hindered.empty() ? out : out + ": " + core::in_one_line(hindered);
}

int report(const job_wait& wait, const std::string& timeout, std::ostream& out, std::ostream& err) {
    const std::string now = wait.deleted() ? "deleted" : described(wait.status());
    switch (wait.state()) {
        case standing::reached:
            print_line(out, "{}: {}", wait.name(), now);
            return exit_ok;
        case standing::unreachable:
            print_line(err, "{}: {}; waited for {}", wait.name(), now, wait.wanted());
            return exit_failed;
        case standing::pending:
            break;
    }
    print_line(err, "{}: {}; waited {} for {}", wait.name(), now, timeout, wait.wanted());
    return exit_time_is_up;
}

}  // namespace

std::vector<std::string> wait_conditions() {
    std::vector<std::string> out;
    for (const goal& g : goals) {
        out.emplace_back(g.name);
    }
    return out;
}

int wait_for_job(const wait_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](const std::string& why) {
        print_line(err, "signalbox wait: {}", why);
        return exit_refused;
    };
    const std::optional<duration> patience = parse_duration(options.timeout);
    if (!patience) {
        return refuse(fmt::format(
            "--timeout: `{}` is no duration such as 30s, 10m, 2h or never", options.timeout
        ));
    }
    const std::optional<job_target> target = parse_job_target(options.target);
    if (!target) {
        return refuse(no_job_target(options.target));
    }
    const auto* wanted = std::ranges::find_if(goals, [&](const goal& g) {
        return lower(g.name) == lower(options.condition);
    });
    cluster_session session(options.cluster, options.ns);
    if (!session.problem().empty()) {
        return refuse(session.problem());
    }
    job_wait wait(session, *target, *wanted, err);
    session.run(wait.run(*patience));
    return wait.error().empty() ? report(wait, options.timeout, out, err) : refuse(wait.error());
}

}  // namespace signalbox::op::cli
