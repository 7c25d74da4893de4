// SPDX-License-Identifier: Apache-2.0
//
// pod_worker: volumes, network and containers are made, and what they say and how they end is
// taken over.
#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/life/objects.hpp"
#include "kubelet/life/pod_worker.hpp"
#include "kubelet/life/prober.hpp"
#include "kubelet/life/termination.hpp"
#include "kubelet/life/volume_setup.hpp"
#include "kubelet/pod/host_files.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using stage = container_place::stage;
using kind = pods::container_state::kind;

/// Between two tries to make volumes and network: what is missing is seen when it comes.
constexpr std::chrono::milliseconds first_prepare_delay{500};
constexpr std::chrono::seconds longest_prepare_delay{60};
/// Until a container that could not be made is tried again.
constexpr std::chrono::seconds create_delay{10};
constexpr std::size_t read_size = 16 * 1024;
constexpr std::size_t passwd_limit = 1 << 20;
constexpr std::size_t log_tail = 64 * 1024;
constexpr int start_failed_code = 128;

}  // namespace

asio::awaitable<void> pod_worker::prepare(std::shared_ptr<pod_worker> self) {
    const outcome<void> done = co_await self->prepare_once();
    self->preparing_ = false;
    if (done.has_value()) {
        self->state_.prepared = true;
        self->sync();
        co_return;
    }
    if (self->state_.stopping) {
        self->sync();
        co_return;
    }
    self->node_.tell(self->pod_, true, done.error().reason, done.error().message);
    self->prepare_delay_ = std::clamp<std::chrono::nanoseconds>(
        self->prepare_delay_ * 2, first_prepare_delay, longest_prepare_delay
    );
    const std::weak_ptr<pod_worker> weak = self;
    const auto again = self->node_.now() + self->prepare_delay_;
    self->prepare_timer_ = self->node_.time().schedule(again, [weak] {
        if (const auto alive = weak.lock()) {
            alive->prepare_timer_ = 0;
            alive->sync();
        }
    });
    self->report();
}

asio::awaitable<outcome<void>> pod_worker::prepare_once() {
    object_names wanted;
    for (const volume_spec& v : pod_.volumes) {
        add_references(v, wanted);
    }
    const outcome<object_data> objects =
        co_await fetch_objects(node_.api, pod_.ns, std::move(wanted));
    if (objects.has_error()) {
        co_return outcome<void>(objects.error());
    }
    const outcome<void> volumes = set_up_volumes(*objects);
    if (volumes.has_error() || state_.stopping) {
        co_return volumes;
    }
    if (sandbox_.empty()) {
        containers::sandbox_spec spec;
        spec.hostname = kernel_host_name(pod_);
        spec.host_network = pod_.host_network;
        const auto made = co_await node_.containers.make_sandbox(std::move(spec));
        if (made.has_error()) {
            co_return outcome<void>(refusal(
                "FailedCreatePodSandBox", "Failed to create pod sandbox: " + made.error().message
            ));
        }
        sandbox_ = made->id;
        state_.address = place_.pod_address = made->address;
    }
    co_return write_host_files();
}

outcome<void> pod_worker::set_up_volumes(const object_data& objects) {
    for (const fs::path& folder : {folders_.pod, folders_.pod / "etc", folders_.logs}) {
        if (const auto made = make_folder(folder, 0755); made.has_error()) {
            return made.error();
        }
    }
    volume_request request;
    request.pod = &pod_;
    request.options = &node_.options;
    request.folders = &folders_;
    request.place = place_;
    request.now = node_.api.server_now();
    for (const volume_spec& v : pod_.volumes) {
        const auto place = set_up_volume(v, request, objects);
        if (place.has_error()) {
            return place.error();
        }
        volumes_[v.name] = *place;
    }
    return outcome<void>();
}

outcome<void> pod_worker::write_host_files() {
    const std::array<std::pair<const char*, std::string>, 3> files{{
        {"hosts", hosts_file(pod_, state_.address, node_.hosts_file)},
        {"hostname", kernel_host_name(pod_) + "\n"},
        {"resolv.conf", resolver_file(pod_, place_.host_address, node_.resolver_file)},
    }};
    for (const auto& [name, text] : files) {
        if (const auto done = write_file(folders_.file(name), text); done.has_error()) {
            return done.error();
        }
    }
    return outcome<void>();
}

void pod_worker::object_changed() {
    if (state_.stopping || released_) {
        return;
    }
    node_.time().cancel(prepare_timer_);
    prepare_timer_ = 0;
    for (container_place& c : state_.containers) {
        if (c.at == stage::waiting && c.status.now.reason == "CreateContainerConfigError") {
            c.due = node_.now();
        }
    }
    if (state_.prepared && refreshing_) {
        refresh_again_ = true;
    } else if (state_.prepared) {
        refreshing_ = true;
        node_.spawn(refresh(shared_from_this()));
    }
    sync();
}

