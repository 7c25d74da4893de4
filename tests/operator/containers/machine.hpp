// SPDX-License-Identifier: Apache-2.0
//
// A local runtime for a test, and short ways to use it.
#pragma once

#include "containers/local_runtime.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::op::containers::test {

/// A folder that goes at the end.
class scratch_folder {
public:
    explicit scratch_folder(const char* below = nullptr);
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::string& path() const { return path_; }
    /// Path of a new file with this text.
    std::string file(const std::string& name, const std::string& text) const;

private:
    std::string path_;
};

/// What became of a process.
struct outcome {
    container_error error;  ///< it was not started, if there is a reason
    exit_status status;
    std::string out, err;
};

class machine {
public:
    explicit machine(local_options options = {});
    ~machine();

    local_runtime& runtime() { return *runtime_; }
    const std::string& folder() const { return scratch_.path(); }

    /// Runs the loop until it has ended.
    template <class T>
    T await(boost::asio::awaitable<T> what) {
        std::optional<T> result;
        await(keep(std::move(what), result));
        return std::move(*result);
    }
    void await(boost::asio::awaitable<void> what);
    void spawn(boost::asio::awaitable<void> what);
    void run_until(const std::function<bool()>& done);

    sandbox make_sandbox(const std::string& hostname = "box", bool host_network = false);
    sandbox make_sandbox(sandbox_spec spec);
    /// A container in the sandbox, that runs a script of sh.
    container_spec shell(const sandbox& in, const std::string& script);
    std::unique_ptr<process> start(container_spec spec);
    std::unique_ptr<process> start_beside(process& in, process_spec spec);
    /// Waits for its end, with all output.
    outcome finish(process& of);
    outcome run(container_spec spec);
    /// Runs a script in a sandbox of its own.
    outcome run(const std::string& script);
    /// The next line of its output.
    std::string line(process& of);

    void stop();

private:
    template <class T>
    static boost::asio::awaitable<void> keep(
        boost::asio::awaitable<T> what, std::optional<T>& into
    ) {
        T value = co_await std::move(what);
        into.emplace(std::move(value));
    }

    scratch_folder scratch_;
    boost::asio::io_context loop_;
    std::unique_ptr<local_runtime> runtime_;
    int containers_ = 0;
};

process_spec script(const std::string& text);

}  // namespace signalbox::op::containers::test
