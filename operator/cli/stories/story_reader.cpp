// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/story_reader.hpp"

#include "cli/rule_book.hpp"
#include "cli/stories/cast.hpp"
#include "cli/stories/expectations.hpp"
#include "manifests/json_edit.hpp"
#include "manifests/stored_object.hpp"

#include <jobcore/policy_fields.hpp>
#include <jobcore/schema.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace signalbox::op::stories {

namespace {

namespace fs = std::filesystem;

/// What stands behind the name of an event.
enum class form {
    nothing,  ///< or an empty mapping
    span,
    pods,  ///< texts, or a mapping with `pod` and more
    edit,
    annotations,
    refusal,
    object,
    kinds,
};

struct verb_row {
    std::string_view name;
    verb what;
    form has;
    /// Members beside `pod`.
    std::span<const std::string_view> more = {};
};

constexpr std::array<std::string_view, 4> of_an_end{"code", "reason", "message", "log"};
constexpr std::array<std::string_view, 2> of_a_wait{"reason", "message"};
constexpr std::array<std::string_view, 1> of_a_schedule{"message"};
constexpr std::array<std::string_view, 1> of_a_node{"after"};

const verb_row verbs[] = {
    {"run", verb::run, form::span},
    {"wait", verb::wait, form::span},
    {"starts", verb::starts, form::pods},
    {"fails", verb::fails, form::pods, of_an_end},
    {"succeeds", verb::succeeds, form::pods},
    {"evicted", verb::evicted, form::pods},
    {"vanishes", verb::vanishes, form::pods},
    {"staysTerminating", verb::stays_terminating, form::pods},
    {"nodeLost", verb::node_lost, form::pods, of_a_node},
    {"cannotStart", verb::cannot_start, form::pods, of_a_wait},
    {"unschedulable", verb::unschedulable, form::pods, of_a_schedule},
    {"edit", verb::edit, form::edit},
    {"annotate", verb::annotate, form::annotations},
    {"refuse", verb::refuse, form::refusal},
    {"delete", verb::remove, form::object},
    {"change", verb::change, form::object},
    {"serve", verb::serve, form::kinds},
    {"restartOperator", verb::restart_operator, form::nothing},
};

std::vector<std::string_view> verb_names() {
    std::vector<std::string_view> out;
    for (const verb_row& row : verbs) {
        out.push_back(row.name);
    }
    return out;
}

std::vector<std::string_view> kind_names(bool extensions_only) {
    std::vector<std::string_view> out;
    for (const core::object_kind kind : core::all_child_kinds()) {
        if (kind->extension || !extensions_only) {
            out.push_back(core::to_string(kind));
        }
    }
    return out;
}

std::optional<core::object_kind> kind_of(std::string_view name) {
    const auto all = core::all_child_kinds();
    const auto it =
        std::ranges::find_if(all, [&](core::object_kind k) { return core::to_string(k) == name; });
    return it == all.end() ? std::nullopt : std::optional(*it);
}

/// One document.
class story_reader {
public:
    explicit story_reader(const manifests::manifest& source)
        : source_(std::make_shared<const manifests::manifest>(source)), problems_(*source_) {}

    story read() {
        out_.source = source_;
        out_.document = std::make_shared<const rapidjson::Document>(parsed(source_->json()));
        members top(*out_.document, "", problems_);
        constexpr std::array versions{story_version};
        constexpr std::array kinds{story_kind};
        top.choice("apiVersion", versions);
        top.choice("kind", kinds);
        out_.title = top.text("story");
        if (out_.title.empty()) {
            top.required("story");
        }
        read_rules(top);
        read_settings(top);
        read_job_of(top);
        read_steps(top);
        top.finish();
        return std::move(out_);
    }

    std::vector<manifests::read_error> take_errors() {
        std::vector<manifests::read_error> out = problems_.take();
        std::ranges::move(more_errors_, std::back_inserter(out));
        return out;
    }

private:
    void read_rules(members& top) {
        const json_value* written = top.find("rules");
        if (written != nullptr && written->IsArray() && !written->Empty() &&
            std::none_of(written->Begin(), written->End(), [](auto& v) { return v.IsString(); })) {
            top.fail("rules", "rules are texts: [\"5.10\"], since 5.10 without quotes is 5.1");
            return;
        }
        out_.rules = top.texts("rules");
        const auto book = cli::read_rule_books(cli::rule_book_texts());
        for (std::size_t i = 0; i < out_.rules.size(); ++i) {
            const cli::rule_choice chosen = cli::choose_rules(book, std::span(&out_.rules[i], 1));
            for (const std::string& error : chosen.errors) {
                problems_.add(core::child_pointer("/rules", i), error);
            }
        }
    }

