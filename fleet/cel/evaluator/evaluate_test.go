// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const testCluster = `{
	"metadata": {"name": "c1", "labels": {"region": "eu"}},
	"status": {"allocatable": {"cpu": "8"}, "version": {"kubernetes": "v1.30.2"},
		"clusterClaims": [{"name": "numbers", "value": "{\"gpus\": 2}"}]},
	"spec": {"taints": [], "timeout": 60}}`

// usual returns a request with limits that no small expression reaches.
func usual(selectors ...[]string) evaluate {
	return evaluate{Selectors: selectors, ExpressionCost: 1_000_000, SelectorCost: 5_000_000,
		Milliseconds: 60_000}
}

func TestEvaluateExpressions(t *testing.T) {
	l := newTestLanguage(t, nil)
	for _, row := range []struct {
		text string
		want verdict
	}{
		{`managedCluster.metadata.name == "c1"`, verdict{Match: true}},
		{`managedCluster.metadata.labels["region"] == "us"`, verdict{}},
		{`managedCluster.spec.timeout == 60`, verdict{Match: true}}, // an int
		{`managedCluster.spec.timeout / 7 == 8`, verdict{Match: true}},
		{`managedCluster.spec.taints.size() == 0`, verdict{Match: true}},
		{`has(managedCluster.spec.nothing)`, verdict{}},
		{`managedCluster.?spec.?nothing.hasValue()`, verdict{}},
		{`managedCluster.spec.nothing == 1`, verdict{Error: "no such key: nothing"}},
		{`managedCluster.metadata.name`, verdict{Error: "the result is string, not bool"}},
		{`managedCluster.metadata`, verdict{Error: "the result is map, not bool"}},
		{`1 / (managedCluster.spec.timeout - 60) == 1`, verdict{Error: "division by zero"}},
		{`managedCluster.spec.timeout + 9223372036854775807 > 0`,
			verdict{Error: "integer overflow"}},
		{`"(".matches(managedCluster.metadata.name + "(")`,
			verdict{Error: "error parsing regexp"}},
		{`managedCluster.status.clusterClaims.exists(c, c.value.parseJSON().gpus == 2.0)`,
			verdict{Match: true}},
		{`managedCluster.metadata.name.parseJSON() == 1`,
			verdict{Error: "parseJSON: invalid character"}},
		{`managedCluster.spec.timeout.parseJSON() == 1`,
			verdict{Error: "no such overload"}},
		{`quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("4"))`,
			verdict{Match: true}},
		{`semver(managedCluster.status.version.kubernetes, true).isLessThan(semver("1.31.0"))`,
			verdict{Match: true}},
		{`1 +`, verdict{Error: "Syntax error"}},
	} {
		text, want := row.text, row.want
		got := l.evaluate(usual([]string{text}), []byte(testCluster)).Verdicts[0]
		same := got.Match == want.Match && strings.Contains(got.Error, want.Error)
		if !same || (want.Error == "") != (got.Error == "") {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// A selector needs all of its expressions; the others of the request are decided without it.
func TestASelectorMatchesIfAllExpressionsAreTrue(t *testing.T) {
	l := newTestLanguage(t, nil)
	got := l.evaluate(usual(
		[]string{"true", "true"},
		[]string{"true", "false", "1 / 0 == 1"}, // the first that is not true decides
		[]string{"1 / 0 == 1", "true"},
		[]string{},
		[]string{"false"},
	), []byte(testCluster)).Verdicts
	for i, want := range []verdict{{Match: true}, {}, {Error: "division by zero"}, {Match: true}, {}} {
		if got[i].Match != want.Match || got[i].Error != want.Error {
			t.Errorf("selector %d: %+v, want %+v", i, got[i], want)
		}
	}
	if got := l.evaluate(usual(), []byte(testCluster)).Verdicts; len(got) != 0 {
		t.Errorf("no selectors: %+v", got)
	}
}

func TestAClusterThatIsNoObject(t *testing.T) {
	l := newTestLanguage(t, nil)
	for _, cluster := range []string{"", "null", "[]", "1", `"c1"`, `{"a": `, "{} {}", "\xff",
		strings.Repeat(`{"a":`, 100_000)} {
		got := l.evaluate(usual([]string{"true"}, []string{"true"}), []byte(cluster)).Verdicts
		for _, one := range got {
			if one.Match || !strings.HasPrefix(one.Error, "the ManagedCluster is no JSON object: ") {
				t.Errorf("%.20q: %+v", cluster, one)
			}
		}
	}
}

// ones returns the text of a list with `size` elements.
func ones(size int) string { return "[" + strings.Repeat("1,", size-1) + "1]" }

func TestTheCostOfAnExpressionIsLimited(t *testing.T) {
	l := newTestLanguage(t, nil)
	list := ones(50)
	long := `"` + strings.Repeat("a", 8000) + `"`
	for name, text := range map[string]string{
		"loops":   list + ".all(a, " + list + ".all(b, " + list + ".all(c, a == b && b == c)))",
		"lists":   list + ".map(a, " + list + ".map(b, " + list + ")).size() > 0",
		"strings": list + ".all(a, " + long + ".contains(" + long + ") && " + long + ".matches(\"a+b\"))",
		"JSON":    list + `.all(a, "[` + strings.Repeat("1,", 4000) + `1]".parseJSON().size() > 0)`,
	} {
		request := usual([]string{text}, []string{"true"})
		request.ExpressionCost = 2000
		got := l.evaluate(request, []byte(testCluster)).Verdicts
		if got[0].Match || !strings.Contains(got[0].Error, "actual cost limit exceeded") {
			t.Errorf("%s: %+v", name, got[0])
		}
		if !got[1].Match {
			t.Errorf("after %s: %+v", name, got[1])
		}
	}
}

// What the expressions of one selector cost is added; every selector has the whole limit.
func TestTheCostOfASelectorIsLimited(t *testing.T) {
	l := newTestLanguage(t, nil)
	loop := ones(100) + ".all(x, x == 1)"
	request := usual([]string{loop}, []string{loop, loop}, []string{loop})
	request.SelectorCost = 700
	got := l.evaluate(request, []byte(testCluster)).Verdicts
	if !got[0].Match || !got[2].Match {
		t.Errorf("one expression: %+v, %+v", got[0], got[2])
	}
	if got[1].Match || got[1].Error != "the expressions cost more than 700" {
		t.Errorf("two expressions: %+v", got[1])
	}
}

// slowExpression returns one that takes minutes without a limit. It also does if only the innermost
// loop is interrupted.
func slowExpression() string {
	list := ones(500)
	return list + ".all(a, " + list + ".all(b, " + list + ".all(c, a == b && b == c)))"
}

func TestTheTimeOfASelectorIsLimited(t *testing.T) {
	l := newTestLanguage(t, nil)
	request := evaluate{Selectors: [][]string{{slowExpression()}, {"true"}},
		ExpressionCost: 1 << 40, SelectorCost: 1 << 40, Milliseconds: 20}
	got := l.evaluate(request, []byte(testCluster)).Verdicts
	if got[0].Match || got[0].Error != "more than 20 ms of CPU time" {
		t.Errorf("slow: %+v", got[0])
	}
	if got[0].Microseconds < 20_000 {
		t.Errorf("%d µs of CPU time", got[0].Microseconds)
	}
	if !got[1].Match {
		t.Errorf("the next selector: %+v", got[1])
	}
}

// The limit is of CPU time: a process that sleeps stays below it.
func TestWaitingIsNotCPUTime(t *testing.T) {
	ctx, stop := limitCPU(200 * time.Millisecond)
	defer stop()
	time.Sleep(300 * time.Millisecond)
	if ctx.Err() != nil {
		t.Errorf("%v after %v of CPU time", ctx.Err(), usedCPU())
	}
}

func TestScoresAreAskedForOncePerRequest(t *testing.T) {
	asked := map[string]int{}
	l := newTestLanguage(t, func(name string) ([]score, error) {
		asked[name]++
		if name == "refused" {
			return nil, fmt.Errorf("no rights")
		}
		return []score{{"cpu", 3}}, nil
	})
	a := `managedCluster.scores("a").all(s, s.name == "cpu" && s.value == 3)`
	refused := `managedCluster.scores("refused") == []`
	for request := 1; request <= 2; request++ {
		got := l.evaluate(usual([]string{a, a}, []string{a}, []string{refused}, []string{refused}),
			[]byte(testCluster)).Verdicts
		if !got[0].Match || !got[1].Match {
			t.Errorf("%+v", got)
		}
		for _, one := range got[2:] {
			if one.Error != `scores("refused"): no rights` {
				t.Errorf("%+v", one)
			}
		}
		if asked["a"] != request || asked["refused"] != request {
			t.Errorf("request %d: asked %v", request, asked)
		}
	}
}

func TestTheNamesOfScoresAreLimited(t *testing.T) {
	asked := 0
	l := newTestLanguage(t, func(string) ([]score, error) {
		asked++
		return nil, nil
	})
	names := make([]string, maxScoreNames+1)
	for i := range names {
		names[i] = fmt.Sprintf(`"s%d"`, i)
	}
	text := "[" + strings.Join(names, ",") + "].all(n, managedCluster.scores(n) == [])"
	got := l.evaluate(usual([]string{text}, []string{`managedCluster.scores("s0") == []`}),
		[]byte(testCluster)).Verdicts
	if got[0].Error != "scores() of more than 100 names" || !got[1].Match || asked != maxScoreNames {
		t.Errorf("%+v, asked %d times", got, asked)
	}
}

// A panic of cel-go is the error of the selector.
func TestEvaluateRecoversFromAPanic(t *testing.T) {
	l := newTestLanguage(t, func(string) ([]score, error) { panic("no scores") })
	got := l.evaluate(usual([]string{`managedCluster.scores("a") == []`}, []string{"true"}),
		[]byte(testCluster)).Verdicts
	if !strings.Contains(got[0].Error, "no scores") || !got[1].Match {
		t.Errorf("%+v", got)
	}
}

// Languages share only what cel-go shares; the timer of a limit runs beside the evaluation. The
// race detector reports what they write at the same time.
func TestLanguagesRunBesideEachOther(t *testing.T) {
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			l, err := newLanguage(func(string) ([]score, error) { return []score{{"cpu", 1}}, nil })
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 20 {
				text := fmt.Sprintf(`managedCluster.scores("a").size() + %d == %d`, i, i+1)
				if got := l.check(text); got.Error != "" {
					t.Error(got.Error)
				}
				request := usual([]string{text}, []string{slowExpression()})
				request.Milliseconds, request.ExpressionCost = 2, 1<<40
				got := l.evaluate(request, []byte(testCluster)).Verdicts
				if got[1].Error != "more than 2 ms of CPU time" {
					t.Errorf("%+v", got[1])
				}
			}
		}()
	}
	group.Wait()
}
