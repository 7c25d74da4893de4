// SPDX-License-Identifier: Apache-2.0
//
// From a request to its answer: routing and the verbs. Both faces call it; it does no I/O.
#pragma once

#include "k8sio/server/pod_streams.hpp"
#include "server/answers/http_message.hpp"
#include "server/answers/render.hpp"
#include "server/answers/watch_stream.hpp"
#include "server/controllers/custom_kinds.hpp"
#include "server/formats/patch.hpp"
#include "server/model/model.hpp"
#include "server/verbs/account_tokens.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// A request as the router understood it.
struct target_object {
    const served_kind* kind = nullptr;
    const served_kind* keeper = nullptr;  ///< whose rules writes follow; mostly the same
    std::string ns, name, subresource;
};

class front {
public:
    /// `executor` runs what goes on behind an answer.
    front(
        boost::asio::any_io_executor executor,
        model& world,
        custom_kinds& definitions,
        const server_options& options
    );

    api_answer handle(const api_request& request);

    /// As api_server::set_pod_streams().
    void set_pod_streams(pod_streams* of_pods) { pods_ = of_pods; }

private:
    api_answer route(const api_request& request, std::vector<std::string>& warnings);
    /// A document about the server or its kinds; nothing if the path is none of them.
    std::optional<api_answer> find_document(const api_request& request) const;
    std::optional<api_answer> find_discovery(const api_request& request) const;
    /// What is answered for a path under /api or /apis that nothing serves.
    api_answer nothing_there(const api_request& request) const;
    api_answer route_resource(
        const api_request& request, const target_object& target, std::vector<std::string>& warnings
    );
    api_answer route_subresource(
        const api_request& request, const target_object& target, const write_options& options
    );

    api_answer review(const api_request& request, const target_object& t);
    api_answer get(const api_request& request, const target_object& t);
    api_answer list(const api_request& request, const target_object& t);
    api_answer watch(const api_request& request, const target_object& t);
    api_answer create(
        const api_request& request, const target_object& t, const write_options& options
    );
    api_answer update(
        const api_request& request,
        const target_object& t,
        update_part part,
        const write_options& options
    );
    api_answer patch(
        const api_request& request,
        const target_object& t,
        update_part part,
        const write_options& options
    );
    api_answer apply(
        const api_request& request,
        const target_object& t,
        update_part part,
        const write_options& options
    );
    /// Writes the object that a patch has made.
    api_answer store_patched(
        const api_request& request,
        const target_object& t,
        json::value& object,
        json::arena& a,
        update_part part,
        write_options options
    );
    api_answer remove(const api_request& request, const target_object& t);
    api_answer remove_collection(const api_request& request, const target_object& t);
    api_answer bind(const api_request& request, const target_object& t);
    api_answer evict(const api_request& request, const target_object& t);
    api_answer scale(
        const api_request& request, const target_object& t, const write_options& options
    );
    api_answer finalize(const api_request& request, const target_object& t);
    using pod_verb = api_answer (front::*)(const api_request&, const target_object&);
    api_answer issue_token(const api_request& request, const target_object& t);
    /// Completes a TokenReview.
    void review_token(json::value& review, json::arena& a) const;
    /// The pod of a request, and its JSON.
    outcome<record_ptr> find_pod(const target_object& t, json::value& into, json::arena& a) const;
    api_answer pod_log(const api_request& request, const target_object& t);
    /// exec and attach.
    api_answer pod_process(const api_request& request, const target_object& t);
    api_answer pod_forward(const api_request& request, const target_object& t);
    api_answer pod_proxy(const api_request& request, const target_object& t);

    outcome<delete_request> read_delete_options(const api_request& request) const;
    outcome<std::vector<record_ptr>> select(const api_request& request, const target_object& t)
        const;
    api_answer answer_object(
        const api_request& request, const target_object& t, int status, const record& r
    ) const;
    view wanted_view(const api_request& request) const;
    wall_time now() const { return world_->time().wall_now(); }

    boost::asio::any_io_executor executor_;
    model* world_;
    custom_kinds* definitions_;
    server_options options_;
    pod_streams* pods_ = nullptr;
    account_tokens tokens_;
};

/// Stands for e.g. CreateOptions in a refusal of query parameters.
kind_info options_kind(std::string name);
/// Brings an object of the request's kind into the form of its keeper.
void to_kept_form(const target_object& t, json::value& object, json::arena& a);
/// Of members with one name the last stays. Gives what strict decoding says of the others, each
/// after the word `of`.
std::vector<std::string> repeated_fields(json::value& body, std::string_view of);
/// Parses a request's body; refuses what is no JSON object. `faults`: gets its repeated_fields().
outcome<void> read_body(
    const api_request& request,
    json::value& into,
    json::arena& a,
    std::vector<std::string>* faults = nullptr
);

}  // namespace signalbox::k8sio::server
