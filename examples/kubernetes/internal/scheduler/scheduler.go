// Package scheduler is the loop: what the API server tells goes into the mirror, batch by
// batch, what is decided on its snapshot is asked for, and what became of that comes back
// like everything else. One goroutine has the mirror; reading, acting and telling go on
// beside it.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/act"
	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
	"github.com/allotsched/allot/examples/kubernetes/internal/tell"
	"github.com/allotsched/allot/verify"
)

const (
	// batch is how long what comes is gathered before it is decided upon: gangs come pod by
	// pod, and one decision for all costs what one costs.
	batch = 20 * time.Millisecond
	// resync is how long the loop goes without deciding when nothing happens: time alone ends
	// protections and graces.
	resync = time.Second
	// viewing is how often what there is to tell is gathered.
	viewing = time.Second
)

// A Loop is set up and then started, by one leader at a time. Each life has a mirror of its
// own, made of what the API server says: nothing is handed over but by its objects.
type Loop struct {
	Cache    crcache.Cache
	Options  mirror.Options
	Actor    *act.Actor // nil only tells what it would do
	Reporter *tell.Reporter
	Log      *slog.Logger
	// Optional are kinds that the server may not serve.
	WithGroups, WithDevices bool
	// Verify has every decision checked by code that shares nothing with the solver, which
	// costs a solve.
	Verify bool

	inbox inbox
}

// An inbox is what has come and is not in the mirror yet.
type inbox struct {
	lock sync.Mutex
	list []func(*mirror.Mirror)
	wake chan struct{}
}

func (b *inbox) put(f func(*mirror.Mirror)) {
	b.lock.Lock()
	b.list = append(b.list, f)
	b.lock.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []func(*mirror.Mirror) {
	b.lock.Lock()
	defer b.lock.Unlock()
	list := b.list
	b.list = nil
	return list
}

// NeedLeaderElection tells the manager to start the loop only where it leads.
func (l *Loop) NeedLeaderElection() bool { return true }

// Start runs until the context ends.
func (l *Loop) Start(ctx context.Context) error {
	l.inbox = inbox{wake: make(chan struct{}, 1)}
	m := mirror.New(l.Options)
	if err := l.watch(ctx); err != nil {
		return err
	}
	l.Log.Info("leading")
	ctx, stop := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop(nil)
	if l.Actor != nil {
		l.Actor.Done = func(o mirror.Order, live *corev1.Pod, err error) {
			tell.CountOrder(string(o.Kind), err)
			if err != nil {
				l.Log.Info("order failed", "kind", o.Kind, "pod", client.ObjectKeyFromObject(o.Pod), "node", o.Node, "error", err)
			}
			l.inbox.put(func(m *mirror.Mirror) { m.Done(&o, live, err) })
		}
		beside.Go(func() {
			if err := l.Actor.Run(ctx); err != nil {
				stop(err)
			}
		})
	}
	beside.Go(func() { l.Reporter.Run(ctx) })
	if err := l.loop(ctx, m); err != nil {
		return err
	}
	if err := context.Cause(ctx); errors.Is(err, act.ErrPaused) {
		return err
	}
	return nil
}

// watch has everything that the server tells put into the inbox, and waits until that is all
// there is.
func (l *Loop) watch(ctx context.Context) error {
	kinds := []client.Object{&corev1.Pod{}, &corev1.Node{}, &v1alpha1.Queue{}, &v1alpha1.Pool{}}
	if l.WithGroups {
		kinds = append(kinds, &schedulingv1alpha2.PodGroup{})
	}
	if l.WithDevices {
		kinds = append(kinds, &resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{})
	}
	var synced []cache.InformerSynced
	for _, kind := range kinds {
		informer, err := l.Cache.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { l.inbox.put(func(m *mirror.Mirror) { m.Put(o) }) },
			UpdateFunc: func(_, o any) { l.inbox.put(func(m *mirror.Mirror) { m.Put(o) }) },
			DeleteFunc: func(o any) {
				if last, missed := o.(cache.DeletedFinalStateUnknown); missed {
					o = last.Obj
				}
				l.inbox.put(func(m *mirror.Mirror) { m.Delete(o) })
			},
		})
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(handler) }) // the informer may have ended
		synced = append(synced, handler.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("the API server did not tell what there is")
	}
	return nil
}

func (l *Loop) loop(ctx context.Context, m *mirror.Mirror) error {
	var decided, viewed time.Time
	var newest *allot.Decision
	timer := time.NewTicker(viewing)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-l.inbox.wake:
			time.Sleep(batch)
		}
		for _, f := range l.inbox.take() {
			f(m)
		}
		if m.Update(time.Now()) || time.Since(decided) > resync {
			d, err := l.decide(ctx, m)
			if ctx.Err() != nil {
				return nil
			}
			decided = time.Now()
			if err != nil {
				l.Log.Error("no decision", "error", err)
				continue
			}
			newest = d
		}
		if newest != nil && time.Since(viewed) > viewing {
			viewed = time.Now()
			l.Reporter.Publish(&tell.News{Decision: newest, View: m.View()})
			newest = nil
		}
	}
}

// decide decides on the mirror's snapshot and has it carried out.
func (l *Loop) decide(ctx context.Context, m *mirror.Mirror) (*allot.Decision, error) {
	began := time.Now()
	d, err := m.Snapshot().DecideContext(ctx)
	if err != nil {
		return nil, err
	}
	tell.CountDecision(time.Since(began), d)
	if l.Verify {
		plan, err := d.Plan()
		if err != nil {
			return nil, err
		}
		if err := verify.Plan(m.Snapshot().State(), plan); err != nil {
			return nil, fmt.Errorf("a bug of Allot's, nothing is done: %w", err)
		}
	}
	orders, problem := m.Adopt(d)
	for i := range orders {
		o := &orders[i]
		l.Log.Debug("order", "kind", o.Kind, "pod", client.ObjectKeyFromObject(o.Pod), "workload", o.Workload, "node", o.Node, "for", o.For, "why", o.Why)
	}
	if len(orders) > 0 {
		l.Log.Info("decided", "orders", len(orders), "actions", len(d.Actions()), "took", time.Since(began), "incremental", d.Incremental())
	}
	if l.Actor != nil {
		l.Actor.Send(orders)
	} else {
		for i := range orders {
			o := &orders[i]
			l.Log.Info("would", "do", o.Kind, "pod", client.ObjectKeyFromObject(o.Pod), "node", o.Node, "for", o.For, "why", o.Why)
		}
	}
	m.Update(time.Now())
	return d, problem
}
