// SPDX-License-Identifier: Apache-2.0
//
// After kubernetes/pkg/controller/garbagecollector: classes of owners, the order of the two
// finalizers, and which dependents block.
#include "server/controllers/collector.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

bool waits_for_dependents(const record& r) {
    return r.deleting && r.has_finalizer(foreground_finalizer);
}

bool is_namespace_table(const resource_table& table) {
    return table.kind->plural == "namespaces" && table.kind->group.empty();
}

/// An owner counts only in the dependent's namespace, or if it is cluster-wide.
bool can_own(const store::place& owner, const record& dependent) {
    return owner.object != nullptr &&
           (owner.object->ns.empty() || owner.object->ns == dependent.ns);
}

}  // namespace

collector::collector(
    boost::asio::any_io_executor executor, model& world, std::chrono::nanoseconds delay
)
    : executor_(std::move(executor)),
      world_(&world),
      delay_(delay),
      self_(std::make_shared<collector*>(this)) {}

collector::~collector() {
    if (timer_ != 0) {
        world_->time().cancel(timer_);
    }
}

void collector::on_write(const resource_table& table, const history_event& event) {
    const store& objects = world_->objects();
    const record& now = *event.after;
    if (event.what == change::deleted) {
        for (const std::string& uid : objects.dependents(now.uid)) {
            enqueue_object(uid);
        }
    } else {
        const bool lacks_owner =
            std::any_of(now.owners.begin(), now.owners.end(), [&](const owner_ref& o) {
                const store::place owner = objects.find_uid(o.uid);
                return !can_own(owner, now) || waits_for_dependents(*owner.object);
            });
        if (lacks_owner ||
            (now.deleting && (now.has_finalizer(orphan_finalizer) || waits_for_dependents(now)))) {
            enqueue_object(now.uid);
        }
    }
    if (event.before != nullptr) {
        for (const owner_ref& o : event.before->owners) {
            const store::place owner = objects.find_uid(o.uid);
            if (owner.object != nullptr && waits_for_dependents(*owner.object)) {
                enqueue_object(o.uid);
            }
        }
    }
    if (is_namespace_table(table)) {
        if (now.deleting) {
            enqueue_namespace(now.name);
        }
    } else if (event.what == change::deleted && !now.ns.empty()) {
        const served_kind* namespaces = world_->kinds().find("", "v1", "namespaces");
        const record_ptr space = namespaces->table->find("", now.ns);
        if (space != nullptr && space->deleting) {
            enqueue_namespace(now.ns);
        }
    }
}

void collector::enqueue_object(const std::string& uid) {
    if (queued_objects_.insert(uid).second) {
        objects_.push_back(uid);
        schedule();
    }
}

void collector::enqueue_namespace(const std::string& name) {
    if (queued_namespaces_.insert(name).second) {
        namespaces_.push_back(name);
        schedule();
    }
}

void collector::schedule() {
    if (scheduled_) {
        return;
    }
    scheduled_ = true;
    std::weak_ptr<collector*> weak = self_;
    auto go = [weak] {
        if (const auto self = weak.lock()) {
            (*self)->run();
        }
    };
    if (delay_ <= std::chrono::nanoseconds::zero()) {
        boost::asio::post(executor_, std::move(go));
    } else {
        clock& time = world_->time();
        const auto delay = std::chrono::duration_cast<steady_time::duration>(delay_);
        timer_ = time.schedule(time.steady_now() + delay, std::move(go));
    }
}

void collector::run() {
    timer_ = 0;
    const std::deque<std::string> objects = std::exchange(objects_, {});
    const std::deque<std::string> namespaces = std::exchange(namespaces_, {});
    queued_objects_.clear();
    queued_namespaces_.clear();
    scheduled_ = false;
    for (const std::string& uid : objects) {
        visit_object(uid);
    }
    for (const std::string& name : namespaces) {
        visit_namespace(name);
    }
}

void collector::visit_object(const std::string& uid) {
    const store::place item = world_->objects().find_uid(uid);
    if (item.object == nullptr) {
        return;
    }
    if (item.object->deleting && item.object->has_finalizer(orphan_finalizer)) {
        orphan_dependents(*item.object);
        return;
    }
    if (waits_for_dependents(*item.object)) {
        delete_dependents(*item.object);
    }
    const store::place again = world_->objects().find_uid(uid);
    if (again.object != nullptr && !again.object->owners.empty()) {
        visit_dependent(again);
    }
}

