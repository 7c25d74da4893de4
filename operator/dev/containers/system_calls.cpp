// SPDX-License-Identifier: Apache-2.0
#include "containers/system_calls.hpp"

#include <linux/capability.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <type_traits>

#include <sched.h>
#include <seccomp.h>

namespace signalbox::op::containers {

namespace {

constexpr int in_no_case = -1;

struct refused_call {
    std::string_view name;
    int unless = in_no_case;  ///< the program has this capability
};

constexpr refused_call refused_calls[] = {
    // The kernel and the machine.
    {"acct"},
    {"clock_settime"},
    {"create_module"},
    {"delete_module"},
    {"finit_module"},
    {"get_kernel_syms"},
    {"init_module"},
    {"ioperm"},
    {"iopl"},
    {"kexec_file_load"},
    {"kexec_load"},
    {"lookup_dcookie"},
    {"nfsservctl"},
    {"query_module"},
    {"quotactl"},
    {"quotactl_fd"},
    {"reboot"},
    {"setdomainname"},
    {"sethostname"},
    {"settimeofday"},
    {"stime"},
    {"swapoff"},
    {"swapon"},
    {"_sysctl"},
    {"sysfs"},
    {"syslog"},
    {"uselib"},
    {"ustat"},
    {"vhangup"},
    {"vm86"},
    {"vm86old"},
    // Files beyond the container's root.
    {"chroot", CAP_SYS_CHROOT},
    {"fanotify_init"},
    {"fsconfig"},
    {"fsmount"},
    {"fsopen"},
    {"fspick"},
    {"mount"},
    {"mount_setattr"},
    {"move_mount"},
    {"open_by_handle_at"},
    {"open_tree"},
    {"pivot_root"},
    {"umount"},
    {"umount2"},
    // Other namespaces, and new ones, in which a program has all rights.
    {"setns"},
    {"unshare"},
    // Keys, which no namespace holds apart.
    {"add_key"},
    {"keyctl"},
    {"request_key"},
    // Large parts of the kernel that few programs need, with many faults in the past.
    {"bpf"},
    {"io_uring_enter"},
    {"io_uring_register"},
    {"io_uring_setup"},
    {"perf_event_open"},
    {"userfaultfd"},
    // Other processes, and the machine's memory.
    {"get_mempolicy", CAP_SYS_NICE},
    {"kcmp", CAP_SYS_PTRACE},
    {"mbind", CAP_SYS_NICE},
    {"migrate_pages", CAP_SYS_NICE},
    {"move_pages", CAP_SYS_NICE},
    {"pidfd_getfd", CAP_SYS_PTRACE},
    {"process_madvise", CAP_SYS_PTRACE},
    {"set_mempolicy", CAP_SYS_NICE},
    {"set_mempolicy_home_node", CAP_SYS_NICE},
};

/// Linux 5.17; from 424 on the numbers of all architectures are the same.
constexpr int last_known = 450;

/// CLONE_NEWTIME lies in the bits of the signal: `clone` does not have it.
constexpr std::uint64_t new_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr std::uint64_t lower_half = 0xffffffff;  // of a register

constexpr std::uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
constexpr std::uint32_t not_known = SCMP_ACT_ERRNO(ENOSYS);

class call_filter {
public:
    explicit call_filter(std::uint64_t capabilities)
        : capabilities_(capabilities), filter_(seccomp_init(not_known), &seccomp_release) {}

    /// 0 or an errno.
    int load(bool may_gain) {
        if (!filter_) {
            return ENOMEM;
        }
        attribute(SCMP_FLTATR_ACT_BADARCH, not_known);
        attribute(SCMP_FLTATR_CTL_NNP, may_gain ? 0 : 1);
        attribute(SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree: some 350 rules
        for (int number = 0; number <= last_known; ++number) {
            add_call(number);
        }
        keep(failed_ == 0 ? seccomp_load(filter_.get()) : 0);
        return failed_;
    }

private:
    void keep(int result) {
        if (failed_ == 0) {
            failed_ = -result;
        }
    }
    void attribute(scmp_filter_attr which, std::uint32_t value) {
        keep(seccomp_attr_set(filter_.get(), which, value));
    }
    void rule(std::uint32_t action, int number) {
        keep(seccomp_rule_add(filter_.get(), action, number, 0));
    }
    /// For calls whose first argument has this value under the mask. The kernel takes the lower
    /// half of a register for an `int`: nothing may be said of the upper one.
    void rule(std::uint32_t action, int number, std::uint64_t mask, std::uint64_t value) {
        const scmp_arg_cmp first{0, SCMP_CMP_MASKED_EQ, mask, value};
        keep(seccomp_rule_add_array(filter_.get(), action, number, 1, &first));
    }

    void add_call(int number) {
        const std::unique_ptr<char, decltype(&std::free)> resolved(
            seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free
        );
        if (!resolved) {
            return;
        }
        const std::string_view name = resolved.get();
        const auto* const row = std::ranges::find(refused_calls, name, &refused_call::name);
        if (row != std::end(refused_calls)) {
            rule(allows(*row) ? SCMP_ACT_ALLOW : refuse, number);
        } else if (name == "clone") {
            add_clone(number);
        } else if (name == "socket") {
            add_socket(number);
        } else if (name == "personality") {
            add_personality(number);
        } else if (name != "clone3") {
            // The flags of clone3 are in memory, which a filter cannot see. Without it the C
            // library uses clone.
            rule(SCMP_ACT_ALLOW, number);
        }
    }

    bool allows(const refused_call& row) const {
        return row.unless != in_no_case &&
               ((capabilities_ >> static_cast<unsigned>(row.unless)) & 1U) != 0;
    }

    void add_clone(int number) {
        rule(SCMP_ACT_ALLOW, number, new_namespaces, 0);
        for (std::uint64_t flag = 1; flag <= new_namespaces; flag <<= 1) {
            if ((new_namespaces & flag) != 0) {
                rule(refuse, number, flag, flag);
            }
        }
    }

    /// Not those that reach a hypervisor or the kernel's ciphers.
    void add_socket(int number) {
        for (std::uint64_t family = 0; family < AF_MAX; ++family) {
            const bool refused_one = family == AF_VSOCK || family == AF_ALG;
            rule(refused_one ? refuse : SCMP_ACT_ALLOW, number, lower_half, family);
        }
    }

    void add_personality(int number) {
        constexpr std::uint64_t asking = 0xffffffff;
        for (const std::uint64_t kind :
             {std::uint64_t{PER_LINUX},
              std::uint64_t{PER_LINUX32},
              std::uint64_t{UNAME26},
              std::uint64_t{PER_LINUX32} | std::uint64_t{UNAME26},
              asking}) {
            rule(SCMP_ACT_ALLOW, number, lower_half, kind);
        }
    }

    std::uint64_t capabilities_;
    std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&seccomp_release)> filter_;
    int failed_ = 0;
};

}  // namespace

int bound_system_calls(std::uint64_t capabilities, bool may_gain) {
    return call_filter(capabilities).load(may_gain);
}

}  // namespace signalbox::op::containers
