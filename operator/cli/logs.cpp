// SPDX-License-Identifier: Apache-2.0
//
// `signalbox logs`: the logs of a job's replicas as one.
#include "cli/cause.hpp"
#include "cli/cli.hpp"
#include "cli/cluster_session.hpp"
#include "cli/commands.hpp"
#include "cli/job_lookup.hpp"
#include "cli/kept_logs.hpp"
#include "cli/live_job.hpp"
#include "cli/log_lines.hpp"
#include "cli/print_line.hpp"
#include "controller/resource_table.hpp"
#include "k8sio/synchronization.hpp"
#include "manifests/duration.hpp"

#include <jobcore/decide.hpp>
#include <jobcore/observed.hpp>
#include <jobcore/status.hpp>
#include <jobcore/strings.hpp>
#include <k8sio/reflector.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::hours quiet_log{24 * 365};  // a log may say nothing for long

/// One pod whose log is wanted.
struct log_source {
    std::string pod;
    std::string uid;
    std::string container;
    std::string label;  ///< what its lines begin with
    bool has_sshd = false;
};

const rapidjson::Value* named(const rapidjson::Value* list, const std::string& name) {
    if (list != nullptr && list->IsArray()) {
        for (const auto& item : list->GetArray()) {
            const rapidjson::Value* called = rapidjson::Pointer("/name").Get(item);
            if (called != nullptr && *called == name) {
                return &item;
            }
        }
    }
    return nullptr;
}

std::string text_at(const rapidjson::Value* in, const char* pointer) {
    const rapidjson::Value* found = in == nullptr ? nullptr : rapidjson::Pointer(pointer).Get(*in);
    return found != nullptr && found->IsString() ? found->GetString() : "";
}

/// The rank in the environment of a container, where the operator gives one.
std::string rank_of(std::string_view pod_json, const std::string& container_name) {
    rapidjson::Document pod;
    pod.Parse<rapidjson::kParseIterativeFlag>(pod_json.data(), pod_json.size());
    if (pod.HasParseError()) {
        return {};
    }
    const auto* containers = rapidjson::Pointer("/spec/containers").Get(pod);
    const rapidjson::Value* container = named(containers, container_name);
    const rapidjson::Value* env =
        container == nullptr ? nullptr : rapidjson::Pointer("/env").Get(*container);
    return text_at(named(env, "RANK"), "/value");
}

/// The containers have begun, so that there is a log.
bool has_started(const core::pod_record& pod) {
    return pod.phase == core::pod_phase::running || pod.phase == core::pod_phase::succeeded ||
           pod.phase == core::pod_phase::failed;
}

class log_session {
public:
    log_session(
        cluster_session& session,
        const job_target& target,
        const logs_options& wanted,
        std::int64_t since_seconds,
        bool colours,
        std::ostream& out,
        std::ostream& err
    )
        : session_(&session),
          api_(&session.api()),
          wanted_(&wanted),
          since_seconds_(since_seconds),
          name_(target.name),
          lookup_(session.api(), session.ns(), target),
          colours_(colours),
          out_(&out),
          err_(&err),
          merge_(
              wanted.follow,
              [this](std::size_t source, std::string_view line) { print(source, line); }
          ),
          changed_(session.loop().get_executor()),
          signals_(session.loop(), SIGINT, SIGTERM) {}

    asio::awaitable<void> run() {
        job_lookup& jobs = lookup_;
        co_await jobs.run();
        problem_ = lookup_.problem_unless_one();
        if (!problem_.empty()) {
            co_return;
        }
        note_job(lookup_.found().front().json);
        check_type(lookup_.found().front().json);
        check_attempt(lookup_.found().front().json);
        if (!problem_.empty()) {
            co_return;
        }
        co_await list_pods();
        if (problem_.empty() && sources_.size() > wanted_->most_pods) {
            problem_ = fmt::format(
                "{} pods, and --max-log-requests is {}: take some of them by --type and --index",
                sources_.size(),
                wanted_->most_pods
            );
        }
        if (!problem_.empty()) {
            co_return;
        }
        if (sources_.empty() && wanted_->attempt > 0 && !wanted_->follow) {
            show_kept();
            co_return;
        }
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            merge_.open(i);
        }
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            start(i);
        }
        if (wanted_->follow) {
            signals_.async_wait([this](boost::system::error_code failed, int) { stop_if(!failed); }
            );
            co_await follow();
        }
        while (reading_ > 0) {
            co_await changed_.wait();
        }
        signals_.cancel();
    }

    const std::string& problem() const { return problem_; }
    bool found_some() const { return !sources_.empty() || kept_; }
    bool failed() const { return failed_; }

