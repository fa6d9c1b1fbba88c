// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	clusterVariable = "managedCluster"
	scoresFunction  = "scores"
	parseFunction   = "parseJSON"
	// cel-go checks the time limit once in this number of steps of macros. Each check stops one macro
	// only: with a larger number, the macros around it continue, because their checks are skipped.
	stepsPerTimeCheck = 1
)

// The language of Placements, and a cache of its programs. For one goroutine.
type language struct {
	environment *cel.Env
	programs    *programCache
	scores      *scoreReads
}

func newLanguage(ask scoresOf) (*language, error) {
	scores := &scoreReads{ask: ask}
	environment, err := cel.NewEnv(
		cel.Variable(clusterVariable, cel.MapType(cel.StringType, cel.DynType)),
		cel.OptionalTypes(),
		ext.Strings(),
		library.Lists(),
		library.Regex(),
		library.URLs(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
		cel.Function(scoresFunction, cel.MemberOverload("cluster_scores",
			[]*cel.Type{cel.DynType, cel.StringType}, cel.ListType(cel.DynType),
			cel.BinaryBinding(scores.call))),
		cel.Function(parseFunction, cel.MemberOverload("parse_json_string",
			[]*cel.Type{cel.StringType}, cel.DynType, cel.UnaryBinding(parseJSON))),
	)
	if err != nil {
		return nil, err
	}
	return &language{environment, newProgramCache(), scores}, nil
}

// Numbers become doubles.
func parseJSON(text ref.Val) ref.Val {
	value, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	var parsed any
	if err := json.Unmarshal([]byte(value), &parsed); err != nil {
		return types.NewErr("parseJSON: %v", err)
	}
	return types.DefaultTypeAdapter.NativeToValue(parsed)
}

// Costs of Kubernetes' functions, and of those above: as reading a string or creating a list.
type costs struct {
	library.CostEstimator
}

func (c *costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	const perByte, perScore = 0.1, 10
	var cost uint64
	switch function {
	case parseFunction:
		if text, ok := args[0].(types.String); ok {
			cost = 1 + uint64(math.Ceil(float64(len(text))*perByte))
		}
	case scoresFunction:
		cost = perScore
		if list, ok := result.(interface{ Size() ref.Val }); ok {
			if size, ok := list.Size().(types.Int); ok {
				cost += uint64(size) * perScore
			}
		}
	default:
		return c.CostEstimator.CallCost(function, overload, args, result)
	}
	return &cost
}

// A program with its limit of costs: the limit is part of the program.
func (l *language) program(tree *cel.Ast, cost uint64) (cel.Program, error) {
	program, err := l.environment.Program(tree, cel.CostTracking(&costs{}), cel.CostLimit(cost),
		cel.InterruptCheckFrequency(stepsPerTimeCheck))
	if err != nil {
		return nil, fmt.Errorf("no program: %w", err)
	}
	return program, nil
}
