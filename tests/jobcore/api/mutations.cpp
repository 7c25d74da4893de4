// SPDX-License-Identifier: Apache-2.0
#include "mutations.hpp"

#include "api/job/kinds.hpp"
#include "json_cases.hpp"

#include <limits>

namespace signalbox::test {
namespace {

using core::schema::field;
using core::schema::value_type;

constexpr full_job jobs[] = {
    {core::job_kind::pytorch,
     R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",
"metadata":{"name":"full"},"spec":{
"runMode":{"debug":{"replicaSpecs":[{"type":"worker"}]},"pause":{"resumeSpecs":[{"type":"worker"}]}},
"runPolicy":{"failureRules":[{"action":"Fail","onReason":["r"],"onMessage":{"contains":["t"]},
"onExitCodes":{"operator":"In","values":[1]},"onPodConditions":[{"type":"c"}]}]},
"elastic":{"minReplicas":2,"maxReplicas":5,"expectedReplicas":3},"torchrunConfig":{"enabled":true},
"tensorboardSpec":{"trainingLogFilesets":["t9k://pvc/c/p"],
"logDir":{"pvc":[{"name":"c"}],"s3":{"secretRef":{"name":"s"}}}},
"replicaSpecs":[{"type":"worker","replicas":2,
"template":{"spec":{"containers":[{"name":"pytorch","image":"i","args":["a.py"]}]}}}]}})"},
    {core::job_kind::deepspeed,
     R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"DeepSpeedJob",
"metadata":{"name":"full"},"spec":{
"runMode":{"debug":{"replicaSpecs":[{"type":"worker"}]},"pause":{"resumeSpecs":[{"type":"worker"}]}},
"runPolicy":{"failureRules":[{"action":"Fail","onReason":["r"],"onMessage":{"contains":["t"]},
"onExitCodes":{"operator":"In","values":[1]},"onPodConditions":[{"type":"c"}]}]},
"elastic":{"minReplicas":2,"maxReplicas":5,"expectedReplicas":3},
"config":{"run":{"python":["a.py"]}},
"worker":{"replicas":2,"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}}})"},
    {core::job_kind::colossalai,
     R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ColossalAIJob",
"metadata":{"name":"full"},"spec":{
"runMode":{"debug":{"replicaSpecs":[{"type":"worker"}]},"pause":{"resumeSpecs":[{"type":"worker"}]}},
"runPolicy":{"failureRules":[{"action":"Fail","onReason":["r"],"onMessage":{"contains":["t"]},
"onExitCodes":{"operator":"In","values":[1]},"onPodConditions":[{"type":"c"}]}]},
"launcher":{"env":[{"name":"A"}]},
"worker":{"command":["a.py"],"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}}})"},
    {core::job_kind::colossalai,
     R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ColossalAIJob",
"metadata":{"name":"full"},"spec":{"torchConfig":{"script":["a.py"]},
"replicaSpecs":[{"type":"worker","template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}]
}})"},
};

class mutator {
public:
    mutator(const full_job& job, std::vector<mutation>& out) : kind_(job.kind), out_(out) {
        json::parse(base_, job.text);
    }

    void mutate_all(const field& parent, const std::string& pointer) {
        for (const field& row : parent.fields) {
            const std::string place = pointer + "/" + std::string(row.name);
            mutate(row, place, place);
            for (const std::string_view alias : row.aliases) {
                mutate(row, pointer + "/" + std::string(alias), place);
            }
            if (row.type == value_type::object) {
                mutate_all(row, place);
            } else if (row.type == value_type::object_list &&
                       rapidjson::Pointer((place + "/0").c_str()).Get(base_) != nullptr) {
                mutate_all(row, place + "/0");
            }
        }
    }

private:
    /// Writes the value at `place`, and takes away what stands at `canonical`.
    void add(
        const std::string& what,
        const std::string& place,
        const std::string& canonical,
        const std::string& value,
        bool broken
    ) {
        json::document object;
        object.CopyFrom(base_, object.GetAllocator());
        if (place != canonical) {
            rapidjson::Pointer(canonical.c_str()).Erase(object);
        }
        json::document parsed(&object.GetAllocator());
        json::parse(parsed, value);
        rapidjson::Pointer(place.c_str()).Set(object, parsed);
        out_.push_back(
            {kind_, place + ": " + what, place, json::to_text(base_), json::to_text(object), broken}
        );
    }

    void mutate(const field& row, const std::string& place, const std::string& canonical) {
        const auto wrong = [&](const std::string& what, const std::string& value) {
            add(what, place, canonical, value, true);
        };
        const auto right = [&](const std::string& what, const std::string& value) {
            add(what, place, canonical, value, false);
        };
        // The server's scale subresource refuses null in this one field (rules.json).
        if (!place.ends_with("/expectedReplicas")) {
            add("null", place, canonical, "null", row.required && place == canonical);
        }
        mutate_type(row, wrong);
        mutate_value(row, wrong, right);
    }

    template <class Add>
    static void mutate_type(const field& row, const Add& wrong) {
        const bool is_list =
            row.type == value_type::object_list || row.type == value_type::opaque_list ||
            row.type == value_type::string_list || row.type == value_type::integer_list;
        const bool is_object =
            row.type == value_type::object || row.type == value_type::opaque_object;
        const bool is_text = row.type == value_type::string;
        if (!is_list) {
            wrong("a list", "[]");
        }
        if (!is_object) {
            wrong("an object", "{}");
        }
        if (row.type != value_type::boolean) {
            wrong("a boolean", "true");
        }
        if (!is_text) {
            wrong("a text", "\"x y\"");
        }
        if (row.type != value_type::integer && row.type != value_type::int_or_string) {
            wrong("a number", "7");
        }
        if (is_list && row.type != value_type::integer_list) {
            wrong("a list of numbers", "[1]");
        }
    }

    template <class Wrong, class Right>
    static void mutate_value(const field& row, const Wrong& wrong, const Right& right) {
        const auto text = [](std::size_t size) { return '"' + std::string(size, 'x') + '"'; };
        if (row.type == value_type::integer || row.type == value_type::int_or_string) {
            wrong("below the minimum", std::to_string(row.minimum - 1));
            right("the minimum", std::to_string(row.minimum));
            right("the maximum", std::to_string(row.maximum));
            wrong("above the maximum", std::to_string(static_cast<std::uint64_t>(row.maximum) + 1));
            wrong("a fraction", "1.5");
        }
        if (row.type == value_type::string && !row.values.empty()) {
            for (const auto& value : row.values) {
                // An etcd back end needs an endpoint, which only the library knows.
                if (!value.name.starts_with("etcd")) {
                    right("a value", '"' + std::string(value.name) + '"');
                }
                wrong("another value", '"' + std::string(value.name) + "x\"");
            }
            wrong("no value", "\"\"");
        } else if (row.type == value_type::string && row.form == nullptr) {
            right("the longest text", text(row.max_length));
            wrong("a text that is too long", text(row.max_length + 1));
        } else if (row.type == value_type::string) {
            wrong("a text of another form", "\"\\n\"");
        }
        if (row.type == value_type::integer_list) {
            const auto list = [](std::int64_t n) { return "[" + std::to_string(n) + "]"; };
            wrong("a list of texts", "[\"x\"]");
            wrong("an item below the minimum", list(row.minimum - 1));
            right("an item at the minimum", list(row.minimum));
            right("an item at the maximum", list(row.maximum));
            wrong("an item above the maximum", list(row.maximum + 1));
            wrong("an item with a fraction", "[1.5]");
            std::string items = "1";
            for (std::uint32_t i = 0; i < row.max_items; ++i) {
                items += ",1";
            }
            wrong("too many items", "[" + items + "]");
        }
        if (row.type == value_type::string_list) {
            std::string items = row.form == nullptr ? "\"x.py\"" : "\"t9k://pvc/a/b\"";
            for (std::uint32_t i = 0; i < row.max_items; ++i) {
                items += row.form == nullptr ? ",\"x\"" : ",\"t9k://pvc/a/b\"";
            }
            wrong("too many items", "[" + items + "]");
            wrong("an item that is too long", "[" + text(row.max_length + 1) + "]");
        }
    }

    core::job_kind kind_;
    std::vector<mutation>& out_;
    json::document base_;
};

}  // namespace

std::span<const full_job> full_jobs() {
    return jobs;
}

std::vector<mutation> mutations() {
    std::vector<mutation> all;
    for (const full_job& job : jobs) {
        mutator(job, all).mutate_all(*core::schema::schema_of(job.kind).spec, "/spec");
    }
    return all;
}

}  // namespace signalbox::test