/// What is missing now leaves the volume as it was.
asio::awaitable<void> pod_worker::refresh(std::shared_ptr<pod_worker> self) {
    object_names wanted;
    for (const volume_spec& v : self->pod_.volumes) {
        add_references(v, wanted);
    }
    do {
        self->refresh_again_ = false;
        const outcome<object_data> objects =
            co_await fetch_objects(self->node_.api, self->pod_.ns, wanted);
        if (objects.has_value() && !self->released_) {
            const outcome<void> done = self->set_up_volumes(*objects);
            if (done.has_error()) {
                self->node_.tell(self->pod_, true, done.error().reason, done.error().message);
            }
        }
    } while (self->refresh_again_);
    self->refreshing_ = false;
}

asio::awaitable<void> pod_worker::start(std::shared_ptr<pod_worker> self, std::size_t i) {
    const outcome<std::shared_ptr<container_run>> run = co_await self->start_once(i);
    if (run.has_error()) {
        self->start_failed(i, run.error());
    } else {
        self->started(i, *run);
    }
    self->sync();
}

outcome<void> pod_worker::make_run_files(
    std::size_t i, int number, std::string& passwd, bool& own_passwd
) {
    const container_spec& c = pod_.containers[i];
    std::error_code ignored;
    if (number > 0) {
        remove_folder(folders_.run(c.name, number - 1));
    }
    if (number > 1) {
        // The log before the previous one: nobody asks for it any more.
        const fs::path old = folders_.log(c.name, number - 2);
        for (const char* suffix : {"", ".1", ".2", ".3", ".4"}) {
            fs::remove(old.string() + suffix, ignored);
        }
    }
    for (const fs::path& folder :
         {folders_.message(c.name, number).parent_path(), folders_.log(c.name, 0).parent_path()}) {
        if (const auto made = make_folder(folder, 0755); made.has_error()) {
            return made.error();
        }
    }
    const auto message = write_file(folders_.message(c.name, number), "", 0666);
    if (message.has_error()) {
        return message.error();
    }
    const fs::path image = image_folder_of(node_.options, c.image);
    passwd = read_file(image / "etc/passwd", passwd_limit).value_or("");
    if (const auto user = user_of(c)) {
        if (const auto text = with_user(passwd, *user, c.rights.group)) {
            own_passwd = true;
            const auto done = write_file(folders_.file("passwd-" + c.name), *text);
            if (done.has_error()) {
                return done.error();
            }
        }
    }
    return outcome<void>();
}

asio::awaitable<outcome<std::shared_ptr<container_run>>> pod_worker::start_once(std::size_t i) {
    const container_spec& spec = pod_.containers[i];
    using answer = outcome<std::shared_ptr<container_run>>;
    object_names wanted;
    add_references(spec, wanted);
    const outcome<object_data> objects =
        co_await fetch_objects(node_.api, pod_.ns, std::move(wanted));
    if (objects.has_error()) {
        co_return answer(refusal("CreateContainerConfigError", objects.error().message));
    }
    launch_request request;
    request.pod = &pod_;
    request.container = &spec;
    request.options = &node_.options;
    request.folders = &folders_;
    request.volumes = &volumes_;
    request.sandbox = sandbox_;
    request.number = slots_[i].runs;
    request.own_user = ::geteuid();
    auto env = environment_of(spec, pod_, place_, node_.services(pod_.ns), *objects);
    if (env.has_error()) {
        co_return answer(env.error());
    }
    request.env = std::move(*env);
    if (const auto ids = devices_.find(spec.name); ids != devices_.end()) {
        request.devices.emplace_back("CUDA_VISIBLE_DEVICES", ids->second);
    }
    const auto files = make_run_files(i, request.number, request.passwd, request.own_passwd);
    if (files.has_error()) {
        co_return answer(refusal("CreateContainerError", files.error().message));
    }
    auto made = launch_of(request);
    if (made.has_error()) {
        co_return answer(made.error());
    }
    if (state_.stopping) {
        co_return answer(refusal("ContainerCreating", ""));
    }
    containers::container_spec asked = *made;
    auto process = co_await node_.containers.run(std::move(asked));
    if (process.has_error()) {
        co_return answer(refusal(process.error().reason, process.error().message));
    }
    const int number = slots_[i].runs++;
    co_return answer(std::make_shared<container_run>(
        node_.executor, std::move(*made), std::move(*process), folders_.log(spec.name, number)
    ));
}

void pod_worker::start_failed(std::size_t i, const refusal& why) {
    container_place& c = state_.containers[i];
    if (state_.stopping) {
        c.at = stage::ended;
        return;
    }
    node_.tell(pod_, true, "Failed", "Error: " + why.message);
    c.started = node_.now();
    if (why.reason == "StartError") {
        pods::container_state how;
        how.what = kind::terminated;
        how.exit_code = start_failed_code;
        how.reason = why.reason;
        how.message = why.message;
        how.started = core::instant{};
        how.finished = node_.server_now();
        note_end(state_, i, pod_, std::move(how), node_.now());
        return;
    }
    c.at = stage::waiting;
    c.due = node_.now() + create_delay;
    c.status.now = pods::container_state();
    c.status.now.reason = why.reason;
    c.status.now.message = why.message;
}

