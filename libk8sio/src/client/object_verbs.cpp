// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/metadata_change and protocol/apply_request.
#include "k8sio/object_verbs.hpp"

#include "protocol/apply_request.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/metadata_change.hpp"
#include "protocol/requests.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace signalbox::k8sio {

namespace asio = boost::asio;
using protocol::metadata_change;
using protocol::object_ties;

namespace {

api_error bad_finalizer() {
    return make_error(errc::invalid_argument, "the finalizer is empty");
}

/// `edit` gives the list as it is to be.
metadata_change finalizer_change(
    std::string uid,
    std::string finalizer,
    metadata_change::missing if_missing,
    std::string (*edit)(const object_ties&, std::string_view)
) {
    const auto list = [finalizer = std::move(finalizer), edit](const object_ties& ties) {
        return finalizer.empty() ? result<std::string>(bad_finalizer())
                                 : result<std::string>(edit(ties, finalizer));
    };
    return metadata_change(std::move(uid), "finalizers", if_missing, list);
}

asio::awaitable<result<std::string>> change(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    metadata_change machine
) {
    result<std::string> answer;
    co_await asio::this_coro::throw_if_cancelled(false);
    while (machine.outcome() == nullptr) {
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            api_error cancelled;
            cancelled.code = errc::cancelled;
            co_return cancelled;
        }
        if (machine.patch()) {
            std::string body = *machine.patch();
            answer = co_await api.merge_patch(type, ns, name, std::move(body));
        } else {
            answer = co_await api.get(type, ns, name);
        }
        machine.on_answer(answer);
    }
    co_return *machine.outcome();
}

}  // namespace

asio::awaitable<result<std::string>> set_owner(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string uid,
    owner_reference owner
) {
    const auto owners = [owner = std::move(owner)](const object_ties& ties) {
        return protocol::owners_with(ties, owner);
    };
    return change(
        api,
        type,
        ns,
        name,
        metadata_change(
            std::move(uid), "ownerReferences", metadata_change::missing::is_error, owners
        )
    );
}

asio::awaitable<result<std::string>> add_finalizer(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string uid,
    std::string finalizer
) {
    using missing = metadata_change::missing;
    return change(
        api,
        type,
        ns,
        name,
        finalizer_change(
            std::move(uid), std::move(finalizer), missing::is_error, protocol::finalizers_with
        )
    );
}

asio::awaitable<result<std::string>> remove_finalizer(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string uid,
    std::string finalizer
) {
    using missing = metadata_change::missing;
    return change(
        api,
        type,
        ns,
        name,
        finalizer_change(
            std::move(uid), std::move(finalizer), missing::is_success, protocol::finalizers_without
        )
    );
}

asio::awaitable<result<apply_outcome>> apply(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string body,
    apply_options options
) {
    apply_outcome outcome;
    if (options.manager.empty()) {
        options.manager = api.options().manager;
    }
    auto request = protocol::apply_request(type, ns, name, options);
    if (request.has_error()) {
        co_return request.error();
    }
    if (!protocol::is_json_object(body)) {
        co_return protocol::request_error(
            errc::invalid_argument, *request, "what is applied is no JSON object"
        );
    }
    auto answer = co_await api.raw(
        std::move(request->method),
        std::move(request->target),
        std::move(request->content_type),
        std::move(body)
    );
    if (answer.has_value()) {
        outcome.object = std::move(*answer);
        co_return outcome;
    }
    outcome.conflicts = protocol::read_conflicts(answer.error());
    if (outcome.conflicts.empty()) {
        co_return answer.error();
    }
    co_return outcome;
}

}  // namespace signalbox::k8sio
