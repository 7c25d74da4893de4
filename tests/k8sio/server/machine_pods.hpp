// SPDX-License-Identifier: Apache-2.0
//
// A runtime of pods for tests with real clients: every container is this machine. Commands are its
// processes, ports those of 127.0.0.1, and the log of pod `p` is a line that says what was asked,
// then, if there is one, the file or pipe `p.log` of a folder.
#pragma once

#include "k8sio/server/pod_streams.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <string>

namespace signalbox::k8sio::server::test {

class machine_pods final : public pod_streams {
public:
    machine_pods(boost::asio::any_io_executor executor, std::string folder);

    result<std::unique_ptr<byte_source>> open_log(const pod_ref& pod, const log_options& options)
        override;
    boost::asio::awaitable<result<std::unique_ptr<container_process>>> exec(
        const pod_ref& pod, const process_options& options
    ) override;
    /// A process that answers each line.
    boost::asio::awaitable<result<std::unique_ptr<container_process>>> attach(
        const pod_ref& pod, const process_options& options
    ) override;
    boost::asio::awaitable<result<std::unique_ptr<byte_channel>>> connect(
        const pod_ref& pod, std::uint16_t port
    ) override;

private:
    boost::asio::any_io_executor executor_;
    std::string folder_;
};

}  // namespace signalbox::k8sio::server::test