void collector::delete_dependents(const record& owner) {
    const std::string uid = owner.uid;
    const std::vector<std::string> dependents = world_->objects().dependents(uid);
    bool blocked = false;
    for (const std::string& dependent : dependents) {
        const store::place item = world_->objects().find_uid(dependent);
        blocked = blocked || std::any_of(
                                 item.object->owners.begin(),
                                 item.object->owners.end(),
                                 [&uid](const owner_ref& o) { return o.uid == uid && o.blocks; }
                             );
    }
    if (!blocked) {
        drop_finalizer(uid, foreground_finalizer);
        return;
    }
    for (const std::string& dependent : dependents) {
        const store::place item = world_->objects().find_uid(dependent);
        if (item.object != nullptr) {
            visit_dependent(item);
        }
    }
}

void collector::orphan_dependents(const record& owner) {
    const std::string uid = owner.uid;
    for (const std::string& dependent : world_->objects().dependents(uid)) {
        drop_owners(world_->objects().find_uid(dependent), {uid});
    }
    drop_finalizer(uid, orphan_finalizer);
}

void collector::visit_dependent(const store::place& item) {
    const record& r = *item.object;
    if (r.deleting && !waits_for_dependents(r)) {
        return;
    }
    std::set<std::string> gone;
    bool solid = false;
    bool waiting = false;
    for (const owner_ref& o : r.owners) {
        const store::place owner = world_->objects().find_uid(o.uid);
        if (!can_own(owner, r)) {
            gone.insert(o.uid);
        } else if (waits_for_dependents(*owner.object)) {
            waiting = true;
            gone.insert(o.uid);
        } else {
            solid = true;
        }
    }
    if (solid) {
        if (!gone.empty()) {
            drop_owners(item, gone);
        }
        return;
    }
    delete_request request;
    request.uid = r.uid;
    if (waiting && !world_->objects().dependents(r.uid).empty()) {
        request.policy = propagation::foreground;
    } else if (r.has_finalizer(orphan_finalizer)) {
        request.policy = propagation::orphan;
    } else if (r.has_finalizer(foreground_finalizer)) {
        request.policy = propagation::foreground;
    } else {
        request.policy = propagation::background;
    }
    if (r.deleting && request.policy == propagation::foreground) {
        return;  // under way
    }
    (void)world_->remove(world_->kind_of(*item.table), r.ns, r.name, request);
}

void collector::drop_finalizer(const std::string& uid, std::string_view finalizer) {
    const store::place item = world_->objects().find_uid(uid);
    if (item.object == nullptr) {
        return;
    }
    const served_kind k = world_->kind_of(*item.table);
    json::arena a;
    json::value object = parse_record(*k.info, *item.object, a);
    json::value* list = json::find_path(object, {"metadata", "finalizers"});
    if (list == nullptr || !list->IsArray()) {
        return;
    }
    for (auto it = list->Begin(); it != list->End();) {
        it = json::scalar_text(*it) == finalizer ? list->Erase(it) : it + 1;
    }
    if (list->Empty()) {
        json::remove(*json::find(object, "metadata"), "finalizers");
    }
    world_->replace(k, item.object, object, a);
}

void collector::drop_owners(const store::place& item, const std::set<std::string>& gone) {
    if (item.object == nullptr) {
        return;
    }
    const served_kind k = world_->kind_of(*item.table);
    json::arena a;
    json::value object = parse_record(*k.info, *item.object, a);
    json::value* list = json::find_path(object, {"metadata", "ownerReferences"});
    if (list == nullptr || !list->IsArray()) {
        return;
    }
    for (auto it = list->Begin(); it != list->End();) {
        const std::string uid(json::string_at(*it, {"uid"}));
        it = gone.count(uid) != 0 ? list->Erase(it) : it + 1;
    }
    if (list->Empty()) {
        json::remove(*json::find(object, "metadata"), "ownerReferences");
    }
    world_->replace(k, item.object, object, a);
}

void collector::visit_namespace(const std::string& name) {
    const served_kind* namespaces = world_->kinds().find("", "v1", "namespaces");
    const record_ptr space = namespaces->table->find("", name);
    if (space == nullptr || !space->deleting) {
        return;
    }
    const std::vector<std::shared_ptr<resource_table>> tables = world_->objects().tables();
    bool empty = true;
    for (const auto& table : tables) {
        if (!table->kind->namespaced()) {
            continue;
        }
        for (const record_ptr& r : table->list(name)) {
            if (!r->deleting) {
                (void)world_->remove(world_->kind_of(*table), name, r->name, {});
            }
        }
        empty = empty && !table->any_in_namespace(name);
    }
    if (empty && space->finalizers.empty()) {
        world_->objects().erase(*namespaces->table, *space);
    }
}

}  // namespace signalbox::k8sio::server
