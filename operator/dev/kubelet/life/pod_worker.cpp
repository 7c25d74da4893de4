// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/pod_worker.hpp"

#include "kubelet/life/prober.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;

constexpr int not_found = 404, conflict = 409, unprocessable = 422;

bool is_gone(const k8sio::api_error& e) {
    return e.http_status == not_found || e.http_status == conflict ||
           e.http_status == unprocessable;
}

asio::awaitable<void> delete_pod(
    node_services& node, std::string ns, std::string name, k8sio::delete_options options
) {
    const k8sio::result<std::string> answer =
        co_await node.api.remove(k8sio::resources::pods(), ns, name, options);
    if (answer.has_error()) {
        node.complain(answer.error().text());
    }
}

moment moment_of(node_services& node) {
    return {node.now(), node.server_now()};
}

}  // namespace

pod_worker::pod_worker(
    node_services& node, pod_spec pod, device_map devices, pods::behaviour faults
)
    : node_(node),
      machine_(std::move(pod), std::move(faults), node.place.host_address, moment_of(node)),
      devices_(std::move(devices)),
      place_(node.place),
      folders_(node.options.folder, machine_.pod()),
      runs_(machine_.pod().containers.size()) {
    place_.node = machine_.pod().node;
    for (const container_spec& c : machine_.pod().containers) {
        add_references(c, references_);
    }
    for (const volume_spec& v : machine_.pod().volumes) {
        add_references(v, references_);
    }
}

pod_worker::~pod_worker() {
    node_.time().cancel(timer_);
}

moment pod_worker::now() const {
    return moment_of(node_);
}

void pod_worker::begin() {
    machine_.on_time(now());
    act();
}

void pod_worker::update(const pod_spec& spec) {
    machine_.on_object(now(), spec);
    act();
}

void pod_worker::object_gone() {
    machine_.on_object_gone(now());
    act();
}

void pod_worker::object_changed() {
    machine_.on_references(now());
    act();
}

void pod_worker::abandon() {
    machine_.abandon(now());
    act();
}

void pod_worker::act() {
    const std::vector<pod_command> commands = machine_.take_commands();
    for (const pod_command& command : commands) {
        std::visit([this](const auto& one) { carry_out(one); }, command);
    }
    wake_at(machine_.wake());
}

void pod_worker::wake_at(std::optional<k8sio::steady_time> at) {
    if (at == timer_at_) {
        return;
    }
    node_.time().cancel(timer_);
    timer_at_ = at;
    if (at) {
        const std::weak_ptr<pod_worker> self = weak_from_this();
        timer_ = node_.time().schedule(*at, [self] {
            if (const auto alive = self.lock()) {
                alive->timer_at_.reset();
                alive->begin();
            }
        });
    }
}

void pod_worker::carry_out(const pod_commands::prepare&) {
    node_.spawn(prepare(shared_from_this()));
}

void pod_worker::carry_out(const pod_commands::refresh&) {
    node_.spawn(refresh(shared_from_this()));
}

void pod_worker::carry_out(const pod_commands::start& command) {
    node_.spawn(start(shared_from_this(), command.container, command.run));
}

void pod_worker::carry_out(const pod_commands::terminate& command) {
    runs_[command.container]->process->signal(SIGTERM);
}

void pod_worker::carry_out(const pod_commands::kill& command) {
    runs_[command.container]->process->kill();
}

void pod_worker::carry_out(const pod_commands::call_hook& command) {
    const self_ptr self = shared_from_this();
    const handler& what = hook_of(pod().containers[command.container], command.which);
    kubelet::carry_out(
        node_,
        what,
        target(command.container),
        command.timeout,
        [self, command](const handler_result& result) {
            self->machine_.on_hook(
                self->now(), command.container, command.run, command.which, result
            );
            self->act();
        }
    );
}

void pod_worker::carry_out(const pod_commands::ask_probe& command) {
    const self_ptr self = shared_from_this();
    const probe& what = *probe_of(pod().containers[command.container], command.which);
    kubelet::carry_out(
        node_,
        what.how,
        target(command.container),
        what.timeout,
        [self, command](const handler_result& result) {
            self->machine_.on_probe(
                self->now(), command.container, command.run, command.which, result
            );
            self->act();
        }
    );
}

