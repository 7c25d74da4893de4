// SPDX-License-Identifier: Apache-2.0
#include "scenario/world.hpp"

#include "controller/resource_table.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/object.hpp"
#include "manifests/manifest.hpp"
#include "scenario/virtual_time.hpp"
#include "signalbox_test/source_files.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace signalbox::test {

namespace asio = boost::asio;

namespace {

/// SIGNALBOX_TEST_LOG=1 shows the operator's log: to see why a scenario fails.
std::shared_ptr<spdlog::logger> make_log() {
    if (std::getenv("SIGNALBOX_TEST_LOG") == nullptr) {
        return nullptr;
    }
    auto log = std::make_shared<spdlog::logger>(
        "operator", std::make_shared<spdlog::sinks::stdout_sink_mt>()
    );
    log->set_level(spdlog::level::debug);
    return log;
}

std::string text(const rapidjson::Value& object, const char* key) {
    const auto member = object.FindMember(key);
    return member != object.MemberEnd() && member->value.IsString() ? member->value.GetString()
                                                                    : std::string();
}

/// A server with our definitions, compiled once: a story is played some hundred times.
struct defined_kinds {
    defined_kinds() {
        for (const core::job_kind kind : core::all_job_kinds) {
            const auto added = server.add_custom_resource(core::crd_json(kind));
            if (added.has_error()) {
                throw std::runtime_error(added.error().text());
            }
        }
    }

    static k8sio::server::server_options options() {
        k8sio::server::server_options o;
        o.uid_seed = 0xdef;
        return o;
    }

    asio::io_context loop;
    k8sio::virtual_clock time{loop.get_executor(), k8sio::wall_time(story_start)};
    k8sio::server::api_server server{loop.get_executor(), time, options()};
};

}  // namespace

world::world(world_options options)
    : options_(std::move(options)),
      time_(loop_.get_executor(), k8sio::wall_time(story_start)),
      server_(loop_.get_executor(), time_, options_.server),
      user_transport_(server_.connect()),
      kubelet_transport_(server_.connect()),
      user_(*user_transport_, time_),
      kubelet_(*kubelet_transport_, time_),
      audit_(user_),
      deployments_(loop_.get_executor(), kubelet_, op::pods::deployment_options()) {
    static const defined_kinds kinds;
    server_.share_custom_resources(kinds.server);
    op::pods::simulated_options pods;
    pods.script = options_.script;
    pods_ = op::pods::make_simulated_runtime(loop_.get_executor(), kubelet_, std::move(pods));
    spawn_forever(pods_->run());
    spawn_forever(deployments_.run());
    spawn_forever(audit_.run_pods());
    for (const core::job_kind kind : core::all_job_kinds) {
        spawn_forever(audit_.run_jobs(kind));
    }
    start_operator();
    settle();
}

world::~world() {
    restart_after.reset();
    if (process_) {
        kill_operator();
    }
    pods_->stop();
    deployments_.stop();
    audit_.stop();
    const auto limit = time_.steady_now() + seconds{120};
    while ((running_ > 0 || !graveyard_.empty()) && step(limit)) {
    }
    server_.stop();
}

void world::spawn_forever(asio::awaitable<void> task) {
    ++running_;
    asio::co_spawn(loop_, std::move(task), [this](std::exception_ptr) { --running_; });
}

void world::settle() {
    do {
        loop_.restart();
    } while (loop_.poll() > 0);
}

/// Lets happen what is due, then moves to the next time at which something is. False at the limit.
bool world::step(k8sio::steady_time limit) {
    settle();
    look_after_process();
    k8sio::steady_time next = limit;
    if (time_.has_pending()) {
        next = std::min(next, std::max(time_.next_at(), time_.steady_now()));
    }
    if (restart_at_) {
        next = std::min(next, *restart_at_);
    }
    if (next >= limit) {
        return false;
    }
    time_.advance(next - time_.steady_now());
    settle();
    look_after_process();
    return true;
}

bool world::run_until(const std::function<bool()>& done, std::chrono::nanoseconds limit) {
    const auto end =
        time_.steady_now() + std::chrono::duration_cast<k8sio::steady_time::duration>(limit);
    settle();
    while (!done()) {
        if (!step(end)) {
            time_.advance(end - time_.steady_now());
            settle();
            return done();
        }
    }
    return true;
}

