// SPDX-License-Identifier: Apache-2.0
//
// pod_worker: volumes, network and containers are made, and what they say and how they end is
// taken over.
#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/life/objects.hpp"
#include "kubelet/life/outputs.hpp"
#include "kubelet/life/pod_worker.hpp"
#include "kubelet/life/termination.hpp"
#include "kubelet/life/volume_setup.hpp"
#include "kubelet/pod/host_files.hpp"
#include "kubelet/pod/security_context.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t read_size = 16 * 1024;
constexpr std::size_t log_tail = 64 * 1024;

}  // namespace

asio::awaitable<void> pod_worker::prepare(self_ptr self) {
    const outcome<void> done = co_await self->prepare_once();
    if (done.has_value()) {
        self->machine_.on_prepared(self->now());
    } else {
        self->machine_.on_prepare_failed(self->now(), done.error());
    }
    self->act();
}

asio::awaitable<outcome<void>> pod_worker::prepare_once() {
    object_names wanted;
    for (const volume_spec& v : pod().volumes) {
        add_references(v, wanted);
    }
    outcome<object_data> objects = co_await fetch_objects(node_.api, pod().ns, std::move(wanted));
    if (objects.has_error()) {
        co_return outcome<void>(objects.error());
    }
    co_await fetch_tokens(node_.api, pod(), *objects);
    const outcome<void> volumes = set_up_volumes(*objects);
    if (volumes.has_error() || machine_.stops()) {
        co_return volumes;
    }
    if (sandbox_.empty()) {
        containers::sandbox_spec spec;
        spec.hostname = kernel_host_name(pod());
        spec.host_network = pod().host_network;
        spec.own_users = pod().own_users || node_.options.user_namespaces;
        const auto made = co_await node_.containers.make_sandbox(std::move(spec));
        if (made.has_error()) {
            co_return outcome<void>(refusal(
                "FailedCreatePodSandBox", "Failed to create pod sandbox: " + made.error().message
            ));
        }
        sandbox_ = made->id;
        place_.pod_address = made->address;
        machine_.on_network(made->address);
        if (std::string unmet = unmet_text(pod()); !unmet.empty()) {
            node_.tell(pod(), true, "SecurityContextUnmet", std::move(unmet));
        }
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
    request.pod = &pod();
    request.options = &node_.options;
    request.folders = &folders_;
    request.place = place_;
    request.now = node_.api.server_now();
    for (const volume_spec& v : pod().volumes) {
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
        {"hosts", hosts_file(pod(), machine_.address(), node_.hosts_file)},
        {"hostname", kernel_host_name(pod()) + "\n"},
        {"resolv.conf", resolver_file(pod(), place_.host_address, node_.resolver_file)},
    }};
    for (const auto& [name, text] : files) {
        if (const auto done = write_file(folders_.file(name), text); done.has_error()) {
            return done.error();
        }
    }
    return outcome<void>();
}

/// What is missing now leaves the volume as it was.
asio::awaitable<void> pod_worker::refresh(self_ptr self) {
    object_names wanted;
    for (const volume_spec& v : self->pod().volumes) {
        add_references(v, wanted);
    }
    outcome<object_data> objects =
        co_await fetch_objects(self->node_.api, self->pod().ns, std::move(wanted));
    if (objects.has_value()) {
        co_await fetch_tokens(self->node_.api, self->pod(), *objects);
    }
    if (objects.has_value() && !self->machine_.released()) {
        const outcome<void> done = self->set_up_volumes(*objects);
        if (done.has_error()) {
            self->node_.tell(self->pod(), true, done.error().reason, done.error().message);
        }
    }
    self->machine_.on_refreshed(self->now());
    self->act();
}

asio::awaitable<void> pod_worker::start(self_ptr self, std::size_t i, int number) {
    const outcome<std::shared_ptr<container_run>> run = co_await self->start_once(i, number);
    if (run.has_error()) {
        self->machine_.on_start_failed(self->now(), i, run.error());
        self->act();
    } else {
        self->started(i, *run);
    }
}

