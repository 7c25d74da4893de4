// SPDX-License-Identifier: Apache-2.0
//
// Jobs whose status, labels or specification somebody damages by hand, in every phase.
#include "configurations.hpp"
#include "spec_edits.hpp"

#include <utility>

namespace signalbox::search {

namespace {

using core::job_kind;
using test::draft;

draft plain_job(int workers) {
    draft d;
    d.types = {{"master", 1, "OnFailure", 1}, {"worker", workers, "OnFailure", 1}};
    d.run_policy["backoffLimit"] = "1";
    return d;
}

draft c10d_job(int nodes) {
    draft d;
    d.types = {{"node", nodes, "OnFailure", 1}};
    d.rdzv_backend = "c10d";
    d.max_restarts = 3;
    d.run_policy["backoffLimit"] = "2";
    return d;
}

draft ssh_job(job_kind kind) {
    draft d;
    d.kind = kind;
    d.types = {{"worker", 2, kind == job_kind::deepspeed ? "OnFailure" : "", 1}};
    return d;
}

draft with_policy(draft d, const char* member, const char* value) {
    d.run_policy[member] = value;
    return d;
}

draft with_clocks(draft d) {
    return with_policy(
        with_policy(std::move(d), "activeDeadlineSeconds", "400"), "ttlSecondsAfterFinished", "30"
    );
}

draft paused_job(draft d) {
    d.pause = true;
    return d;
}

configuration damaged_world(const char* name, draft job, int depth, std::vector<op> faults) {
    configuration c;
    c.name = name;
    c.job = std::move(job);
    c.codes = {0, 1};
    c.depth = depth;
    c.faults = std::move(faults);
    return c;
}

std::vector<op> of_status() {
    return {op::exits, op::pause, op::resume, op::damage_status};
}

/// Edits that got past the rules: what the attempt began with is on record alone.
std::vector<op> of_types() {
    return {op::exits, op::change_spec, op::damage_status};
}

std::vector<op> of_quota() {
    return {op::exits, op::take_quota, op::damage_status};
}

std::vector<op> of_labels() {
    return {op::exits, op::kill, op::pause, op::resume, op::mislabel, op::unwatch, op::pass};
}

std::vector<op> of_spec() {
    return {
        op::exits, op::pause, op::resume, op::break_spec, op::mend_spec, op::half_way, op::pass};
}

}  // namespace

std::vector<configuration> damage_configurations() {
    draft board = plain_job(1);
    board.tensorboard = true;
    configuration dropped =
        damaged_world("plain, TensorBoard: dropped", board, 2, {op::exits, op::drop_board});
    dropped.serves_tensorboard = false;
    configuration edited = damaged_world("plain, types: status", plain_job(1), 2, of_types());
    edited.specs = edits_of_types();
    draft open = plain_job(1);
    open.gang = true;
    open.scheduler = R"({"auto":{}})";
    draft labelled = open;
    labelled.labels["kueue.x-k8s.io/queue-name"] = "q";
    draft soon = plain_job(2);
    soon.run_policy["backoffLimit"] = "2";
    soon.annotations["batch.tensorstack.dev/stuck-after"] = "5";
    return {
        damaged_world("plain: status", plain_job(1), 2, of_status()),
        damaged_world("plain, deadline and TTL: status", with_clocks(plain_job(1)), 2, of_status()),
        damaged_world("c10d: status", c10d_job(2), 2, of_status()),
        damaged_world(
            "deepspeed: status", with_clocks(ssh_job(job_kind::deepspeed)), 2, of_status()
        ),
        damaged_world("colossalai: status", ssh_job(job_kind::colossalai), 2, of_status()),
        damaged_world("plain, scheduler chosen: status", open, 2, of_status()),
        damaged_world("plain, queue by label: status", labelled, 2, of_quota()),
        damaged_world("plain: labels", plain_job(1), 3, of_labels()),
        // A resume comes only after the pause was carried out: one choice more.
        damaged_world(
            "plain: out of view, paused",
            plain_job(1),
            4,
            {op::pause, op::resume, op::unwatch, op::pass}
        ),
        damaged_world("c10d: labels", c10d_job(2), 3, of_labels()),
        damaged_world("colossalai: labels", ssh_job(job_kind::colossalai), 2, of_labels()),
        damaged_world("plain, deadline and TTL: spec", with_clocks(plain_job(1)), 3, of_spec()),
        damaged_world(
            "plain, created paused, TTL: spec", paused_job(with_clocks(plain_job(1))), 3, of_spec()
        ),
        damaged_world(
            "c10d, TTL: spec",
            with_policy(c10d_job(2), "ttlSecondsAfterFinished", "30"),
            3,
            of_spec()
        ),
        damaged_world("c10d: spec", c10d_job(2), 2, of_spec()),
        std::move(dropped),
        std::move(edited),
        damaged_world("plain, stuck soon: order", soon, 4, {op::exits, op::node_dies, op::wake}),
    };
}

}  // namespace signalbox::search