void world::run_for(std::chrono::nanoseconds duration) {
    run_until([] { return false; }, duration);
}

void world::run_to_value(const std::function<bool()>& done) {
    const auto end = time_.steady_now() + seconds{60};
    settle();
    while (!done()) {
        if (!step(end)) {
            throw std::runtime_error("a request of the user does not end");
        }
    }
}

void world::start_operator() {
    process_ = std::make_unique<process>();
    std::unique_ptr<k8sio::transport> way = server_.connect();
    if (options_.path) {
        way = options_.path(std::move(way), time_);
    }
    process_->transport = std::make_unique<mortal_transport>(std::move(way));
    process_->transport->before = on_request;
    process_->api = std::make_unique<k8sio::client>(*process_->transport, time_);
    process_->work = std::make_unique<op::controller>(
        loop_.get_executor(),
        *process_->api,
        options_.rules,
        options_.controller,
        options_.log ? options_.log : make_log()
    );
    asio::co_spawn(loop_, process_->work->run(), [ended = process_->ended](std::exception_ptr) {
        *ended = true;
    });
}

/// A dead process can do nothing any more, but its coroutines take a while to end: time goes on
/// without waiting for them.
void world::bury() {
    process_->work->stop();
    dead_writes_ += process_->transport->writes().size();
    graveyard_.push_back(std::move(process_));
}

void world::clear_graveyard() {
    std::erase_if(graveyard_, [](const std::unique_ptr<process>& p) { return *p->ended; });
}

void world::kill_operator() {
    process_->transport->die();
    bury();
}

void world::stop_operator() {
    const std::shared_ptr<bool> ended = process_->ended;
    bury();
    run_to_value([ended] { return *ended; });
}

void world::look_after_process() {
    clear_graveyard();
    if (process_ && process_->transport->dead()) {
        bury();
        if (restart_after) {
            restart_at_ = time_.steady_now() +
                          std::chrono::duration_cast<k8sio::steady_time::duration>(*restart_after);
        }
    }
    if (restart_at_ && time_.steady_now() >= *restart_at_) {
        restart_at_.reset();
        start_operator();
    }
}

std::string world::create(const k8sio::resource_type& type, const std::string& body) {
    auto made = finish(user_.create(type, "default", body));
    if (made.has_error()) {
        throw std::runtime_error(made.error().text());
    }
    return *made;
}

std::string world::create_job(const job_builder& job) {
    return create_job(job.json());
}

std::string world::create_job(const std::string& job_json) {
    rapidjson::Document object;
    object.Parse(job_json.c_str());
    const auto kind = core::parse_job_kind(text(object, "kind"));
    const std::string made = create(op::type_of(kind.value()), as_written(job_json));
    kinds_[k8sio::read_object_meta(made)->name] = *kind;
    return k8sio::read_object_meta(made)->uid;
}

void world::serve(const std::string& name) {
    const std::vector<std::string> paths{test::source_path("tests/support/crds/" + name + ".yaml")};
    const auto files = op::manifests::read_paths(paths);
    if (files.objects.empty()) {
        throw std::runtime_error("no definition in " + paths.front());
    }
    create(k8sio::resources::custom_resource_definitions(), files.objects.at(0).json());
}

k8sio::result<std::string> world::get(const k8sio::resource_type& type, const std::string& name) {
    return finish(user_.get(type, "default", name));
}

std::vector<std::string> world::list(const k8sio::resource_type& type) {
    const k8sio::list_options all;
    auto page = finish(user_.list(type, "default", all));
    if (page.has_error()) {
        throw std::runtime_error(page.error().text());
    }
    return page->items;
}

k8sio::result<std::string> world::patch(
    const k8sio::resource_type& type,
    const std::string& name,
    const std::string& merge_patch,
    const std::string& subresource
) {
    return finish(user_.merge_patch(type, "default", name, merge_patch, subresource));
}

void world::patch_job(const std::string& name, const std::string& merge_patch) {
    const auto done = patch(type_of_job(name), name, merge_patch);
    if (done.has_error()) {
        throw std::runtime_error(done.error().text());
    }
}