outcome<void> pod_worker::make_run_files(std::size_t i, int number, launch_request& request) {
    const container_spec& c = pod().containers[i];
    std::error_code ignored;
    if (number > 0) {
        remove_folder(folders_.run(c.name, number - 1));
    }
    if (number > 1) {
        // The log before the previous one: no request can name it any more.
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
    const std::string image = image_folder_of(node_.options, c.image);
    request.passwd = read_in_image(image, "etc/passwd");
    auto user = user_of(c);
    auto group = c.rights.group;
    if (const auto* said = image_config_of(node_.options, c.image)) {
        const std::string shown = fmt::format(
            "pod: \"{}_{}({})\", container: {}", pod().name, pod().ns, pod().uid, c.name
        );
        const auto as = account_of(
            c.rights, said->user, request.passwd, read_in_image(image, "etc/group"), shown
        );
        if (as.has_error()) {
            return as.error();
        }
        request.as = *as;
        user = as->user;
        group = as->group;
    }
    if (user) {
        if (const auto text = with_user(request.passwd, *user, group)) {
            request.own_passwd = true;
            const auto done = write_file(folders_.file("passwd-" + c.name), *text);
            if (done.has_error()) {
                return done.error();
            }
        }
    }
    return outcome<void>();
}

asio::awaitable<outcome<std::shared_ptr<container_run>>> pod_worker::start_once(
    std::size_t i, int number
) {
    const container_spec& spec = pod().containers[i];
    using answer = outcome<std::shared_ptr<container_run>>;
    object_names wanted;
    add_references(spec, wanted);
    const outcome<object_data> objects =
        co_await fetch_objects(node_.api, pod().ns, std::move(wanted));
    if (objects.has_error()) {
        co_return answer(refusal("CreateContainerConfigError", objects.error().message));
    }
    launch_request request;
    request.pod = &pod();
    request.container = &spec;
    request.options = &node_.options;
    request.folders = &folders_;
    request.volumes = &volumes_;
    request.sandbox = sandbox_;
    request.number = number;
    request.own_user = ::geteuid();
    auto env = environment_of(spec, pod(), place_, node_.services(pod().ns), *objects);
    if (env.has_error()) {
        co_return answer(env.error());
    }
    request.env = std::move(*env);
    if (const auto ids = devices_.find(spec.name); ids != devices_.end()) {
        request.devices.emplace_back("CUDA_VISIBLE_DEVICES", ids->second);
    }
    const auto files = make_run_files(i, number, request);
    if (files.has_error()) {
        const bool of_config = files.error().reason == "CreateContainerConfigError";
        const char* reason = of_config ? "CreateContainerConfigError" : "CreateContainerError";
        co_return answer(refusal(reason, files.error().message));
    }
    auto made = launch_of(request);
    if (made.has_error()) {
        co_return answer(made.error());
    }
    if (machine_.stops()) {
        co_return answer(refusal("ContainerCreating", ""));
    }
    tell_unseen_files(*made);
    containers::container_spec asked = *made;
    auto process = co_await node_.containers.run(std::move(asked));
    if (process.has_error()) {
        co_return answer(refusal(process.error().reason, process.error().message));
    }
    co_return answer(std::make_shared<container_run>(
        node_.executor, std::move(*made), std::move(*process), folders_.log(spec.name, number)
    ));
}

/// Who names a file that pods do not see is told why it is not found, once for all pods.
void pod_worker::tell_unseen_files(const containers::container_spec& made) {
    for (const std::string& path : unseen_files(made)) {
        std::string what = fmt::format(
            "{0} is on this machine, but /{1} is empty in pods: --bind {0}:{0} shows it",
            path,
            fs::path(path).relative_path().begin()->string()
        );
        if (node_.unseen_files.insert(path).second) {
            node_.complain(what);
        }
        node_.tell(pod(), true, "FileNotInPod", std::move(what));
    }
}

void pod_worker::started(std::size_t i, std::shared_ptr<container_run> run) {
    runs_[i] = run;
    const process_options& options = node_.options;
    if (!options.log_dir.empty()) {
        const fs::path path = options.log_dir / kept_log_path(pod(), pod().containers[i]);
        // What an earlier job of this name left; a second run of this one goes on behind the first.
        if (node_.kept_logs.insert(path.string()).second) {
            std::error_code none;
            fs::remove(path, none);
        }
        run->kept = kept_log(path, options.log_limit);
    }
    const bool one_output = pod().containers[i].terminal;
    run->open_outputs = one_output ? 1 : 2;
    node_.spawn(pump(shared_from_this(), run, containers::output_stream::out));
    if (!one_output) {
        node_.spawn(pump(shared_from_this(), run, containers::output_stream::err));
    }
    node_.spawn(watch_end(shared_from_this(), i, run));
    machine_.on_started(now(), i);
    act();
}

asio::awaitable<void> pod_worker::pump(
    self_ptr self, std::shared_ptr<container_run> run, containers::output_stream from
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
        run->kept.write(bytes);
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
    node_.complain(fmt::format("pod {}/{}: {}", pod().ns, pod().name, what));
    node_.tell(pod(), true, "LogWriteFailed", std::move(what));
}

asio::awaitable<void> pod_worker::watch_end(
    self_ptr self, std::size_t i, std::shared_ptr<container_run> run
) {
    containers::process& first = *run->process;
    const containers::exit_status how = co_await first.wait();
    while (run->open_outputs > 0) {
        co_await run->drained.wait();
    }
    // Before the end is told: behind it the folder may go, and who waits for it finds the files.
    if (!self->pod().containers[i].init) {
        pod_spec pod = self->pod();
        fs::path changes = run->made.root.changes;
        co_await see_to_outputs(self->node_, std::move(pod), std::move(changes));
    }
    self->ended(i, *run, how);
}

std::string pod_worker::message_of(std::size_t i, const container_run& run, int code) const {
    const container_spec& c = pod().containers[i];
    const std::size_t limit = message_limit(pod().containers.size());
    const fs::path file = folders_.message(c.name, machine_.container(i).runs() - 1);
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
    for (const auto& weak : run.listeners) {
        if (const auto listener = weak.lock()) {
            listener->end();
        }
    }
    run_end end;
    end.code = how.code;
    end.oom_killed = how.oom_killed;
    end.message = message_of(i, run, how.code);
    machine_.on_ended(now(), i, end);
    act();
}

}  // namespace signalbox::op::kubelet
