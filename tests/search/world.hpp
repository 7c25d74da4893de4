// SPDX-License-Identifier: Apache-2.0
//
// One job, its children and the process that decides on them, as the search sees them: a value that
// is copied for each choice. What is large is shared and never changed in place.
#pragma once

#include "jobcore/decide.hpp"
#include "property/draft.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace signalbox::search {

using pod_ptr = std::shared_ptr<const core::pod_record>;
using child_ptr = std::shared_ptr<const core::child_record>;
using job_ptr = std::shared_ptr<const core::job_object>;

/// What the user's edits have made of the job. Numbers are values that the configuration lists.
struct edits {
    bool pause = false;
    bool broken = false;  ///< an invalid edit that got past the rules
    bool no_board = false;
    std::int8_t size = -1;
    std::int8_t limit = -1;
    std::int8_t deadline = -1;
    std::int8_t spec = 0;
    std::int8_t noted = -1;  ///< the size that the operator wrote into a job that is not elastic
    auto operator<=>(const edits&) const = default;
};

/// How the server answers creations of pods until that changes.
enum class mood : std::uint8_t { good, quota, invalid };

/// What happened so far, as far as checks need it.
struct history {
    std::int32_t failures = 0;     ///< own failures of pods, refusals for good included
    std::int32_t disruptions = 0;  ///< what others did to pods or to the Secret
    std::int32_t edits = 0;  ///< of the specification, and of what the server serves or grants
    bool pod_created = false;
    bool lost_quota = false;   ///< it was taken away, or was less than was asked for
    bool failed_peer = false;  ///< after a success the process deleted a pod that it saw failed
    /// The type whose index 0 decides: by the specification that the attempt began with.
    std::string deciding;
    /// The types and sizes that the attempt began with.
    std::vector<std::pair<std::string, std::int32_t>> sizes;
    /// When something befell the job last, and when before that: what follows within a minute
    /// belongs to one trouble.
    std::optional<core::instant> trouble;
    std::optional<core::instant> trouble_before;
    std::optional<core::instant> incident;  ///< when one was recorded last
    std::int32_t steps = 0;                 ///< of training that were reported
    std::optional<core::instant> progress;  ///< when the last of them was
    std::int32_t progress_attempt = 0;      ///< by which attempt
    std::int32_t checkpoints = 0;           ///< that were reported
    core::milliseconds set_back{};          ///< by how much the clock went back in all
    auto operator<=>(const history&) const = default;
};

/// What somebody damaged by hand (damage.hpp).
struct damages_done {
    bool status = false;
    /// No pod of the attempt was there then: nothing else tells its types.
    bool before_pods = false;
    core::job_phase ended = core::job_phase::none;  ///< the job had, when its status was damaged
    /// Queue and scheduler that were on record then, of a job that had begun.
    std::optional<std::pair<std::string, std::string>> scheduled_by;
    std::vector<std::string> hidden;               ///< UIDs of pods that the process does not see
    std::map<std::string, std::int32_t> attempts;  ///< of mislabelled pods, by UID
    bool any_exit = false;
    int told = 0;  ///< events that tell of a repair
};

struct configuration;

/// One way to damage a status.
struct damage {
    std::string path;   ///< as in JSON, with numbers for items: `/restarts/last/time`
    std::string value;  ///< JSON; empty: the field is taken away
    /// `restarts.last.time = "nonsense"`, `startTime removed`.
    std::string words() const;
};
using damage_list = std::vector<damage>;

/// What never changes while one configuration is searched, and what is remembered between worlds.
class search_context {
public:
    explicit search_context(const configuration& c);

    const configuration& config() const { return *config_; }
    /// The job as edited, without a status; compiled once for each set of edits.
    const job_ptr& job_of(const edits& e) { return job_of(e, {}); }
    /// As it is compiled by what that status has on record of its scheduler (BEHAVIOUR.md 12.16).
    const job_ptr& job_of(const edits& e, const core::job_status& status);
    /// What `a` creates, decoded from what the library renders.
    struct rendered_pod {
        core::pod_record record;
        /// How the pod finds the others, and how many they are (BEHAVIOUR.md I10): a digest of the
        /// addresses and sizes in it.
        std::uint64_t rendezvous = 0;
    };
    const rendered_pod& pod_of(
        const core::job_object& job, const core::decision& made, const core::action& a
    );
    core::child_record child_of(
        const core::job_object& job, const core::decision& made, const core::action& a
    );
    /// What it is decoded from. Valid as long as the context.
    const std::string& text_of(
        const core::job_object& job, const core::decision& made, const core::action& a
    );
    const core::policy& rules() const { return rules_; }
    int backoff_limit(const edits& e) const;
    /// What was kept for that status and time, or null.
    const damage_list* damages_of(const core::job_object& job, core::instant now) const {
        return damaged_ && damaged_.get() == &job && damaged_at_ == now ? &damages_ : nullptr;
    }
    const damage_list& keep_damages(job_ptr job, core::instant now, damage_list all) {
        damaged_ = std::move(job);
        damaged_at_ = now;
        return damages_ = std::move(all);
    }

private:
    struct rendered_child {
        core::child_record record;
        std::string text;
    };
    const rendered_child& rendered_child_of(
        const core::job_object& job, const core::decision& made, const core::action& a
    );
    test::draft draft_of(const edits& e) const;
    std::optional<int> note_of(const edits& e) const;

