// SPDX-License-Identifier: Apache-2.0
#include "controller/own_refusals.hpp"

#include "controller/log_line.hpp"

#include <fmt/format.h>

namespace signalbox::op {

k8sio::api_error changed_pod(std::string_view labels) {
    return k8sio::status_error(
        409,
        "Changed",
        fmt::format(
            "the pod came back without our values of the labels {}, so that it was deleted again: "
            "something in the admission of the cluster changes pods",
            labels
        )
    );
}

k8sio::api_error unkept_patch() {
    return k8sio::status_error(
        409,
        "NotKept",
        "the server took the patch, but not what it says: its definition of this kind is older "
        "than the operator, or something in the admission of the cluster takes it away"
    );
}

k8sio::api_error left_out(std::string_view feature) {
    return k8sio::status_error(
        403, "Forbidden", fmt::format("this operator runs without {0} (--without {0})", feature)
    );
}

core::answer::refused refused_by(const k8sio::api_error& error) {
    core::answer::refused out;
    out.http_code = error.http_status;
    out.reason = error.reason;
    out.message = error.message;
    out.namespace_terminating = k8sio::is_namespace_ending(error);
    return out;
}

void log_refusal(
    spdlog::logger& log,
    const core::job_meta& job,
    const core::action& a,
    const core::refusal& noted,
    const std::optional<k8sio::api_error>& error
) {
    if (!error) {
        log_line line("name is taken by another owner");
        line.job(job)
            .field("kind", core::to_string(a.kind))
            .field("name", a.name)
            .field("count", noted.count);
        line.write(log, spdlog::level::warn);
    } else if (error->http_status != 404) {
        // That its namespace or kind is not there says nothing of the object: the job's reason
        // tells it.
        const bool news = noted.count == 1 && !noted.namespace_terminating;
        log_line line("refused");
        line.job(job)
            .field("rule", a.rule)
            .field("verb", core::to_string(a.what()))
            .field("kind", core::to_string(a.kind))
            .field("name", a.name)
            .field("count", noted.count)
            .field("error", error->text());
        line.write(log, news ? spdlog::level::warn : spdlog::level::debug);
    }
}

}  // namespace signalbox::op
