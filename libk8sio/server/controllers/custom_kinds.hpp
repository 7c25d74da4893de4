// SPDX-License-Identifier: Apache-2.0
//
// CustomResourceDefinitions: checks them, serves the kinds they define, sets their conditions.
#pragma once

#include "server/model/model.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

class custom_kinds {
public:
    /// `world` must outlive it.
    explicit custom_kinds(model& world) : world_(&world) {}

    /// Creates or replaces the definition, as a client would; `check` may be empty.
    outcome<void> add(std::string_view crd_json);

    /// Takes over all definitions of another server; there is none here yet.
    void share(const custom_kinds& other);

    void on_write(const resource_table& table, const history_event& event);
    /// Acts on definitions written since the last call; called after each request.
    void settle();

private:
    void serve(const record_ptr& definition);
    void serve_versions(const json::value& crd);
    void drop(const record& definition);
    void set_status(const record_ptr& definition, const json::value& object);

    model* world_;
    /// Of each definition by UID what was compiled last: writes of status change nothing.
    std::map<std::string, std::int64_t> served_generations_;
    std::deque<history_event> pending_;
};

}  // namespace signalbox::k8sio::server
