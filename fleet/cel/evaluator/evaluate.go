// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Which of the selectors match the ManagedCluster with this JSON text.
func (l *language) evaluate(request evaluate, text []byte) evaluated {
	result := evaluated{make([]verdict, len(request.Selectors))}
	// Integers become int, as in the API server.
	var cluster map[string]any
	err := json.Unmarshal(text, &cluster)
	if err == nil && cluster == nil {
		err = fmt.Errorf("it is null")
	}
	l.scores.forget()
	for i, expressions := range request.Selectors {
		var match bool
		problem := err
		begun := usedCPU()
		if err != nil {
			problem = fmt.Errorf("the ManagedCluster is no JSON object: %w", err)
		} else {
			match, problem = l.matches(request, expressions, cluster)
		}
		if problem != nil {
			result.Verdicts[i].Error = problem.Error()
		} else {
			result.Verdicts[i].Match = match
		}
		result.Verdicts[i].Microseconds = (usedCPU() - begun).Microseconds()
	}
	return result
}

// Whether all expressions are true.
func (l *language) matches(limits evaluate, expressions []string, cluster map[string]any) (
	match bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			match, err = false, fmt.Errorf("the evaluation failed: %v", cause)
		}
	}()
	// The time of the compiler is not that of the expressions.
	programs := make([]cel.Program, len(expressions))
	for i, expression := range expressions {
		if programs[i], err = l.load(expression, limits.ExpressionCost); err != nil {
			return false, err
		}
	}
	ctx, stop := limitCPU(time.Duration(limits.Milliseconds) * time.Millisecond)
	defer stop()
	left := limits.SelectorCost
	for _, program := range programs {
		match, cost, err := run(ctx, program, cluster)
		switch {
		case err != nil && ctx.Err() != nil:
			return false, fmt.Errorf("more than %d ms of CPU time", limits.Milliseconds)
		case err != nil:
			return false, err
		case cost > left:
			return false, fmt.Errorf("the expressions cost more than %d", limits.SelectorCost)
		case !match:
			return false, nil
		}
		left -= cost
	}
	return true, nil
}

func run(ctx context.Context, program cel.Program, cluster map[string]any) (match bool, cost uint64,
	err error) {
	value, details, err := program.ContextEval(ctx, map[string]any{clusterVariable: cluster})
	if err != nil {
		return false, 0, err
	}
	if actual := details.ActualCost(); actual != nil {
		cost = *actual
	}
	boolean, ok := value.(types.Bool)
	if !ok {
		return false, 0, fmt.Errorf("the result is %s, not bool", value.Type().TypeName())
	}
	return bool(boolean), cost, nil
}

// A context that ends once the process has used `limit` of CPU time. Not wall time: a machine that
// is busy with other processes must not change a decision.
func limitCPU(limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	end := usedCPU() + limit
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		left := end - usedCPU()
		if left <= 0 {
			cancel()
		} else if ctx.Err() == nil {
			timer.Reset(left)
		}
	})
	timer.Reset(limit)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

func usedCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
