// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A message is a frame: the length of the rest in four bytes, big-endian, then JSON. Longer ones
// are an error on both sides.
const maxFrameBytes = 4 << 20

// One of the members is set. A frame with the ManagedCluster follows a request to evaluate.
type request struct {
	Compile  *string   `json:"compile"`
	Evaluate *evaluate `json:"evaluate"`
}

// Which selectors match a cluster? Costs are in cel-go's units.
type evaluate struct {
	// A selector matches if all of its expressions are true.
	Selectors      [][]string `json:"selectors"`
	ExpressionCost uint64     `json:"expressionCost"`
	SelectorCost   uint64     `json:"selectorCost"`
	// CPU time for a selector.
	Milliseconds int64 `json:"milliseconds"`
}

// To a request to compile.
type compiled struct {
	// Why the text is no expression.
	Error string `json:"error,omitempty"`
	// The names in calls of scores(), and whether a name is not a literal.
	Scores    []string `json:"scores,omitempty"`
	AnyScores bool     `json:"anyScores,omitempty"`
}

// To a request to evaluate: one for each selector, in their order.
type evaluated struct {
	Verdicts []verdict `json:"verdicts"`
}

type verdict struct {
	Match bool `json:"match,omitempty"`
	// Why the selector has no result.
	Error string `json:"error,omitempty"`
	// CPU time.
	Microseconds int64 `json:"microseconds,omitempty"`
}

// Instead of an answer: the hub replies with scoresReply, and then gets the answer.
type scoresQuestion struct {
	AskScores string `json:"askScores"`
}

type scoresReply struct {
	Error  string  `json:"error"`
	Scores []score `json:"scores"`
}

type score struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

type connection struct {
	in     *bufio.Reader
	out    io.Writer
	failed error
}

func (c *connection) readFrame() ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(c.in, header[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxFrameBytes {
		return nil, fmt.Errorf("a frame of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(c.in, frame)
	return frame, err
}

func (c *connection) read(message any) error {
	frame, err := c.readFrame()
	if err != nil {
		return err
	}
	return json.Unmarshal(frame, message)
}

func (c *connection) write(message any) error {
	frame := make([]byte, 4)
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	_, err = c.out.Write(append(frame, body...))
	return err
}

// The scores of the AddOnPlacementScore `name` of the cluster that is evaluated. An error of the
// connection is kept: the stream has no defined position after it.
func (c *connection) askScores(name string) ([]score, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	var reply scoresReply
	if c.failed = c.write(scoresQuestion{AskScores: name}); c.failed == nil {
		c.failed = c.read(&reply)
	}
	if c.failed != nil {
		return nil, c.failed
	}
	if reply.Error != "" {
		return nil, fmt.Errorf("%s", reply.Error)
	}
	return reply.Scores, nil
}
