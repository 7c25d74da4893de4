// SPDX-License-Identifier: Apache-2.0
//
// Looks at a user's template before it is edited: types of what we touch, and what we override.
#include "gang/gang.hpp"
#include "jobcore/strings.hpp"
#include "launch/pod_template.hpp"
#include "render/labels.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core::launch {
namespace {

enum class shape { object, list_of_objects, list_of_strings };

struct field_shape {
    std::string_view key;
    shape wanted;
};
constexpr std::array metadata_fields{
    field_shape{"labels", shape::object},
    field_shape{"annotations", shape::object},
};
constexpr std::array spec_fields{
    field_shape{"containers", shape::list_of_objects},
    field_shape{"initContainers", shape::list_of_objects},
    field_shape{"volumes", shape::list_of_objects},
};
constexpr std::array container_fields{
    field_shape{"env", shape::list_of_objects},
    field_shape{"ports", shape::list_of_objects},
    field_shape{"volumeMounts", shape::list_of_objects},
    field_shape{"command", shape::list_of_strings},
    field_shape{"args", shape::list_of_strings},
};

std::string_view name_of(shape s) {
    switch (s) {
        case shape::object:
            return "an object";
        case shape::list_of_objects:
            return "a list of objects";
        case shape::list_of_strings:
            return "a list of strings";
    }
    return {};
}

bool has_shape(const json::value& v, shape wanted) {
    if (wanted == shape::object) {
        return v.IsObject();
    }
    if (!v.IsArray()) {
        return false;
    }
    for (const auto& item : v.GetArray()) {
        // Null in a list of strings is an empty one, for the server too.
        if (wanted == shape::list_of_objects ? !item.IsObject()
                                             : !item.IsString() && !item.IsNull()) {
            return false;
        }
    }
    return true;
}

template <std::size_t N>
bool check_fields(
    compile_context& ctx,
    const json::value& object,
    const std::array<field_shape, N>& fields,
    const std::string& pointer
) {
    bool good = true;
    for (const auto& f : fields) {
        const json::value* v = json::find(object, f.key);
        if (v != nullptr && !has_shape(*v, f.wanted)) {
            ctx.error(
                pointer + '/' + std::string(f.key),
                std::string(f.key) + " must be " + std::string(name_of(f.wanted)) + '.'
            );
            good = false;
        }
    }
    return good;
}

/// A label or annotation that we set on the pods of a type; empty: it differs from pod to pod.
struct our_mark {
    std::string_view key;
    std::string value;
};

std::vector<our_mark> type_labels(
    const compile_context& ctx, std::size_t type, const std::optional<gang::pod_marks>& marks
) {
    std::vector<our_mark> labels{
        {label::owner_name, ctx.plan.job_name},
        {label::owner_kind, std::string(to_string(ctx.plan.kind))},
        {label::component, ctx.render.component},
        {label::replica_type, ctx.plan.types[type].name},
        {label::replica_index, {}},
        {label::job_uid, ctx.plan.job_uid},
        {label::attempt, {}},
        {label::round, {}},
        {label::managed_by, std::string(label::managed_by_value)},
    };
    if (marks) {
        for (const auto& [key, value] : marks->labels) {
            labels.push_back({key, value});
        }
    }
    return labels;
}

std::vector<our_mark> type_annotations(
    const compile_context& ctx, std::size_t type, const std::optional<gang::pod_marks>& marks
) {
    std::vector<our_mark> annotations{
        {label::training_container, ctx.plan.types[type].training_container}};
    if (marks) {
        for (const auto& [key, value] : marks->annotations) {
            annotations.push_back({key, value});
        }
        if (!marks->minimum.empty()) {
            annotations.push_back({marks->minimum, {}});
        }
    }
    return annotations;
}

/// `what`: `label` or `annotation`, of the template at `pointer`.
void warn_mark(
    compile_context& ctx, std::string_view what, const std::string& pointer, std::string_view key
) {
    ctx.warn(
        child_pointer(fmt::format("{}/metadata/{}s", pointer, what), key),
        fmt::format("The {} {} is set by the operator; this value is not used.", what, key)
    );
}

void warn_marks(
    compile_context& ctx,
    std::string_view what,
    const std::string& pointer,
    const json::value& theirs,
    std::span<const our_mark> ours
) {
    for (const our_mark& mark : ours) {
        const json::value* value = json::find(theirs, mark.key);
        if (value != nullptr &&
            (mark.value.empty() || !value->IsString() || json::view(*value) != mark.value)) {
            warn_mark(ctx, what, pointer, mark.key);
        }
    }
}

void warn_labels(
    compile_context& ctx,
    std::size_t type,
    const std::optional<gang::pod_marks>& marks,
    const json::value& pod_template,
    const std::string& pointer
) {
    const json::value* labels = json::find(pod_template, "metadata", "labels");
    if (labels == nullptr) {
        return;
    }
    warn_marks(ctx, "label", pointer, *labels, type_labels(ctx, type, marks));
    // The deciding pod alone carries this one: elsewhere only its value is reserved.
    if (const json::value* theirs = json::find(*labels, label::job_role)) {
        const bool says_master =
            theirs->IsString() && json::view(*theirs) == label::job_role_master;
        const bool is_deciding = type == ctx.plan.deciding_type;
        if (says_master ? !is_deciding || ctx.plan.types[type].wanted > 1 : is_deciding) {
            warn_mark(ctx, "label", pointer, label::job_role);
        }
    }
}

}  // namespace

