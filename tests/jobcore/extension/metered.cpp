// SPDX-License-Identifier: Apache-2.0
//
// A scheduler of quota that the library does not have: it uses every member of quota_scheme.
#include "extension/process_job.hpp"

#include <array>
#include <string>
#include <vector>

namespace signalbox::core::gang {
namespace {

constexpr object_kind_row tariff_row{"meters.test/v1", "Tariff", "tariffs", kind_use::reading};
constexpr object_kind_row rank_row{"meters.test/v1", "Rank", "ranks", kind_use::reading};
constexpr std::array reads{object_kind(tariff_row), object_kind(rank_row)};

constexpr std::array<std::string_view, 2> permit_fields{"rank", "pods"};
constexpr object_kind_row permit_row{
    "meters.test/v1", "Permit", "permits", kind_use::gang, true, readiness::unsaid, permit_fields};
constexpr std::array permits{object_kind(permit_row)};

std::vector<field_value> permit_values(const gang_state& s) {
    const gang_plan& gang = *s.plan.gang;
    std::string pods = "[";
    for (std::size_t i = 0; i < gang.sizes.size(); ++i) {
        pods += (i == 0 ? "{\"type\":\"" : ",{\"type\":\"") + s.plan.types[i].name +
                "\",\"pods\":" + std::to_string(gang.sizes[i]) + ",\"of\":" + gang.templates[i] +
                "}";
    }
    return {
        s.priority ? field_value(std::int64_t{*s.priority}) : field_value(),
        json_text{pods + "]", /*compared=*/false}};
}

pod_marks no_marks(const job_plan&, std::size_t) {
    return {};
}

std::int32_t number_in(const json::value& object, std::string_view key) {
    const json::value* v = json::find(object, key);
    return v != nullptr && v->IsInt() ? v->GetInt() : 0;
}

/// `status`: `{"is": "given|taken|over", "at": "...", "tariff": "...", "given": N, "back": N,
/// "ready": true}`; all of it for the one type that there is.
gang_answer permit_read(const json::value& permit) {
    auto quota = std::make_shared<quota_answer>();
    const json::value* status = json::find(permit, "status");
    const std::string_view is =
        status == nullptr ? std::string_view() : json::string_or_empty(*status, "is");
    quota->reserved = is == "given" || is == "taken";
    quota->admitted = quota->reserved;
    quota->evicted = is == "taken";
    quota->finished = is == "over";
    if (const json::value* spec = json::find(permit, "spec", "pods"); spec != nullptr) {
        for (const json::value& set : spec->GetArray()) {
            quota->sets.push_back(
                {std::string(json::string_or_empty(set, "type")), number_in(set, "pods")}
            );
        }
    }
    if (status != nullptr) {
        quota->since = json::string_or_empty(*status, "at");
        if (const json::value* ready = json::find(*status, "ready"); ready != nullptr) {
            quota->ready = ready->IsTrue();
        }
        for (quota_answer::pod_set& set : quota->sets) {
            set.count = number_in(*status, "given");
            set.reclaimed = number_in(*status, "back");
            set.flavors = {std::string(json::string_or_empty(*status, "tariff"))};
        }
    }
    gang_answer out;
    out.fixed = quota->reserved;
    out.is = is == "given" ? gang_answer::state::admitted : gang_answer::state::waiting;
    out.words = is == "taken" ? "somebody pays more" : "";
    out.quota = std::move(quota);
    return out;
}

bool is_current(const gang_state& s, const gang_answer& says) {
    return says.quota->sets.size() == 1 && says.quota->sets[0].asked == s.plan.gang->sizes[0];
}

std::optional<named_object> rank_of(const gang_request&) {
    return named_object{object_kind(rank_row), "usual"};
}

std::optional<std::int32_t> value_of(const json::value& rank) {
    return number_in(rank, "value");
}

std::vector<named_object> tariffs_of(const quota_answer& says) {
    return {{object_kind(tariff_row), says.sets.front().flavors.front()}};
}

admission_record admit(
    const quota_answer& says, std::string_view uid, std::span<const object_reading> read
) {
    admission_record out{std::string(uid), says.since, {}};
    for (const quota_answer::pod_set& set : says.sets) {
        admitted_type type{set.type, set.count, set.asked, {}};
        for (const object_reading& r : read) {
            if (r.kind == object_kind(tariff_row)) {
                json::document tariff;
                json::parse(tariff, r.json);
                type.marks.node_selector = {
                    {"meter", std::string(json::string_or_empty(tariff, "meter"))}};
            }
        }
        out.types.push_back(std::move(type));
    }
    return out;
}

std::string status_of(const quota_answer&, const quota_change& change) {
    switch (change.is) {
        case quota_change::what::release:
            return R"({"is":"wanted","given":0,"back":0,"ready":false})";
        case quota_change::what::finish:
            return change.succeeded ? R"({"is":"over","well":true})" : R"({"is":"over"})";
        case quota_change::what::ready:
            return R"({"ready":true})";
        case quota_change::what::unready:
            return R"({"ready":false})";
        case quota_change::what::reclaim:
            break;
    }
    return R"({"back":)" + std::to_string(change.reclaimed.front().second) + "}";
}

std::string template_of(const json::value& pod) {
    const json::value* containers = json::find(pod, "spec", "containers");
    return std::to_string(containers == nullptr ? 0 : containers->Size());
}

constexpr quota_scheme scheme{
    .reads = reads,
    .priority_class = rank_of,
    .priority = value_of,
    .flavors = tariffs_of,
    .admit = admit,
    .status = status_of,
    .pod_template = template_of};

}  // namespace

constinit const scheduler metered{
    .name = "metered",
    .objects = permits,
    .tells = admits::by_quota,
    .values = permit_values,
    .marks = no_marks,
    .read = permit_read,
    .is_current = is_current,
    .quota = &scheme};

}  // namespace signalbox::core::gang
