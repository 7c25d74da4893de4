// SPDX-License-Identifier: Apache-2.0
#include "linear/filled_jobs.hpp"
#include "linear/filling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace signalbox::test {
namespace {

struct base_job {
    std::string_view kind;
    std::string_view spec;       ///< with `@` for the template of workers
    std::string_view pods;       ///< where that stands
    std::string_view container;  ///< the one that trains
};
constexpr std::array<base_job, 5> bases{{
    {"PyTorchTrainingJob",
     R"("replicaSpecs":[{"type":"worker","replicas":2,"template":@}])",
     "/spec/replicaSpecs/0/template",
     "pytorch"},
    {"PyTorchTrainingJob",
     R"("torchrunConfig":{"enabled":true},"replicaSpecs":[{"type":"node","replicas":2,"template":@}])",
     "/spec/replicaSpecs/0/template",
     "pytorch"},
    {"DeepSpeedJob",
     R"("config":{"run":{"python":["a.py"]}},"worker":{"replicas":2,"template":@})",
     "/spec/worker/template",
     "worker"},
    {"ColossalAIJob",
     R"("launcher":{"env":[{"name":"A"}]},"worker":{"replicas":2,"command":["a.py"],"template":@})",
     "/spec/worker/template",
     "worker"},
    {"ColossalAIJob",
     R"("torchConfig":{"script":["a.py"]},"replicaSpecs":[{"type":"worker","replicas":2,"template":@}])",
     "/spec/replicaSpecs/0/template",
     "worker"},
}};

std::string text_of_base(const base_job& base) {
    std::string spec(base.spec);
    const std::string pods = fmt::format(
        R"({{"metadata":{{"labels":{{"a":"b"}},"annotations":{{"a":"b"}}}},"spec":{{"containers":)"
        R"([{{"name":"{}","image":"i","args":["a.py"]}}]}}}})",
        base.container
    );
    spec.replace(spec.find('@'), 1, pods);
    return fmt::format(
        R"({{"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"{}","metadata":{{"name":"full",)"
        R"("namespace":"default","uid":"cffea855-5ce2-496a-8956-f6e76fe2f565","generation":1}},)"
        R"("spec":{{{}}},"status":{{}}}})",
        base.kind,
        spec
    );
}

std::string numbered(std::string_view form, std::size_t i) {
    std::string out(form);
    for (std::size_t at = out.find('#'); at != std::string::npos; at = out.find('#', at)) {
        out.replace(at, 1, std::to_string(i));
    }
    return out;
}

filling items(std::string form) {
    return list_of_items([form = std::move(form)](std::size_t i) { return numbered(form, i); });
}

filling members(std::string form) {
    return object_of([form = std::move(form)](std::size_t i) { return numbered(form, i); });
}

/// `open`, half of the bytes, `middle`, the other half, `close`.
filling halves(
    std::string open, filling one, std::string middle, filling other, std::string close
) {
    return [=](std::size_t bytes) {
        return open + one(bytes / 2) + middle + other(bytes / 2) + close;
    };
}

/// The environment: the first of the pod, each of the others refers to the one before.
std::string chained(std::size_t i) {
    return i == 0 ? R"({"name":"A0","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}})"
                  : fmt::format(R"j({{"name":"A{}","value":"$(A{})"}})j", i, i - 1);
}

class hand_filler {
public:
    hand_filler(const base_job& base, std::vector<filled_job>& out)
        : base_(base), text_(text_of_base(base)), out_(out) {}