bool check_template(
    compile_context& ctx, const replica_spec& replica, const json::value& pod_template
) {
    const std::string pointer = replica.pointer + "/template";
    if (!pod_template.IsObject()) {
        ctx.error(pointer, "template must be an object, a PodTemplateSpec.");
        return false;
    }
    bool good = true;
    if (const json::value* metadata = json::find(pod_template, "metadata")) {
        good = metadata->IsObject()
                   ? check_fields(ctx, *metadata, metadata_fields, pointer + "/metadata")
                   : (ctx.error(pointer + "/metadata", "metadata must be an object."), false);
    }
    const json::value* spec = json::find(pod_template, "spec");
    if (spec == nullptr || !spec->IsObject()) {
        ctx.error(pointer + "/spec", "spec must be an object, a PodSpec.");
        return false;
    }
    good = check_fields(ctx, *spec, spec_fields, pointer + "/spec") && good;
    if (!good) {
        return false;
    }
    for (const std::string_view list : {"containers", "initContainers"}) {
        const json::value* containers = json::find(*spec, list);
        if (list == "containers" && (containers == nullptr || containers->Empty())) {
            ctx.error(pointer + "/spec/containers", "At least one container is needed.");
            return false;
        }
        for (rapidjson::SizeType i = 0; containers != nullptr && i < containers->Size(); ++i) {
            const std::string place =
                pointer + "/spec/" + std::string(list) + '/' + std::to_string(i);
            good = check_fields(ctx, (*containers)[i], container_fields, place) && good;
        }
    }
    return good;
}

void warn_overrides(compile_context& ctx, std::size_t type, const json::value& pod_template) {
    const std::string pointer = ctx.spec.replicas[type].pointer + "/template";
    if (const json::value* metadata = json::find(pod_template, "metadata")) {
        for (const auto& member : metadata->GetObject()) {
            const auto key = json::view(member.name);
            if (key != "labels" && key != "annotations" && !member.value.IsNull()) {
                ctx.warn(
                    child_pointer(pointer + "/metadata", key),
                    "Of a template's metadata only labels and annotations are used.",
                    "FieldIgnored"
                );
            }
        }
    }
    const auto marks = gang::marks_of(ctx.plan, type);
    warn_labels(ctx, type, marks, pod_template, pointer);
    if (const json::value* theirs = json::find(pod_template, "metadata", "annotations")) {
        warn_marks(ctx, "annotation", pointer, *theirs, type_annotations(ctx, type, marks));
    }

    const json::value* scheduler = json::find(pod_template, "spec", "schedulerName");
    if (marks && !marks->scheduler_name.empty() && scheduler != nullptr &&
        !(scheduler->IsString() && json::view(*scheduler) == marks->scheduler_name)) {
        ctx.warn(
            pointer + "/spec/schedulerName",
            "This scheduler is kept, though the job asks for " +
                std::string(marks->scheduler_name) + ": it may not know of the gang.",
            "SpecWarning"
        );
    }

    // restartPolicy is reported by the validation. Empty: differs from pod to pod, so that no value
    // of the user can be right.
    const std::array<std::pair<std::string_view, std::string_view>, 2> owned{{
        {"hostname", ""},
        {"subdomain", ctx.plan.base_name},
    }};
    for (const auto& [key, ours] : owned) {
        const json::value* theirs = json::find(pod_template, "spec", key);
        if (theirs == nullptr || (theirs->IsString() && json::view(*theirs) == ours)) {
            continue;
        }
        ctx.warn(
            pointer + "/spec/" + std::string(key),
            std::string(key) + " is set by the operator" +
                (ours.empty() ? "" : " to " + std::string(ours)) + "; this value is not used."
        );
    }
}

}  // namespace signalbox::core::launch
