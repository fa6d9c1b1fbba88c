// SPDX-License-Identifier: Apache-2.0

// Command health-checks says how Argo CD or Flux judges an object, with the interpreter that each
// of them has: gopher-lua, and Flux's own evaluator of CEL.
//
//	health-checks argocd examples/argocd/health.yaml object.json
//	health-checks flux examples/flux/health.yaml object.json
//
// It prints the health and, if there is one, the message. The file is the example that users copy.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The values that Argo CD accepts.
var argoHealth = map[string]bool{
	"Healthy": true, "Progressing": true, "Degraded": true,
	"Suspended": true, "Missing": true, "Unknown": true,
}

// read reads the file into a value.
func read(file string, value any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, value)
}

// luaValue is a JSON value as Argo CD passes it to a script.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case int64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}

// argoCD runs the script of the object's kind in a ConfigMap argocd-cm, as Argo CD does: with the
// libraries base, package and table alone, for at most a second.
func argoCD(file string, object *unstructured.Unstructured) (string, error) {
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := read(file, &configMap); err != nil {
		return "", err
	}
	kind := object.GroupVersionKind()
	key := "resource.customizations.health." + kind.Group + "_" + kind.Kind
	script, found := configMap.Data[key]
	if !found {
		return "", errors.New("no " + key)
	}

	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	// The first one must be the package library, which the others register with.
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	} {
		state.Push(state.NewFunction(library.open))
		state.Push(lua.LString(library.name))
		state.Call(1, 0)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", luaValue(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", err
	}
	health, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", errors.New("the script returns no table")
	}
	status := lua.LVAsString(health.RawGetString("status"))
	if !argoHealth[status] {
		return "", fmt.Errorf("%q is not a health of Argo CD", status)
	}
	return status + " " + lua.LVAsString(health.RawGetString("message")), nil
}

// flux evaluates the expressions of the object's kind in a Kustomization.
func flux(file string, object *unstructured.Unstructured) (string, error) {
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := read(file, &kustomization); err != nil {
		return "", err
	}
	for _, check := range kustomization.Spec.HealthCheckExprs {
		if check.APIVersion != object.GetAPIVersion() || check.Kind != object.GetKind() {
			continue
		}
		evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
		if err != nil {
			return "", err
		}
		result, err := evaluator.Evaluate(context.Background(), object)
		if err != nil {
			return "", err
		}
		return result.Status.String() + " " + result.Message, nil
	}
	return "", errors.New("no expressions for " + object.GetAPIVersion() + " " + object.GetKind())
}

func run(args []string) (string, error) {
	if len(args) != 3 {
		return "", errors.New("usage: health-checks argocd|flux FILE OBJECT")
	}
	object := &unstructured.Unstructured{}
	text, err := os.ReadFile(args[2])
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return "", err
	}
	switch args[0] {
	case "argocd":
		return argoCD(args[1], object)
	case "flux":
		return flux(args[1], object)
	}
	return "", errors.New(args[0] + " is neither argocd nor flux")
}

func main() {
	health, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "health-checks:", err)
		os.Exit(1)
	}
	fmt.Println(strings.TrimSpace(health))
}
