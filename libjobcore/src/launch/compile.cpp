// SPDX-License-Identifier: Apache-2.0
//
// compile_plan: what is the same for every kind, and the dispatch to the kind's own file.
#include "gang/gang.hpp"
#include "json/json.hpp"
#include "launch/compiler.hpp"
#include "launch/kinds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace signalbox::core {
namespace launch {

namespace {

constexpr std::size_t most_findings = 256;

}  // namespace

void compile_context::error(
    std::string_view pointer, std::string_view message, std::string reason
) {
    if (++errors <= most_findings) {
        findings.push_back(make_diagnostic(severity::error, pointer, message, std::move(reason)));
    }
}

void compile_context::warn(std::string_view pointer, std::string_view message, std::string reason) {
    if (++warnings <= most_findings) {
        plan.warnings.push_back(
            make_diagnostic(severity::warning, pointer, message, std::move(reason))
        );
    }
}

void compile_context::count_left_out() {
    const auto more = [](std::size_t count, severity level, std::string_view what) {
        const std::string left_out = std::to_string(count - most_findings);
        return make_diagnostic(
            level, "", left_out + " more " + std::string(what) + " are not listed", "InvalidSpec"
        );
    };
    if (errors > most_findings) {
        findings.push_back(more(errors, severity::error, "errors"));
    }
    if (warnings > most_findings) {
        plan.warnings.push_back(more(warnings, severity::warning, "warnings"));
    }
}

std::string_view compile_context::annotation(std::string_view name) const {
    const auto it = meta.annotations.find(std::string(api_group) + '/' + std::string(name));
    return it == meta.annotations.end() ? std::string_view{} : std::string_view(it->second);
}

namespace {

/// Spreads `total` by weight: largest remainder, ties by spec order; the first type gets at least
/// one, taken from the type with the most (BEHAVIOUR.md 7.1).
std::vector<std::int32_t> spread(const std::vector<replica_spec>& types, std::int32_t total) {
    std::vector<std::int32_t> shares(types.size(), 0);
    if (types.empty()) {
        return shares;
    }
    std::int64_t weights = 0;
    for (const auto& t : types) {
        weights += std::max(t.scaling_weight, 0);
    }
    // Weights are those of `replicas` where none is written, and these may be 0 for all.
    const bool equal = weights == 0;
    const auto weight_of = [&](const replica_spec& t) {
        return std::int64_t{equal ? 1 : std::max(t.scaling_weight, 0)};
    };
    weights = equal ? static_cast<std::int64_t>(types.size()) : weights;
    std::vector<std::int64_t> remainders(types.size());
    std::int64_t left = total;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const std::int64_t part = weight_of(types[i]) * total;
        shares[i] = static_cast<std::int32_t>(part / weights);
        remainders[i] = part % weights;
        left -= shares[i];
    }
    std::vector<std::size_t> order(types.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return remainders[a] > remainders[b];
    });
    for (std::size_t i = 0; left > 0; ++i, --left) {
        ++shares[order[i]];  // fewer are left over than there are types
    }
    if (shares.front() == 0 && total > 0) {
        --*std::max_element(shares.begin(), shares.end());
        shares.front() = 1;
    }
    return shares;
}

}  // namespace

namespace {

/// Pods that an elastic job wants in all; by default as many as the specification lists
/// (BEHAVIOUR.md 7.1).
std::int32_t expected_replicas(const job_spec& spec) {
    std::int64_t sum = 0;
    for (const auto& r : spec.replicas) {
        sum += r.replicas;
    }
    const auto& e = *spec.elastic;
    const std::int64_t low = e.min_replicas;
    const std::int64_t high = std::max(e.min_replicas, e.max_replicas);
    const std::int64_t asked = e.expected_replicas ? std::int64_t{*e.expected_replicas} : sum;
    return static_cast<std::int32_t>(std::clamp(asked, low, high));
}

elastic_plan plan_elastic(job_kind kind, const job_spec& spec) {
    elastic_plan out;
    out.min_replicas = spec.elastic->min_replicas;
    out.resize = row_of(kind).resize;
    return out;
}

/// What is to be written into `elastic.expectedReplicas` of a job with so many pods.
std::optional<std::int32_t> size_to_write(
    const job_spec& spec, const std::vector<std::int32_t>& wanted
) {
    const std::int32_t size = std::accumulate(wanted.begin(), wanted.end(), 0);
    const bool is_there =
        spec.elastic ? spec.elastic->expected_replicas.has_value() : spec.noted_replicas == size;
    return is_there ? std::nullopt : std::optional(size);
}

}  // namespace

