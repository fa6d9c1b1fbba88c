// SPDX-License-Identifier: Apache-2.0

package main

import (
	"container/list"
	"fmt"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

const (
	// The largest number of messages for one text; the first says most.
	maxIssues = 3
	// Programs that are kept; a program of a short expression needs about 20 KB.
	maxPrograms = 256
)

// Whether `text` is an expression that selects clusters, and which scores it reads.
func (l *language) check(text string) (result compiled) {
	defer func() {
		if cause := recover(); cause != nil {
			result = compiled{Error: fmt.Sprintf("the compiler failed: %v", cause)}
		}
	}()
	tree, err := l.parse(text)
	if err != nil {
		return compiled{Error: err.Error()}
	}
	names := map[string]bool{}
	ast.PreOrderVisit(tree.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != scoresFunction {
			return
		}
		name, literal := literalString(e.AsCall().Args())
		if literal {
			names[name] = true
		} else {
			result.AnyScores = true
		}
	}))
	for name := range names {
		result.Scores = append(result.Scores, name)
	}
	sort.Strings(result.Scores)
	return result
}

func (l *language) parse(text string) (*cel.Ast, error) {
	tree, issues := l.environment.Compile(text)
	if issues.Err() != nil {
		var lines []string
		for _, issue := range issues.Errors()[:min(len(issues.Errors()), maxIssues)] {
			line := issue.Message
			if issue.Location.Line() > 0 {
				// cel-go counts columns from 0.
				line = fmt.Sprintf("%d:%d: %s", issue.Location.Line(),
					issue.Location.Column()+1, line)
			}
			lines = append(lines, line)
		}
		return nil, fmt.Errorf("%s", strings.Join(lines, "; "))
	}
	result := tree.OutputType()
	if !result.IsExactType(cel.BoolType) && !result.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the result must be bool, not %s", result)
	}
	return tree, nil
}

func literalString(args []ast.Expr) (string, bool) {
	if len(args) != 1 || args[0].Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := args[0].AsLiteral().Value().(string)
	return text, ok
}

type programKey struct {
	text string
	cost uint64
}

type cachedProgram struct {
	key     programKey
	program cel.Program
}

// The programs that were used last.
type programCache struct {
	byKey map[programKey]*list.Element
	// A list of cachedProgram, the last used one first.
	order *list.List
}

func newProgramCache() *programCache {
	return &programCache{map[programKey]*list.Element{}, list.New()}
}

// The program of `text`, compiled if it is not in the cache.
func (l *language) load(text string, cost uint64) (cel.Program, error) {
	cache, key := l.programs, programKey{text, cost}
	if found, ok := cache.byKey[key]; ok {
		cache.order.MoveToFront(found)
		return found.Value.(cachedProgram).program, nil
	}
	tree, err := l.parse(text)
	if err != nil {
		return nil, err
	}
	program, err := l.program(tree, cost)
	if err != nil {
		return nil, err
	}
	cache.byKey[key] = cache.order.PushFront(cachedProgram{key, program})
	if cache.order.Len() > maxPrograms {
		oldest := cache.order.Remove(cache.order.Back()).(cachedProgram)
		delete(cache.byKey, oldest.key)
	}
	return program, nil
}
