// SPDX-License-Identifier: Apache-2.0
//
// A job that asks Kueue for quota. Its objects are kept as the JSON that a server has, and Kueue is
// played by its own rules (workload.hpp): what the real one refuses, and what leaves it stuck, is
// thrown.
#pragma once

#include "jobcore/carry_out.hpp"
#include "jobcore/decide.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::test {

class kueue_world {
public:
    /// The job of the builder, which names its scheduler itself. `label`: of the queue; empty:
    /// none.
    explicit kueue_world(const job_builder& job, std::string label = {});

    // What the job's controller does.

    /// Decides and carries out until nothing changes. Stops also before the write of that number,
    /// counted from 1 over all calls.
    void settle();
    /// The process dies before its next write of this number from now on; 0: never.
    void die_before(int write) { dies_before_ = write; }
    /// What it kept in memory is gone.
    void restart();
    /// The clock goes on.
    void pass_time(core::seconds by) { now_ += by; }
    /// Lets time pass to the wake-up that was asked for, then settles; false: none was.
    bool wake();

    // What users do.

    job_builder& edit() { return builder_; }
    /// The edited specification is there.
    void apply();
    void set_label(std::string queue);
    void remove_workload();
    /// For somebody with an editor.
    core::job_status& stored_status() { return status_; }

    // What nodes do.

    /// All pods that are there run.
    void run_all();
    void end_pod(const std::string& name, int code);
    /// Pods that are being deleted end only by this.
    void finish_deletions();

    // What Kueue does.

    /// Quota for so many pods of each type; absent: for all that it asks for.
    void admit(const std::map<std::string, int>& counts = {}, const std::string& flavor = "only");
    void wait_with(const std::string& message);
    void evict(const std::string& reason, const std::string& message);
    /// Objects of the cluster.
    void add_flavor(const std::string& name, const std::string& spec);
    /// The answer to reads of it is this code.
    void refuse_reads(int code) { read_code_ = code; }

    const core::job_status& status() const { return status_; }
    std::string waits_for() const;
    /// Names of pods, `worker-0`, that are there and not being deleted.
    std::vector<std::string> pods() const;
    std::string pod_json(const std::string& name) const;
    bool has_workload() const { return !workload_.empty(); }
    std::string workload() const { return workload_; }
    /// The status of a condition of the Workload; empty: it is not there.
    std::string told(const std::string& type) const;
    /// Pods whose quota is taken.
    int used() const;
    int writes() const { return writes_; }
    int reads() const { return reads_; }
    const std::vector<core::event>& events() const { return events_; }
    /// Bodies of patches of the Workload's status.
    const std::vector<std::string>& patches() const { return patches_; }
    core::decision look();

private:
    struct object {
        core::object_kind kind;
        std::string name, json;
    };
    struct killed {};

    core::job_object read() const;
    bool one_pass();
    core::outcome perform(
        const core::job_object& job, const core::decision& made, const core::action& a
    );
    core::outcome patch_workload(const core::action& a);
    void change_workload(std::string text);
    void count_write();
    void keep_rules();

    job_builder builder_;
    std::string label_;
    std::int64_t generation_ = 1;
    std::string noted_ = "{}";  ///< the size, as the operator writes it down
    core::job_status status_;
    std::shared_ptr<const core::compiled_job> compiled_;
    core::job_answers answers_;
    core::capabilities served_;
    core::instant now_ = story_start;
    std::vector<object> objects_;  // but the Workload
    std::string workload_;
    std::map<std::string, std::string> flavors_;
    int read_code_ = 0;
    int made_ = 0;
    int writes_ = 0;
    int reads_ = 0;
    int dies_before_ = 0;
    bool taken_away_ = false;  ///< quota, from pods that still run
    std::vector<core::event> events_;
    std::vector<std::string> patches_;
    std::vector<core::pod_record> pod_records_;
    std::vector<core::child_record> child_records_;
    std::vector<const core::pod_record*> pod_views_;
    std::vector<const core::child_record*> child_views_;
};

}  // namespace signalbox::test