    void fill_environment() {
        in_container("env", "entries", items(R"({"name":"A#","value":"1"})"));
        in_container("env", "one name", items(R"j({"name":"A","value":"$(A)"})j"));
        in_container("env", "a chain of references", list_of_items(chained));
        in_container(
            "env", "references that never end", items(R"({"name":"A#","value":"$($($("})")
        );
        in_container(
            "env",
            "sources",
            items(R"({"name":"A#","valueFrom":{"secretKeyRef":{"name":"s","key":"k#"}}})")
        );
        in_container("env", "no names", items("{}"));
        in_container("envFrom", "sources", items(R"({"prefix":"A#","configMapRef":{"name":"c"}})"));
        in_container("env/0", "references to one after the other", [](std::size_t bytes) {
            std::string value;
            for (std::size_t i = 0; value.size() < bytes; ++i) {
                value += fmt::format("$(A{})", i);
            }
            return R"({"name":"A","value":")" + value + "\"}";
        });
        in_container("args", "words", items(R"j("--a#=$(A#)")j"));
        in_container("command", "words", items(R"("$(A#")"));
    }

    void fill_lists() {
        const std::string more = R"({"name":"n#","image":"i"})";
        const std::string first =
            fmt::format(R"([{{"name":"{}","image":"i","args":["a.py"]}},)", base_.container);
        in_pods("spec/containers", "containers", [more, first](std::size_t bytes) {
            return first + items(more)(bytes).substr(1);
        });
        in_pods("spec/initContainers", "containers", items(more));
        in_pods("spec/containers", "containers of one name", items(R"({"name":"n","image":"i"})"));
        in_pods("spec/containers", "no containers", items("{}"));
        in_pods("spec/volumes", "volumes", items(R"({"name":"v#","emptyDir":{}})"));
        in_pods(
            "spec",
            "volumes and mounts",
            halves(
                R"({"volumes":)",
                items(R"({"name":"v#","emptyDir":{}})"),
                fmt::format(
                    R"(,"containers":[{{"name":"{}","image":"i","args":["a.py"],"volumeMounts":)",
                    base_.container
                ),
                items(R"({"name":"v#","mountPath":"/m#"})"),
                "}]}"
            )
        );
        in_container(
            "volumeMounts", "mounts of nothing", items(R"({"name":"v#","mountPath":"/m"})")
        );
        in_container("volumeMounts/0", "a deep path", [](std::size_t bytes) {
            return R"({"name":"v","mountPath":)" + text_of("/a/..")(bytes) + "}";
        });
        in_container("ports", "ports", items(R"({"name":"p#","containerPort":80})"));
        in_container("ports", "ports of hosts", items(R"({"containerPort":#,"hostPort":#})"));
        in_pods("spec/tolerations", "tolerations", items(R"({"key":"k#","operator":"Exists"})"));
        in_pods("spec/hostAliases", "aliases", items(R"({"ip":"10.0.0.1","hostnames":["h#"]})"));
        in_pods(
            "spec/topologySpreadConstraints",
            "constraints",
            items(R"({"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"DoNotSchedule"})")
        );
        in_pods("spec/schedulingGates", "gates", items(R"({"name":"g#"})"));
        in_pods("spec/resourceClaims", "claims", items(R"({"name":"c#","resourceClaimName":"c"})"));
        in_pods("spec/imagePullSecrets", "names", items(R"({"name":"s#"})"));
        in_pods(
            "spec/securityContext",
            "sysctls",
            halves(
                R"({"sysctls":)",
                items(R"({"name":"s#","value":"1"})"),
                R"(,"supplementalGroups":)",
                items("#"),
                "}"
            )
        );
    }

    void fill_names() {
        in_container(
            "resources",
            "resources",
            halves(
                R"({"limits":)",
                members(R"("example.com/r#":"1")"),
                R"(,"requests":)",
                members(R"("example.com/r#":"1")"),
                "}"
            )
        );
        in_container(
            "resources",
            "one resource again and again",
            halves(
                R"({"limits":)",
                members(R"("example.com/r":"1")"),
                R"(,"requests":)",
                members(R"("example.com/r":"1")"),
                "}"
            )
        );
        in_container(
            "resources",
            "huge pages",
            halves(
                R"({"limits":)",
                members(R"("hugepages-#Ki":"1")"),
                R"(,"requests":)",
                members(R"("hugepages-#Ki":"2")"),
                "}"
            )
        );
        in_container("resources/limits", "a long number", [](std::size_t bytes) {
            return R"({"cpu":)" + text_of("9")(bytes) + "}";
        });
        in_container("resources/limits", "a long fraction", [](std::size_t bytes) {
            return R"({"cpu":"0.)" + text_of("9")(bytes).substr(1) + "}";
        });
        for (const std::string_view key : {"labels", "annotations"}) {
            in_pods(fmt::format("metadata/{}", key), "names", members(R"("n#":"v")"));
            in_pods(fmt::format("metadata/{}", key), "one name", members(R"("n":"v")"));
            in_pods(fmt::format("metadata/{}", key), "wrong names", members(R"("n/#/\u001b":"-")"));
            add(fmt::format("/metadata/{}", key), "names", members(R"("n#":"v")"));
            add(fmt::format("/metadata/{}", key),
                "names of ours",
                members(R"("batch.tensorstack.dev/shm#":"v")"));
        }
        in_pods("metadata", "members", members(R"("n#":1)"));
        in_pods("spec/nodeSelector", "names", members(R"("n#":"v")"));
        in_pods("spec", "unknown members", members(R"j("n#":{"$(A)":"$(A)"})j"));
        add("/spec", "one member again and again", members(R"("managedBy":"m")"));
        add("/status", "members", members(R"("n#":1)"));
        add("/status/restarts", "one member again and again", members(R"("seen":[])"));
    }

    /// Places that are long because a name on the way is.
    void fill_ways() {
        const auto under = [](std::string_view form) {
            return [form](std::size_t bytes) {
                return "{" + text_of("k")(bytes / 2) + ":" + items(std::string(form))(bytes / 2) +
                       "}";
            };
        };
        in_pods("spec/long", "texts below a long name", under(R"j("$(A)")j"));
        in_pods("spec/long", "numbers below a long name", under("1"));
        in_pods("spec/long", "long names in each other", [](std::size_t bytes) {
            std::string open;
            std::string close;
            for (std::size_t i = 0; i < 480; ++i) {
                open += "{\"" + std::string(bytes / 480 - 5, 'k') + "\":";
                close += '}';
            }
            return open + "\"$(A)\"" + close;
        });
        in_pods("spec/affinity", "unknown members below a long name", under(R"({"a":1})"));
        in_container("resources/limits", "wrong values of long names", [](std::size_t bytes) {
            std::string out;
            for (std::size_t i = 0; i < 256; ++i) {
                out += fmt::format(
                    R"({}"{}n{}":"?")", i == 0 ? "" : ",", std::string(bytes / 256, 'k'), i
                );
            }
            return "{" + out + "}";
        });
    }

private:
    void in_container(std::string_view place, std::string_view what, filling fill) {
        in_pods(fmt::format("spec/containers/0/{}", place), what, std::move(fill));
    }
    void in_pods(std::string_view place, std::string_view what, filling fill) {
        add(fmt::format("{}/{}", base_.pods, place), what, std::move(fill));
    }
    void add(const std::string& place, std::string_view what, filling fill) {
        const std::string name = fmt::format(
            "{}{} {}: {}",
            base_.kind,
            base_.spec.starts_with("\"torch") ? ", torch" : "",
            place,
            what
        );
        out_.push_back(filled_at(name, text_, place, std::move(fill)));
    }

    const base_job& base_;
    std::string text_;
    std::vector<filled_job>& out_;
};

}  // namespace

std::vector<filled_job> filled_by_hand() {
    std::vector<filled_job> all;
    for (const base_job& base : bases) {
        hand_filler filler(base, all);
        filler.fill_environment();
        filler.fill_lists();
        filler.fill_names();
        filler.fill_ways();
    }
    return all;
}

}  // namespace signalbox::test