void pod_worker::carry_out(const pod_commands::write_status& command) {
    node_.spawn(write_status(shared_from_this(), pods::status_patch(command.status, pod().uid)));
}

void pod_worker::carry_out(const pod_commands::remove_object&) {
    node_.spawn(remove_object(shared_from_this()));
}

void pod_worker::carry_out(const pod_commands::delete_by_fault& command) {
    k8sio::delete_options options(pod().uid);
    if (command.at_once) {
        options.grace_seconds = 0;
    }
    node_.spawn(delete_pod(node_, pod().ns, pod().name, options));
}

void pod_worker::carry_out(const pod_commands::cut_network&) {
    node_.containers.cut(sandbox_, true);
}

void pod_worker::carry_out(const pod_commands::tell& command) {
    node_.tell(pod(), command.warning, command.reason, command.message);
}

void pod_worker::carry_out(const pod_commands::complain& command) {
    node_.complain(fmt::format("pod {}/{}: {}", pod().ns, pod().name, command.text));
}

void pod_worker::carry_out(const pod_commands::count_start&) {
    ++node_.counters.started;
}

void pod_worker::carry_out(const pod_commands::release&) {
    if (!sandbox_.empty()) {
        node_.containers.remove_sandbox(sandbox_);
        sandbox_.clear();
    }
    ++node_.counters.ended;
    remove_folder(folders_.pod);
    node_.released(pod().uid);
}

void pod_worker::carry_out(const pod_commands::forget&) {
    remove_folder(folders_.logs);
    node_.gone(pod().uid);
}

/// What containers leave may be much, and closed to us: their runtime removes it.
void pod_worker::remove_folder(const std::filesystem::path& folder) {
    node_.spawn(node_.containers.remove_files(folder.string()));
}

asio::awaitable<void> pod_worker::write_status(self_ptr self, std::string patch) {
    node_services& node = self->node_;
    co_await node.requests.acquire();
    const k8sio::semaphore::holder place(node.requests);
    const k8sio::result<std::string> answer = co_await node.api.merge_patch(
        k8sio::resources::pods(), self->pod().ns, self->pod().name, std::move(patch), "status"
    );
    const write_answer said =
        self->answer_of(answer, fmt::format("pod {}/{}: ", self->pod().ns, self->pod().name));
    self->machine_.on_written(self->now(), said);
    self->act();
}

asio::awaitable<void> pod_worker::remove_object(self_ptr self) {
    k8sio::delete_options options(self->pod().uid);
    options.grace_seconds = 0;
    const k8sio::result<std::string> answer = co_await self->node_.api.remove(
        k8sio::resources::pods(), self->pod().ns, self->pod().name, options
    );
    const write_answer said = self->answer_of(answer, "");
    self->machine_.on_removed(self->now(), said);
    self->act();
}

write_answer pod_worker::answer_of(
    const k8sio::result<std::string>& answer, const std::string& prefix
) {
    if (answer.has_value()) {
        return write_answer::done;
    }
    if (is_gone(answer.error())) {
        return write_answer::gone;
    }
    ++node_.counters.errors;
    node_.complain(prefix + answer.error().text());
    return write_answer::failed;
}

handler_target pod_worker::target(std::size_t i) const {
    handler_target out;
    out.run = runs_[i];
    out.sandbox = sandbox_;
    out.address = machine_.address();
    out.container = &pod().containers[i];
    return out;
}

std::shared_ptr<container_run> pod_worker::run_of(const std::string& container) const {
    const auto it = std::ranges::find(pod().containers, container, &container_spec::name);
    return it == pod().containers.end()
               ? nullptr
               : runs_[static_cast<std::size_t>(it - pod().containers.begin())];
}

std::filesystem::path pod_worker::log_of(const std::string& container, bool previous) const {
    const auto it = std::ranges::find(pod().containers, container, &container_spec::name);
    if (it == pod().containers.end()) {
        return {};
    }
    const int runs =
        machine_.container(static_cast<std::size_t>(it - pod().containers.begin())).runs();
    const int number = previous ? runs - 2 : runs - 1;
    return number < 0 ? std::filesystem::path() : folders_.log(container, number);
}

}  // namespace signalbox::op::kubelet
