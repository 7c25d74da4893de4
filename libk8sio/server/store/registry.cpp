// SPDX-License-Identifier: Apache-2.0
#include "server/store/registry.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {

void registry::serve(kind_info kind) {
    auto info = std::make_shared<const kind_info>(std::move(kind));
    const kind_info& keeper = info->keeper();
    resource_table* existing = objects_->find_table(keeper.group, keeper.plural);
    std::shared_ptr<resource_table> table;
    if (existing == nullptr) {
        table = objects_->add_table(info);
    } else {
        for (const auto& t : objects_->tables()) {
            if (t.get() == existing) {
                table = t;
            }
        }
        if (info->storage_version && info->form == nullptr) {
            table->kind = info;
        }
    }
    for (served_kind& k : kinds_) {
        if (k.table == table && k.info->version == info->version && k.info->group == info->group) {
            k.info = info;
            return;
        }
    }
    kinds_.push_back({info, table});
}

void registry::remove(std::string_view group, std::string_view plural) {
    std::erase_if(kinds_, [&](const served_kind& k) {
        return k.info->group == group && k.info->plural == plural;
    });
    if (resource_table* table = objects_->find_table(group, plural)) {
        objects_->remove_table(*table);
    }
}

void registry::remove_version(
    std::string_view group, std::string_view version, std::string_view plural
) {
    std::erase_if(kinds_, [&](const served_kind& k) {
        return k.info->group == group && k.info->version == version && k.info->plural == plural;
    });
}

const served_kind* registry::find(
    std::string_view group, std::string_view version, std::string_view plural
) const {
    for (const served_kind& k : kinds_) {
        if (k.info->plural == plural && k.info->version == version && k.info->group == group) {
            return &k;
        }
    }
    return nullptr;
}

bool registry::serves_group(std::string_view group, std::string_view version) const {
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const served_kind& k) {
        return k.info->group == group && (version.empty() || k.info->version == version);
    });
}

}  // namespace signalbox::k8sio::server
