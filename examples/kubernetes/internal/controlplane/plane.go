package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The parts of a control plane, for [Plane.Restart].
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"
	Kwok      = "kwok"
)

// gates are the features of Kubernetes 1.36 that the scheduler reads objects of.
const gates = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true," +
	"WorkloadAwarePreemption=true,DRAWorkloadResourceClaims=true"

//go:embed stages.yaml
var ownStages []byte

// A Plane is a control plane that runs.
type Plane struct {
	// Folder has the data, the logs and the kubeconfig of the plane, Bin its programs.
	Folder, Bin string
	// Kubeconfig is a file that kubectl reads, for an administrator; Scheduler is one for
	// who may do what the scheduler's role allows, once [Plane.Install] has returned.
	Kubeconfig, Scheduler string

	say       func(format string, args ...any)
	etcd, api int // ports
	peer      int
	running   map[string]*process
	stages    string
}

// Start builds what is not built and starts a control plane whose files are in a folder,
// which must be there. It returns when the API answers. What it waits for it says.
func Start(ctx context.Context, folder string, say func(format string, args ...any)) (*Plane, error) {
	p := &Plane{Folder: folder, Kubeconfig: filepath.Join(folder, "kubeconfig"), Scheduler: filepath.Join(folder, "kubeconfig-scheduler"), say: say, running: make(map[string]*process)}
	var err error
	if p.Bin, err = Build(ctx, say, Etcd, APIServer, Kwok); err != nil {
		return nil, err
	}
	if p.stages, err = stages(ctx); err != nil {
		return nil, err
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	for _, name := range []string{Etcd, APIServer} {
		if err := p.run(name); err != nil {
			p.Stop()
			return nil, err
		}
	}
	if err := p.ready(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	if err := p.run(Kwok); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// token is what clients of the plane say who they are with: it listens on loopback alone.
const token = "local"

// prepare writes the files of a plane and chooses its ports.
func (p *Plane) prepare() error {
	for _, port := range []*int{&p.etcd, &p.peer, &p.api} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	keyText := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for name, text := range map[string][]byte{ // files of their own: order cannot matter
		"sa.key":      keyText,
		"tokens.csv":  []byte(token + `,admin,1,"system:masters"` + "\nscheduler,allot,2\n"),
		"stages.yaml": ownStages,
	} {
		if err := os.WriteFile(p.file(name), text, 0o600); err != nil {
			return err
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: p.server(), InsecureSkipTLSVerify: true}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "admin", Namespace: "default"}
	config.CurrentContext = "local"
	if err := clientcmd.WriteToFile(*config, p.Kubeconfig); err != nil {
		return err
	}
	config.AuthInfos["admin"].Token = "scheduler"
	return clientcmd.WriteToFile(*config, p.Scheduler)
}

func (p *Plane) file(name string) string { return filepath.Join(p.Folder, name) }

func (p *Plane) server() string { return "https://127.0.0.1:" + strconv.Itoa(p.api) }

// Config is how clients reach the plane. Limits of the client's own are off.
func (p *Plane) Config() *rest.Config {
	return &rest.Config{
		Host: p.server(), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
}

// run starts one part.
func (p *Plane) run(name string) error {
	url := func(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
	var args []string
	switch name {
	case Etcd:
		args = []string{p.file("etcd"), url(p.etcd), url(p.peer)}
	case APIServer:
		args = []string{
			"--etcd-servers=" + url(p.etcd), "--secure-port=" + strconv.Itoa(p.api), "--bind-address=127.0.0.1",
			"--cert-dir=" + p.file("certs"), "--service-account-issuer=https://local",
			"--service-account-key-file=" + p.file("sa.key"), "--service-account-signing-key-file=" + p.file("sa.key"),
			"--token-auth-file=" + p.file("tokens.csv"), "--authorization-mode=RBAC",
			"--service-cluster-ip-range=10.0.0.0/24", "--feature-gates=" + gates,
			"--runtime-config=scheduling.k8s.io/v1alpha2=true",
			// No controller runs that takes the taints of new nodes away.
			"--disable-admission-plugins=TaintNodesByCondition",
			// A machine of two cores has more to do than to queue fairly.
			"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
		}
	case Kwok:
		args = []string{
			"--kubeconfig", p.Kubeconfig, "--manage-all-nodes=true", "--config", p.file("stages.yaml"),
			"--config", filepath.Join(p.stages, "pod", "fast", "pod-ready.yaml"),
			"--config", filepath.Join(p.stages, "node", "fast", "node-initialize.yaml"),
			"--config", filepath.Join(p.stages, "node", "heartbeat-with-lease", "node-heartbeat-with-lease.yaml"),
		}
	}
	started, err := start(name, p.file(name+".log"), filepath.Join(p.Bin, name), args...)
	if err != nil {
		return err
	}
	p.running[name] = started
	return nil
}

// ready waits until the API server serves what the scheduler reads, and makes the service
// account that pods need.
func (p *Plane) ready(ctx context.Context) error {
	p.say("waiting for the API server at %s (log: %s)", p.server(), p.file(APIServer+".log"))
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := client.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			_, err = client.SchedulingV1alpha2().PodGroups("default").List(ctx, metav1.ListOptions{})
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case p.running[APIServer].over():
			return fmt.Errorf("the API server has ended: %s", p.running[APIServer].last())
		case time.Now().After(deadline):
			return fmt.Errorf("the API server is not ready after a minute: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Restart kills a part of the plane and starts it again on its port and its data. It returns
// when the API answers. KWOK, which gives up on pods that it could not write, begins anew.
func (p *Plane) Restart(ctx context.Context, name string) error {
	p.running[name].stop(false)
	if err := p.run(name); err != nil {
		return err
	}
	if err := p.ready(ctx); err != nil || name == Kwok {
		return err
	}
	p.running[Kwok].stop(false)
	return p.run(Kwok)
}

// Stop ends all parts.
func (p *Plane) Stop() {
	for _, name := range []string{Kwok, APIServer, Etcd} {
		if one := p.running[name]; one != nil {
			one.stop(name == Etcd)
		}
	}
}
