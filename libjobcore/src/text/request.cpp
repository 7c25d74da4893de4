// SPDX-License-Identifier: Apache-2.0
#include "text/request.hpp"

#include "jobcore/policy_fields.hpp"
#include "jobcore/text.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <list>

namespace signalbox::core::text {
namespace {

using need = object_reader::need;

constexpr std::array<std::string_view, 4> operations{"validate", "plan", "decide", "explain"};
constexpr std::array<std::string_view, 1> versions{api_version};
constexpr std::array<std::string_view, 3> answers{"unknown", "no", "yes"};

/// What follows recurses over documents, which RapidJSON's reader does not.
constexpr int most_levels = 600;

/// Counts levels, and stops at too many.
struct depth_counter : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, depth_counter> {
    int depth = 0;
    bool StartObject() { return ++depth <= most_levels; }
    bool StartArray() { return ++depth <= most_levels; }
    bool EndObject(rapidjson::SizeType) { return --depth >= 0; }
    bool EndArray(rapidjson::SizeType) { return --depth >= 0; }
};

/// Nothing if the text is JSON that may be read.
std::optional<std::string> check_text(std::string_view text) {
    rapidjson::MemoryStream bytes(text.data(), text.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> in(bytes);
    rapidjson::Reader reader;
    depth_counter counter;
    const rapidjson::ParseResult result = reader.Parse<json::parse_flags>(in, counter);
    if (!result.IsError()) {
        return std::nullopt;
    }
    if (result.Code() == rapidjson::kParseErrorTermination) {
        return fmt::format(
            "nested deeper than {} levels, at byte {}", most_levels, result.Offset()
        );
    }
    return fmt::format(
        "no JSON: {} (at byte {})", rapidjson::GetParseError_En(result.Code()), result.Offset()
    );
}

served to_served(std::string_view answer) {
    return answer == "yes" ? served::yes : answer == "no" ? served::no : served::unknown;
}

/// `podGroup` for PodGroup; where an earlier kind has that name, the resource as kubectl writes it:
/// `podgroups.v1beta1.scheduling.k8s.io`.
std::string member_name(object_kind kind) {
    const auto kinds = all_child_kinds();
    const auto first =
        std::ranges::find(kinds, to_string(kind), [](object_kind k) { return to_string(k); });
    if (*first != kind) {
        const std::string_view version = api_version_of(kind);
        const std::size_t slash = version.find('/');
        return fmt::format(
            "{}.{}.{}", kind->plural, version.substr(slash + 1), version.substr(0, slash)
        );
    }
    std::string name(to_string(kind));
    name.front() = static_cast<char>(name.front() - 'A' + 'a');
    return name;
}

class request_reader {
public:
    request_reader(
        const std::shared_ptr<const compiled_job>& previous, std::vector<request_error>& errors
    )
        : previous_(previous), errors_(&errors) {}

    request read(const json::value& document) {
        object_reader top(document, "", *errors_);
        top.choice("apiVersion", versions, need::required);
        const auto what = top.choice("operation", operations, need::required);
        if (!what) {
            return std::move(out_);  // which members there may be is not known
        }
        const auto row = std::ranges::find(operations, *what);
        out_.what = static_cast<operation>(row - operations.begin());
        read_job_of(top);
        switch (out_.what) {
            case operation::validate:
                if (const json::value* previous = top.object("previous")) {
                    out_.previous = json::to_text(*previous);
                }
                break;
            case operation::plan:
                out_.attempt = top.number("attempt", 1).value_or(1);
                break;
            case operation::decide:
            case operation::explain:
                read_observed(top);
                break;
        }
        top.finish();
        return std::move(out_);
    }

private:
    void read_job_of(object_reader& top) {
        const json::value* job = top.object("job", need::required);
        if (job == nullptr) {
            return;
        }
        out_.job_text = json::to_text(*job);
        if (out_.what == operation::validate) {
            return;
        }
        auto read = read_job(out_.job_text, previous_);
        if (!read) {
            top.fail("job", read.error());
            return;
        }
        out_.job = *std::move(read);
    }

    void read_observed(object_reader& top) {
        const auto now = top.time("now", need::required);
        out_.now = now.value_or(instant{});
        each(top, "children", [this](const json::value& v, std::string at) {
            read_child(v, std::move(at));
        });
        each(top, "refusals", [this](const json::value& v, std::string at) {
            read_refusal(v, std::move(at));
        });
        each(top, "absences", [this](const json::value& v, std::string at) {
            read_absence(v, std::move(at));
        });
        each(top, "logs", [this](const json::value& v, std::string at) {
            read_log_of(v, std::move(at));
        });
        each(top, "readings", [this](const json::value& v, std::string at) {
            read_reading(v, std::move(at));
        });
        out_.reads_logs = top.flag("readsLogs");
        out_.no_room = top.flag("noRoom");
        out_.progress_since = top.time("progressSince");
        if (const json::value* v = top.object("progress")) {
            read_progress(*v);
        }
        if (const json::value* v = top.object("reportsTo")) {
            object_reader r(*v, "/reportsTo", *errors_);
            progress_access& to = out_.reports_to.emplace();
            to.url = r.text("url", need::required).value_or("");
            to.ca = r.text("ca").value_or("");
            to.of_all_jobs = r.flag("ofAllJobs");
            r.finish();
        }
        if (const json::value* v = top.object("capabilities")) {
            object_reader r(*v, "/capabilities", *errors_);
            std::list<std::string> names;  // the reader keeps views of them
            for (const object_kind kind : all_child_kinds()) {
                if (kind->extension) {
                    const auto answer = r.choice(names.emplace_back(member_name(kind)), answers);
                    out_.served.set(kind, to_served(answer.value_or("")));
                }
            }
            r.finish();
        }
        if (const json::value* v = top.object("policy")) {
            object_reader r(*v, "/policy", *errors_);
            for (const policy_field& field : policy_fields()) {
                if (const auto value = r.number(field.name, 0)) {
                    set_policy_field(out_.rules, field.name, *value);
                }
            }
            if (const auto name = r.choice("default_scheduler", default_schedulers())) {
                set_default_scheduler(out_.rules, *name);
            }
            r.finish();
        }
    }

    template <class Read>
    void each(object_reader& of, std::string_view key, Read read) {
        std::size_t i = 0;
        for (const json::value& v : of.array(key)) {
            if (errors_->size() >= most_errors) {
                return;
            }
            read(v, fmt::format("/{}/{}", key, i++));
        }
    }

    void fail(std::string pointer, std::string message) {
        errors_->push_back({std::move(pointer), std::move(message)});
    }

    /// Kubernetes objects have members that are not known here: none is reported.
    void read_child(const json::value& v, std::string at) {
        const std::string_view kind = json::string_or_empty(v, "kind");
        const std::string_view version = json::string_or_empty(v, "apiVersion");
        const auto known_kind = parse_child_kind(version, kind);
        if (!known_kind) {
            std::string known;
            for (const object_kind k : all_child_kinds()) {
                known += fmt::format(
                    "{}{} {}", known.empty() ? "" : ", ", core::api_version_of(k), to_string(k)
                );
            }
            fail(
                std::move(at),
                fmt::format("no child of a job; by apiVersion and kind, there are: {}", known)
            );
            return;
        }
        const std::string text = json::to_text(v);
        bool read = false;
        if (*known_kind == object_kind::pod) {
            auto pod = decode_pod(text);
            read = pod.has_value();
            if (read && is_ours(*pod)) {
                out_.pods.push_back(std::move(*pod));
            }
        } else {
            auto child = decode_child(*known_kind, text);
            read = child.has_value();
            if (read && is_ours(*child)) {
                out_.children.push_back(std::move(*child));
            }
        }
        if (!read) {
            fail(std::move(at), "metadata.name and metadata.uid are expected, as texts");
        }
    }

    template <class Record>
    bool is_ours(const Record& record) const {
        return out_.job && is_child_of(record, out_.job->meta.uid, out_.job->meta.ns);
    }

    /// Nothing, with an error, if it is missing or no kind of a child. Of kinds of one name the
    /// first, unless `apiVersion` says which.
    std::optional<object_kind> read_kind(object_reader& r) {
        std::vector<std::string_view> names;
        for (const object_kind k : all_child_kinds()) {
            if (std::ranges::find(names, to_string(k)) == names.end()) {
                names.push_back(to_string(k));
            }
        }
        const auto written = r.choice("kind", names, need::required);
        if (!written) {
            return std::nullopt;
        }
        std::vector<std::string_view> api_versions;
        std::vector<object_kind> kinds;
        for (const object_kind k : all_child_kinds()) {
            if (to_string(k) == *written) {
                api_versions.push_back(api_version_of(k));
                kinds.push_back(k);
            }
        }
        const auto version = r.choice("apiVersion", api_versions);
        const auto at = version ? std::ranges::find(api_versions, *version) : api_versions.begin();
        return kinds[static_cast<std::size_t>(at - api_versions.begin())];
    }

    void read_refusal(const json::value& v, std::string at) {
        object_reader r(v, std::move(at), *errors_);
        refusal out;
        out.kind = read_kind(r).value_or(object_kind::pod);
        out.name = r.text("name", need::required).value_or("");
        out.attempt = r.number("attempt", 0).value_or(0);
        out.round = r.number("round", 0).value_or(0);
        out.http_code = r.number("httpCode", 400, need::required).value_or(0);
        out.reason = r.text("reason").value_or("");
        out.message = r.text("message").value_or("");
        out.foreign_owner = r.flag("foreignOwner");
        out.namespace_terminating = r.flag("namespaceTerminating");
        out.count = r.number("count", 1).value_or(1);
        out.last = r.time("last", need::required).value_or(instant{});
        out.first = r.time("first").value_or(out.last);
        r.finish();
        out_.refusals.push_back(std::move(out));
    }

    void read_absence(const json::value& v, std::string at) {
        object_reader r(v, std::move(at), *errors_);
        confirmed_absence out;
        out.kind = read_kind(r).value_or(object_kind::pod);
        out.name = r.text("name", need::required).value_or("");
        r.finish();
        out_.absences.push_back(std::move(out));
    }

    void read_log_of(const json::value& v, std::string at) {
        object_reader r(v, std::move(at), *errors_);
        const auto name = r.text("name", need::required).value_or("");
        const auto uid = r.text("uid", need::required).value_or("");
        const auto text = r.text("text", need::required).value_or("");
        r.finish();
        out_.logs.push_back(judge_log(std::string(uid), name, text));
    }

    /// An object of the cluster.
    void read_reading(const json::value& v, std::string at) {
        const auto kinds = all_read_kinds();
        const auto kind = std::ranges::find_if(kinds, [&](object_kind k) {
            return json::string_or_empty(v, "kind") == to_string(k) &&
                   json::string_or_empty(v, "apiVersion") == api_version_of(k);
        });
        const json::value* metadata = json::find(v, "metadata");
        const std::string_view name =
            metadata == nullptr ? std::string_view() : json::string_or_empty(*metadata, "name");
        if (kind == kinds.end() || name.empty()) {
            errors_->push_back(
                {std::move(at), "must be an object that `read` asks for, with a name"}
            );
            return;
        }
        out_.readings.push_back({*kind, std::string(name), json::to_text(v)});
    }

    void read_progress(const json::value& v) {
        object_reader r(v, "/progress", *errors_);
        progress_report out;
        out.attempt = r.number("attempt", 1, need::required).value_or(0);
        out.rank = r.number("rank", 0).value_or(0);
        out.current_step = r.number("currentStep", 0);
        out.total_steps = r.number("totalSteps", 0);
        out.percentage = r.number("progressPercentage", 0);
        out.remaining_seconds = r.number("estimatedRemainingSeconds", 0);
        out.checkpoint_step = r.number("checkpointStep", 0);
        out.checkpoint_time = r.time("checkpointTime");
        out.checkpoint_seconds = r.number("checkpointSeconds", 0);
        out.time = r.time("lastUpdatedTime", need::required).value_or(instant{});
        out.advanced = r.time("lastProgressTime").value_or(out.time);
        std::size_t i = 0;
        for (const json::value& item : r.array("metrics")) {
            object_reader m(item, fmt::format("/progress/metrics/{}", i++), *errors_);
            const auto name = m.text("name", need::required).value_or("");
            const auto value = m.text("value", need::required).value_or("");
            m.finish();
            out.metrics.push_back({std::string(name), std::string(value)});
        }
        i = 0;
        for (const json::value& item : r.array("ranks")) {
            object_reader rank(item, fmt::format("/progress/ranks/{}", i++), *errors_);
            rank_progress one;
            one.rank = rank.number("rank", 0, need::required).value_or(0);
            one.step = rank.number("step", 0);
            one.advanced = rank.time("lastProgressTime").value_or(out.time);
            rank.finish();
            out.ranks.push_back(one);
        }
        r.finish();
        out_.progress = std::move(out);
    }

    const std::shared_ptr<const compiled_job>& previous_;
    std::vector<request_error>* errors_;
    request out_;
};

}  // namespace

std::string_view to_string(operation what) {
    return operations.at(static_cast<std::size_t>(what));
}

request read_request(
    std::string_view text,
    const std::shared_ptr<const compiled_job>& previous,
    std::vector<request_error>& errors
) {
    if (auto wrong = check_text(text)) {
        errors.push_back({"", std::move(*wrong)});
        return {};
    }
    json::document document;
    json::parse(document, text);
    return request_reader(previous, errors).read(document);
}

}  // namespace signalbox::core::text
