// SPDX-License-Identifier: Apache-2.0
#include "node_fixture.hpp"

#include "manifests/json_edit.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>

#include <unistd.h>

namespace signalbox::op::test {

namespace {

const k8sio::wall_time start_of_time{std::chrono::seconds{1'700'000'000}};

}  // namespace

std::string container(const std::string& more) {
    return R"({"name":"c","image":"i","command":["run"])" + more + "}";
}

std::string one(const std::string& container_more, const std::string& spec_more) {
    return fmt::format(
        R"("restartPolicy":"Never","containers":[{}]{})", container(container_more), spec_more
    );
}

process_script ends_after(std::chrono::nanoseconds time, int code) {
    process_script out;
    out.lasts = time;
    out.code = code;
    return out;
}

node_fixture::node_fixture(kubelet::process_options options, int name_server)
    : time_(loop_.get_executor(), start_of_time),
      server_(loop_.get_executor(), time_),
      node_transport_(server_.connect()),
      user_transport_(server_.connect()),
      node_api_(*node_transport_, time_),
      user_(*user_transport_, time_) {
    std::string name = (std::filesystem::temp_directory_path() / "signalbox-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    options.folder = folder_.string();
    options.made_claims = folder_ / "made";
    if (!options.claims.empty()) {
        options.claims = folder_ / options.claims;
    }
    options.node_name = options.node_name.empty() ? "machine" : options.node_name;
    options.complain = [this](const std::string& what) { complaints_.push_back(what); };
    auto made = std::make_unique<scripted_containers>(loop_.get_executor(), time_);
    containers_ = made.get();
    made->name_server = name_server;
    runtime_ = kubelet::make_process_runtime(
        loop_.get_executor(), node_api_, std::move(made), std::move(options)
    );
    boost::asio::co_spawn(loop_, runtime_->run(), [this](std::exception_ptr) { ended_ = true; });
    settle();
}

node_fixture::~node_fixture() {
    stop();
    std::filesystem::remove_all(folder_);
}

void node_fixture::stop() {
    runtime_->stop();
    run_for(std::chrono::seconds(5));
    CHECK(ended_);
    CHECK(containers_->stopped);
}

void node_fixture::settle() {
    loop_.restart();
    while (loop_.poll() > 0) {
        loop_.restart();
    }
}

void node_fixture::run_for(std::chrono::nanoseconds duration) {
    const k8sio::steady_time end = time_.steady_now() + duration;
    settle();
    while (time_.has_pending() && time_.next_at() <= end) {
        time_.advance_to_next();
        settle();
    }
    time_.advance(end - time_.steady_now());
    settle();
}

void node_fixture::create(const k8sio::resource_type& type, const std::string& body) {
    std::string text = body;
    const auto made = wait(user_.create(type, "default", std::move(text)));
    INFO((made.has_error() ? made.error().text() : ""));
    REQUIRE(made.has_value());
}

void node_fixture::create(
    const std::string& name, const std::string& spec, const std::string& meta
) {
    create(
        k8sio::resources::pods(),
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"{}}},)"
            R"("spec":{{{}}}}})",
            name,
            meta,
            spec
        )
    );
}

void node_fixture::update_data(
    const k8sio::resource_type& type, const std::string& name, const std::string& data
) {
    std::string patch = fmt::format(R"({{"data":{}}})", data);
    const auto made = wait(user_.merge_patch(type, "default", name, std::move(patch)));
    REQUIRE(made.has_value());
}

void node_fixture::remove(const std::string& name, std::optional<std::int64_t> grace) {
    k8sio::delete_options options;
    options.grace_seconds = grace;
    const auto gone = wait(user_.remove(k8sio::resources::pods(), "default", name, options));
    REQUIRE(gone.has_value());
}

std::string node_fixture::pod(const std::string& name) {
    const auto got = wait(user_.get(k8sio::resources::pods(), "default", name));
    return got.has_value() ? *got : std::string();
}

std::string node_fixture::field(const std::string& name, const std::string& pointer) {
    rapidjson::Document doc;
    const std::string text = pod(name);
    doc.Parse(text.data(), text.size());
    const rapidjson::Value* v =
        doc.HasParseError() ? nullptr : rapidjson::Pointer(pointer.c_str()).Get(doc);
    if (v == nullptr) {
        return "(none)";
    }
    return v->IsString() ? std::string(v->GetString(), v->GetStringLength())
           : v->IsInt()  ? std::to_string(v->GetInt())
           : v->IsBool() ? (v->GetBool() ? "true" : "false")
                         : "(other)";
}

std::vector<std::string> node_fixture::events(const std::string& name) {
    const k8sio::list_options all;
    const auto page = wait(user_.list(k8sio::resources::events(), "default", all));
    REQUIRE(page.has_value());
    std::vector<std::string> out;
    for (const std::string& item : page->items) {
        if (manifests::string_at(item, "/involvedObject/name") == name) {
            out.push_back(
                manifests::string_at(item, "/reason") + ": " +
                manifests::string_at(item, "/message")
            );
        }
    }
    return out;
}

bool node_fixture::has_event(const std::string& name, const std::string& text) {
    const std::vector<std::string> all = events(name);
    for (const std::string& e : all) {
        UNSCOPED_INFO(e);
    }
    return std::ranges::find(all, text) != all.end();
}

std::string node_fixture::env(std::size_t run, const std::string& name) const {
    for (const std::string& e : containers_->runs.at(run).process.env) {
        if (e.starts_with(name + "=")) {
            return e.substr(name.size() + 1);
        }
    }
    return "(none)";
}

const containers::mount_point* node_fixture::mount(std::size_t run, const std::string& target)
    const {
    const auto& mounts = containers_->runs.at(run).mounts;
    const auto it = std::ranges::find(mounts, target, &containers::mount_point::target);
    return it == mounts.end() ? nullptr : &*it;
}

}  // namespace signalbox::op::test
