// SPDX-License-Identifier: Apache-2.0
//
// What a Secret is by its content (BEHAVIOUR.md 2.13). Keys are texts here: what fits is said by
// the caller.
#include "engine/jobs.hpp"
#include "kubernetes/base64.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>

using namespace signalbox;
using namespace signalbox::test;
using core::key_standing;
using core::object_kind;

namespace {

core::key_pair pair_named(const std::string& name) {
    return {"private " + name, "public " + name};
}

std::optional<core::key_pair> read_key(std::string_view pem) {
    constexpr std::string_view begin = "private ";
    return pem.starts_with(begin) ? std::optional(pair_named(std::string(pem.substr(begin.size()))))
                                  : std::nullopt;
}

core::job_object job_of(const job_builder& builder) {
    auto job = core::read_job(builder.json());
    REQUIRE(job);
    return *std::move(job);
}

const core::planned_object& secret_of(const core::job_object& job) {
    const auto& objects = job.compiled->plan->objects;
    return *std::ranges::find(objects, object_kind::secret, &core::planned_object::kind);
}

std::string made(const core::job_object& job) {
    const core::key_pairs keys{{"client", pair_named("c")}, {"host", pair_named("h")}};
    return *core::render_object(*job.compiled->plan, secret_of(job), 1, {}, keys);
}

/// The Secret with this JSON at the pointer; without it, if there is none.
std::string with(const std::string& secret, const char* pointer, const std::string& json) {
    rapidjson::Document object;
    object.Parse(secret.c_str());
    rapidjson::Document value(&object.GetAllocator());
    value.Parse(json.c_str());
    if (json.empty()) {
        rapidjson::Pointer(pointer).Erase(object);
    } else {
        rapidjson::Pointer(pointer).Set(object, value);
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object.Accept(out);
    return buffer.GetString();
}

std::string with_data(const std::string& secret, const std::string& key, const std::string& text) {
    return with(secret, ("/data/" + key).c_str(), quoted(kubernetes::base64_encode(text)));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != text.npos;
         at = text.find(what, at + with.size())) {
        text.replace(at, what.size(), with);
    }
    return text;
}

/// The client's configuration in the Secret.
std::string config_of(const std::string& secret) {
    rapidjson::Document object;
    object.Parse(secret.c_str());
    return *kubernetes::base64_decode(object["data"]["config"].GetString());
}

}  // namespace

TEST_CASE(
    "[behaviour 2.13] what was made of the key pairs in a Secret is known again", "[observe]"
) {
    const auto job = job_of(deepspeed(2));
    const std::string secret = made(job);
    CHECK(core::standing_of_keys(job, secret, read_key) == key_standing::found);
    // What the server and others add.
    CHECK(
        core::standing_of_keys(job, with(secret, "/metadata/labels/team", "\"x\""), read_key) ==
        key_standing::found
    );
    // A job without keys says nothing.
    CHECK(core::standing_of_keys(job_of(ddp()), "{}", read_key) == key_standing::found);
    CHECK(core::standing_of_keys({}, "{}", read_key) == key_standing::found);
}

TEST_CASE("[behaviour 2.13] every key and every text is held against the key pairs", "[observe]") {
    const auto job = job_of(deepspeed(2));
    const std::string secret = made(job);
    const auto key = GENERATE(
        as<std::string>{},
        "ssh-privatekey",
        "id_ecdsa.pub",
        "authorized_keys",
        "ssh_host_key",
        "ssh_host_key.pub",
        "known_hosts"
    );
    CAPTURE(key);
    for (const char* text : {"private x", "public x", "* public x", "", "public c\npublic x"}) {
        CAPTURE(text);
        CHECK(
            core::standing_of_keys(job, with_data(secret, key, text), read_key) ==
            key_standing::foreign
        );
    }
    const auto at = "/data/" + key;
    for (const char* value : {"\"no base64\"", "7", "null", "[]"}) {
        CHECK(
            core::standing_of_keys(job, with(secret, at.c_str(), value), read_key) ==
            key_standing::foreign
        );
    }
}

TEST_CASE("[behaviour 2.13] ssh takes commands from its configuration: it is ours or no one's") {
    const auto job = job_of(deepspeed(2));
    const std::string secret = made(job);
    const std::string config = config_of(secret);
    const auto standing = [&](const std::string& text) {
        return core::standing_of_keys(job, with_data(secret, "config", text), read_key);
    };
    CHECK(standing(config) == key_standing::found);
    const std::string evil = "ProxyCommand sh -c evil\n";
    CHECK(standing(config + evil) == key_standing::foreign);
    CHECK(standing(evil + config) == key_standing::foreign);
    CHECK(standing("") == key_standing::foreign);
    // Of another specification: the path and the port alone.
    CHECK(standing(replaced(config, "/root/.ssh", "/keys/a-b_c.d")) == key_standing::outdated);
    CHECK(standing(replaced(config, "Port 2222", "Port 22")) == key_standing::outdated);
    CHECK(standing(replaced(config, "Port 2222", "Port 22 #")) == key_standing::foreign);
    for (const char* path :
         {"/a\n"
          "ProxyCommand x\n"
          "User y",
          "/a b",
          "/%h",
          "/$HOME",
          "/\"",
          "/a#",
          "/a\\"}) {
        CAPTURE(path);
        CHECK(standing(replaced(config, "/root/.ssh", path)) == key_standing::foreign);
    }
}

TEST_CASE("[behaviour 2.13] another form of Secret is one of another version", "[observe]") {
    const auto job = job_of(deepspeed(2));
    const std::string secret = made(job);
    const auto standing = [&](const char* pointer, const std::string& json) {
        return core::standing_of_keys(job, with(secret, pointer, json), read_key);
    };
    CHECK(standing("/data/more", "\"YQ==\"") == key_standing::outdated);
    CHECK(standing("/data/config", "") == key_standing::outdated);
    CHECK(standing("/data/known_hosts", "") == key_standing::outdated);
    CHECK(standing("/type", "\"Opaque\"") == key_standing::outdated);
    CHECK(standing("/immutable", "") == key_standing::outdated);
    CHECK(standing("/immutable", "false") == key_standing::outdated);
    CHECK(standing("/data", "") == key_standing::outdated);
    // Nothing fits a key that is not there.
    CHECK(standing("/data/ssh-privatekey", "") == key_standing::foreign);
    CHECK(core::standing_of_keys(job, "no JSON", read_key) == key_standing::foreign);
    CHECK(core::standing_of_keys(job, "[]", read_key) == key_standing::foreign);
}