private:
    /// A watch that hands on what it sees.
    class sink final : public k8sio::reflector_sink {
    public:
        explicit sink(std::function<void(std::string_view json)> seen, std::function<void()> gone)
            : seen_(std::move(seen)), gone_(std::move(gone)) {}
        void upsert(std::string_view json) override { seen_(json); }
        void remove(std::string_view) override { gone_(); }

    private:
        std::function<void(std::string_view json)> seen_;
        std::function<void()> gone_;
    };

    std::string selector() const { return children_of(lookup_.found().front().uid); }

    asio::awaitable<void> list_pods() {
        k8sio::list_options options;
        options.label_selector = selector();
        std::vector<std::pair<core::pod_record, std::string>> pods;
        const std::function<void(std::string)> take = [&](std::string json) {
            if (auto pod = core::decode_pod(json)) {
                pods.emplace_back(std::move(*pod), std::move(json));
            }
        };
        const k8sio::resource_type& type = k8sio::resources::pods();
        const auto wrong = co_await list_each(*api_, type, lookup_.ns(), options, take);
        if (wrong) {
            problem_ = wrong->text();
            co_return;
        }
        std::ranges::sort(pods, {}, [](const auto& p) {
            return std::tuple(p.first.type.str(), p.first.index, p.first.attempt, p.first.name);
        });
        for (const auto& [pod, json] : pods) {
            add(pod, json);
        }
    }

    void check_attempt(const std::string& job_json) {
        const std::int32_t now = core::parse_status(job_json).attempt;
        if (wanted_->attempt > now && problem_.empty()) {
            problem_ = fmt::format("--attempt: the job is in attempt {}", now);
        }
    }

    /// Of an attempt whose pods are gone: what a local node has kept, one replica behind the other,
    /// as they have no times.
    void show_kept() {
        const std::string& ns = lookup_.ns();
        for (const kept_log_file& log :
             find_kept_logs(wanted_->job.cluster, ns, name_, wanted_->attempt)) {
            const std::size_t dash = log.replica.rfind('-');
            const auto index = core::read_whole_number<std::int32_t>(log.replica.substr(dash + 1));
            core::pod_record pod;
            pod.type = log.replica.substr(0, dash);
            pod.index = index.value_or(0);
            if (is_wanted(pod)) {
                kept_ = true;
                print_kept(log);
            }
        }
        if (!kept_) {
            problem_ = fmt::format(
                "the pods of attempt {} are gone and their logs with them", wanted_->attempt
            );
        }
    }

    void print_kept(const kept_log_file& log) const {
        std::string line;
        for (const std::string& path : log.paths) {
            for (std::ifstream file(path, std::ios::binary); std::getline(file, line);) {
                fmt::print(*out_, "{} | {}\n", log.replica, last_drawn(line));
            }
        }
    }

    bool is_wanted(const core::pod_record& pod) const {
        return (wanted_->type.empty() || wanted_->type == pod.type) &&
               (wanted_->indexes.empty() ||
                core::index_set::parse(wanted_->indexes).contains(pod.index));
    }

    /// A name that is no type of the job would be waited for in vain.
    void check_type(const std::string& job_json) {
        const auto job = core::read_job(job_json);
        if (wanted_->type.empty() || !job || !job->compiled || !job->compiled->plan) {
            return;
        }
        std::set<std::string> types;
        for (const core::type_plan& type : job->compiled->plan->types) {
            types.insert(type.name);
        }
        if (!types.contains(wanted_->type)) {
            problem_ = fmt::format(
                "--type: the job has no type {}, but {}", wanted_->type, fmt::join(types, ", ")
            );
        }
    }

    /// The number of a source that is new and wanted, and has a log.
    std::optional<std::size_t> add(const core::pod_record& pod, std::string_view json) {
        const bool of_attempt = wanted_->attempt == 0 || wanted_->attempt == pod.attempt;
        if (!is_wanted(pod) || !of_attempt || !has_started(pod) || pod.containers.empty() ||
            !known_.insert(pod.uid).second) {
            return std::nullopt;
        }
        const std::string& training = training_container(pod);
        const std::string rank = rank_of(json, training);
        log_source source;
        source.pod = pod.name;
        source.uid = pod.uid;
        source.has_sshd = is_sshd(json);
        source.container = wanted_->container.empty() ? training : wanted_->container;
        source.label = core::printable(
            replica_name(pod) + (rank.empty() ? "" : fmt::format(" rank {}", rank))
        );
        width_ = std::max(width_, source.label.size());
        sources_.push_back(std::move(source));
        return sources_.size() - 1;
    }

    void start(std::size_t number) {
        ++reading_;
        asio::co_spawn(session_->loop(), read(number), [this](std::exception_ptr broken) {
            if (broken) {
                std::rethrow_exception(broken);
            }
            --reading_;
            changed_.notify();
        });
    }

    k8sio::log_query query_of(const log_source& source) const {
        k8sio::log_query out;
        out.container = source.container;
        out.follow = wanted_->follow;
        out.previous = wanted_->previous;
        out.timestamps = true;
        out.idle = quiet_log;
        if (wanted_->tail >= 0) {
            out.tail_lines = wanted_->tail;
        }
        if (since_seconds_ > 0) {
            out.since_seconds = since_seconds_;
        }
        return out;
    }

    asio::awaitable<void> read(std::size_t number) {
        const log_source source = sources_[number];
        const k8sio::log_query query = query_of(source);
        auto opened = co_await api_->open_log(lookup_.ns(), source.pod, query);
        if (opened.has_error()) {
            constexpr int bad_request = 400;
            const bool none_before = wanted_->previous && opened.error().http_status == bad_request;
            complain(
                source,
                none_before ? "its container has not run before; of pods before it, see --attempt"
                            : opened.error().text()
            );
            merge_.close(number);
            co_return;
        }
        const std::unique_ptr<k8sio::response_stream> stream = std::move(*opened);
        open_.insert(stream.get());
        for (;;) {
            const auto piece = co_await stream->read_some();
            if (piece.has_error() && !stopping_) {
                complain(source, piece.error().text());
            }
            if (piece.has_error() || piece->empty()) {
                break;
            }
            merge_.feed(number, *piece);
            changed_.notify();
            while (merge_.is_full(number) && !stopping_) {
                co_await changed_.wait();
            }
        }
        open_.erase(stream.get());
        merge_.close(number);
    }

    void complain(const log_source& source, const std::string& why) {
        failed_ = true;
        print_line(*err_, "signalbox logs: {}: {}", source.pod, why);
    }

    void print(std::size_t number, std::string_view line) {
        const log_source& from = sources_[number];
        const std::string_view text = without_timestamp(line);
        if (from.has_sshd && is_probe_noise(text)) {
            return;
        }
        const std::string label = fmt::format("{:<{}} |", from.label, width_);
        const std::string_view time = line.substr(0, line.size() - text.size());
        fmt::print(
            *out_,
            "{} {}{}\n",
            colours_ ? painted(label, colour_of_source(number)) : label,
            wanted_->timestamps ? time : "",
            last_drawn(text)
        );
        if (wanted_->follow) {
            out_->flush();
        }
    }

    void note_job(std::string_view json) {
        ended_ = core::is_final(core::parse_status(json).phase);
        changed_.notify();
    }

    /// Until the job has ended, and every log of it.
    asio::awaitable<void> follow() {
        sink pods(
            [this](std::string_view json) {
                const auto pod = core::decode_pod(json);
                const auto number = pod ? add(*pod, json) : std::nullopt;
                if (number && !stopping_) {
                    start(*number);
                }
            },
            [] {}
        );
        sink job(
            [this](std::string_view json) { note_job(json); },
            [this] {
                ended_ = true;
                changed_.notify();
            }
        );
        k8sio::reflector_options of_pods;
        of_pods.ns = lookup_.ns();
        of_pods.label_selector = selector();
        k8sio::reflector_options of_job;
        of_job.ns = lookup_.ns();
        of_job.field_selector = "metadata.name=" + name_;
        const core::job_kind kind = lookup_.found().front().kind;
        k8sio::reflector pod_watch(*api_, k8sio::resources::pods(), pods, of_pods);
        k8sio::reflector job_watch(*api_, type_of(kind), job, of_job);
        std::size_t watching = 2;
        const auto done = [this, &watching](std::exception_ptr broken) {
            if (broken) {
                std::rethrow_exception(broken);
            }
            --watching;
            changed_.notify();
        };
        asio::co_spawn(session_->loop(), pod_watch.run(), done);
        asio::co_spawn(session_->loop(), job_watch.run(), done);
        while (!stopping_ && (!ended_ || reading_ > 0 || !pod_watch.synced())) {
            co_await changed_.wait();
        }
        pod_watch.stop();
        job_watch.stop();
        while (watching > 0) {
            co_await changed_.wait();
        }
    }

    void stop_if(bool asked) {
        if (asked) {
            stopping_ = true;
            for (k8sio::response_stream* stream : open_) {
                stream->close();
            }
            changed_.notify();
        }
    }

    cluster_session* session_;
    k8sio::client* api_;
    const logs_options* wanted_;
    std::int64_t since_seconds_;
    std::string name_;
    job_lookup lookup_;
    bool colours_;
    std::ostream* out_;
    std::ostream* err_;
    log_merge merge_;
    k8sio::notification changed_;
    asio::signal_set signals_;
    std::vector<log_source> sources_;
    std::set<std::string> known_;  ///< UIDs of pods
    std::set<k8sio::response_stream*> open_;
    std::size_t width_ = 0;
    std::size_t reading_ = 0;
    std::string problem_;
    bool kept_ = false;  ///< logs of pods that are gone were shown
    bool ended_ = false;
    bool stopping_ = false;
    bool failed_ = false;
};

