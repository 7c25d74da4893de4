// SPDX-License-Identifier: Apache-2.0
#include "kubelet/machine/pod_command.hpp"

#include <fmt/format.h>

#include <ostream>

namespace signalbox::op::kubelet {

namespace {

std::string_view word_of(hook_kind which) {
    return which == hook_kind::post_start ? "postStart" : "preStop";
}

std::string_view word_of(probe_kind which) {
    switch (which) {
        case probe_kind::startup:
            return "startup";
        case probe_kind::readiness:
            return "readiness";
        case probe_kind::liveness:
            return "liveness";
    }
    return "unknown";
}

struct describe {
    std::string operator()(const pod_commands::prepare&) const { return "prepare"; }
    std::string operator()(const pod_commands::refresh&) const { return "refresh"; }
    std::string operator()(const pod_commands::start& c) const {
        return fmt::format("start {}", c.container);
    }
    std::string operator()(const pod_commands::terminate& c) const {
        return fmt::format("terminate {}", c.container);
    }
    std::string operator()(const pod_commands::kill& c) const {
        return fmt::format("kill {}", c.container);
    }
    std::string operator()(const pod_commands::call_hook& c) const {
        return fmt::format("hook {} {}", c.container, word_of(c.which));
    }
    std::string operator()(const pod_commands::ask_probe& c) const {
        return fmt::format("probe {} {}", c.container, word_of(c.which));
    }
    std::string operator()(const pod_commands::write_status& c) const {
        return "write " + c.status.phase;
    }
    std::string operator()(const pod_commands::remove_object&) const { return "remove"; }
    std::string operator()(const pod_commands::delete_by_fault& c) const {
        return c.at_once ? "delete at once" : "delete";
    }
    std::string operator()(const pod_commands::cut_network&) const { return "cut"; }
    std::string operator()(const pod_commands::tell& c) const { return "tell " + c.reason; }
    std::string operator()(const pod_commands::complain&) const { return "complain"; }
    std::string operator()(const pod_commands::count_start&) const { return "count"; }
    std::string operator()(const pod_commands::release&) const { return "release"; }
    std::string operator()(const pod_commands::forget&) const { return "forget"; }
};

}  // namespace

const handler& hook_of(const container_spec& container, hook_kind which) {
    return which == hook_kind::post_start ? container.post_start : container.pre_stop;
}

const probe* probe_of(const container_spec& container, probe_kind which) {
    const std::optional<probe>& found = which == probe_kind::startup     ? container.startup
                                        : which == probe_kind::readiness ? container.readiness
                                                                         : container.liveness;
    return found ? &*found : nullptr;
}

std::string to_string(const pod_command& command) {
    return std::visit(describe(), command);
}

std::ostream& operator<<(std::ostream& out, const pod_command& command) {
    return out << to_string(command);
}

}  // namespace signalbox::op::kubelet
