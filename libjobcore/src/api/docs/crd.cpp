// SPDX-License-Identifier: Apache-2.0
//
// The CustomResourceDefinition of a kind, from its tables. It carries no defaults: the server would
// fill `enabled: false` beside a user's `enable: true` (BEHAVIOUR.md api 1.3).
#include "api/cel/cel.hpp"
#include "api/job/kinds.hpp"
#include "api/tables/tables.hpp"
#include "jobcore/schema.hpp"
#include "json/json.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <limits>

namespace signalbox::core {
namespace {

using namespace schema;

struct column {
    std::string_view name;
    std::string_view type;
    std::string_view path;
    bool wide;
};
constexpr std::array columns{
    column{"PHASE", "string", ".status.phase", false},
    column{"READY", "string", ".status.ready", false},
    column{"RESTARTS", "integer", ".status.backoffCount", false},
    column{"REASON", "string", ".status.reason", false},
    column{"AGE", "date", ".metadata.creationTimestamp", false},
    // Of the one scheduler that there is, by whichever name its field has.
    column{"QUEUE", "string", ".spec.scheduler.*['queue','Queue','queueName']", true},
    column{"PROGRESS", "integer", ".status.progress.progressPercentage", true},
    column{"STARTED", "date", ".status.startTime", true},
    column{"DURATION", "string", ".status.duration", true},
    column{"DISRUPTIONS", "integer", ".status.restarts.disruptions", true},
};

/// All values of an enumeration, aliases included.
std::string names_of_values(const field& row, std::string_view joint) {
    std::string out;
    for (const enum_value& v : row.values) {
        for (const std::string_view name : {v.name, v.alias}) {
            if (!name.empty()) {
                out += (out.empty() ? "" : std::string(joint)) + std::string(name);
            }
        }
    }
    return out;
}

std::int64_t longest_value(const field& row) {
    std::size_t longest = 0;
    for (const enum_value& v : row.values) {
        longest = std::max(longest, v.name.size());
    }
    return static_cast<std::int64_t>(longest);
}

std::string description(const field& row, std::string_view name) {
    if (name != row.name) {
        return fmt::format("Old name of `{}`.", row.name);
    }
    return row.values.empty() ? std::string(row.doc)
                              : fmt::format("{} One of: {}.", row.doc, names_of_values(row, ", "));
}

std::vector<cel_rule> joined(std::vector<cel_rule> first, const std::vector<cel_rule>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// A thin layer over RapidJSON's writer.
class json_builder {
public:
    json_builder() : writer_(buffer_) {}

    void key(std::string_view name) {
        writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    }
    void text(std::string_view value) {
        writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void member(std::string_view name, std::string_view value) {
        key(name);
        text(value);
    }
    void flag(std::string_view name, bool value) {
        key(name);
        writer_.Bool(value);
    }
    void number(std::string_view name, std::int64_t value) {
        key(name);
        writer_.Int64(value);
    }
    template <class Body>
    void object(Body body) {
        writer_.StartObject();
        body();
        writer_.EndObject();
    }
    template <class Body>
    void object(std::string_view name, Body body) {
        key(name);
        object(body);
    }
    template <class Body>
    void array(std::string_view name, Body body) {
        key(name);
        writer_.StartArray();
        body();
        writer_.EndArray();
    }
    std::string take() const { return {buffer_.GetString(), buffer_.GetSize()}; }

private:
    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

class crd_writer {
public:
    explicit crd_writer(job_kind kind) : kind_(kind) {}

    std::string write();

private:
    void names();
    void version();
    void subresources();
    void printer_columns();
    void schema();
    void rules(const std::vector<cel_rule>& list);
    void properties(std::span<const field> fields);
    void property(const field& row, std::string_view name);
    void type_of(const field& row);
    void object_members(std::span<const field> fields);
    void string_members(const field& row);
    void integer_members(const field& row);
    void list_items(const field& row);

    job_kind kind_;
    json_builder json_;
};

std::string crd_writer::write() {
    json_.object([&] {
        json_.member("apiVersion", "apiextensions.k8s.io/v1");
        json_.member("kind", "CustomResourceDefinition");
        json_.object("metadata", [&] {
            json_.member("name", std::string(plural(kind_)) + "." + std::string(api_group));
        });
        json_.object("spec", [&] {
            json_.member("group", api_group);
            names();
            json_.member("scope", "Namespaced");
            json_.array("versions", [&] { json_.object([&] { version(); }); });
        });
    });
    return json_.take();
}

void crd_writer::names() {
    const std::string kind(to_string(kind_));
    std::string singular = kind;
    for (char& c : singular) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    json_.object("names", [&] {
        json_.member("kind", kind);
        json_.member("listKind", kind + "List");
        json_.member("plural", plural(kind_));
        json_.member("singular", singular);
        json_.array("shortNames", [&] { json_.text(schema_of(kind_).short_name); });
        json_.array("categories", [&] {
            json_.text("training");
            json_.text("all");  // so that `kubectl get all` shows jobs beside their pods
        });
    });
}

void crd_writer::version() {
    json_.member("name", api_version.substr(api_group.size() + 1));
    json_.flag("served", true);
    json_.flag("storage", true);
    subresources();
    json_.array("selectableFields", [&] {
        json_.object([&] { json_.member("jsonPath", ".status.phase"); });
    });
    printer_columns();
    json_.object("schema", [&] { json_.object("openAPIV3Schema", [&] { schema(); }); });
}

void crd_writer::subresources() {
    json_.object("subresources", [&] {
        json_.object("status", [] {});
        json_.object("scale", [&] {
            json_.member("specReplicasPath", ".spec.elastic.expectedReplicas");
            json_.member("statusReplicasPath", ".status.replicas");
            json_.member("labelSelectorPath", ".status.selector");
        });
    });
}

void crd_writer::printer_columns() {
    json_.array("additionalPrinterColumns", [&] {
        for (const column& c : columns) {
            if (c.name == "RESTARTS" && !schema_of(kind_).has_restarts) {
                continue;
            }
            json_.object([&] {
                json_.member("name", c.name);
                json_.member("type", c.type);
                json_.member("jsonPath", c.path);
                if (c.wide) {
                    json_.number("priority", 1);
                }
            });
        }
    });
}

void crd_writer::schema() {
    json_.member("type", "object");
    json_.array("required", [&] { json_.text("spec"); });
    json_.object("properties", [&] {
        for (const std::string_view name : {"apiVersion", "kind"}) {
            json_.object(name, [&] { json_.member("type", "string"); });
        }
        json_.object("metadata", [&] { json_.member("type", "object"); });
        json_.object("spec", [&] {
            type_of(*schema_of(kind_).spec);
            rules(joined(schema_of(kind_).spec_rules(), transition_rules(*schema_of(kind_).spec)));
        });
        property(*schema_of(kind_).status, "status");
    });
    rules(joined({job_name_rule()}, schema_of(kind_).name_rules()));
}

void crd_writer::rules(const std::vector<cel_rule>& list) {
    json_.array("x-kubernetes-validations", [&] {
        for (const cel_rule& rule : list) {
            json_.object([&] {
                json_.member("rule", rule.rule);
                json_.member("message", rule.message);
                if (!rule.field_path.empty()) {
                    json_.member("fieldPath", rule.field_path);
                }
            });
        }
    });
}

void crd_writer::properties(std::span<const field> fields) {
    json_.object("properties", [&] {
        for (const field& row : fields) {
            property(row, row.name);
            for (const std::string_view alias : row.aliases) {
                property(row, alias);
            }
        }
    });
}

void crd_writer::property(const field& row, std::string_view name) {
    json_.object(name, [&] {
        json_.member("description", description(row, name));
        if (!row.required) {
            json_.flag("nullable", true);  // null means absent, everywhere
        }
        type_of(row);
    });
}

void crd_writer::type_of(const field& row) {
    switch (row.type) {
        case value_type::object:
            object_members(row.fields);
            return;
        case value_type::object_list:
        case value_type::opaque_list:
        case value_type::string_list:
        case value_type::integer_list:
            list_items(row);
            return;
        case value_type::boolean:
            json_.member("type", "boolean");
            return;
        case value_type::integer:
            json_.member("type", "integer");
            integer_members(row);
            return;
        case value_type::int_or_string:
            json_.flag("x-kubernetes-int-or-string", true);
            json_.number("minimum", row.minimum);
            json_.number("maximum", row.maximum);
            json_.member("pattern", row.form->pattern);
            return;
        case value_type::time:
            json_.member("type", "string");
            json_.member("format", "date-time");
            return;
        case value_type::opaque_object:
            json_.member("type", "object");
            json_.flag("x-kubernetes-preserve-unknown-fields", true);
            return;
        case value_type::string:
            string_members(row);
            return;
    }
}

void crd_writer::object_members(std::span<const field> fields) {
    json_.member("type", "object");
    bool any_required = false;
    for (const field& row : fields) {
        any_required = any_required || row.required;
    }
    if (any_required) {
        json_.array("required", [&] {
            for (const field& row : fields) {
                if (row.required) {
                    json_.text(row.name);
                }
            }
        });
    }
    properties(fields);
}

void crd_writer::string_members(const field& row) {
    json_.member("type", "string");
    if (!row.values.empty()) {
        // The server's `enum` never accepts null, not even where it is nullable and listed.
        json_.member("pattern", "^(" + names_of_values(row, "|") + ")$");
        json_.number("maxLength", longest_value(row));
        return;
    }
    if (row.max_length > 0) {
        json_.number("maxLength", row.max_length);
    }
    if (row.form != nullptr) {
        json_.member("pattern", row.form->pattern);
    } else if (row.required) {
        json_.number("minLength", 1);
    }
}

void crd_writer::integer_members(const field& row) {
    const bool wide = row.maximum > std::numeric_limits<std::int32_t>::max();
    json_.member("format", wide ? "int64" : "int32");
    json_.number("minimum", row.minimum);
    if (!wide) {
        json_.number("maximum", row.maximum);
    }
}

void crd_writer::list_items(const field& row) {
    json_.member("type", "array");
    if (row.required) {
        json_.number("minItems", 1);
    }
    if (row.max_items > 0) {
        json_.number("maxItems", row.max_items);
    }
    json_.object("items", [&] {
        if (row.type == value_type::object_list) {
            object_members(row.fields);
        } else if (row.type == value_type::opaque_list) {
            json_.member("type", "object");
            json_.flag("x-kubernetes-preserve-unknown-fields", true);
        } else if (row.type == value_type::integer_list) {
            json_.member("type", "integer");
            integer_members(row);
        } else {
            json_.member("type", "string");
            if (row.max_length > 0) {
                json_.number("maxLength", row.max_length);
            }
            if (row.form != nullptr) {
                json_.member("pattern", row.form->pattern);
            }
        }
    });
}

}  // namespace

std::string crd_json(job_kind kind) {
    return crd_writer(kind).write();
}

}  // namespace signalbox::core