int logs_of_cause(const logs_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](const std::string& why) {
        print_line(err, "signalbox logs: {}", why);
        return exit_refused;
    };
    const live_read live = read_live(options.job.cluster, options.job.target, options.job.ns);
    if (!live.error.empty()) {
        return refuse(live.error);
    }
    const recording recorded = read_recording(live.objects, live.facts);
    if (!recorded.errors.empty()) {
        return refuse(recorded.errors.front());
    }
    if (recorded.jobs.size() != 1) {
        return refuse(fmt::format("several jobs are called {}: say the kind", options.job.target));
    }
    cluster_session session(options.job.cluster, options.job.ns);
    if (!session.problem().empty()) {
        return refuse(session.problem());
    }
    const shown_cause cause = read_cause(session, recorded.jobs.front(), live.facts.now);
    for (const std::string& problem : cause.problems) {
        print_line(err, "signalbox logs: {}", problem);
    }
    if (cause.message.empty()) {
        print_line(err, "No pod of {} has failed.", options.job.target);
        return exit_ok;
    }
    print_line(out, "{}", cause.message);
    if (cause.of_record) {
        print_line(err, "The pods of that failure are gone, and their logs with them.");
    }
    print_lines(cause, out);
    return cause.problems.empty() ? exit_ok : exit_failed;
}

}  // namespace

