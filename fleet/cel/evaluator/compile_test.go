// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func newTestLanguage(t *testing.T, ask scoresOf) *language {
	t.Helper()
	if ask == nil {
		ask = func(name string) ([]score, error) { return nil, fmt.Errorf("not expected: %s", name) }
	}
	made, err := newLanguage(ask)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestCheckFindsTheScoresThatAnExpressionReads(t *testing.T) {
	l := newTestLanguage(t, nil)
	for text, want := range map[string]compiled{
		`true`:                             {},
		`managedCluster.metadata.name`:     {}, // dyn: known when it is evaluated
		`managedCluster.scores("a") == []`: {Scores: []string{"a"}},
		`"scores" in managedCluster`:       {},
		`managedCluster.scores("b") == managedCluster.scores("a") || ` +
			`managedCluster.scores("b") == []`: {Scores: []string{"a", "b"}},
		`["a", "b"].exists(n, managedCluster.scores(n) == [])`: {AnyScores: true},
		`managedCluster.scores("a" + "b") == [] && managedCluster.scores("c") == []`: {
			Scores: []string{"c"}, AnyScores: true},
		`[1].all(x, managedCluster.scores("in a macro") == [])`: {Scores: []string{"in a macro"}},
	} {
		if got := l.check(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestCheckNamesTheErrors(t *testing.T) {
	l := newTestLanguage(t, nil)
	for text, want := range map[string]string{
		``:                               "Syntax error",
		`1 +`:                            "1:4: Syntax error",
		"true &&\n  managedClusters.a":   "2:3: undeclared reference to 'managedClusters'",
		`1 + "a" == 2`:                   "1:3: found no matching overload for '_+_'",
		`1 + 1`:                          "the result must be bool, not int",
		`"text"`:                         "the result must be bool, not string",
		`managedCluster.scores(1) == []`: "1:22: found no matching overload for 'scores'",
		`managedCluster.scores() == []`:  "1:22: found no matching overload for 'scores'",
		`"(".matches("(")`:               "",
		`"\xff" == 1`:                    "found no matching overload",
	} {
		got := l.check(text)
		if want == "" {
			if got.Error != "" {
				t.Errorf("%s: %s", text, got.Error)
			}
			continue
		}
		if !strings.Contains(got.Error, want) || got.Scores != nil || got.AnyScores {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}

func TestCheckListsTheFirstErrorsOnly(t *testing.T) {
	l := newTestLanguage(t, nil)
	got := l.check(strings.Repeat("nowhere && ", 50) + "nowhere").Error
	if count := strings.Count(got, "undeclared reference"); count != maxIssues {
		t.Errorf("%d messages: %s", count, got)
	}
}

// The parser limits the depth of what it reads: a deep text is an error, not a stack overflow,
// which would end the process.
func TestCheckRefusesDeepTexts(t *testing.T) {
	l := newTestLanguage(t, nil)
	for name, text := range map[string]string{
		"parentheses": strings.Repeat("(", 8000) + "true" + strings.Repeat(")", 8000),
		"lists":       strings.Repeat("[", 8000) + strings.Repeat("]", 8000) + " == []",
		"negations":   strings.Repeat("!", 16000) + "true",
		"selections":  "managedCluster" + strings.Repeat(".a", 8000),
		"conditions":  strings.Repeat("true ? ", 4000) + "true" + strings.Repeat(" : true", 4000),
		"macros":      strings.Repeat("[1].all(x, ", 1000) + "true" + strings.Repeat(")", 1000),
		"unclosed":    strings.Repeat("(", 16000),
		"text":        `"` + strings.Repeat("a", 16000),
		"bytes":       strings.Repeat("\x00\xff", 8000),
	} {
		t.Run(name, func(t *testing.T) {
			got := l.check(text)
			t.Logf("%.200s", got.Error)
			if name != "negations" && name != "selections" && got.Error == "" {
				t.Errorf("no error")
			}
			if len(got.Error) > 64<<10 {
				t.Errorf("an error of %d bytes", len(got.Error))
			}
		})
	}
	if got := l.check("true"); got.Error != "" {
		t.Errorf("afterwards: %s", got.Error)
	}
}

// A panic of the compiler is the error of the text.
func TestCheckRecoversFromAPanic(t *testing.T) {
	got := (&language{}).check("true")
	if !strings.HasPrefix(got.Error, "the compiler failed: ") {
		t.Errorf("%+v", got)
	}
}

func TestProgramsThatWereUsedLastAreKept(t *testing.T) {
	l := newTestLanguage(t, nil)
	load := func(text string, cost uint64) any {
		program, err := l.load(text, cost)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	first := load("true", 1)
	if load("true", 1) != first {
		t.Error("compiled again")
	}
	if load("true", 2) == first {
		t.Error("the limit of another request")
	}
	if _, err := l.load("1 +", 1); err == nil || l.programs.order.Len() != 2 {
		t.Errorf("error %v, %d programs", err, l.programs.order.Len())
	}
	for i := range 2 * maxPrograms {
		load(fmt.Sprintf("%d == 0", i), 1)
		if i%100 == 0 {
			load("true", 1)
		}
	}
	if len(l.programs.byKey) != maxPrograms || l.programs.order.Len() != maxPrograms {
		t.Errorf("%d programs, %d in order", len(l.programs.byKey), l.programs.order.Len())
	}
	if load("true", 1) != first {
		t.Error("a program in use was dropped")
	}
}
