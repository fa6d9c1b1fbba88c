// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Different names that the expressions of one request may read: each is a question to the hub.
const maxScoreNames = 100

// The scores of the AddOnPlacementScore with this name.
type scoresOf func(name string) ([]score, error)

// What scores() has read for the cluster that is evaluated.
type scoreReads struct {
	ask   scoresOf
	known map[string]ref.Val
}

func (s *scoreReads) forget() { s.known = map[string]ref.Val{} }

// scores(): a list of {name, value}, or an error.
func (s *scoreReads) call(_, name ref.Val) ref.Val {
	text, ok := name.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(name)
	}
	list, known := s.known[string(text)]
	if !known {
		if len(s.known) >= maxScoreNames {
			return types.NewErr("scores() of more than %d names", maxScoreNames)
		}
		list = s.read(string(text))
		s.known[string(text)] = list
	}
	return list
}

func (s *scoreReads) read(name string) ref.Val {
	found, err := s.ask(name)
	if err != nil {
		return types.NewErr("scores(%q): %v", name, err)
	}
	list := make([]ref.Val, len(found))
	for i, one := range found {
		list[i] = types.NewStringInterfaceMap(types.DefaultTypeAdapter,
			map[string]any{"name": one.Name, "value": one.Value})
	}
	return types.NewRefValList(types.DefaultTypeAdapter, list)
}
