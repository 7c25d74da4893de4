// SPDX-License-Identifier: Apache-2.0
//
// Watches the server's truth, not the operator's view, and writes down what breaks an invariant of
// BEHAVIOUR.md.
#pragma once

#include "jobcore/observed.hpp"
#include "k8sio/client.hpp"
#include "k8sio/reflector.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace signalbox::test {

class auditor {
public:
    explicit auditor(k8sio::client& api);
    ~auditor();

    boost::asio::awaitable<void> run_pods();
    boost::asio::awaitable<void> run_jobs(core::job_kind kind);
    void stop();

    /// Empty if every invariant held at every change.
    const std::vector<std::string>& violations() const { return violations_; }
    /// Phases of the job of that name, in the order in which they showed.
    std::vector<std::string> phases(const std::string& job) const;
    /// Names of all pods ever seen, one entry per object.
    const std::vector<std::string>& pods_created() const { return pods_created_; }
    /// The pods that are there.
    std::vector<core::pod_record> held() const;
    /// Most pods of any job that were neither ended nor terminating at one time.
    std::size_t most_live() const { return most_live_; }

private:
    class pod_sink;
    class job_sink;

    void check_pods();
    void check_job(std::string_view json);

    std::unique_ptr<pod_sink> pod_sink_;
    std::unique_ptr<job_sink> job_sink_;
    std::unique_ptr<k8sio::reflector> pods_;
    std::map<core::job_kind, std::unique_ptr<k8sio::reflector>> jobs_;
    std::map<std::string, core::pod_record> held_;
    struct seen_job {
        std::vector<std::string> phases;
        int backoff_count = 0;
        int attempt = 0;
        bool final_phase = false;
    };
    std::map<std::string, seen_job> jobs_by_uid_;
    std::map<std::string, std::string> uid_by_name_;
    std::vector<std::string> violations_;
    std::vector<std::string> pods_created_;
    std::size_t most_live_ = 0;
};

}  // namespace signalbox::test
