// SPDX-License-Identifier: Apache-2.0
#include "cli/stories/expectations.hpp"

#include <jobcore/account.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::op::stories {

namespace {

using mismatches = std::vector<mismatch>;

// How members are read.

void read_text(const json_value& v, const std::string& at, problems& into, const cast&) {
    if (!v.IsString()) {
        into.add(at, "a text is expected");
    }
}

void read_number(const json_value& v, const std::string& at, problems& into, const cast&) {
    if (!v.IsInt() || v.GetInt() < 0) {
        into.add(at, "a whole number is expected");
    }
}

void read_flag(const json_value& v, const std::string& at, problems& into, const cast&) {
    if (!v.IsBool()) {
        into.add(at, "true or false is expected");
    }
}

void read_texts(const json_value& v, const std::string& at, problems& into, const cast&) {
    const bool list = v.IsArray() && std::all_of(v.Begin(), v.End(), [](const json_value& item) {
                          return item.IsString();
                      });
    if (!v.IsString() && !list) {
        into.add(at, "a text or a list of texts is expected");
    }
}

void read_object(const json_value& v, const std::string& at, problems& into, const cast&) {
    if (!v.IsObject()) {
        into.add(at, "a mapping is expected");
    }
}

void read_replicas(const json_value& v, const std::string& at, problems& into, const cast& known) {
    if (!v.IsArray()) {
        into.add(at, "a list of replicas is expected: [worker-0, worker-1]");
        return;
    }
    for (std::size_t i = 0; i < v.Size(); ++i) {
        const json_value& item = v[static_cast<rapidjson::SizeType>(i)];
        const std::string complaint = item.IsString() ? known.complaint(text_of(item))
                                                      : "a replica is expected, such as `worker-1`";
        if (!complaint.empty()) {
            into.add(core::child_pointer(at, i), complaint);
        }
    }
}

void read_conditions(const json_value& v, const std::string& at, problems& into, const cast&) {
    members all(v, at, into);
    for (const std::string_view type : core::condition_types()) {
        const json_value* wanted = all.find(type);
        if (wanted == nullptr || wanted->IsBool() || wanted->IsNull()) {
            continue;
        }
        if (!wanted->IsObject()) {
            all.fail(type, "true, false, null (absent), or a mapping is expected");
            continue;
        }
        members one(*wanted, all.at(type), into);
        one.flag("status");
        one.text("reason");
        one.text("message");
        one.finish();
    }
    all.finish();
}

void read_transition(const json_value& v, const std::string& at, problems& into, const cast&) {
    if (v.IsNull()) {
        return;
    }
    members m(v, at, into);
    m.text("reason");
    m.span("in");
    m.finish();
}

/// Calls `read` with each item of a list that is a mapping; `or_text`: texts are taken too.
template <class Read>
void read_items(
    const json_value& v, const std::string& at, problems& into, bool or_text, Read read
) {
    if (!v.IsArray()) {
        into.add(at, "a list is expected");
        return;
    }
    for (std::size_t i = 0; i < v.Size(); ++i) {
        const json_value& item = v[static_cast<rapidjson::SizeType>(i)];
        if (or_text && item.IsString()) {
            continue;
        }
        members m(item, core::child_pointer(at, i), into);
        read(m);
        m.finish();
    }
}

void check_replica(members& m, const cast& known) {
    const std::string replica = m.text("pod");
    const std::string complaint = replica.empty() ? "" : known.complaint(replica);
    if (!complaint.empty()) {
        m.fail("pod", complaint);
    }
}

void check_kind(members& m) {
    std::vector<std::string_view> kinds;
    for (const core::object_kind kind : core::all_child_kinds()) {
        kinds.push_back(core::to_string(kind));
    }
    kinds.push_back(core::to_string(core::object_kind::job));
    m.choice("kind", kinds);
}

void read_events(const json_value& v, const std::string& at, problems& into, const cast&) {
    read_items(v, at, into, true, [](members& m) {
        m.required("reason");
        m.text("reason");
        m.text("message");
        m.count("count", 0);
        constexpr std::array<std::string_view, 2> types{"Normal", "Warning"};
        m.choice("type", types);
    });
}

void read_actions(const json_value& v, const std::string& at, problems& into, const cast& known) {
    read_items(v, at, into, false, [&](members& m) {
        constexpr std::array<std::string_view, 5> verbs{
            "create", "patch", "delete", "confirm", "read"};
        m.required("verb");
        m.choice("verb", verbs);
        check_kind(m);
        check_replica(m, known);
        m.text("name");
        m.text("rule");
        m.text("why");
        m.count("count", 0);
    });
}

void read_objects(const json_value& v, const std::string& at, problems& into, const cast& known) {
    read_items(v, at, into, false, [&](members& m) {
        check_kind(m);
        check_replica(m, known);
        m.text("name");
        m.flag("absent");
        m.count("count", 0);
        m.mapping("has");
        if (m.find("kind") == nullptr && m.find("pod") == nullptr) {
            m.required("kind");
        }
    });
}

// How they are compared.

void equal(
    const json_value& wanted, const std::string& at, const std::string& found_json, mismatches& into
) {
    const rapidjson::Document found = parsed(found_json);
    if (wanted != found) {
        into.push_back({at, json_text(wanted), found_json, found_json});
    }
}

std::string as_json(std::string_view text) {
    return core::json_string(text);
}

/// A member of a mapping; empty if there is none.
std::string_view text_at(const json_value& object, const char* key) {
    const auto it = object.FindMember(key);
    return it != object.MemberEnd() && it->value.IsString() ? text_of(it->value)
                                                            : std::string_view();
}

bool fits(const json_value& wanted, const char* key, std::string_view found) {
    const std::string_view text = text_at(wanted, key);
    return text.empty() || text == found;
}

bool contained(const json_value& wanted, const char* key, std::string_view found) {
    return found.find(text_at(wanted, key)) != std::string_view::npos;
}

void contains_all(
    const json_value& wanted,
    const std::string& at,
    const std::vector<std::string>& found,
    mismatches& into
) {
    const auto look = [&](const json_value& text, const std::string& place) {
        const bool is_there = std::ranges::any_of(found, [&](const std::string& line) {
            return line.find(text_of(text)) != std::string::npos;
        });
        if (!is_there) {
            into.push_back(
                {place,
                 "contains " + as_json(text_of(text)),
                 found.empty() ? "nothing" : fmt::format("{}", fmt::join(found, "\n")),
                 ""}
            );
        }
    };
    if (wanted.IsString()) {
        look(wanted, at);
        return;
    }
    for (std::size_t i = 0; i < wanted.Size(); ++i) {
        look(wanted[static_cast<rapidjson::SizeType>(i)], core::child_pointer(at, i));
    }
}

void compare_phase(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    equal(v, at, as_json(core::to_string(there.status.phase)), into);
}

void compare_reason(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    equal(v, at, as_json(there.status.reason), into);
}

void compare_message(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    std::vector<std::string> found;
    for (const core::condition& condition : there.status.conditions) {
        if (!condition.message.empty()) {
            found.push_back(condition.message);
        }
    }
    contains_all(v, at, found, into);
}

void compare_condition(
    const json_value& wanted, const std::string& at, const core::condition* found, mismatches& into
) {
    if (found == nullptr) {
        if (!wanted.IsNull()) {
            into.push_back({at, json_text(wanted), "no such condition", "null"});
        }
        return;
    }
    const std::string state = found->status ? "true" : "false";
    if (!wanted.IsObject()) {
        equal(wanted, at, state, into);
        return;
    }
    const auto status = wanted.FindMember("status");
    if (status != wanted.MemberEnd()) {
        equal(status->value, core::child_pointer(at, "status"), state, into);
    }
    const auto reason = wanted.FindMember("reason");
    if (reason != wanted.MemberEnd()) {
        equal(reason->value, core::child_pointer(at, "reason"), as_json(found->reason), into);
    }
    const auto message = wanted.FindMember("message");
    if (message != wanted.MemberEnd()) {
        contains_all(message->value, core::child_pointer(at, "message"), {found->message}, into);
    }
}

void compare_conditions(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    for (const auto& member : v.GetObject()) {
        const std::string_view type = text_of(member.name);
        compare_condition(
            member.value,
            core::child_pointer(at, type),
            core::find_condition(there.status, type),
            into
        );
    }
}

void compare_retries(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    equal(v, at, fmt::to_string(there.status.backoff_count), into);
}

void compare_attempt(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    equal(v, at, fmt::to_string(there.status.attempt), into);
}

void compare_disruptions(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    equal(v, at, fmt::to_string(there.status.restarts.disruptions), into);
}

void compare_deleted(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    equal(v, at, there.deleted ? "true" : "false", into);
}

void compare_pods(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    std::vector<std::string> wanted, found;
    for (const json_value& item : v.GetArray()) {
        wanted.push_back(as_json(text_of(item)));
    }
    for (const cast_pod& pod : there.pods) {
        if (pod.active()) {
            found.push_back(as_json(pod.replica));
        }
    }
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    if (wanted != found) {
        const std::string list = fmt::format("[{}]", fmt::join(found, ","));
        into.push_back({at, fmt::format("[{}]", fmt::join(wanted, ",")), list, list});
    }
}

std::int32_t wanted_count(const json_value& item) {
    const auto it = item.FindMember("count");
    return it == item.MemberEnd() ? -1 : it->value.GetInt();
}

/// An item with `count` wants exactly so many, one without at least one.
void compare_count(
    const json_value& item,
    const std::string& at,
    std::int32_t found,
    const std::vector<std::string>& all,
    mismatches& into
) {
    const std::int32_t wanted = item.IsObject() ? wanted_count(item) : -1;
    if (wanted < 0 ? found > 0 : found == wanted) {
        return;
    }
    into.push_back(
        {at,
         json_text(item),
         fmt::format(
             "{} of them; there are: {}",
             found,
             all.empty() ? "none" : fmt::format("{}", fmt::join(all, "; "))
         ),
         ""}
    );
}

void compare_events(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    std::vector<std::string> all;
    for (const told_event& e : there.events) {
        all.push_back(fmt::format("{}: {}", e.reason, e.message));
    }
    for (std::size_t i = 0; i < v.Size(); ++i) {
        const json_value& item = v[static_cast<rapidjson::SizeType>(i)];
        std::int32_t found = 0;
        for (const told_event& e : there.events) {
            const bool same = item.IsString()
                                  ? text_of(item) == e.reason
                                  : fits(item, "reason", e.reason) &&
                                        contained(item, "message", e.message) &&
                                        fits(item, "type", e.warning ? "Warning" : "Normal");
            found += same ? e.count : 0;
        }
        compare_count(item, core::child_pointer(at, i), found, all, into);
    }
}

/// `behaviour 5.7` may be written without its first word. An API server is not told of rules.
bool is_rule(std::string_view wanted, std::string_view found) {
    constexpr std::string_view usual = "behaviour ";
    return wanted.empty() || found.empty() || wanted == found ||
           (found.starts_with(usual) && wanted == found.substr(usual.size()));
}

bool is_action(const json_value& wanted, const done_action& a) {
    return fits(wanted, "verb", a.verb) && fits(wanted, "kind", a.kind) &&
           fits(wanted, "name", a.name) && fits(wanted, "pod", a.replica) &&
           is_rule(text_at(wanted, "rule"), a.rule) &&
           (a.why.empty() || contained(wanted, "why", a.why));
}

void compare_actions(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    std::vector<std::string> all;
    for (const done_action& a : there.actions) {
        all.push_back(fmt::format("{} {} {} ({}: {})", a.verb, a.kind, a.name, a.rule, a.why));
    }
    if (v.Empty() && !all.empty()) {
        into.push_back({at, "[]", fmt::format("{}", fmt::join(all, "; ")), ""});
    }
    for (std::size_t i = 0; i < v.Size(); ++i) {
        const json_value& item = v[static_cast<rapidjson::SizeType>(i)];
        const auto found = std::ranges::count_if(there.actions, [&](const done_action& a) {
            return is_action(item, a);
        });
        compare_count(
            item, core::child_pointer(at, i), static_cast<std::int32_t>(found), all, into
        );
    }
}

void compare_transition(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    const auto& next = there.status.next_transition;
    if (!next) {
        if (!v.IsNull()) {
            into.push_back({at, json_text(v), "nothing", "null"});
        }
        return;
    }
    const auto in = std::chrono::duration_cast<core::seconds>(
        next->time - core::round_down_to_second(there.now)
    );
    const std::string found =
        fmt::format(R"({{"reason":{},"in":"{}s"}})", as_json(next->reason), in.count());
    if (v.IsNull()) {
        into.push_back({at, "nothing", found, found});
        return;
    }
    const auto reason = v.FindMember("reason");
    if (reason != v.MemberEnd()) {
        equal(reason->value, core::child_pointer(at, "reason"), as_json(next->reason), into);
    }
    const auto span = v.FindMember("in");
    if (span != v.MemberEnd() &&
        std::chrono::abs(span_of(span->value).value_or(in) - core::milliseconds(in)) >
            there.slack) {
        const std::string text = fmt::format("\"{}s\"", in.count());
        into.push_back({core::child_pointer(at, "in"), json_text(span->value), text, text});
    }
}

bool is_object(const json_value& wanted, const child_object& child, const scene& there) {
    const std::string_view replica = text_at(wanted, "pod");
    if (!replica.empty()) {
        const auto pod = std::ranges::find(there.pods, replica, &cast_pod::replica);
        return pod != there.pods.end() && child.kind == core::object_kind::pod &&
               pod->record.name == child.name;
    }
    return fits(wanted, "kind", core::to_string(child.kind)) && fits(wanted, "name", child.name);
}

/// The job itself is an object too.
void compare_object(
    const json_value& wanted, const std::string& at, const scene& there, mismatches& into
) {
    const auto has = wanted.FindMember("has");
    const std::string place = core::child_pointer(at, "has");
    if (text_at(wanted, "kind") == core::to_string(core::object_kind::job)) {
        if (has != wanted.MemberEnd()) {
            compare_subset(has->value, &there.job, place, into);
        }
        return;
    }
    std::vector<std::string> all;
    std::int32_t found = 0;
    mismatches nearest;
    for (const child_object& child : there.children) {
        all.push_back(fmt::format("{} {}", core::to_string(child.kind), child.name));
        if (!is_object(wanted, child, there)) {
            continue;
        }
        mismatches wrong;
        if (has != wanted.MemberEnd()) {
            const rapidjson::Document object = parsed(child.json);
            compare_subset(has->value, &object, place, wrong);
        }
        found += wrong.empty() ? 1 : 0;
        if (!wrong.empty() && (nearest.empty() || wrong.size() < nearest.size())) {
            nearest = std::move(wrong);
        }
    }
    const auto absent = wanted.FindMember("absent");
    if (absent != wanted.MemberEnd() && absent->value.GetBool()) {
        if (found > 0) {
            into.push_back({at, json_text(wanted), fmt::format("{} of them", found), ""});
        }
    } else if (found == 0 && wanted_count(wanted) < 0 && !nearest.empty()) {
        std::ranges::move(nearest, std::back_inserter(into));
    } else {
        compare_count(wanted, at, found, all, into);
    }
}

void compare_objects(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    for (std::size_t i = 0; i < v.Size(); ++i) {
        compare_object(
            v[static_cast<rapidjson::SizeType>(i)], core::child_pointer(at, i), there, into
        );
    }
}

void compare_status(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    const auto status = there.job.FindMember("status");
    compare_subset(v, status == there.job.MemberEnd() ? nullptr : &status->value, at, into);
}

void compare_explain(
    const json_value& v, const std::string& at, const scene& there, mismatches& into
) {
    std::vector<std::string> found;
    for (const core::explain_line& line : there.explained) {
        found.push_back(line.sentence);
    }
    contains_all(v, at, found, into);
}

const expectation_row rows[] = {
    {"phase", &read_text, &compare_phase},
    {"reason", &read_text, &compare_reason},
    {"message", &read_texts, &compare_message},
    {"conditions", &read_conditions, &compare_conditions},
    {"retries", &read_number, &compare_retries},
    {"attempt", &read_number, &compare_attempt},
    {"disruptions", &read_number, &compare_disruptions},
    {"pods", &read_replicas, &compare_pods},
    {"events", &read_events, &compare_events},
    {"actions", &read_actions, &compare_actions},
    {"nextTransition", &read_transition, &compare_transition},
    {"objects", &read_objects, &compare_objects},
    {"status", &read_object, &compare_status},
    {"explain", &read_texts, &compare_explain},
    {"deleted", &read_flag, &compare_deleted},
};

}  // namespace

std::vector<expectation> read_expectations(
    const json_value& expect,
    const std::string& pointer,
    problems& into,
    const cast& known,
    core::milliseconds& within
) {
    std::vector<expectation> out;
    members all(expect, pointer, into);
    within = all.span("within").value_or(within);
    for (const expectation_row& row : rows) {
        if (const json_value* wanted = all.find(row.name)) {
            row.read(*wanted, all.at(row.name), into, known);
            out.push_back({&row, all.at(row.name), wanted});
        }
    }
    all.finish();
    if (all.readable() && out.empty()) {
        into.add(pointer, "nothing is expected here");
    }
    return out;
}

std::vector<mismatch> compare(std::span<const expectation> expected, const scene& there) {
    mismatches out;
    for (const expectation& e : expected) {
        const std::string wanted = json_text(*e.wanted);
        const rapidjson::Document named = parsed(with_hash(wanted, json_text(there.job)));
        e.row->compare(named, e.pointer, there, out);
    }
    return out;
}

}  // namespace signalbox::op::stories
