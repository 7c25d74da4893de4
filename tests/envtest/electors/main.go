// SPDX-License-Identifier: Apache-2.0

// An elector of client-go, which says when it believes to be the leader, and when it surely holds the Lease:
//
//	begin T       it leads from now on
//	held T U      the server took a renewal at T or before; no one else may begin before U
//	released T    it is about to let the Lease go
//	end T         it leads no more
//
// Times are seconds of CLOCK_MONOTONIC, which all processes of a machine share. After a loss it competes again, under
// another name. SIGTERM lets the Lease go and ends it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func now() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

var output sync.Mutex

func say(what string, times ...float64) {
	output.Lock()
	defer output.Unlock()
	fmt.Print(what)
	for _, t := range times {
		fmt.Printf(" %.6f", t)
	}
	fmt.Println()
}

// tellingLock says what becomes of each write of the Lease.
type tellingLock struct {
	resourcelock.Interface
	lease time.Duration
}

func (l *tellingLock) tell(record resourcelock.LeaderElectionRecord, write func() error) error {
	begin := now()
	if record.HolderIdentity == "" {
		say("released", begin)
		return write()
	}
	err := write()
	if err == nil {
		say("held", now(), begin+l.lease.Seconds())
	}
	return err
}

func (l *tellingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.tell(record, func() error { return l.Interface.Create(ctx, record) })
}

func (l *tellingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.tell(record, func() error { return l.Interface.Update(ctx, record) })
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "")
	namespace := flag.String("namespace", "default", "")
	name := flag.String("name", "elector", "")
	identity := flag.String("identity", "client-go", "")
	lease := flag.Duration("lease-duration", 15*time.Second, "")
	deadline := flag.Duration("renew-deadline", 10*time.Second, "")
	retry := flag.Duration("retry-period", 2*time.Second, "")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	config.Timeout = *deadline / 2
	client := kubernetes.NewForConfigOrDie(config)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for term := 1; ctx.Err() == nil; term++ {
		lock := &tellingLock{
			Interface: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: *namespace, Name: *name},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%s-%d-%d", *identity, os.Getpid(), term)},
			},
			lease: *lease,
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:            lock,
			LeaseDuration:   *lease,
			RenewDeadline:   *deadline,
			RetryPeriod:     *retry,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { say("begin", now()) },
				OnStoppedLeading: func() { say("end", now()) },
			},
		})
	}
}
