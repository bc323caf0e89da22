// Command kubernetes is a scheduler of Kubernetes that decides with Allot. It runs beside
// kube-scheduler and places the pods that name it (schedulerName: allot). README.md says how
// to try it out, doc comments of the internal packages how it works.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/act"
	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
	"github.com/allotsched/allot/examples/kubernetes/internal/scheduler"
	"github.com/allotsched/allot/examples/kubernetes/internal/tell"
)

//go:generate go tool controller-gen object paths=./api/...
//go:generate go tool controller-gen crd paths=./api/... output:crd:dir=manifests
//go:generate go tool controller-gen rbac:roleName=allot paths=. output:rbac:dir=manifests

// +kubebuilder:rbac:groups="",resources=pods;nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/binding;pods/eviction,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=podgroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=podgroups/status,verbs=patch
// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims;resourceslices,verbs=get;list;watch
// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims,verbs=update
// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims/status,verbs=update
// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims/binding,verbs=update
// +kubebuilder:rbac:groups=allotsched.github.io,resources=queues;pools,verbs=get;list;watch
// +kubebuilder:rbac:groups=allotsched.github.io,resources=queues/status;pools/status,verbs=patch

// options are the command line's.
type options struct {
	mirror         mirror.Options
	levels, pools  string
	metrics, pages string
	namespace      string
	elect, dry     bool
	verify, debug  bool
	qps            float64
	burst          int
	patience       time.Duration
}

func main() {
	var o options
	f := flag.CommandLine
	f.StringVar(&o.mirror.Scheduler, "name", "allot", "the `schedulerName` of the pods to place")
	f.StringVar(&o.pools, "pools", "", "the Pools to schedule, by comma; all if empty")
	f.StringVar(&o.levels, "levels", "", "label `keys` of topology levels, the widest first, by comma")
	f.StringVar(&o.mirror.GPU, "gpu", "nvidia.com/gpu", "the extended `resource` that counts GPUs")
	f.StringVar(&o.mirror.Driver, "dra-driver", "gpu.nvidia.com", "the DRA `driver` whose devices are GPUs")
	f.StringVar(&o.mirror.DeviceClass, "dra-class", "gpu.nvidia.com", "the DeviceClass by which claims ask for GPUs")
	f.DurationVar(&o.mirror.Grace, "gang-grace", 30*time.Second, "how long a part of a gang may run before it is taken back")
	f.DurationVar(&o.patience, "eviction-patience", 30*time.Second, "how long a PodDisruptionBudget may forbid an eviction before it is given up")
	f.StringVar(&o.metrics, "metrics", "127.0.0.1:0", "the `address` of the metrics; 0 is none")
	f.StringVar(&o.pages, "pages", "127.0.0.1:8090", "the `address` of /plan, /explain and /state; empty is none")
	f.StringVar(&o.namespace, "namespace", "", "the `namespace` of the lease; that of the pod if empty")
	f.BoolVar(&o.elect, "leader-election", false, "let one of several replicas lead")
	f.BoolVar(&o.dry, "dry-run", false, "only tell what would be done")
	f.BoolVar(&o.verify, "verify", false, "check every decision by a second reading of the rules")
	f.BoolVar(&o.debug, "debug", false, "tell every order")
	f.Float64Var(&o.qps, "qps", -1, "how many requests per second the client sends at most; negative is any number")
	f.IntVar(&o.burst, "burst", 10, "how many requests may be sent at once within -qps")
	flag.Parse()
	o.mirror.Levels, o.mirror.Pools = split(o.levels), split(o.pools)
	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	if err := run(ctrl.SetupSignalHandler(), &o, log); err != nil {
		log.Error("ended", "error", err)
		os.Exit(1)
	}
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func run(ctx context.Context, o *options, log *slog.Logger) error {
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return err
	}
	kubeconfig.QPS, kubeconfig.Burst = float32(o.qps), o.burst
	kubeconfig.UserAgent = "allot"
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	m, err := ctrl.NewManager(kubeconfig, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: o.metrics},
		// Managed fields are half of an object and nobody's business here.
		Cache:          cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:         client.Options{Cache: &client.CacheOptions{Unstructured: false}},
		LeaderElection: o.elect, LeaderElectionID: o.mirror.Scheduler + "-scheduler", LeaderElectionNamespace: o.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	reporter := &tell.Reporter{
		Client: m.GetClient(), Events: m.GetEventRecorder(o.mirror.Scheduler), Terms: o.mirror.Terms, Log: log,
		Period: 2 * time.Second, Refresh: time.Minute, Figures: 5 * time.Second, Most: 200, Mute: o.dry,
	}
	loop := &scheduler.Loop{
		Cache: m.GetCache(), Options: o.mirror, Reporter: reporter, Log: log, Verify: o.verify,
	}
	if loop.WithGroups, err = served(m, &schedulingv1alpha2.PodGroup{}, log); err != nil {
		return err
	}
	if loop.WithDevices, err = served(m, &resourcev1.ResourceClaim{}, log); err != nil {
		return err
	}
	if !o.dry {
		loop.Actor = &act.Actor{
			Client: m.GetClient(), Live: m.GetAPIReader(), Events: m.GetEventRecorder(o.mirror.Scheduler),
			Patience: o.patience, Workers: 32,
		}
		if o.elect {
			loop.Actor.Fence = leaseFence
		}
	}
	if err := m.Add(loop); err != nil {
		return err
	}
	if o.pages != "" {
		if err := m.Add(&pageServer{reporter.Server(o.pages), log}); err != nil {
			return err
		}
	}
	return m.Start(ctx)
}

// leaseFence is well below the 15 seconds of a lease: who was paused for longer has lost it,
// perhaps.
const leaseFence = 5 * time.Second

// served says whether the server has a kind. That it does not answer is no answer.
func served(m ctrl.Manager, kind client.Object, log *slog.Logger) (bool, error) {
	gvk, err := m.GetClient().GroupVersionKindFor(kind)
	if err != nil {
		return false, err
	}
	_, err = m.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		log.Info("not served here, and done without", "kind", gvk.String())
		return false, nil
	}
	return err == nil, err
}

// A pageServer serves what is to be read, on every replica.
type pageServer struct {
	server *http.Server
	log    *slog.Logger
}

// NeedLeaderElection tells the manager that replicas that do not lead serve pages too.
func (*pageServer) NeedLeaderElection() bool { return false }

// Start serves until the context ends. A scheduler without pages schedules.
func (p *pageServer) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.server.Close() }) // the program ends
	defer stop()
	if err := p.server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		p.log.Error("no pages", "error", err)
	}
	return nil
}
