// SPDX-License-Identifier: Apache-2.0
//
// A small world around decide(): one job, its children, a clock. It carries decisions out as an
// executor and an API server would, so that tests can tell stories: "the worker exits 1, then ...".
// It is no model of Kubernetes; what pods do is said by the test.
#pragma once

#include "jobcore/decide.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::test {

class world {
public:
    explicit world(const job_builder& builder);
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world();

    job_builder& edit() { return builder_; }
    /// Takes over what was edited, as a new generation.
    void reload();

    const core::job_plan& plan() const;
    const core::job_object& job() const { return job_; }
    core::job_status& status() { return job_.status; }
    const core::job_status& status() const { return job_.status; }
    core::policy& rules() { return rules_; }
    core::instant now() const { return now_; }
    void to(core::instant t) { now_ = t; }
    void wait(core::milliseconds d) { now_ += d; }

    core::decision look() const;

    /// One pass: decide, write the status, carry the stages out. False if nothing was to be done.
    bool pass();

    /// Passes until nothing is left to do; a job that never settles is a failure of its own.
    void settle(int limit = 50);
    /// Lets time pass to the wake-up the engine asked for, then settles.
    bool wake();

    core::pod_record* find(const std::string& type, int index);
    core::pod_record& pod(const std::string& type, int index);
    std::list<core::pod_record>& pods() { return pods_; }
    /// The child of that kind, or null; the newest if there are several.
    core::child_record* child_of(core::object_kind kind);
    std::size_t count_children(core::object_kind kind) const;
    /// Somebody deletes the child.
    void delete_child(core::object_kind kind);
    std::list<core::child_record>& children() { return children_; }

    void run(core::pod_record& p);
    /// All pods that wait start, and no decision looks.
    void run_unseen();
    /// The same, and then all that follows.
    void run_all();
    void exit(core::pod_record& p, int code, const std::string& message = {});
    void exit(const std::string& type, int index, int code, const std::string& message = {});
    /// Somebody else's DELETE: the kubelet has not finished yet.
    void ask_deletion(core::pod_record& p, std::int64_t grace = 30);
    /// The pod object disappears.
    void vanish(const std::string& type, int index);
    /// The kubelet finishes all deletions.
    void finish_deletions();
    /// Runs the job to a state in which every wanted pod runs. Of a ColossalAIJob these are the
    /// workers; its launcher, which is made then, runs after another run_all().
    void start();

    bool has_event(std::string_view reason) const { return count_events(reason) > 0; }
    std::size_t count_events(std::string_view reason) const;
    std::string condition(std::string_view type) const;
    std::size_t live_pods() const;

    std::vector<core::refusal> refusals;
    std::vector<core::confirmed_absence> absences;
    std::vector<std::uint64_t> admitted;  ///< contents of pods, see core::observed
    core::capabilities served = all_served();
    bool no_room = false;
    bool reads_logs = false;
    std::map<std::string, std::string> logs;  ///< by the name of the pod, with times
    int logs_read = 0;
    core::progress_report reported;               ///< attempt 0: nothing
    std::optional<core::instant> reported_since;  ///< absent: no one listens
    core::progress_access receiver;               ///< pods can report there; no URL: nowhere
    /// A process of the present attempt reports.
    void report(core::progress_message said);
    std::vector<core::event> events;
    std::vector<std::string> job_patches;
    int status_writes = 0;
    int creates = 0;
    bool job_deleted = false;
    /// Deletes leave the pod terminating instead of removing it at once.
    bool slow_deletes = false;
    /// Called for each action; false: it did not take effect (the stage ends there).
    std::function<bool(const core::action&)> gate;
    const core::decision& last() const { return last_; }

private:
    bool acted(const core::decision& d) const;
    bool carry_out(const core::action& a);
    bool create(const core::action& a);
    core::child_record as_made(const core::action& a) const;
    bool patch(const core::action& a);
    bool remove(const core::action& a);

    job_builder builder_;
    std::int64_t generation_ = 0;
    core::job_object job_;
    core::policy rules_;
    core::instant now_ = story_start;
    std::list<core::pod_record> pods_;
    std::list<core::child_record> children_;
    core::decision last_;
    std::vector<core::log_evidence> read_;
    int uids_ = 0;
};

}  // namespace signalbox::test