    void read_settings(members& top) {
        const json_value* written = top.mapping("settings");
        if (written == nullptr) {
            return;
        }
        members settings(*written, "/settings", problems_);
        if (const json_value* policy = settings.mapping("policy")) {
            read_policy(*policy);
        }
        const auto extensions = kind_names(true);
        const auto serves = settings.texts("serves");
        for (std::size_t i = 0; i < serves.size(); ++i) {
            read_extension(core::child_pointer("/settings/serves", i), serves[i], extensions);
        }
        if (const json_value* after = settings.find("startAfter")) {
            out_.start_after = span_of(*after);
            const bool when_told = after->IsString() && text_of(*after) == "never";
            if (!out_.start_after && !when_told) {
                settings.fail("startAfter", "a span is expected, or `never`: when a step says so");
            }
        }
        out_.validates = settings.flag("validates").value_or(true);
        constexpr std::array<std::string_view, 1> places{"engine"};
        out_.engine_only = !settings.choice("only", places).empty();
        settings.finish();
    }

    void read_extension(
        std::string pointer, const std::string& name, std::span<const std::string_view> known
    ) {
        if (std::ranges::find(known, name) == known.end()) {
            problems_.add(std::move(pointer), unknown_name(name, known));
            return;
        }
        out_.served.set(*kind_of(name), core::served::yes);
    }

    void read_policy(const json_value& written) {
        members policy(written, "/settings/policy", problems_);
        for (const core::policy_field& field : core::policy_fields()) {
            if (const auto* time = std::get_if<0>(&field.member)) {
                if (const auto span = policy.span(field.name)) {
                    out_.policy.*(*time) = *span;
                }
            } else if (const auto number = policy.count(field.name, 0)) {
                core::set_policy_field(out_.policy, field.name, *number);
            }
        }
        policy.finish();
    }

    void read_job_of(members& top) {
        const json_value* inline_job = top.mapping("job");
        const std::string path = top.text("manifest");
        if ((inline_job != nullptr) != path.empty()) {
            problems_.add(
                "", "either `job`, a manifest, or `manifest`, the path of one, is expected"
            );
            return;
        }
        if (inline_job != nullptr) {
            out_.job = json_text(*inline_job);
        } else {
            read_manifest(path);
        }
        if (!out_.job.empty()) {
            check_job(inline_job != nullptr ? "/job" : "/manifest", inline_job != nullptr);
        }
    }

    void read_manifest(const std::string& path) {
        const fs::path beside = fs::path(source_->file()).parent_path() / path;
        const std::vector<std::string> paths{beside.lexically_normal().string()};
        manifests::read_result read = manifests::read_paths(paths);
        std::erase_if(read.objects, [](const manifests::manifest& m) {
            return !core::parse_job_kind(m.kind());
        });
        if (read.errors.empty() && read.objects.size() == 1) {
            out_.job = read.objects.front().json();
            return;
        }
        std::ranges::move(read.errors, std::back_inserter(more_errors_));
        problems_.add(
            "/manifest",
            fmt::format(
                "one training job is expected in {}; there are {}",
                paths.front(),
                read.objects.size()
            )
        );
    }

    void check_job(const std::string& pointer, bool is_inline) {
        out_.job = as_created(std::move(out_.job));
        const core::parsed_job job = core::parse_job(out_.job);
        for (const core::diagnostic& finding : job.findings) {
            if (finding.level == core::severity::error && out_.validates) {
                problems_.add(
                    is_inline ? pointer + finding.pointer : pointer,
                    is_inline ? finding.message : finding.pointer + ": " + finding.message
                );
            }
        }
        const auto readable = core::read_job_head(out_.job);
        if (!readable) {
            problems_.add(pointer, readable.error());
            out_.job.clear();
            return;
        }
        cast_.add(out_.job);
    }

    void read_steps(members& top) {
        const json_value* steps = top.required("steps");
        if (steps == nullptr) {
            return;
        }
        if (!steps->IsArray() || steps->Empty()) {
            top.fail("steps", "a list of steps is expected");
            return;
        }
        // A replica may come by a later edit only where that stands before.
        for (std::size_t i = 0; i < steps->Size(); ++i) {
            const json_value& item = (*steps)[static_cast<rapidjson::SizeType>(i)];
            read_step(item, core::child_pointer("/steps", i));
        }
    }

