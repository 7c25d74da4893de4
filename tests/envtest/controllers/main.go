// SPDX-License-Identifier: Apache-2.0

// Controllers of kube-controller-manager that tests need, without the others: next to kube-apiserver these cost little to
// build, and all of them ten times as much.
//
// usage: controllers --controllers=NAME,... --kubeconfig=FILE
package main

import (
	"context"
	"flag"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	workers = 5
	resync  = 30 * time.Second // of what is served
)

// world is what the controllers share.
type world struct {
	config   *rest.Config
	client   *clientset.Clientset
	metadata metadata.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	typed    informers.SharedInformerFactory
	all      informerfactory.InformerFactory
	started  chan struct{} // closed when the informers have been
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newWorld(kubeconfig string) *world {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(err)
	config.QPS, config.Burst = 500, 1000
	w := &world{config: config, started: make(chan struct{})}
	w.client = clientset.NewForConfigOrDie(config)
	w.metadata = metadata.NewForConfigOrDie(config)
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(w.client.Discovery()))
	w.typed = informers.NewSharedInformerFactory(w.client, 0)
	w.all = informerfactory.NewInformerFactory(w.typed, metadatainformer.NewSharedInformerFactory(w.metadata, 0))
	return w
}

// starters by the names that kube-controller-manager gives them.
var starters = map[string]func(context.Context, *world){
	"garbage-collector-controller": func(ctx context.Context, w *world) {
		ignored := map[schema.GroupResource]struct{}{}
		for resource := range garbagecollector.DefaultIgnoredResources() {
			ignored[resource] = struct{}{}
		}
		graph := garbagecollector.NewDependencyGraphBuilder(ctx, w.metadata, w.mapper, ignored, w.all, w.started)
		collector, err := garbagecollector.NewComposedGarbageCollector(ctx, w.client, w.metadata, w.mapper, graph)
		must(err)
		go collector.Run(ctx, workers, resync)
		go collector.Sync(ctx, w.client.Discovery(), resync)
	},
	"namespace-controller": func(ctx context.Context, w *world) {
		go namespace.NewNamespaceController(
			ctx, w.client, w.metadata, w.client.Discovery().ServerPreferredNamespacedResources, w.typed.Core().V1().Namespaces(),
			5*time.Minute, corev1.FinalizerKubernetes,
		).Run(ctx, workers)
	},
	"deployment-controller": func(ctx context.Context, w *world) {
		apps := w.typed.Apps().V1()
		made, err := deployment.NewDeploymentController(
			ctx, apps.Deployments(), apps.ReplicaSets(), w.typed.Core().V1().Pods(), w.client)
		must(err)
		go made.Run(ctx, workers)
	},
	"replicaset-controller": func(ctx context.Context, w *world) {
		go replicaset.NewReplicaSetController(
			ctx, w.typed.Apps().V1().ReplicaSets(), w.typed.Core().V1().Pods(), w.client, replicaset.BurstReplicas,
		).Run(ctx, workers)
	},
	"disruption-controller": func(ctx context.Context, w *world) {
		scales, err := scale.NewForConfig(
			w.config, w.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(w.client.Discovery()))
		must(err)
		core, apps := w.typed.Core().V1(), w.typed.Apps().V1()
		go disruption.NewDisruptionController(
			ctx, core.Pods(), w.typed.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(), apps.ReplicaSets(),
			apps.Deployments(), apps.StatefulSets(), w.client, w.mapper, scales, w.client.Discovery(),
		).Run(ctx)
	},
	"resourcequota-controller": func(ctx context.Context, w *world) {
		list := generic.ListerFuncForResourceFunc(w.all.ForResource)
		quotas := quotainstall.NewQuotaConfigurationForControllers(list)
		made, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
			QuotaClient:               w.client.CoreV1(),
			ResourceQuotaInformer:     w.typed.Core().V1().ResourceQuotas(),
			ResyncPeriod:              controller.StaticResyncPeriodFunc(resync),
			InformerFactory:           w.all,
			ReplenishmentResyncPeriod: func() time.Duration { return resync },
			DiscoveryFunc:             w.client.Discovery().ServerPreferredNamespacedResources,
			IgnoredResourcesFunc:      quotas.IgnoredResources,
			InformersStarted:          w.started,
			Registry:                  generic.NewRegistry(quotas.Evaluators()),
			UpdateFilter:              quotainstall.DefaultUpdateFilter(),
		})
		must(err)
		go made.Run(ctx, workers)
		go made.Sync(ctx, w.client.Discovery().ServerPreferredNamespacedResources, resync)
	},
}

func main() {
	names := flag.String("controllers", "", "which ones, with commas between them")
	kubeconfig := flag.String("kubeconfig", "", "of the API server")
	flag.Parse()
	ctx, w := context.Background(), newWorld(*kubeconfig)
	for _, name := range strings.Split(*names, ",") {
		start, known := starters[name]
		if !known {
			panic("unknown controller: " + name)
		}
		start(ctx, w)
	}
	w.all.Start(ctx.Done())
	close(w.started)
	for range time.Tick(resync) {
		w.mapper.Reset()
	}
}