    const configuration* config_;
    core::policy rules_;
    /// Edits, whether the job has begun and is not paused, then queue and scheduler on record.
    using job_key = std::tuple<edits, bool, std::string, std::string>;
    std::map<job_key, job_ptr> jobs_;
    std::unordered_map<std::string, rendered_pod> pods_;
    std::unordered_map<std::string, rendered_child> children_;
    job_ptr damaged_;
    core::instant damaged_at_{};
    damage_list damages_;
};

/// Enough for all pods of any job.
inline constexpr std::int32_t plenty = 100;

struct world {
    search_context* context = nullptr;
    core::instant now{};
    core::milliseconds skew{};  ///< of the nodes' clocks

    // The server.
    job_ptr job;
    edits spec;
    std::int32_t generation = 1;
    bool deleted = false;  ///< the job object
    std::vector<pod_ptr> pods;
    std::vector<child_ptr> children;
    std::map<std::string, std::uint64_t> rendezvous;  ///< of pods by UID
    std::vector<std::string> dead_nodes;              ///< UIDs of pods that no kubelet ever removes
    std::vector<std::string> foreign;  ///< what objects of another owner hold: foreign_key()
    core::capabilities served;
    mood server = mood::good;
    /// The object that the gang is placed by, as the server has it; null: there was none.
    std::shared_ptr<const std::string> gang_text;
    std::int32_t quota_left = plenty;         ///< pods that the queue has quota for
    std::int32_t places_left = plenty;        ///< pods that nodes have room for
    std::optional<core::instant> reserved{};  ///< when quota was reserved last
    std::int32_t made = 0;                    ///< number of the next UID

    // The process that decides. Without a value its view is the server's present.
    job_ptr known_job;
    bool job_held = false;  ///< the next edit is not shown to it
    std::optional<std::vector<pod_ptr>> known_pods;
    std::optional<std::vector<child_ptr>> known_children;
    std::vector<core::refusal> refusals;
    std::vector<core::confirmed_absence> absences;
    std::vector<core::object_reading> readings;
    core::progress_report reported;              ///< attempt 0: nothing
    std::optional<core::instant> heard_since{};  ///< absent: it hears no reports

    history past;
    damages_done harm;

    /// What the process decides here, once somebody asked; see decision_of().
    mutable std::shared_ptr<const core::decision> decided;

    bool has_plan() const { return job->compiled && job->compiled->plan.has_value(); }
    const core::job_plan& plan() const { return *job->compiled->plan; }
    bool is_stale() const { return known_pods || known_children || job_held || known_job != job; }
    bool on_dead_node(const core::pod_record& pod) const;
    /// `key` by foreign_key().
    bool is_foreign(std::string_view key) const;
    bool holds_pod(std::string_view name) const;
};

std::string foreign_key(core::object_kind kind, std::string_view name);

/// The world in which the job has just been created.
world first_world(search_context& context);

/// The plan of the job as it was before somebody broke its specification.
const core::job_plan& valid_plan(const world& w);

/// How long after its deletion timestamp a pod of the job is stuck; zero: never.
core::milliseconds stuck_after_of(const world& w);

/// The present in whole seconds, as times in objects have it.
core::instant now_in_seconds(const world& w);
/// The same by the clock of a node.
core::instant node_time(const world& w);

/// Gives the job the status and the object's other parts of the present edits.
void set_job(world& w, const core::job_status& status);
/// A new generation of the specification.
void edit_spec(world& w, const edits& e);

/// Replaces the pod by a changed copy.
template <class Change>
void change_pod(world& w, std::size_t i, Change change) {
    auto copy = std::make_shared<core::pod_record>(*w.pods[i]);
    change(*copy);
    w.pods[i] = std::move(copy);
}
template <class Change>
void change_child(world& w, std::size_t i, Change change) {
    auto copy = std::make_shared<core::child_record>(*w.children[i]);
    change(*copy);
    w.children[i] = std::move(copy);
}
/// Pods are kept in the order of their names.
void add_pod(world& w, core::pod_record pod);
void remove_pod(world& w, std::size_t i);
/// Somebody asks for the deletion: at once gone if no node has it yet.
void ask_deletion(world& w, std::size_t i);

/// Name of a child without the prefix that all of a job's children share; `job` if that is it all.
std::string_view short_name(const world& w, std::string_view name);

}  // namespace signalbox::search