    void read_step(const json_value& item, const std::string& pointer) {
        story_step step;
        step.pointer = pointer;
        if (item.IsString()) {  // `- run`
            read_event(text_of(item), nullptr, pointer, step);
            out_.steps.push_back(std::move(step));
            return;
        }
        members m(item, pointer, problems_);
        std::string refused;
        if (m.find("refused") != nullptr) {
            refused = m.text("refused");
        }
        for (const verb_row& row : verbs) {
            const json_value* value = m.find(row.name);
            if (value == nullptr) {
                continue;
            }
            if (!step.events.empty()) {
                m.fail(row.name, "a second thing that happens: each has a step of its own");
                continue;
            }
            read_event(row.name, value, m.at(row.name), step);
        }
        if (const json_value* expect = m.mapping("expect")) {
            step.expects =
                read_expectations(*expect, m.at("expect"), problems_, cast_, step.within);
        }
        m.finish();
        if (!refused.empty()) {
            if (!step.events.empty() && step.events.front().what == verb::edit) {
                step.events.front().refused = refused;
            } else {
                m.fail("refused", "it is for an `edit`");
            }
        }
        if (item.IsObject() && step.events.empty() && step.expects.empty()) {
            problems_.add(
                pointer,
                fmt::format("an `expect` or one of these is expected: {}", joined(verb_names()))
            );
        }
        out_.steps.push_back(std::move(step));
    }

    void read_event(
        std::string_view name, const json_value* value, const std::string& pointer, story_step& step
    ) {
        const auto row = std::ranges::find(verbs, name, &verb_row::name);
        if (row == std::end(verbs)) {
            problems_.add(pointer, unknown_name(name, verb_names()));
            return;
        }
        const bool optional = row->has == form::nothing || row->what == verb::run;
        if (value == nullptr && !optional) {
            problems_.add(pointer, fmt::format("`{}` needs a value", name));
            return;
        }
        const bool several =
            row->has == form::pods && value->IsArray() && !value->Empty() && (*value)[0].IsObject();
        for (std::size_t i = 0; i < (several ? value->Size() : 1U); ++i) {
            story_event event;
            event.what = row->what;
            event.pointer = several ? core::child_pointer(pointer, i) : pointer;
            if (value != nullptr && !(optional && value->IsNull())) {
                const auto item = static_cast<rapidjson::SizeType>(i);
                read_value(*row, several ? (*value)[item] : *value, event);
            }
            step.events.push_back(std::move(event));
        }
    }

    void read_value(const verb_row& row, const json_value& value, story_event& to) {
        switch (row.has) {
            case form::nothing: {
                members(value, to.pointer, problems_).finish();
                return;
            }
            case form::span:
                to.span = span_of(value);
                if (!to.span) {
                    problems_.add(to.pointer, "a span is expected: `300ms`, `10s`, `5m`, `2h`");
                }
                return;
            case form::pods:
                read_pods(row, value, to);
                return;
            case form::edit:
                read_edit(value, to);
                return;
            case form::annotations:
                read_annotations(value, to);
                return;
            case form::refusal:
                read_refusal(value, to);
                return;
            case form::object:
                read_object(row, value, to);
                return;
            case form::kinds:
                read_served(value, to);
                return;
        }
    }

    void read_pods(const verb_row& row, const json_value& value, story_event& to) {
        if (value.IsObject()) {
            members m(value, to.pointer, problems_);
            to.replicas = m.texts("pod");
            for (const std::string_view more : row.more) {
                read_more(m, more, to);
            }
            m.finish();
            if (to.replicas.empty()) {
                m.required("pod");
            }
        } else {
            rapidjson::Document wrapped(rapidjson::kObjectType);
            json_value copy(value, wrapped.GetAllocator());
            wrapped.AddMember("pod", copy, wrapped.GetAllocator());
            const bool right =
                value.IsString() ||
                (value.IsArray() && !value.Empty() &&
                 std::all_of(value.Begin(), value.End(), [](auto& v) { return v.IsString(); }));
            if (!right) {
                problems_.add(
                    to.pointer,
                    "a replica such as `worker-1`, a list of them, or a mapping with `pod`"
                );
                return;
            }
            to.replicas = members(wrapped, to.pointer, problems_).texts("pod");
        }
        for (const std::string& replica : to.replicas) {
            check_replica(replica, to.pointer);
        }
    }

    void read_more(members& m, std::string_view key, story_event& to) {
        if (key == "code") {
            to.code = m.count(key, 1).value_or(1);
        } else if (key == "reason") {
            to.reason = m.text(key);
        } else if (key == "message") {
            to.message = m.text(key);
        } else if (key == "log") {
            to.log = m.text(key);
            out_.has_logs = out_.has_logs || !to.log.empty();
        } else {
            to.span = m.span(key);
        }
    }

    void check_replica(std::string_view replica, const std::string& pointer) {
        if (const std::string complaint = cast_.complaint(replica); !complaint.empty()) {
            problems_.add(pointer, complaint);
        }
    }

