// SPDX-License-Identifier: Apache-2.0
//
// CustomResourceDefinitions: checks them, serves the kinds they define, sets their conditions.
#pragma once

#include "server/model.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace signalbox::k8sio::server {

/// That the fields behind the scale subresource are whole numbers, whatever the schema says.
void validate_scale(const scale_paths& paths, const json::value& object, problems& list);

class custom_kinds {
public:
    /// `world` must outlive it.
    explicit custom_kinds(model& world) : world_(&world) {}

    /// The validator of a kind (`<plural>.<group>`), also of one defined later.
    void set_validator(const std::string& definition_name, validator check);
    /// Creates or replaces the definition, as a client would.
    outcome<void> add(std::string_view crd_json, validator check);

    void on_write(const resource_table& table, const history_event& event);
    /// Acts on definitions written since the last call; called after each request.
    void settle();

    /// Name (`<plural>.<group>`) of the definition in a CRD's JSON.
    static std::string name_of(std::string_view crd_json);

private:
    void serve(const record_ptr& definition);
    void serve_versions(const record& definition, const json::value& crd);
    void drop(const record& definition);
    void set_status(const record_ptr& definition, const json::value& object);

    model* world_;
    std::map<std::string, validator> validators_;
    /// Of each definition by UID what was compiled last: writes of status change nothing.
    std::map<std::string, std::int64_t> served_generations_;
    std::deque<history_event> pending_;
};

/// Refuses a definition that could not be served.
void validate_definition(const json::value& crd, problems& list);

}  // namespace signalbox::k8sio::server
