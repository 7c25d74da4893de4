// SPDX-License-Identifier: Apache-2.0
#include "containers/control_groups.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sstream>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::containers {

namespace {

/// Value of a line `key value` of a file.
std::uint64_t value_in(const std::string& file, const std::string& key) {
    std::istringstream in(read_text(file).value_or(""));
    std::string name;
    std::uint64_t value = 0;
    while (in >> name >> value) {
        if (name == key) {
            return value;
        }
    }
    return 0;
}

bool has_word(const std::string& file, const std::string& word) {
    std::istringstream in(read_text(file).value_or(""));
    return std::find(std::istream_iterator<std::string>(in), {}, word) !=
           std::istream_iterator<std::string>();
}

struct hierarchy {
    std::string mounted_at;
    std::string root;  ///< group that is mounted there
    std::string own;   ///< folder of the group of this process
    bool unified = false;
    std::vector<std::string> controllers;  ///< of version 1

    bool has(const std::string& controller) const {
        return std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    }
};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> out;
    std::istringstream in(text);
    std::string part;
    while (std::getline(in, part, at)) {
        out.push_back(part);
    }
    return out;
}

std::vector<hierarchy> hierarchies() {
    std::vector<hierarchy> out;
    for (const std::string& line : split(read_text("/proc/self/mountinfo").value_or(""), '\n')) {
        const std::vector<std::string> words = split(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.end() - dash < 4 || words.size() < 6) {
            continue;
        }
        hierarchy h;
        h.root = words[3] == "/" ? "" : words[3];
        h.mounted_at = words[4];
        h.own = h.mounted_at;
        h.unified = dash[1] == "cgroup2";
        if (h.unified || dash[1] == "cgroup") {
            h.controllers = split(dash[3], ',');
            out.push_back(std::move(h));
        }
    }
    for (const std::string& line : split(read_text("/proc/self/cgroup").value_or(""), '\n')) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::vector<std::string> names =
            split(line.substr(first + 1, second - first - 1), ',');
        const std::string group = line.substr(second + 1);
        for (hierarchy& h : out) {
            const bool same = h.unified ? names.empty() : !names.empty() && h.has(names.front());
            if (same && group.compare(0, h.root.size(), h.root) == 0) {
                h.own = h.mounted_at + group.substr(h.root.size());
            }
        }
    }
    return out;
}

bool make_group(const std::string& folder) {
    return ::mkdir(folder.c_str(), 0755) == 0;
}

}  // namespace

void control_groups::start(const std::string& name) {
    for (const hierarchy& h : hierarchies()) {
        if (h.unified && !holds_memory() && !holds_processes()) {
            // Groups with processes hold no limits for groups in them: not in the own one, but
            // beside it, in what a user's session manager owns.
            const std::string beside = h.own.substr(0, h.own.find_last_of('/'));
            for (const std::string& above : {h.mounted_at, beside}) {
                const std::string controllers = above + "/cgroup.controllers";
                const std::string folder = above + "/" + name;
                // A process may enter a group if it may write to the one that both lie in.
                const bool may_enter = ::access((above + "/cgroup.procs").c_str(), W_OK) == 0;
                if (!has_word(controllers, "memory") || !has_word(controllers, "pids") ||
                    !may_enter || !make_group(folder)) {
                    continue;
                }
                write_text(above + "/cgroup.subtree_control", "+memory +pids");
                if (write_text(folder + "/cgroup.subtree_control", "+memory +pids") == 0) {
                    unified_ = true;
                    memory_ = folder;
                    processes_ = folder;
                    break;
                }
                ::rmdir(folder.c_str());
            }
        } else if (!h.unified) {
            for (const auto& [controller, folder] :
                 {std::pair{"memory", &memory_}, std::pair{"pids", &processes_}}) {
                const std::string made = h.own + "/" + name;
                if (h.has(controller) && folder->empty() && make_group(made)) {
                    *folder = made;
                }
            }
        }
    }
}

std::vector<std::string> control_groups::folders() const {
    std::vector<std::string> out;
    for (const std::string& each : {memory_, processes_}) {
        if (!each.empty() && std::find(out.begin(), out.end(), each) == out.end()) {
            out.push_back(each);
        }
    }
    return out;
}

result<container_groups> control_groups::make(const std::string& name, const limits& bounds) const {
    container_groups out;
    for (const std::string& above : folders()) {
        const std::string folder = above + "/" + name;
        unique_fd entry;
        if (make_group(folder)) {
            out.folders_.push_back(folder);
            entry.reset(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
        }
        if (!entry) {
            const int number = errno;
            out.remove();
            return container_error{
                "CreateContainerError",
                fmt::format("cannot make the control group {}: {}", folder, error_words(number))};
        }
        out.entries_.push_back(std::move(entry));
    }
    int failed = 0;
    const auto set = [&failed](const std::string& file, std::uint64_t value) {
        const int here = write_text(file, std::to_string(value));
        failed = failed == 0 ? here : failed;
    };
    if (holds_memory()) {
        // Memory may also run out around it: in a group above, or on the machine.
        const std::string folder = memory_ + "/" + name;
        out.oom_file_ = folder + (unified_ ? "/memory.events" : "/memory.oom_control");
        if (unified_) {
            write_text(folder + "/memory.oom.group", "1");
        }
        if (bounds.memory > 0 && unified_) {
            set(folder + "/memory.max", bounds.memory);
            // The limit is meant for both. Kernels without swap do not have the file.
            write_text(folder + "/memory.swap.max", "0");
        } else if (bounds.memory > 0) {
            set(folder + "/memory.limit_in_bytes", bounds.memory);
            write_text(folder + "/memory.memsw.limit_in_bytes", std::to_string(bounds.memory));
        }
    }
    if (holds_processes() && bounds.processes > 0) {
        set(processes_ + "/" + name + "/pids.max", bounds.processes);
    }
    if (failed != 0) {
        out.remove();
        return container_error{
            "CreateContainerError", "cannot set a limit: " + error_words(failed)};
    }
    return out;
}

bool container_groups::oom_killed() const {
    return !oom_file_.empty() && value_in(oom_file_, "oom_kill") > 0;
}

bool container_groups::remove() {
    std::erase_if(folders_, [](const std::string& folder) {
        return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
    });
    return folders_.empty();
}

bool remove_groups(const std::string& folder) {
    DIR* entries = ::opendir(folder.c_str());
    while (const dirent* entry = entries != nullptr ? ::readdir(entries) : nullptr) {
        const std::string name = entry->d_name;
        if (entry->d_type == DT_DIR && name != "." && name != "..") {
            ::rmdir((folder + "/" + name).c_str());
        }
    }
    if (entries != nullptr) {
        ::closedir(entries);
    }
    return ::rmdir(folder.c_str()) == 0 || errno != EBUSY;
}

}  // namespace signalbox::op::containers