    void read_edit(const json_value& value, story_event& to) {
        if (!value.IsObject()) {
            problems_.add(to.pointer, "a merge patch of `spec` is expected: a mapping");
            return;
        }
        to.patch = fmt::format(R"({{"spec":{}}})", json_text(value));
        edited_ = manifests::merge_patch(edited_.empty() ? out_.job : edited_, to.patch);
        cast_.add(edited_);
    }

    void read_annotations(const json_value& value, story_event& to) {
        members m(value, to.pointer, problems_);
        if (!m.readable()) {
            return;
        }
        for (const auto& member : value.GetObject()) {
            const bool right = member.value.IsString() || member.value.IsNull();
            if (!right) {
                m.fail(text_of(member.name), "a text is expected, or null to remove it");
            }
        }
        to.patch = fmt::format(R"({{"metadata":{{"annotations":{}}}}})", json_text(value));
    }

    void read_refusal(const json_value& value, story_event& to) {
        members m(value, to.pointer, problems_);
        constexpr std::array<std::string_view, 2> written{"create", "patch"};
        refusal_rule& rule = to.refusal;
        const auto kinds = kind_names(false);
        if (const std::string kind = m.choice("kind", kinds); !kind.empty()) {
            rule.kind = kind_of(kind);
        }
        rule.verb = m.choice("verb", written);
        rule.name = m.text("name");
        rule.replica = m.text("pod");
        if (!rule.replica.empty()) {
            rule.kind = core::object_kind::pod;
            check_replica(rule.replica, m.at("pod"));
        }
        rule.code = m.count("code", 400).value_or(rule.code);
        if (std::string reason = m.text("reason"); !reason.empty()) {
            rule.reason = std::move(reason);
        }
        rule.message = m.text("message");
        const json_value* times = m.find("times");
        if (times != nullptr && times->IsString() && text_of(*times) == "always") {
            rule.times = -1;
        } else {
            rule.times = m.count("times", 1).value_or(1);
        }
        m.finish();
    }

    void read_object(const verb_row& row, const json_value& value, story_event& to) {
        members m(value, to.pointer, problems_);
        const auto kinds = kind_names(false);
        m.required("kind");
        if (const std::string kind = m.choice("kind", kinds); !kind.empty()) {
            to.kind = *kind_of(kind);
        }
        to.name = m.text("name");
        if (row.what == verb::change) {
            m.required("patch");
            if (const json_value* patch = m.mapping("patch")) {
                to.patch = json_text(*patch);
            }
        }
        m.finish();
    }

    void read_served(const json_value& value, story_event& to) {
        const auto known = kind_names(true);
        const bool list = value.IsArray();
        for (std::size_t i = 0; i < (list ? value.Size() : 1U); ++i) {
            const json_value& name = list ? value[static_cast<rapidjson::SizeType>(i)] : value;
            const auto kind = name.IsString() ? kind_of(text_of(name)) : std::nullopt;
            if (!kind || !(*kind)->extension) {
                problems_.add(
                    to.pointer,
                    name.IsString() ? unknown_name(text_of(name), known)
                                    : "a kind, or a list of kinds: " + joined(known)
                );
                continue;
            }
            to.kinds.push_back(*kind);
        }
    }

    std::shared_ptr<const manifests::manifest> source_;
    problems problems_;
    std::vector<manifests::read_error> more_errors_;
    story out_;
    cast cast_;
    std::string edited_;  ///< the job after the edits so far
};

}  // namespace

core::instant story_begin() {
    using namespace std::chrono;
    return core::instant(sys_days(year(2026) / January / 1));
}

std::string as_created(std::string job) {
    if (manifests::string_at(job, "/metadata/creationTimestamp").empty()) {
        job = manifests::with_string(
            job, "/metadata/creationTimestamp", core::format_time(story_begin())
        );
    }
    job = manifests::as_stored(
        std::move(job), {"story", "default", "00000000-0000-4000-8000-000000000000"}
    );
    return manifests::with_value(job, "/metadata/generation", "1");
}

read_stories read_story_files(std::span<const std::string> paths) {
    read_stories out;
    manifests::read_result read = manifests::read_paths(paths);
    out.errors = std::move(read.errors);
    for (const manifests::manifest& source : read.objects) {
        if (source.kind() != story_kind) {
            out.errors.push_back(
                {source.file(),
                 source.locate("/kind"),
                 "/kind",
                 fmt::format("`{}` is expected: `signalbox test` takes stories", story_kind)}
            );
            continue;
        }
        story_reader reader(source);
        out.stories.push_back(reader.read());
        std::ranges::move(reader.take_errors(), std::back_inserter(out.errors));
    }
    return out;
}

}  // namespace signalbox::op::stories