int logs(const logs_options& options, std::ostream& out, std::ostream& err) {
    if (options.cause) {
        return logs_of_cause(options, out, err);
    }
    const auto refuse = [&](const std::string& why) {
        print_line(err, "signalbox logs: {}", why);
        return exit_refused;
    };
    const std::optional<job_target> target = parse_job_target(options.job.target);
    if (!target) {
        return refuse(no_job_target(options.job.target));
    }
    std::int64_t since = 0;
    if (!options.since.empty()) {
        const std::optional<duration> span = parse_duration(options.since);
        if (!span || *span == never || span->count() <= 0) {
            return refuse(
                fmt::format("--since: `{}` is no duration such as 30s, 10m or 2h", options.since)
            );
        }
        since = std::chrono::ceil<std::chrono::seconds>(*span).count();
    }
    cluster_session session(options.job.cluster, options.job.ns);
    if (!session.problem().empty()) {
        return refuse(session.problem());
    }
    const bool colours = &out == &std::cout && output_has_colours();
    log_session reading(session, *target, options, since, colours, out, err);
    session.run(reading.run());
    if (!reading.problem().empty()) {
        return refuse(reading.problem());
    }
    if (!reading.found_some()) {
        print_line(err, "No pod of {} has a log.", options.job.target);
    }
    return reading.failed() ? exit_failed : exit_ok;
}

}  // namespace signalbox::op::cli
