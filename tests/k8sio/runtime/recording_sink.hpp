// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "k8sio/reflector.hpp"
#include "protocol/api_json.hpp"

#include <map>
#include <string>

namespace signalbox::k8sio::test {

/// `{"apiVersion":"v1","kind":"Pod","metadata":{"name":..,"resourceVersion":..}}`
inline list_page page(std::vector<std::string> items, std::string version, std::string token = "") {
    list_page made;
    made.items = std::move(items);
    made.resource_version = std::move(version);
    made.continue_token = std::move(token);
    return made;
}

inline std::string pod(const std::string& name, const std::string& version) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"(","resourceVersion":")" + version + R"("}})";
}

inline std::string event(const std::string& type, const std::string& object) {
    return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

/// Keeps name -> version, and a log of all calls.
class recording_sink final : public reflector_sink {
public:
    void rewound() override { log += "rewound "; }
    void replace_begin() override {
        log += "begin ";
        collected.clear();
    }
    void replace_item(std::string_view object) override {
        log += "item:" + name_of(object) + " ";
        collected[name_of(object)] = version_of(object);
    }
    void replace_end(std::string_view version) override {
        log += "end:" + std::string(version) + " ";
        held = collected;
        seen = version;
        ++replaced;
    }
    void replace_after_rewind(std::string_view version) override {
        replace_end(version);
        ++after_rewinds;
    }
    void replace_abort() override {
        log += "abort ";
        collected.clear();
    }
    void upsert(std::string_view object) override {
        log += "upsert:" + name_of(object) + " ";
        held[name_of(object)] = version_of(object);
    }
    void remove(std::string_view object) override {
        log += "remove:" + name_of(object) + " ";
        held.erase(name_of(object));
    }
    void advance(std::string_view version) override { seen = version; }

    std::map<std::string, std::string> held, collected;
    std::string seen, log;
    int replaced = 0;       ///< lists, those after a rewind too
    int after_rewinds = 0;  ///< of these

private:
    static std::string name_of(std::string_view object) {
        const std::size_t at = object.find("\"name\":\"") + 8;
        return std::string(object.substr(at, object.find('"', at) - at));
    }
    static std::string version_of(std::string_view object) {
        protocol::object_facts facts;
        protocol::read_object_facts(object, facts);
        return facts.resource_version;
    }
};

}  // namespace signalbox::k8sio::test
