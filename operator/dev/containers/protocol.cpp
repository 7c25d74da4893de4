// SPDX-License-Identifier: Apache-2.0
#include "containers/protocol.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include <unistd.h>

namespace signalbox::op::containers {

namespace {

// The fields of each type, for both directions.
auto fields(container_error& v) {
    return std::tie(v.reason, v.message);
}
auto fields(sandbox_spec& v) {
    return std::tie(v.hostname, v.host_network, v.own_users);
}
auto fields(mount_point& v) {
    return std::tie(v.what, v.source, v.inside, v.target, v.read_only, v.size_limit);
}
auto fields(root_files& v) {
    return std::tie(v.image, v.changes, v.read_only);
}
auto fields(identity& v) {
    return std::tie(v.user, v.group, v.groups);
}
auto fields(process_spec& v) {
    return std::tie(
        v.argv,
        v.env,
        v.working_dir,
        v.as,
        v.capabilities,
        v.may_gain,
        v.bounded_calls,
        v.input,
        v.terminal
    );
}
auto fields(limits& v) {
    return std::tie(v.memory, v.processes);
}
auto fields(container_spec& v) {
    return std::tie(v.sandbox, v.root, v.mounts, v.process, v.bounds);
}
auto fields(exit_status& v) {
    return std::tie(v.code, v.signal, v.oom_killed);
}
auto fields(node_config& v) {
    return std::tie(
        v.user_mode, v.user, v.group, v.folder, v.cgroup_name, v.network, v.open_files, v.processes
    );
}
auto fields(make_sandbox_request& v) {
    return std::tie(v.ask, v.spec);
}
auto fields(remove_sandbox_request& v) {
    return std::tie(v.id);
}
auto fields(cut_request& v) {
    return std::tie(v.id, v.off);
}
auto fields(run_request& v) {
    return std::tie(v.ask, v.process, v.spec);
}
auto fields(exec_request& v) {
    return std::tie(v.ask, v.process, v.container, v.spec);
}
auto fields(signal_request& v) {
    return std::tie(v.process, v.number);
}
auto fields(connect_request& v) {
    return std::tie(v.ask, v.sandbox, v.address, v.port);
}
auto fields(uplink_request& v) {
    return std::tie(v.up);
}
auto fields(remove_files_request& v) {
    return std::tie(v.ask, v.folder);
}
auto fields(node_ready& v) {
    return std::tie(
        v.refused, v.address, v.shortcomings, v.cgroups, v.has_name_server, v.has_service
    );
}
auto fields(node_answer& v) {
    return std::tie(v.ask, v.error, v.values);
}
auto fields(node_exit& v) {
    return std::tie(v.process, v.status);
}

class packer {
public:
    template <class T>
    void pack(T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            out.append(reinterpret_cast<const char*>(&value), sizeof value);
        } else {
            std::apply([this](auto&... each) { (this->pack(each), ...); }, fields(value));
        }
    }
    void pack(std::string& text) {
        pack_size(text.size());
        out += text;
    }
    template <class T>
    void pack(std::vector<T>& list) {
        pack_size(list.size());
        for (T& each : list) {
            pack(each);
        }
    }
    template <class T>
    void pack(std::optional<T>& value) {
        bool has = value.has_value();
        pack(has);
        if (has) {
            pack(*value);
        }
    }
    void pack_size(std::uint64_t size) { pack(size); }

    std::string out;
};

class unpacker {
public:
    explicit unpacker(std::string_view in) : in_(in) {}

    bool good() const { return good_; }