k8sio::result<std::string> world::scale_job(const std::string& name, int replicas) {
    return finish(user_.raw(
        "PUT",
        type_of_job(name).object_path("default", name, "scale"),
        "application/json",
        R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":")" + name +
            R"(","namespace":"default"},"spec":{"replicas":)" + std::to_string(replicas) + "}}"
    ));
}

k8sio::result<std::string> world::read_scale(const std::string& name) {
    return finish(user_.raw("GET", type_of_job(name).object_path("default", name, "scale"), {}, {})
    );
}

const k8sio::resource_type& world::type_of_job(const std::string& job) const {
    return op::type_of(kinds_.at(job));
}

void world::remove(
    const k8sio::resource_type& type, const std::string& name, std::optional<std::int64_t> grace
) {
    k8sio::delete_options options;
    options.grace_seconds = grace;
    const auto done = finish(user_.remove(type, "default", name, options));
    if (done.has_error()) {
        throw std::runtime_error(done.error().text());
    }
}

void world::patch_soon(
    const k8sio::resource_type& type, const std::string& name, const std::string& merge_patch
) {
    using answer = k8sio::result<std::string>;
    const auto object = std::make_shared<std::string>(name);  // lives until the request ends
    auto request = user_.merge_patch(type, "default", *object, merge_patch);
    asio::co_spawn(loop_, std::move(request), [object](std::exception_ptr, answer) {});
}

void world::create_soon(const k8sio::resource_type& type, const std::string& body) {
    using answer = k8sio::result<std::string>;
    auto request = user_.create(type, "default", body);
    asio::co_spawn(loop_, std::move(request), [](std::exception_ptr, answer) {});
}

void world::remove_soon(const k8sio::resource_type& type, const std::string& name) {
    using answer = k8sio::result<std::string>;
    const auto object = std::make_shared<std::string>(name);
    const auto options = std::make_shared<k8sio::delete_options>();
    auto request = user_.remove(type, "default", *object, *options);
    asio::co_spawn(loop_, std::move(request), [object, options](std::exception_ptr, answer) {});
}

core::job_status world::status(const std::string& job) {
    const auto object = get(type_of_job(job), job);
    if (object.has_error()) {
        throw std::runtime_error(object.error().text());
    }
    return core::parse_status(*object);
}

std::string world::phase(const std::string& job) {
    return std::string(core::to_string(status(job).phase));
}

std::vector<core::pod_record> world::pods() {
    std::vector<core::pod_record> all;
    for (const std::string& item : list(k8sio::resources::pods())) {
        if (auto pod = core::decode_pod(item)) {
            all.push_back(std::move(*pod));
        }
    }
    return all;
}

std::size_t world::live_pods() {
    const auto all = pods();
    return static_cast<std::size_t>(std::count_if(
        all.begin(),
        all.end(),
        [](const core::pod_record& pod) {
            const bool ended =
                pod.phase == core::pod_phase::succeeded || pod.phase == core::pod_phase::failed;
            return !ended && !pod.deletion;
        }
    ));
}

std::vector<seen_event> world::events(const std::string& job) {
    std::vector<seen_event> all;
    for (const std::string& item : list(k8sio::resources::events())) {
        rapidjson::Document event;
        event.Parse(item.data(), item.size());
        const char* about = event.HasMember("involvedObject") ? "involvedObject" : "regarding";
        if (!event.HasMember(about) || text(event[about], "name") != job) {
            continue;
        }
        seen_event seen;
        seen.type = text(event, "type");
        seen.reason = text(event, "reason");
        seen.message = text(event, "message");
        if (event.HasMember("count")) {
            seen.count = event["count"].GetInt();
        }
        all.push_back(std::move(seen));
    }
    return all;
}

std::size_t world::event_count(const std::string& job, const std::string& reason) {
    std::size_t count = 0;
    for (const seen_event& event : events(job)) {
        count += event.reason == reason ? static_cast<std::size_t>(event.count) : 0;
    }
    return count;
}

op::pods::rule pods_of_type(const std::string& type, op::pods::settings does) {
    op::pods::rule rule;
    rule.type = type;
    rule.does = std::move(does);
    return rule;
}

}  // namespace signalbox::test
