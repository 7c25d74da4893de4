// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "containers/container_runtime.hpp"
#include "containers/node_link.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace signalbox::op::containers {

/// Our ends of a process's pipes, and in `theirs` the other ones.
struct process_pipes {
    unique_fd input, output, errors;
    std::vector<unique_fd> theirs;
};
/// Errors: an errno.
boost::system::result<process_pipes, int> make_pipes(const process_spec& spec);

class local_process final : public process {
public:
    local_process(
        std::shared_ptr<node_link> link,
        process_id id,
        std::shared_ptr<process_end> end,
        process_pipes pipes,
        unique_fd terminal
    );
    ~local_process() override;

    process_id id() const { return id_; }

    boost::asio::awaitable<std::size_t> read(output_stream from, boost::asio::mutable_buffer to)
        override;
    boost::asio::awaitable<bool> write(boost::asio::const_buffer input) override;
    void close_input() override;
    void resize(std::uint16_t columns, std::uint16_t rows) override;
    boost::asio::awaitable<exit_status> wait() override;
    void signal(int number) override;
    void kill() override;

private:
    using stream = std::shared_ptr<boost::asio::posix::stream_descriptor>;
    stream open(unique_fd fd) const;

    std::shared_ptr<node_link> link_;
    process_id id_;
    std::shared_ptr<process_end> end_;
    bool terminal_;
    stream input_, output_, errors_;  // of a terminal, one
};

}  // namespace signalbox::op::containers