void pod_worker::started(std::size_t i, std::shared_ptr<container_run> run) {
    container_place& c = state_.containers[i];
    const container_spec& spec = pod_.containers[i];
    slots_[i].run = run;
    slots_[i].probe_grace.reset();
    c.at = stage::running;
    c.started = node_.now();
    c.status.now = pods::container_state();
    c.status.now.what = kind::running;
    c.status.now.started = node_.server_now();
    node_.tell(
        pod_,
        false,
        "Pulled",
        fmt::format("Container image \"{}\" already present on machine", spec.image)
    );
    node_.tell(pod_, false, "Created", "Created container: " + spec.name);
    node_.tell(pod_, false, "Started", "Started container " + spec.name);
    const bool one_output = spec.terminal;
    run->open_outputs = one_output ? 1 : 2;
    node_.spawn(pump(shared_from_this(), run, containers::output_stream::out));
    if (!one_output) {
        node_.spawn(pump(shared_from_this(), run, containers::output_stream::err));
    }
    node_.spawn(watch_end(shared_from_this(), i, run));
    if (abandoned_) {
        run->process->kill();
        return;
    }
    if (!spec.init) {
        schedule_faults();
    }
    after_start(i);
}

asio::awaitable<void> pod_worker::pump(
    std::shared_ptr<pod_worker> self,
    std::shared_ptr<container_run> run,
    containers::output_stream from
) {
    std::vector<char> buffer(read_size);
    while (true) {
        auto into = asio::buffer(buffer);
        const std::size_t size = co_await run->process->read(from, into);
        if (size == 0) {
            break;
        }
        const std::string_view bytes(buffer.data(), size);
        const auto now = self->node_.time().wall_now();
        if (from == containers::output_stream::out) {
            run->log.write_out(bytes, now);
        } else {
            run->log.write_err(bytes, now);
        }
        if (run->log.lost_bytes() > 0 && !run->loss_told) {
            run->loss_told = true;
            self->tell_lost_lines(*run);
        }
        std::erase_if(run->listeners, [](const auto& l) { return l.expired(); });
        const auto listeners = run->listeners;
        for (const auto& weak : listeners) {
            if (const auto listener = weak.lock()) {
                listener->hear(from, bytes);
            }
        }
    }
    --run->open_outputs;
    run->drained.notify();
}

void pod_worker::tell_lost_lines(const container_run& run) const {
    std::string what = fmt::format(
        "lines of the log of container {} are lost: {}",
        run.log.path().parent_path().filename().string(),
        run.log.loss_reason()
    );
    node_.complain(fmt::format("pod {}/{}: {}", pod_.ns, pod_.name, what));
    node_.tell(pod_, true, "LogWriteFailed", std::move(what));
}

asio::awaitable<void> pod_worker::watch_end(
    std::shared_ptr<pod_worker> self, std::size_t i, std::shared_ptr<container_run> run
) {
    containers::process& first = *run->process;
    const containers::exit_status how = co_await first.wait();
    while (run->open_outputs > 0) {
        co_await run->drained.wait();
    }
    self->ended(i, *run, how);
    self->sync();
}

std::string pod_worker::message_of(std::size_t i, const container_run& run, int code) const {
    const container_spec& c = pod_.containers[i];
    const std::size_t limit = message_limit(pod_.containers.size());
    const fs::path file = folders_.message(c.name, slots_[i].runs - 1);
    constexpr std::size_t most = 1 << 20;
    std::string text = read_file(file, most).value_or("");
    if (text.empty() && code != 0 && c.message_from_log) {
        std::error_code failed;
        const auto size = fs::file_size(run.log.path(), failed);
        const std::string log = read_file(run.log.path(), failed ? 0 : size).value_or("");
        text = message_of_log(core::last_bytes(log, log_tail));
    }
    return std::string(core::last_bytes(text, limit));
}

void pod_worker::ended(std::size_t i, container_run& run, const containers::exit_status& how) {
    run.ended = true;
    run.log.finish(node_.time().wall_now());
    node_.time().cancel(run.kill_timer);
    for (const auto& weak : run.listeners) {
        if (const auto listener = weak.lock()) {
            listener->end();
        }
    }
    stop_probes(i);
    container_place& c = state_.containers[i];
    pods::container_state state;
    state.what = kind::terminated;
    state.exit_code = how.code;
    state.reason = !run.forced_reason.empty() ? run.forced_reason
                   : how.oom_killed           ? "OOMKilled"
                   : how.code == 0            ? "Completed"
                                              : "Error";
    state.message = message_of(i, run, how.code);
    state.started = c.status.now.started;
    state.finished = node_.server_now();
    note_end(state_, i, pod_, std::move(state), node_.now());
    if (c.at == stage::waiting && c.due > node_.now()) {
        node_.tell(
            pod_,
            true,
            "BackOff",
            fmt::format(
                "Back-off restarting failed container {} in pod {}_{}({})",
                pod_.containers[i].name,
                pod_.name,
                pod_.ns,
                pod_.uid
            )
        );
    }
}

}  // namespace signalbox::op::kubelet