    template <class T>
    void unpack(T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            const std::string_view bytes = take(sizeof value);
            if (good_) {
                std::memcpy(&value, bytes.data(), sizeof value);
            }
        } else {
            std::apply([this](auto&... each) { (this->unpack(each), ...); }, fields(value));
        }
    }
    void unpack(std::string& text) { text = take(unpack_size()); }
    template <class T>
    void unpack(std::vector<T>& list) {
        const std::uint64_t size = unpack_size();
        for (std::uint64_t i = 0; good_ && i < size; ++i) {
            unpack(list.emplace_back());
        }
    }
    template <class T>
    void unpack(std::optional<T>& value) {
        bool has = false;
        unpack(has);
        if (has) {
            unpack(value.emplace());
        }
    }
    std::uint64_t unpack_size() {
        std::uint64_t size = 0;
        unpack(size);
        return size;
    }

private:
    std::string_view take(std::uint64_t size) {
        good_ = good_ && size <= in_.size();
        const std::string_view taken = in_.substr(0, good_ ? size : 0);
        in_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view in_;
    bool good_ = true;
};

template <class Variant>
std::string encode_variant(Variant& what) {
    packer out;
    out.pack_size(what.index());
    std::visit([&out](auto& each) { out.pack(each); }, what);
    return std::move(out.out);
}

template <class Variant>
std::optional<Variant> decode_variant(std::string_view bytes) {
    unpacker in(bytes);
    const std::uint64_t index = in.unpack_size();
    std::optional<Variant> out;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((I == index ? in.unpack(out.emplace().template emplace<I>()) : void()), ...);
    }
    (std::make_index_sequence<std::variant_size_v<Variant>>());
    return in.good() ? out : std::nullopt;
}

constexpr std::size_t packet_limit = 32 << 10;  // far below what a socket takes
constexpr std::size_t most_fds = 8;

// The first byte of a packet: where the message is.
constexpr char in_packet = 'p';
constexpr char in_file = 'f';  // in a file in memory, the first descriptor

/// The bytes as a file in memory; none if memory is short.
unique_fd file_of(std::string_view bytes) {
    unique_fd file(::memfd_create("message", MFD_CLOEXEC));
    while (file && !bytes.empty()) {
        const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
        if (written <= 0) {
            file.reset();
            break;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return file;
}

std::string bytes_of(int file) {
    struct stat is = {};
    ::fstat(file, &is);
    std::string bytes(static_cast<std::size_t>(is.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t size =
            ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (size <= 0) {
            break;
        }
        done += static_cast<std::size_t>(size);
    }
    return bytes;
}

}  // namespace

std::string encode(node_request what) {
    return encode_variant(what);
}
std::string encode(node_report what) {
    return encode_variant(what);
}
std::optional<node_request> decode_request(std::string_view bytes) {
    return decode_variant<node_request>(bytes);
}
std::optional<node_report> decode_report(std::string_view bytes) {
    return decode_variant<node_report>(bytes);
}

void message_socket::send(message what) {
    if (what.bytes.size() > packet_limit) {
        what.fds.insert(what.fds.begin(), file_of(what.bytes));
        what.bytes = in_file;
    } else {
        what.bytes.insert(what.bytes.begin(), in_packet);
    }
    queue_.push_back(std::move(what));
    flush();
}

void message_socket::flush() {
    while (!queue_.empty() && try_send(queue_.front())) {
        queue_.pop_front();
    }
}

bool message_socket::try_send(const message& what) {
    iovec part{const_cast<char*>(what.bytes.data()), what.bytes.size()};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_fds * sizeof(int))> control = {};
    if (!what.fds.empty()) {
        header.msg_control = control.data();
        header.msg_controllen = CMSG_SPACE(what.fds.size() * sizeof(int));
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(what.fds.size() * sizeof(int));
        for (std::size_t i = 0; i < what.fds.size(); ++i) {
            const int fd = what.fds[i].get();
            std::memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof fd);
        }
    }
    for (;;) {
        if (::sendmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
            return true;
        }
        if (errno != EINTR) {
            // A closed socket takes everything: the end is seen where one reads.
            return errno != EAGAIN;
        }
    }
}

message_socket::state message_socket::receive(message& into) {
    std::array<char, packet_limit + 1> buffer;
    iovec part{buffer.data(), buffer.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_fds * sizeof(int))> control = {};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t size = 0;
    do {
        size = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && errno == EAGAIN) {
        return state::nothing;
    }
    if (size <= 0) {
        return state::closed;
    }
    into.fds.clear();
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr;
         part_of = CMSG_NXTHDR(&header, part_of)) {
        if (part_of->cmsg_level == SOL_SOCKET && part_of->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof(int), sizeof fd);
                into.fds.emplace_back(fd);
            }
        }
    }
    if (buffer[0] == in_file && !into.fds.empty()) {
        into.bytes = bytes_of(into.fds.front().get());
        into.fds.erase(into.fds.begin());
    } else {
        into.bytes.assign(buffer.data() + 1, static_cast<std::size_t>(size) - 1);
    }
    return state::received;
}

}  // namespace signalbox::op::containers
