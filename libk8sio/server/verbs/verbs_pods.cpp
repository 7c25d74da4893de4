// SPDX-License-Identifier: Apache-2.0
//
// Subresources of pods behind which is the pod's runtime: log, exec, attach, portforward.
#include "server/kinds/refusals.hpp"
#include "server/streams/container_session.hpp"
#include "server/streams/log_stream.hpp"
#include "server/streams/pod_refusal.hpp"
#include "server/streams/port_forward.hpp"
#include "server/values/text.hpp"
#include "server/verbs/front.hpp"
#include "server/verbs/pod_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

refusal no_runtime(std::string_view subresource) {
    refusal r;
    r.code = 501;
    r.reason = "NotImplemented";
    r.message = fmt::format(
        "the embedded API server has no kubelet: pods/{} is not available", subresource
    );
    return r;
}

bool is_bound(const json::value& pod) {
    return !json::string_at(pod, {"spec", "nodeName"}).empty();
}

refusal no_host(const target_object& t) {
    return bad_request(fmt::format("pod {} does not have a host assigned", t.name));
}

/// The first of `served` that the client offers, or why it gets none.
outcome<std::string> choose_protocol(
    const upgrade_offer& offer, const std::vector<std::string>& served
) {
    if (offer.to.empty()) {
        return bad_request("Upgrade request required");
    }
    if (offer.to != "websocket") {
        return bad_request(fmt::format(
            "unable to upgrade connection: the client asks for {}, this server takes WebSockets "
            "alone, which kubectl 1.31 and later use",
            quoted(offer.to)
        ));
    }
    for (const std::string& each : served) {
        if (std::find(offer.protocols.begin(), offer.protocols.end(), each) !=
            offer.protocols.end()) {
            return each;
        }
    }
    return bad_request(fmt::format(
        "unable to upgrade connection: the client supports [{}], the server accepts [{}]",
        fmt::join(offer.protocols, " "),
        fmt::join(served, " ")
    ));
}

/// Why no runtime can be asked for a process or a port of the pod.
std::optional<refusal> why_unreachable(
    const target_object& t, const json::value& pod, const pod_streams* of_pods
) {
    if (!is_bound(pod)) {
        return no_host(t);
    }
    return of_pods == nullptr ? std::optional(no_runtime(t.subresource)) : std::nullopt;
}

pod_ref name_of(const record& pod) {
    return {pod.ns, pod.name, pod.uid};
}

}  // namespace

outcome<record_ptr> front::find_pod(const target_object& t, json::value& into, json::arena& a)
    const {
    record_ptr pod = t.kind->table->find(t.ns, t.name);
    if (pod == nullptr) {
        return not_found(*t.kind->info, t.name);
    }
    into = parse_record(*t.kind->info, *pod, a);
    return pod;
}

api_answer front::pod_log(const api_request& request, const target_object& t) {
    if (request.method != "GET") {
        return method_not_allowed();
    }
    outcome<log_request> wanted = read_log_options(request, t.name, now());
    if (!wanted) {
        return wanted.error();
    }
    json::arena a;
    json::value pod;
    const outcome<record_ptr> found = find_pod(t, pod, a);
    if (!found) {
        return found.error();
    }
    const outcome<std::string> container = choose_container(request, pod);
    if (!container) {
        return container.error();
    }
    if (!is_bound(pod)) {
        return {204, ""};
    }
    if (pods_ == nullptr) {
        return no_runtime(t.subresource);
    }
    wanted->options.container = *container;
    auto source = pods_->open_log(name_of(**found), wanted->options);
    if (source.has_error()) {
        return refusal_of(source.error());
    }
    api_answer answer;
    answer.content_type = "text/plain";
    answer.stream = make_log_stream(executor_, std::move(*source), wanted->limit_bytes);
    return answer;
}

api_answer front::pod_process(const api_request& request, const target_object& t) {
    if (request.method != "GET" && request.method != "POST") {
        return method_not_allowed();
    }
    json::arena a;
    json::value pod;
    const outcome<record_ptr> found = find_pod(t, pod, a);
    if (!found) {
        return found.error();
    }
    const outcome<std::string> container = choose_container(request, pod);
    if (!container) {
        return container.error();
    }
    if (const auto why = why_unreachable(t, pod, pods_)) {
        return *why;
    }
    outcome<process_options> wanted = read_process_options(request);
    if (!wanted) {
        return wanted.error();
    }
    const outcome<std::string> protocol = choose_protocol(request.upgrade, container_protocols());
    if (!protocol) {
        return protocol.error();
    }
    wanted->container = *container;
    api_answer answer;
    answer.session = make_container_session(
        executor_,
        *pods_,
        t.subresource == "exec" ? container_verb::exec : container_verb::attach,
        name_of(**found),
        std::move(*wanted),
        *protocol
    );
    return answer;
}

api_answer front::pod_forward(const api_request& request, const target_object& t) {
    if (request.method != "GET" && request.method != "POST") {
        return method_not_allowed();
    }
    json::arena a;
    json::value pod;
    const outcome<record_ptr> found = find_pod(t, pod, a);
    if (!found) {
        return found.error();
    }
    if (const auto why = why_unreachable(t, pod, pods_)) {
        return *why;
    }
    const outcome<std::string> protocol = choose_protocol(request.upgrade, forward_protocols());
    if (!protocol) {
        return protocol.error();
    }
    api_answer answer;
    answer.session = make_port_forward(executor_, *pods_, name_of(**found), *protocol);
    return answer;
}

api_answer front::pod_proxy(const api_request&, const target_object& t) {
    json::arena a;
    json::value pod;
    const outcome<record_ptr> found = find_pod(t, pod, a);
    return found ? no_runtime(t.subresource) : found.error();
}

}  // namespace signalbox::k8sio::server
