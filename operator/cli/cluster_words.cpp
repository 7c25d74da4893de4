// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_words.hpp"

#include "cli/cluster_session.hpp"
#include "controller/resource_table.hpp"
#include "manifests/json_edit.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::nanoseconds short_patience = std::chrono::seconds{3};

using word_function = std::function<cluster_word(const std::string& json)>;

/// The first page of each type.
class word_reader {
public:
    word_reader(cluster_session& session, std::vector<const k8sio::resource_type*> types)
        : api_(&session.api()), ns_(session.ns()), types_(std::move(types)) {}

    asio::awaitable<void> run(word_function word) {
        const k8sio::list_options first_page;
        std::size_t next = 0;
        while (next < types_.size()) {
            const k8sio::resource_type& type = *types_[next++];
            const auto page = co_await api_->list(type, ns_, first_page);
            if (page.has_error()) {
                continue;
            }
            for (const std::string& item : page->items) {
                words_.push_back(word(item));
            }
        }
    }
    std::vector<cluster_word> take() { return std::move(words_); }

private:
    k8sio::client* api_;
    std::string ns_;
    std::vector<const k8sio::resource_type*> types_;
    std::vector<cluster_word> words_;
};

std::vector<cluster_word> read_words(
    const cluster_options& cluster,
    const std::string& ns,
    std::vector<const k8sio::resource_type*> types,
    word_function word
) {
    cluster_session session(cluster, ns, short_patience);
    if (!session.problem().empty()) {
        return {};
    }
    word_reader reads(session, std::move(types));
    session.run(reads.run(std::move(word)));
    return reads.take();
}

std::string name_in(const std::string& json) {
    return core::in_one_line(manifests::string_at(json, "/metadata/name"));
}

}  // namespace

std::vector<cluster_word> jobs_of(const cluster_options& cluster, const std::string& ns) {
    std::vector<const k8sio::resource_type*> types;
    for (const core::job_kind kind : core::all_job_kinds) {
        types.push_back(&type_of(kind));
    }
    return read_words(cluster, ns, std::move(types), [](const std::string& json) {
        const std::string what = fmt::format(
            "{} {}",
            manifests::string_at(json, "/kind"),
            manifests::string_at(json, "/status/phase")
        );
        return cluster_word{name_in(json), core::in_one_line(what)};
    });
}

std::vector<cluster_word> namespaces_of(const cluster_options& cluster) {
    return read_words(cluster, "", {&k8sio::resources::namespaces()}, [](const std::string& json) {
        return cluster_word{name_in(json), {}};
    });
}

}  // namespace signalbox::op::cli