std::vector<std::int32_t> wanted_replicas(const job_spec& spec) {
    if (spec.elastic) {
        return spread(spec.replicas, expected_replicas(spec));
    }
    std::vector<std::int32_t> counts;
    for (const auto& r : spec.replicas) {
        counts.push_back(r.replicas);
    }
    return counts;
}

std::string rendezvous_host(const compile_context& ctx) {
    return pod_name(ctx.plan, {.type = ctx.render.rendezvous_type, .index = 0});
}

void plan_gang(compile_context& ctx) {
    if (ctx.spec.leaves_scheduler_open()) {
        ctx.plan.possible_schedulers = gang::possible_schedulers(ctx.plan, ctx.spec);
    }
    for (const gang::objection& o : gang::add_to(ctx.plan, ctx.spec)) {
        ctx.error(o.pointer, o.message);
    }
}

void plan_subdomain(compile_context& ctx) {
    planned_object service;
    service.kind = object_kind::service;
    service.name = ctx.plan.base_name;
    service.variant = subdomain_service;
    ctx.plan.objects.push_back(std::move(service));
}

void plan_services(compile_context& ctx, std::size_t rendezvous_type) {
    plan_subdomain(ctx);
    ctx.render.rendezvous_type = rendezvous_type;
    planned_object service;
    service.kind = object_kind::service;
    service.name = rendezvous_host(ctx);
    service.variant = alias_service;
    ctx.plan.objects.push_back(std::move(service));
}

namespace {

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

}  // namespace

namespace {

/// What of pods takes quota, for schedulers that give it.
void add_quota_templates(job_plan& plan) {
    const gang::quota_scheme* quota = plan.gang ? plan.gang->by->quota : nullptr;
    if (quota == nullptr) {
        return;
    }
    for (std::size_t type = 0; type < plan.types.size(); ++type) {
        plan.gang->sizes.push_back(plan.types[type].wanted);
        json::document pod;
        json::parse(pod, render_pod(plan, {.type = type}, {}));
        plan.gang->templates.push_back(quota->pod_template(pod));
    }
}

}  // namespace
}  // namespace launch

job_plan bare_plan(const job_meta& meta) {
    job_plan plan;
    plan.kind = meta.kind;
    plan.job_name = meta.name;
    plan.ns = meta.ns;
    plan.job_uid = meta.uid;
    plan.base_name = meta.name + '-' + name_hash(meta.name, meta.uid);
    plan.retryable_codes = {130, 137, 138, 143};
    const auto more = launch::row_of(meta.kind).signal_codes;
    plan.retryable_codes.insert(plan.retryable_codes.end(), more.begin(), more.end());
    plan.scope = restarts(meta.kind) ? scope_rule::whole_job : scope_rule::no_restart;
    return plan;
}

job_plan compile_plan(
    const job_meta& meta, const job_spec& spec, std::vector<diagnostic>& findings
) {
    job_plan plan = bare_plan(meta);
    plan.run = spec.policy;
    plan.paused = spec.mode.pause;
    plan.peers_end = !spec.mode.debug;
    if (spec.elastic) {
        plan.elastic = launch::plan_elastic(meta.kind, spec);
    }

    const auto wanted = launch::wanted_replicas(spec);
    plan.size_to_write = launch::size_to_write(spec, wanted);
    for (std::size_t i = 0; i < spec.replicas.size(); ++i) {
        type_plan type;
        type.name = spec.replicas[i].type;
        type.pod_prefix = plan.base_name + '-' + type.name + '-';
        type.wanted = wanted[i];
        type.restart = spec.replicas[i].restart;
        plan.types.push_back(std::move(type));
    }

    const auto render = std::make_shared<render_data>();
    render->component = launch::lower_case(to_string(meta.kind));
    render->types.resize(plan.types.size());
    plan.render = render;

    launch::compile_context ctx{meta, spec, plan, *render, findings};
    launch::row_of(meta.kind).compile(ctx);
    ctx.count_left_out();
    if (!render->config.files.empty()) {
        render->config.hashed_size = plan.types[render->config.host_type].wanted;
        for (const bool resumed : {false, true}) {
            render->config.hash[resumed ? 1 : 0] = hash_planned_config(plan, {resumed, {}});
        }
    }
    launch::add_quota_templates(plan);
    render->fingerprints = fixed_fingerprints(plan);
    return plan;
}

}  // namespace signalbox::core
