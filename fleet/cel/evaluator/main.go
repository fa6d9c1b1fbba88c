// SPDX-License-Identifier: Apache-2.0

// The evaluator: a child process of the hub that compiles and evaluates the CEL expressions of
// Placements. It reads requests from its standard input, answers them in order on its standard
// output (messages.go) and ends with its input. Without files, network or environment.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

const (
	// The collector runs more often above this. A soft limit.
	softMemoryBytes = 24 << 20
	// Above this the process ends: an expression can make values of any size in one step, and
	// cel-go counts the cost of a step only afterwards. The limit is for private writable memory.
	hardMemoryBytes = 256 << 20
	// Percent of the live memory by which the heap may grow before the next collection.
	heapGrowth = 50
)

func main() {
	err := limitProcess()
	if err == nil {
		err = serve(os.Stdin, os.Stdout)
	}
	if err != nil && err != io.EOF {
		fmt.Fprintf(os.Stderr, "evaluator: %v\n", err)
		os.Exit(1)
	}
}

func limitProcess() error {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(heapGrowth)
	debug.SetMemoryLimit(softMemoryBytes)
	limit := syscall.Rlimit{Cur: hardMemoryBytes, Max: hardMemoryBytes}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return fmt.Errorf("limit of memory: %w", err)
	}
	return nil
}

// Answers requests until the end of the input, which is io.EOF.
func serve(in io.Reader, out io.Writer) error {
	hub := &connection{in: bufio.NewReader(in), out: out}
	language, err := newLanguage(hub.askScores)
	if err != nil {
		return err
	}
	for {
		var request request
		if err := hub.read(&request); err != nil {
			return err
		}
		var answer any
		switch {
		case request.Compile != nil:
			answer = language.check(*request.Compile)
		case request.Evaluate != nil:
			cluster, err := hub.readFrame()
			if err != nil {
				return err
			}
			answer = language.evaluate(*request.Evaluate, cluster)
			if hub.failed != nil {
				return hub.failed
			}
		default:
			return fmt.Errorf("a request of an unknown kind")
		}
		if err := hub.write(answer); err != nil {
			return err
		}
	}
}
