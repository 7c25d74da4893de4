// SPDX-License-Identifier: Apache-2.0
#include "kubelet/node/node_object.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/utsname.h>

#include <array>

#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

using json_writer = rapidjson::Writer<rapidjson::StringBuffer>;

void text_member(json_writer& out, const char* key, const std::string& value) {
    out.Key(key);
    out.String(value.c_str(), static_cast<rapidjson::SizeType>(value.size()));
}

void amounts_member(
    json_writer& out, const char* key, const node_offer& node, const pod_place& place
) {
    constexpr int pods = 1000;
    out.Key(key);
    out.StartObject();
    text_member(out, "cpu", fmt::format("{}m", place.milli_cpus));
    text_member(out, "memory", std::to_string(place.memory));
    text_member(out, "pods", std::to_string(pods));
    for (const auto& [name, amount] : node.resources) {
        text_member(out, name.c_str(), std::to_string(amount));
    }
    out.EndObject();
}

}  // namespace

void measure_machine(pod_place& place) {
    constexpr std::uint64_t per_cpu = 1000;
    const auto known = [](long n) { return static_cast<std::uint64_t>(std::max(n, 1L)); };
    place.milli_cpus = known(::sysconf(_SC_NPROCESSORS_ONLN)) * per_cpu;
    place.memory = known(::sysconf(_SC_PHYS_PAGES)) * known(::sysconf(_SC_PAGESIZE));
}

std::string machine_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name.front() == '\0') {
        return "node";
    }
    std::string out;
    for (const char* c = name.data(); *c != '\0'; ++c) {
        const bool upper = *c >= 'A' && *c <= 'Z';
        const bool good = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '.';
        out += upper ? static_cast<char>(*c - 'A' + 'a') : good ? *c : '-';
    }
    const auto begin = out.find_first_not_of("-.");
    const auto end = out.find_last_not_of("-.");
    return begin == std::string::npos ? "node" : out.substr(begin, end - begin + 1);
}

std::string node_body(const node_offer& node) {
    rapidjson::StringBuffer buffer;
    json_writer out(buffer);
    out.StartObject();
    text_member(out, "apiVersion", "v1");
    text_member(out, "kind", "Node");
    out.Key("metadata");
    out.StartObject();
    text_member(out, "name", node.name);
    out.Key("labels");
    out.StartObject();
    for (const auto& [key, value] : node.labels) {
        text_member(out, key.c_str(), value);
    }
    out.EndObject();
    out.EndObject();
    out.EndObject();
    return buffer.GetString();
}

std::string node_status(const node_offer& node, const pod_place& place, core::instant now) {
    struct utsname machine {};
    ::uname(&machine);
    rapidjson::StringBuffer buffer;
    json_writer out(buffer);
    out.StartObject();
    out.Key("status");
    out.StartObject();
    amounts_member(out, "capacity", node, place);
    amounts_member(out, "allocatable", node, place);
    out.Key("addresses");
    out.StartArray();
    for (const auto& [type, value] :
         {std::pair("InternalIP", place.host_address), std::pair("Hostname", node.name)}) {
        out.StartObject();
        text_member(out, "type", type);
        text_member(out, "address", value);
        out.EndObject();
    }
    out.EndArray();
    out.Key("conditions");
    out.StartArray();
    out.StartObject();
    text_member(out, "type", "Ready");
    text_member(out, "status", "True");
    text_member(out, "reason", "KubeletReady");
    text_member(out, "message", "signalbox runs pods as processes of this machine");
    text_member(out, "lastTransitionTime", core::format_time(now));
    text_member(out, "lastHeartbeatTime", core::format_time(now));
    out.EndObject();
    out.EndArray();
    out.Key("nodeInfo");
    out.StartObject();
    for (const char* unknown : {"machineID", "systemUUID", "bootID", "kubeProxyVersion"}) {
        text_member(out, unknown, "");
    }
    text_member(out, "kubeletVersion", "signalbox");
    text_member(out, "containerRuntimeVersion", "signalbox://process");
    text_member(out, "kernelVersion", machine.release);
    text_member(out, "osImage", machine.sysname);
    text_member(out, "operatingSystem", "linux");
    text_member(out, "architecture", machine.machine);
    out.EndObject();
    out.EndObject();
    out.EndObject();
    return buffer.GetString();
}

}  // namespace signalbox::op::kubelet
