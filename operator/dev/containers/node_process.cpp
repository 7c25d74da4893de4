// SPDX-License-Identifier: Apache-2.0
#include "containers/node_process.hpp"

#include "containers/control_groups.hpp"
#include "containers/node_network.hpp"
#include "containers/process_start.hpp"
#include "containers/protocol.hpp"
#include "containers/root_filesystem.hpp"
#include "containers/start_report.hpp"
#include "containers/unix.hpp"
#include "containers/user_namespace.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

struct node_child {
    process_id id = 0;
    ask_id ask = 0;
    std::optional<start_watch> starting;  ///< until its program runs
    unique_fd pidfd;
    bool first = false;          ///< of a container
    std::string sandbox;         ///< of a container
    identity as;                 ///< of a container
    std::uint32_t first_id = 0;  ///< of its sandbox
    std::uint32_t processes = 0;
    container_groups groups;
};

/// The groups of a runtime that was killed, named in a file of its folder. Waits a minute for what
/// ran there: the kernel may still be freeing its memory. False if it has not ended then.
bool remove_noted_groups(const std::string& folder) {
    std::istringstream noted(read_text(folder + noted_groups).value_or(""));
    std::string group;
    int tries = 600;
    while (std::getline(noted, group)) {
        while (!remove_groups(group)) {
            if (--tries == 0) {
                return false;
            }
            ::usleep(100'000);
        }
    }
    return true;
}

class node_process {
public:
    explicit node_process(unique_fd socket) : socket_(std::move(socket)) {}

    [[noreturn]] void run() {
        for (;;) {
            std::vector<pollfd> waits{
                {socket_.fd(), static_cast<short>(POLLIN | (socket_.waiting() ? POLLOUT : 0)), 0},
                {signals_.get(), POLLIN, 0}};
            std::vector<pid_t> starting;
            for (const auto& [pid, child] : children_) {
                if (child.starting) {
                    waits.push_back({child.starting->fd(), POLLIN, 0});
                    starting.push_back(pid);
                }
            }
            const int idle = network_ && ahead_ ? 0 : -1;
            const int count = ::poll(waits.data(), waits.size(), idle);
            if (count == 0) {
                ahead_ = network_->make_spare();
                continue;
            }
            if ((waits[0].revents & POLLOUT) != 0) {
                socket_.flush();
            }
            for (std::size_t i = 0; i < starting.size(); ++i) {
                if (waits[i + 2].revents != 0) {
                    watch_start(starting[i]);
                }
            }
            if ((waits[1].revents & POLLIN) != 0) {
                reap();
            }
            if ((waits[0].revents & ~POLLOUT) != 0) {
                receive();
            }
        }
    }

private:
    void send(node_report report, unique_fd with = {}) {
        message out;
        out.bytes = encode(std::move(report));
        if (with) {
            out.fds.push_back(std::move(with));
        }
        socket_.send(std::move(out));
    }

    /// The descriptors are in the order that node_ready says.
    void send_ready(node_ready ready) {
        message out;
        if (ready.refused.empty()) {
            out.fds.push_back(network_->network());
            unique_fd name_server = network_->name_server_socket();
            unique_fd service = network_->service_socket();
            ready.has_name_server = static_cast<bool>(name_server);
            ready.has_service = static_cast<bool>(service);
            for (unique_fd* each : {&name_server, &service}) {
                if (*each) {
                    out.fds.push_back(std::move(*each));
                }
            }
        }
        out.bytes = encode(node_report(std::move(ready)));
        socket_.send(std::move(out));
    }

    void answer(ask_id ask, container_error error) { send(node_answer{ask, std::move(error), {}}); }

    void receive() {
        for (;;) {
            message got;  // each with descriptors of its own, held no longer than needed
            const message_socket::state state = socket_.receive(got);
            if (state == message_socket::state::closed) {
                ::_exit(0);  // and with process 1 all others
            }
            if (state == message_socket::state::nothing) {
                return;
            }
            if (std::optional<node_request> asked = decode_request(got.bytes)) {
                std::visit([&](auto& each) { handle(each, got.fds); }, *asked);
            }
        }
    }

    void handle(node_config& config, std::vector<unique_fd>&) {
        config_ = config;
        node_ready ready;
        ready.refused = start();
        if (ready.refused.empty()) {
            ready.address = network_->address();
            ready.shortcomings = shortcomings();
            ready.cgroups = groups_.folders();
        } else {
            network_.reset();
        }
        send_ready(std::move(ready));
    }

    std::vector<std::string> shortcomings() const {
        std::vector<std::string> out;
        if (const std::string trouble = overlay_trouble(config_.folder); !trouble.empty()) {
            out.push_back(fmt::format(
                "containers cannot write to their file system but /tmp and volumes: no overlay can "
                "be made in {} ({})",
                config_.folder,
                trouble
            ));
        }
        if (!groups_.holds_memory()) {
            out.emplace_back(
                "memory limits do not hold: there is no control group with the controller memory "
                "that "
                "this user may write to"
            );
        }
        // For an ordinary user each container is a user namespace, where RLIMIT_NPROC counts apart.
        if (!groups_.holds_processes() && !config_.user_mode) {
            out.emplace_back(
                "limits of processes do not hold: there is no control group with the controller "
                "pids "
                "that this user may write to"
            );
        }
        return out;
    }

    std::string start() {
        // Else what is mounted here shows on the machine. What the machine mounts and unmounts
        // later is still seen, so that no disk is held.
        if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
            return fmt::format("cannot mount in a mount namespace: {}", error_words(errno));
        }
        rlimit files = {};
        ::getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        ::sigprocmask(SIG_BLOCK, &child, nullptr);
        signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
        own_pids_.reset(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
        groups_.start(config_.cgroup_name);
        network_.emplace(config_.network);
        return network_->start();
    }

    void handle(make_sandbox_request& asked, std::vector<unique_fd>&) {
        result<sandbox_namespaces> made = network_->make(asked.spec);
        if (!made) {
            answer(asked.ask, made.error());
            return;
        }
        if (asked.spec.own_users && !config_.user_mode && !give_users(*made)) {
            network_->give_back(made->address);
            answer(asked.ask, {"CreateContainerError", "make users: " + error_words(errno)});
            return;
        }
        const std::string id = fmt::format("sandbox-{}", ++sandboxes_made_);
        const std::string address = made->address;
        sandboxes_.emplace(id, std::move(*made));
        send(node_answer{asked.ask, {}, {id, address}});
        ahead_ = true;
    }

    /// False, with errno set, if it failed.
    bool give_users(sandbox_namespaces& to) {
        // Above what systemd takes for containers and other users.
        constexpr std::uint32_t first_of_all = 0x70000000;
        constexpr std::uint32_t most = 0x4000;
        std::uint32_t first = 0;
        for (std::uint32_t tries = 0; tries < most && first == 0; ++tries) {
            const std::uint32_t next = first_of_all + (++users_made_ % most) * ids_of_a_pod;
            first = ids_used_.contains(next) ? 0 : next;
        }
        to.users = first == 0 ? unique_fd() : make_user_namespace(first);
        to.first_id = to.users ? first : 0;
        if (to.users) {
            ids_used_.insert(first);
        }
        return static_cast<bool>(to.users);
    }

    void handle(remove_sandbox_request& asked, std::vector<unique_fd>&) {
        const auto it = sandboxes_.find(asked.id);
        if (it == sandboxes_.end()) {
            return;
        }
        for (const auto& [pid, child] : children_) {
            if (child.first && child.sandbox == asked.id) {
                ::kill(pid, SIGKILL);
            }
        }
        if (!it->second.link.empty()) {
            network_->give_back(it->second.address);
        }
        ids_used_.erase(it->second.first_id);
        sandboxes_.erase(it);
    }

    void handle(cut_request& asked, std::vector<unique_fd>&) {
        if (const auto it = sandboxes_.find(asked.id); it != sandboxes_.end()) {
            network_->cut(it->second, asked.off);
        }
    }

    void handle(connect_request& asked, std::vector<unique_fd>&) {
        const auto it = sandboxes_.find(asked.sandbox);
        if (it == sandboxes_.end()) {
            answer(asked.ask, {"ConnectError", "the sandbox is gone"});
            return;
        }
        result<unique_fd> socket = network_->connect(it->second, asked.address, asked.port);
        if (!socket) {
            answer(asked.ask, socket.error());
            return;
        }
        send(node_answer{asked.ask, {}, {}}, std::move(*socket));
    }

    void handle(signal_request& asked, std::vector<unique_fd>&) {
        if (node_child* child = find(asked.process)) {
            ::syscall(SYS_pidfd_send_signal, child->pidfd.get(), asked.number, nullptr, 0);
        }
    }

    void handle(uplink_request&, std::vector<unique_fd>&) { network_->uplink_is_there(); }

    void handle(remove_files_request& asked, std::vector<unique_fd>&) {
        const pid_t worker = ::fork();
        if (worker == 0) {
            // What is still in use is noted there for the next start.
            ::_exit(remove_noted_groups(asked.folder) ? remove_tree(asked.folder) : EBUSY);
        }
        if (worker > 0) {
            workers_[worker] = asked.ask;
        } else {
            answer(asked.ask, {"RemoveFailed", error_words(errno)});
        }
    }

    void handle(run_request& asked, std::vector<unique_fd>& fds) {
        const auto sandbox = sandboxes_.find(asked.spec.sandbox);
        if (sandbox == sandboxes_.end()) {
            answer(asked.ask, {"CreateContainerError", "the sandbox is gone"});
            return;
        }
        node_child child;
        child.id = asked.process;
        child.ask = asked.ask;
        child.first = true;
        child.sandbox = asked.spec.sandbox;
        child.as = asked.spec.process.as;
        limits bounds = asked.spec.bounds;
        bounds.processes = bounds.processes > 0 ? bounds.processes : config_.processes;
        child.first_id = sandbox->second.first_id;
        child.processes = groups_.holds_processes() ? 0 : bounds.processes;
        result<container_groups> groups = groups_.make(std::to_string(child.id), bounds);
        if (!groups) {
            answer(asked.ask, groups.error());
            return;
        }
        child.groups = std::move(*groups);
        if (::unshare(CLONE_NEWPID) != 0) {
            answer(asked.ask, {"CreateContainerError", error_words(errno)});
            return;
        }
        const start_resources resources{
            &config_, &fds, &child.groups.entries(), child.first_id, child.processes};
        begin(child, [&](start_report& report) {
            start_container(asked.spec, sandbox->second, resources, report);
        });
    }

    void handle(exec_request& asked, std::vector<unique_fd>& fds) {
        const node_child* first = find(asked.container);
        if (first == nullptr || first->starting || ::setns(first->pidfd.get(), CLONE_NEWPID) != 0) {
            answer(asked.ask, {"StartError", "the container is not running"});
            return;
        }
        identity as = first->as;
        as.user = asked.spec.as.user ? asked.spec.as.user : as.user;
        as.group = asked.spec.as.group ? asked.spec.as.group : as.group;
        as.groups = asked.spec.as.groups.empty() ? as.groups : asked.spec.as.groups;
        asked.spec.as = as;
        node_child child;
        child.id = asked.process;
        child.ask = asked.ask;
        const start_resources resources{
            &config_, &fds, &first->groups.entries(), first->first_id, first->processes};
        const int container = first->pidfd.get();
        begin(child, [&](start_report& report) {
            start_beside(asked.spec, container, resources, report);
        });
    }

    /// Forks into the PID namespace that children are to have, and makes that the node's own again.
    template <class Start>
    void begin(node_child& child, Start start) {
        int ends[2] = {-1, -1};
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
        unique_fd here(ends[0]);
        unique_fd there(ends[1]);
        const pid_t pid = ::fork();
        if (pid == 0) {
            here.reset();
            start_report report(std::move(there));
            start(report);
        }
        const int failed = errno;
        ::setns(own_pids_.get(), CLONE_NEWPID);
        if (pid < 0) {
            answer(child.ask, {"CreateContainerError", "fork: " + error_words(failed)});
            return;
        }
        child.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
        child.starting.emplace(std::move(here));
        pids_[child.id] = pid;
        children_.emplace(pid, std::move(child));
    }

    node_child* find(process_id id) {
        const auto it = pids_.find(id);
        return it == pids_.end() ? nullptr : &children_.at(it->second);
    }

    void watch_start(pid_t pid) {
        node_child& child = children_.at(pid);
        if (!child.starting || !child.starting->read()) {
            return;
        }
        const container_error error = child.starting->error().value_or(container_error{});
        unique_fd terminal = child.starting->take_terminal();
        child.starting.reset();
        send(node_answer{child.ask, error, {}}, std::move(terminal));
        if (!error.reason.empty()) {
            pids_.erase(child.id);
            child.id = 0;  // the main process does not know it
        }
    }

    void reap() {
        signalfd_siginfo discarded;
        while (::read(signals_.get(), &discarded, sizeof discarded) > 0) {
        }
        for (;;) {
            int status = 0;
            const pid_t pid = ::waitpid(-1, &status, WNOHANG);
            if (pid <= 0) {
                std::erase_if(emptying_, [](container_groups& each) { return each.remove(); });
                return;
            }
            if (const auto it = children_.find(pid); it != children_.end()) {
                watch_start(pid);
                end(it->second, status);
                emptying_.push_back(std::move(it->second.groups));
                children_.erase(it);
            } else if (const auto worker = workers_.find(pid); worker != workers_.end()) {
                answer(worker->second, {});
                workers_.erase(worker);
            }
        }
    }

    void end(const node_child& child, int status) {
        if (child.id == 0) {
            return;
        }
        exit_status how;
        how.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        how.oom_killed = child.groups.oom_killed();
        how.code = how.signal != 0 ? 128 + how.signal : WEXITSTATUS(status);
        pids_.erase(child.id);
        send(node_exit{child.id, how});
    }

    message_socket socket_;
    node_config config_;
    std::optional<node_network> network_;
    unique_fd signals_;
    unique_fd own_pids_;
    bool ahead_ = true;  ///< sandboxes may be missing from the ones made ahead
    std::uint64_t sandboxes_made_ = 0;
    std::uint32_t users_made_ = 0;
    std::set<std::uint32_t> ids_used_;  ///< sandbox_namespaces::first_id
    std::map<std::string, sandbox_namespaces> sandboxes_;
    std::unordered_map<pid_t, node_child> children_;
    std::unordered_map<process_id, pid_t> pids_;
    std::unordered_map<pid_t, ask_id> workers_;  ///< that remove files
    control_groups groups_;
    std::vector<container_groups> emptying_;  ///< of ended containers
};

}  // namespace

void become_node_process_if_asked() {
    const std::string line = read_text("/proc/self/cmdline").value_or("");
    const std::string name = line.c_str();
    if (name != node_process_name || line.size() <= name.size() + 1) {
        return;
    }
    const int socket = std::atoi(line.c_str() + name.size() + 1);
    // If the main process has ended already, the socket says so. The signal is for a node process
    // that does not get to read it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, node_process_name);
    ::setsid();
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    node_process(unique_fd(socket)).run();
}

}  // namespace signalbox::op::containers
