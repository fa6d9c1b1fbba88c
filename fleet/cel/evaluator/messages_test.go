// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// frame returns `body` with its length.
func frame(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
}

// answers returns the frames that serve() writes for `input`, and its error.
func answers(t *testing.T, input ...string) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	err := serve(strings.NewReader(strings.Join(input, "")), &out)
	var frames []string
	for written := out.Bytes(); len(written) > 0; {
		end := 4 + int(binary.BigEndian.Uint32(written))
		frames = append(frames, string(written[4:end]))
		written = written[end:]
	}
	return frames, err
}

// evaluateFrames returns a request to evaluate the selectors with usual limits, and its cluster.
func evaluateFrames(cluster string, selectors ...[]string) string {
	request, err := json.Marshal(map[string]any{"evaluate": map[string]any{
		"selectors": selectors, "expressionCost": 1_000_000, "selectorCost": 5_000_000,
		"milliseconds": 60_000}})
	if err != nil {
		panic(err)
	}
	return frame(string(request)) + frame(cluster)
}

// verdictsIn returns the verdicts of an answer, without times.
func verdictsIn(t *testing.T, answer string) []verdict {
	t.Helper()
	var result evaluated
	if err := json.Unmarshal([]byte(answer), &result); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	for i := range result.Verdicts {
		result.Verdicts[i].Microseconds = 0
	}
	return result.Verdicts
}

func TestServeAnswersRequestsInOrder(t *testing.T) {
	got, err := answers(t,
		frame(`{"compile": "managedCluster.scores(\"a\").size() > 0"}`),
		frame(`{"compile": "1 +"}`),
		evaluateFrames(`{"n": 1}`, []string{"true"}, []string{"managedCluster.n == 2"}),
		frame(`{"compile": "true"}`))
	if err != io.EOF {
		t.Errorf("error %v at the end of the input", err)
	}
	if len(got) != 4 {
		t.Fatalf("%d answers: %q", len(got), got)
	}
	if got[0] != `{"scores":["a"]}` || got[3] != `{}` {
		t.Errorf("compiled: %s, %s", got[0], got[3])
	}
	if !strings.Contains(got[1], `{"error":"1:4: Syntax error`) {
		t.Errorf("wrong expression: %s", got[1])
	}
	if verdicts := verdictsIn(t, got[2]); !reflect.DeepEqual(verdicts, []verdict{{Match: true}, {}}) {
		t.Errorf("verdicts %+v", verdicts)
	}
}

func TestServeEndsAtABrokenStream(t *testing.T) {
	for name, row := range map[string]struct{ input, want string }{
		"no input":            {"", "EOF"},
		"half a length":       {"\x00\x00", "unexpected EOF"},
		"half a frame":        {frame(`{"compile": "true"}`)[:10], "unexpected EOF"},
		"frame of 4 MiB + 1":  {"\x00\x40\x00\x01", "a frame of 4194305 bytes"},
		"frame of 4 GiB":      {"\xff\xff\xff\xff", "a frame of 4294967295 bytes"},
		"empty frame":         {frame(""), "unexpected end of JSON input"},
		"no JSON":             {frame("true true"), "invalid character"},
		"no object":           {frame("[]"), "cannot unmarshal array"},
		"unknown request":     {frame(`{"explain": "true"}`), "a request of an unknown kind"},
		"wrong type":          {frame(`{"compile": 1}`), "cannot unmarshal number"},
		"negative cost":       {frame(`{"evaluate": {"selectorCost": -1}}`), "cannot unmarshal number"},
		"request, no cluster": {frame(`{"evaluate": {"selectors": []}}`), "EOF"},
		"no reply about scores": {
			evaluateFrames(`{}`, []string{`managedCluster.scores("a") == []`}), "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := answers(t, row.input)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %s", err, row.want)
			}
		})
	}
}

// A frame of the largest size is read.
func TestServeReadsALargeFrame(t *testing.T) {
	text := `{"compile": "true"` + strings.Repeat(" ", maxFrameBytes-19) + `}`
	got, err := answers(t, frame(text))
	if err != io.EOF || len(got) != 1 || got[0] != "{}" {
		t.Errorf("answers %q, error %v", got, err)
	}
}

func TestServeStopsWhenItCannotWrite(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, input := range []string{
		frame(`{"compile": "true"}`),
		evaluateFrames(`{}`, []string{`managedCluster.scores("a") == []`}),
	} {
		if err := serve(strings.NewReader(input), failingWriter{broken}); err != broken {
			t.Errorf("error %v", err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A question comes before the answer, once for each name of a request.
func TestServeAsksForScores(t *testing.T) {
	expression := `managedCluster.scores("a").exists(s, s.name == "cpu" && s.value == 3) && ` +
		`managedCluster.scores("a").size() == 1`
	reply := frame(`{"scores": [{"name": "cpu", "value": 3}]}`)
	request := evaluateFrames(`{}`, []string{expression}, []string{expression})
	got, err := answers(t, request, reply, request, reply)
	if err != io.EOF || len(got) != 4 {
		t.Fatalf("answers %q, error %v", got, err)
	}
	for i := 0; i < 4; i += 2 {
		if got[i] != `{"askScores":"a"}` {
			t.Errorf("question %s", got[i])
		}
		if verdicts := verdictsIn(t, got[i+1]); !reflect.DeepEqual(verdicts,
			[]verdict{{Match: true}, {Match: true}}) {
			t.Errorf("verdicts %+v", verdicts)
		}
	}
}

func TestAnErrorOfTheHubIsThatOfTheSelector(t *testing.T) {
	got, err := answers(t,
		evaluateFrames(`{}`, []string{`managedCluster.scores("a").size() == 0`}, []string{"true"}),
		frame(`{"error": "no rights"}`))
	if err != io.EOF || len(got) != 2 {
		t.Fatalf("answers %q, error %v", got, err)
	}
	want := []verdict{{Error: `scores("a"): no rights`}, {Match: true}}
	if verdicts := verdictsIn(t, got[1]); !reflect.DeepEqual(verdicts, want) {
		t.Errorf("verdicts %+v", verdicts)
	}
}
