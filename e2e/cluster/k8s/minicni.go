// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	cniConfigFile = "/etc/cni/net.d/10-minicni.conflist"
	// The interval between lists of the nodes. A few nodes that rarely change need no watch.
	cniInterval = 3 * time.Second
)

// runMiniCNI is the pod network of the node image built here. kind's own kindnetd is published only
// as an image.
//
// It runs on each node (NODE_NAME), connects the node's pods with a CNI configuration for the
// standard ptp plugin, and adds routes to the pod ranges of the other nodes. It returns only on
// errors that a retry cannot fix.
func runMiniCNI(ctx context.Context) error {
	self := os.Getenv("NODE_NAME")
	if self == "" {
		return fmt.Errorf("minicni: NODE_NAME is not set")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("minicni: %w", err)
	}
	// Service addresses need kube-proxy; kind gives every node the API server's own address.
	if endpoint := os.Getenv("CONTROL_PLANE_ENDPOINT"); endpoint != "" {
		config.Host = "https://" + endpoint
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("minicni: %w", err)
	}

	configured := ""
	for ; ; time.Sleep(cniInterval) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			log.Printf("minicni: list nodes: %v", err)
			continue
		}
		for _, node := range nodes.Items {
			switch {
			case node.Spec.PodCIDR == "":
				// The controller manager has not assigned a range yet.
			case node.Name != self:
				routeTo(&node)
			case node.Spec.PodCIDR != configured:
				if err := writeCNIConfig(node.Spec.PodCIDR); err != nil {
					return fmt.Errorf("minicni: %w", err)
				}
				configured = node.Spec.PodCIDR
				log.Printf("minicni: pods of this node get addresses of %s", configured)
			}
		}
	}
}

// routeTo adds a route to the pods of `node` via its address. The address of a fake node is not on
// this network and cannot be a next hop, so fake nodes get no route.
func routeTo(node *corev1.Node) {
	_, pods, err := net.ParseCIDR(node.Spec.PodCIDR)
	if err != nil {
		log.Printf("minicni: node %s: %v", node.Name, err)
		return
	}
	for _, address := range node.Status.Addresses {
		gateway := net.ParseIP(address.Address)
		if address.Type == corev1.NodeInternalIP && gateway.To4() != nil {
			_ = netlink.RouteReplace(&netlink.Route{Dst: pods, Gw: gateway})
		}
	}
}

// writeCNIConfig is atomic: the container runtime watches the folder and must not read half a file.
func writeCNIConfig(podCIDR string) error {
	type object = map[string]any
	text, err := json.Marshal(object{
		"cniVersion": "0.4.0",
		"name":       "minicni",
		"plugins": []object{{
			"type":   "ptp",
			"ipMasq": false,
			"mtu":    1500,
			"ipam": object{
				"type":    "host-local",
				"dataDir": "/run/cni-ipam-state",
				"routes":  []object{{"dst": "0.0.0.0/0"}},
				"ranges":  [][]object{{{"subnet": podCIDR}}},
			},
		}, {
			"type":         "portmap",
			"capabilities": object{"portMappings": true},
		}},
	})
	if err != nil {
		return err
	}
	// A name that the runtime ignores.
	unfinished := filepath.Join(filepath.Dir(cniConfigFile), ".minicni.tmp")
	if err := os.WriteFile(unfinished, text, 0o644); err != nil {
		return err
	}
	return os.Rename(unfinished, cniConfigFile)
}
