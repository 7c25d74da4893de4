// SPDX-License-Identifier: Apache-2.0

// What client-go's informers take to hold what the operator watches: it prints the seconds from its start until all are
// synced, and stays until it is killed. Pods and other built-in objects come as protobuf, as Kubernetes' own controllers
// ask for them; with -json as JSON. Every informer keeps whole objects, as a controller does that changes nothing.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	start := time.Now()
	kubeconfig := flag.String("kubeconfig", "", "")
	asJSON := flag.Bool("json", false, "")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	// The bounds of client-go itself would be what is measured.
	config.QPS, config.Burst = 1000, 1000
	builtIn := rest.CopyConfig(config)
	if !*asJSON {
		builtIn.ContentType = "application/vnd.kubernetes.protobuf"
	}
	client, err := kubernetes.NewForConfig(builtIn)
	check(err)
	jobs, err := dynamic.NewForConfig(config)
	check(err)

	ours := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = "app.kubernetes.io/managed-by=signalbox"
		}))
	ours.Core().V1().Pods().Informer()
	ours.Core().V1().Services().Informer()
	ours.Core().V1().Secrets().Informer()
	ours.Core().V1().ConfigMaps().Informer()
	ours.Apps().V1().Deployments().Informer()
	kinds := dynamicinformer.NewDynamicSharedInformerFactory(jobs, 0)
	for _, plural := range []string{"pytorchtrainingjobs", "deepspeedjobs", "colossalaijobs"} {
		kinds.ForResource(schema.GroupVersionResource{
			Group: "batch.tensorstack.dev", Version: "v1beta1", Resource: plural}).Informer()
	}
	stop := make(chan struct{})
	ours.Start(stop)
	kinds.Start(stop)
	ours.WaitForCacheSync(stop)
	kinds.WaitForCacheSync(stop)
	fmt.Printf("synced %.3f\n", time.Since(start).Seconds())
	<-stop
}
