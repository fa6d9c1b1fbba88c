// SPDX-License-Identifier: Apache-2.0

// Command k8s is all of Kubernetes in one file: etcd, the control plane, kubelet, kube-proxy,
// kubeadm and kubectl.
//
// It runs the component with the name of the executable (a symlink named kube-apiserver runs
// kube-apiserver) or of its first argument. The components share most of their code: one binary has
// 200 MB instead of 700 MB to build, link and copy into the node image.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// A component runs with os.Args, as its own main() does, and returns the exit code.
var components = map[string]func() int{
	"etcd":           func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver": func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int {
		return cli.Run(controllermanager.NewControllerManagerCommand())
	},
	"kube-proxy":     func() int { return cli.Run(proxy.NewProxyCommand()) },
	"kube-scheduler": func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubeadm":        func() int { return report(kubeadm.Run()) },
	"kubectl":        runKubectl,
	"kubelet": func() int {
		return cli.Run(kubelet.NewKubeletCommand(context.Background()))
	},
	"minicni": func() int { return report(runMiniCNI(context.Background())) },
}

func runKubectl() int {
	// kubectl formats its errors ("Error from server (NotFound): ...") and derives the exit code from
	// them.
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func report(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func main() {
	run := components[filepath.Base(os.Args[0])]
	if run == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run = components[os.Args[0]]
	}
	if run == nil {
		var names []string
		for name := range components {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: k8s {%s} [flags]\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	os.Exit(run())
}
