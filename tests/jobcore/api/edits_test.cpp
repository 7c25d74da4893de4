// SPDX-License-Identifier: Apache-2.0
//
// Which edits are forbidden: every row of the tables, one value against another.
#include "api/job/edits.hpp"

#include "api/job/kinds.hpp"
#include "api/job/object.hpp"
#include "api/tables/tables.hpp"
#include "json_cases.hpp"
#include "mutations.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace signalbox;
namespace schema = core::schema;
namespace json = core::json;
using schema::change;
using schema::field;
using schema::value_type;

namespace {

struct examples {
    const schema::text_form* form;
    std::array<std::string, 2> texts;
};

std::array<std::string, 2> texts_of(const field& row) {
    static const std::array<examples, 7> known{
        examples{nullptr, {R"("aa")", R"("bb")"}},
        examples{&schema::replica_type_form, {R"("aa")", R"("bb")"}},
        examples{&schema::object_name_form, {R"("aa")", R"("bb")"}},
        examples{&schema::label_key_form, {R"("aa")", R"("bb")"}},
        examples{&schema::label_value_form, {R"("aa")", R"("bb")"}},
        examples{&schema::path_form, {R"("/a")", R"("/b")"}},
        examples{&schema::fileset_form, {R"("t9k://pvc/a/b")", R"("t9k://pvc/a/c")"}}};
    const auto* const found = std::ranges::find(known, row.form, &examples::form);
    if (found == known.end()) {
        FAIL("no examples for " << row.name << ", " << row.form->words);
    }
    return found->texts;
}

/// Two different values that are right for the row; for an object that it is there, or not.
std::array<std::string, 2> two_values(const field& row) {
    const auto text = [](std::string_view t) { return '"' + std::string(t) + '"'; };
    switch (row.type) {
        case value_type::object:
            return {"null", "{}"};
        case value_type::boolean:
            return {"true", "false"};
        case value_type::integer:
            return {std::to_string(row.minimum), std::to_string(row.minimum + 1)};
        case value_type::int_or_string:
            return {"1", "\"2\""};
        case value_type::string:
            if (!row.values.empty()) {
                return {text(row.values[0].name), text(row.values[1].name)};
            }
            return texts_of(row);
        case value_type::string_list:
            return row.form == nullptr
                       ? std::array<std::string, 2>{R"(["a"])", R"(["a","b"])"}
                       : std::array<std::string, 2>{R"(["t9k://pvc/a/b"])", R"(["t9k://pvc/a/c"])"};
        case value_type::integer_list:
            return {"[1]", "[1,2]"};
        case value_type::opaque_object:
            return {R"({"a":{"b":[1,"x"]}})", R"({"a":{"b":[1,"y"]}})"};
        case value_type::opaque_list:
            return {R"([{"a":1}])", R"([{"a":2}])"};
        case value_type::object_list:
        case value_type::time:
            break;
    }
    FAIL("no values for " << row.name);
    return {};
}

/// All rows with a value of their own below `parent`.
void collect(const field& parent, std::set<const field*>& rows) {
    for (const field& row : parent.fields) {
        if (row.type != value_type::object || row.presence_counts) {
            rows.insert(&row);
        }
        collect(row, rows);
    }
}

class edits {
public:
    edits(const test::full_job& job, std::set<const field*>& checked)
        : spec_(*schema::schema_of(job.kind).spec),
          name_(core::to_string(job.kind)),
          checked_(checked) {
        json::parse(base_, job.text);
    }

    void check_all() { check_members(spec_, "/spec", change::inherit); }

private:
    void check_members(const field& parent, const std::string& place, change inherited) {
        for (const field& row : parent.fields) {
            const change when = row.when == change::inherit ? inherited : row.when;
            const std::string pointer = place + "/" + std::string(row.name);
            if (row.type != value_type::object_list &&
                (row.type != value_type::object || row.presence_counts)) {
                check(row, pointer, when);
            }
            if (row.type == value_type::object) {
                check_members(row, pointer, when);
            } else if (row.type == value_type::object_list &&
                       rapidjson::Pointer((pointer + "/0").c_str()).Get(base_) != nullptr) {
                check_list(row, pointer, when);
            }
        }
    }

    /// That it has an item more, then the fields of its first item.
    void check_list(const field& row, const std::string& pointer, change when) {
        const json::value& list = *rapidjson::Pointer(pointer.c_str()).Get(base_);
        const std::string item = json::to_text(list[0]);
        expect(pointer, {"[" + item + "]", "[" + item + "," + item + "]"}, when);
        checked_.insert(&row);
        check_members(row, pointer + "/0", when);
    }

    void check(const field& row, const std::string& pointer, change when) {
        checked_.insert(&row);
        if (!row.moved_to.empty()) {
            check_moved(row, pointer);
            return;
        }
        const auto values = two_values(row);
        expect(pointer, values, when);
        for (const std::string_view alias : row.aliases) {
            const std::string old = pointer.substr(0, pointer.rfind('/') + 1) + std::string(alias);
            // Written with the old name, the same value is no change and another one is.
            const auto by_alias = marks({{pointer, "null"}, {old, values[0]}});
            CHECK_FALSE(core::is_forbidden_edit(marks({{pointer, values[0]}}), by_alias));
            CHECK(
                core::is_forbidden_edit(marks({{pointer, values[1]}}), by_alias) ==
                (when != change::any_time)
            );
        }
        if (!row.fallback.empty()) {
            const std::string fallback(row.fallback);
            CHECK_FALSE(
                core::is_forbidden_edit(marks({{pointer, "null"}}), marks({{pointer, fallback}}))
            );
        }
    }

    /// A field of an older API has the rule of the field that it feeds, if that is not written.
    void check_moved(const field& row, const std::string& pointer) {
        const auto values = two_values(row);
        std::string target = "/spec/" + std::string(row.moved_to);
        std::ranges::replace(target, '.', '/');
        const auto alone = [&](const std::string& value) {
            return marks({{target, "null"}, {pointer, value}});
        };
        INFO(pointer);
        CHECK(core::is_forbidden_edit(alone(values[0]), alone(values[1])));
        CHECK_FALSE(core::is_forbidden_edit(alone(values[0]), marks({{target, values[0]}})));
        CHECK_FALSE(
            core::is_forbidden_edit(marks({{pointer, values[0]}}), marks({{pointer, values[1]}}))
        );
    }

    void expect(const std::string& pointer, const std::array<std::string, 2>& values, change when) {
        INFO(name_ << " " << pointer << " " << values[0] << " " << values[1]);
        const bool fixed = when != change::any_time;
        for (const bool there : {false, true}) {
            const std::string& before = values[there ? 1 : 0];
            const std::string& after = values[there ? 0 : 1];
            CHECK_FALSE(
                core::is_forbidden_edit(marks({{pointer, before}}), marks({{pointer, before}}))
            );
            // Whether the job is paused is what that field says; see below.
            if (!pointer.ends_with("/pause/enabled")) {
                CHECK(
                    core::is_forbidden_edit(
                        marks({{pointer, before}}), marks({{pointer, after}})
                    ) == fixed
                );
            }
            CHECK(
                core::is_forbidden_edit(
                    marks({{pointer, before}, pause}), marks({{pointer, after}, pause})
                ) == (when == change::never)
            );
            CHECK(
                core::is_forbidden_edit(
                    marks({{pointer, before}}), marks({{pointer, after}, pause})
                ) == fixed
            );
        }
    }

    using place_and_value = std::pair<std::string, std::string>;
    inline static const place_and_value pause{"/spec/runMode/pause/enabled", "true"};

    core::edit_marks marks(const std::vector<place_and_value>& writes) const {
        json::document object;
        object.CopyFrom(base_, object.GetAllocator());
        for (const auto& [pointer, value] : writes) {
            json::document parsed(&object.GetAllocator());
            json::parse(parsed, value);
            REQUIRE_FALSE(parsed.HasParseError());
            rapidjson::Pointer(pointer.c_str()).Set(object, parsed);
        }
        schema::findings_collector ignored;
        const schema::job_document document(json::to_text(object), ignored);
        return schema::edit_marks_of(document["spec"]);
    }

    const field& spec_;
    std::string name_;
    json::document base_;
    std::set<const field*>& checked_;
};

}  // namespace

TEST_CASE(
    "[behaviour 10.2] [api 7.1] [api 7.2] [api 7.3] [api 7.4] an edit of any field of any kind is "
    "forbidden as its row says",
    "[api]"
) {
    std::set<const field*> rows;
    for (const auto& kind : schema::all_kinds()) {
        collect(*kind.spec, rows);
    }
    std::set<const field*> checked;
    for (const test::full_job& job : test::full_jobs()) {
        edits(job, checked).check_all();
    }
    CHECK(rows.size() > 80);
    for (const field* row : rows) {
        INFO("no job of full_jobs() has `" << row->name << "`: " << row->doc);
        CHECK(checked.contains(row));
    }
}

TEST_CASE("[behaviour 10.2] an edit is forbidden if validate_update refuses it", "[api]") {
    int refused = 0;
    int allowed = 0;
    for (const test::mutation& m : test::mutations()) {
        const auto before = core::parse_job(m.base);
        const auto after = core::parse_job(m.object);
        if (!before.spec || !after.spec) {
            continue;
        }
        INFO(core::to_string(m.kind) << " " << m.rule);
        const bool finds = !core::validate_update(m.base, m.object).empty();
        // Which the operator corrects.
        const bool of_size = m.rule.find("/expectedReplicas: ") != std::string::npos;
        CHECK(core::is_forbidden_edit(before.marks, after.marks) == (finds && !of_size));
        (finds ? refused : allowed) += 1;
    }
    CHECK(refused > 50);
    CHECK(allowed > 50);
}

TEST_CASE("[api 7.4] an object whose members changed places is the same", "[api]") {
    const auto with = [](const std::string& pod) {
        const auto parsed = core::parse_job(
            R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"DeepSpeedJob",
"metadata":{"name":"full"},"spec":{"config":{"run":{"python":["a.py"]}},"worker":{"template":{"spec":{
"containers":[{"name":"worker","image":"i"}],)" +
            pod + "}}}}}"
        );
        REQUIRE(parsed.spec);
        return parsed.marks;
    };
    const auto same = [&](const std::string& a, const std::string& b) {
        return !core::is_forbidden_edit(with(a), with(b));
    };
    CHECK(same(R"("a":1,"b":{"c":1,"d":2})", R"("b":{"d":2,"c":1},"a":1)"));
    CHECK(same(R"("a":1,"a":2)", R"("a":2)"));
    CHECK(same(R"("a":1)", R"("a":1.0)"));
    CHECK_FALSE(same(R"("a":2,"a":1)", R"("a":2)"));
    CHECK_FALSE(same(R"("a":[1,2])", R"("a":[2,1])"));
    CHECK_FALSE(same(R"("a":"1")", R"("a":1)"));
    CHECK_FALSE(same(R"("a":null)", R"("a":false)"));
    CHECK_FALSE(same(R"("a":{})", R"("a":[])"));
    CHECK_FALSE(same(R"("a":["b","c"])", R"("a":["bc"])"));
    CHECK_FALSE(same(R"("a":{"b":{},"c":1})", R"("a":{"b":{"c":1}})"));
    CHECK_FALSE(same(R"("a":18446744073709551615)", R"("a":18446744073709551614)"));
    CHECK_FALSE(same(R"("a":0.1)", R"("a":0.2)"));
}

TEST_CASE("[behaviour 10.2] a word that moves from one list into the next is an edit", "[api]") {
    const auto with = [](const std::string& words) {
        const auto parsed = core::parse_job(
            R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"DeepSpeedJob",
"metadata":{"name":"full"},"spec":{"config":{"run":{"python":["a.py"]}},
"runMode":{"pause":{"resumeSpecs":[{"type":"worker",)" +
            words + R"(}]}},
"worker":{"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}}})"
        );
        REQUIRE(parsed.spec);
        return parsed.marks;
    };
    CHECK(core::is_forbidden_edit(
        with(R"("command":["a","b"],"args":["c"])"), with(R"("command":["a"],"args":["b","c"])")
    ));
}
