// SPDX-License-Identifier: Apache-2.0
#include "linear/filled_jobs.hpp"

#include "api/job/kinds.hpp"
#include "api/mutations.hpp"
#include "kubernetes/fields.hpp"
#include "linear/filling.hpp"

#include <fmt/format.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <array>
#include <set>

namespace signalbox::test {
namespace {

using core::schema::field;
using core::schema::value_type;
using kubernetes::field_row;

/// What texts are made of: `$(` opens a reference that never ends, quotes and commas are what
/// shells and lists of launchers are cut at.
constexpr std::array<std::string_view, 4> units{"x", "$(", "\\\",", "\\u001b'"};

/// The types of which the compilers read something.
constexpr std::array<std::string_view, 9> read_types{
    "PodTemplateSpec",
    "ObjectMeta",
    "PodSpec",
    "Container",
    "ContainerPort",
    "EnvVar",
    "ResourceRequirements",
    "Volume",
    "VolumeMount"};

/// An item of a list of that type, with what must be there and a name of its own.
std::string item_of(std::string_view type, std::size_t i) {
    std::string out;
    for (const field_row& row : kubernetes::schema().fields(type)) {
        const bool named = row.name == "name" || row.name == "key";
        if (!named && row.is == kubernetes::presence::optional) {
            continue;
        }
        out += out.empty() ? "" : ",";
        if (row.holds == "int32" || row.holds == "IntOrString") {
            out += fmt::format(R"("{}":{})", row.name, i % 65535 + 1);
        } else if (row.holds == "string" && !row.values.empty()) {
            out +=
                fmt::format(R"("{}":"{}")", row.name, row.values.substr(0, row.values.find('|')));
        } else if (row.holds == "string") {
            const std::string_view head = row.name == "mountPath" ? "/" : "";
            out += fmt::format(R"("{}":"{}n{}")", row.name, head, i);
        }
    }
    if (type == "Container") {
        out += R"(,"image":"i")";
    }
    return "{" + out + "}";
}

class table_filler {
public:
    table_filler(core::job_kind kind, const char* text, std::vector<filled_job>& out)
        : kind_(kind), out_(out) {
        json::parse(base_, text);
        const auto set = [&](const char* pointer, const char* value) {
            rapidjson::Pointer(pointer).Set(base_, value);
        };
        set("/metadata/uid", "cffea855-5ce2-496a-8956-f6e76fe2f565");
        set("/metadata/namespace", "default");
        text_ = json::to_text(base_);
    }

    void fill_all(const field& parent, const std::string& pointer) {
        for (const field& row : parent.fields) {
            fill(row, pointer + '/' + std::string(row.name));
        }
    }

private:
    void fill(const field& row, const std::string& at) {
        if (row.kubernetes == "pod") {
            fill_type("PodTemplateSpec", at);
        } else if (row.kubernetes == "pod.spec.containers.env") {
            fill_list("EnvVar", at);
        } else if (row.kubernetes == "pod.spec.containers.resources") {
            fill_type("ResourceRequirements", at);
        }
        const bool has_item = rapidjson::Pointer((at + "/0").c_str()).Get(base_) != nullptr;
        switch (row.type) {
            case value_type::object:
                fill_all(row, at);
                add(at, "unknown members", object_of([](std::size_t i) {
                        return fmt::format(R"("n{}":1)", i);
                    }));
                break;
            case value_type::object_list:
                if (has_item) {
                    fill_all(row, at + "/0");
                }
                add(at, "items", list_of_items([&row](std::size_t i) { return item(row, i); }));
                break;
            case value_type::opaque_object:
                add(at, "members", object_of([](std::size_t i) {
                        return fmt::format(R"("n{}":1)", i);
                    }));
                break;
            case value_type::opaque_list:
                add(at, "items", list_of_items([](std::size_t i) {
                        return fmt::format(R"({{"name":"n{}"}})", i);
                    }));
                break;
            case value_type::string_list:
                add_texts(at + "/0");
                add(at, "items", list_of_items([](std::size_t i) {
                        return fmt::format(R"("--n{}={}")", i, i);
                    }));
                break;
            case value_type::integer_list:
                add(at, "items", list_of_items([](std::size_t i) { return fmt::format("{}", i); }));
                break;
            case value_type::string:
            case value_type::int_or_string:
            case value_type::time:
                add_texts(at);
                break;
            case value_type::boolean:
            case value_type::integer:
                break;
        }
    }

    /// Objects with the fields that are required and have no values of their own.
    static std::string item(const field& row, std::size_t i) {
        std::string out;
        for (const field& member : row.fields) {
            if (member.required && member.type == value_type::string) {
                out += out.empty() ? "" : ",";
                out += fmt::format(R"("{}":"n{}")", member.name, i);
            }
        }
        return "{" + out + "}";
    }

    void fill_type(std::string_view type, const std::string& at) {
        // Each type once for each job: where it stands makes no difference to who walks it.
        const bool read = std::ranges::find(read_types, type) != read_types.end();
        if ((!read && kind_ != core::job_kind::pytorch) ||
            !types_.insert(fmt::format("{}{}", type, read ? at : "")).second) {
            return;
        }
        for (const field_row& row : kubernetes::schema().fields(type)) {
            fill_row(row, at + '/' + std::string(row.name));
        }
    }

    void fill_row(const field_row& row, const std::string& at) {
        const std::string_view holds = row.holds;
        if (holds.starts_with(kubernetes::list_of)) {
            fill_list(holds.substr(kubernetes::list_of.size()), at);
        } else if (holds.starts_with(kubernetes::map_of)) {
            add(at, "members", object_of([](std::size_t i) {
                    return fmt::format(R"("example.com/n{}":"1")", i);
                }));
            add(at + "/example.com~1n", "$(", text_of("$("));
        } else if (!kubernetes::is_scalar(holds)) {
            fill_type(holds, at);
        } else if (holds != "bool" && holds != "int32" && holds != "int64") {
            add(at, "$(", text_of("$("));
        }
    }

    void fill_list(std::string_view type, const std::string& at) {
        // No template may have other containers than the one that trains, but in the case by hand.
        if (kubernetes::is_scalar(type)) {
            add(at + "/0", "$(", text_of("$("));
            add(at, "items", list_of_items([](std::size_t i) { return fmt::format("\"n{}\"", i); })
            );
            return;
        }
        fill_type(type, at + "/0");
        add(at, "items", list_of_items([type = std::string(type)](std::size_t i) {
                return item_of(type, i);
            }));
    }

    void add_texts(const std::string& at) {
        for (const std::string_view unit : units) {
            add(at, unit, text_of(std::string(unit)));
        }
    }

    void add(const std::string& at, std::string_view what, filling fill) {
        out_.push_back(filled_at(
            fmt::format("{} {}: {}", core::to_string(kind_), at, what), text_, at, std::move(fill)
        ));
    }

    core::job_kind kind_;
    std::vector<filled_job>& out_;
    std::set<std::string> types_;
    json::document base_;
    std::string text_;
};

}  // namespace

std::vector<filled_job> filled_from_tables() {
    std::vector<filled_job> all;
    for (const full_job& job : full_jobs()) {
        const core::schema::kind_schema& schema = core::schema::schema_of(job.kind);
        table_filler filler(job.kind, job.text, all);
        filler.fill_all(*schema.spec, "/spec");
        filler.fill_all(*schema.status, "/status");
    }
    return all;
}

}  // namespace signalbox::test
