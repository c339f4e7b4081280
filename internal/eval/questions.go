package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The kinds of question: asked by somebody in their own words, or made up.
const (
	Real      = "real"
	Synthetic = "synthetic"
)

// Bounds of a file of questions.
const (
	MaxQuestions = 100_000
	maxLine      = 1 << 20
)

// Question is a query whose right pages are known.
type Question struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	// Gold are the right pages or sections: addresses, or paths within the one
	// source asked, with or without an anchor.
	Gold []string `json:"gold"`
	// Kind is Real or Synthetic.
	Kind string `json:"kind"`
}

// LineError is what is wrong with a line of a file of questions.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Load reads questions, one JSON object a line; blank lines are skipped and
// unknown keys ignored. What is wrong is a [LineError].
func Load(r io.Reader) ([]Question, error) {
	var questions []Question
	lines := map[string]int{}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	line := 0
	for scanner.Scan() {
		line++
		text := scanner.Bytes()
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		q, err := read(text)
		switch {
		case err != nil:
		case lines[q.ID] > 0:
			err = fmt.Errorf("id: %q is that of line %d too", q.ID, lines[q.ID])
		case len(questions) == MaxQuestions:
			err = fmt.Errorf("more than %d questions", MaxQuestions)
		}
		if err != nil {
			return nil, &LineError{line, err}
		}
		lines[q.ID] = line
		questions = append(questions, q)
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &LineError{line + 1, fmt.Errorf("longer than %d bytes", maxLine)}
	case err != nil:
		return nil, &LineError{line + 1, err}
	case len(questions) == 0:
		return nil, &LineError{line + 1, errors.New("the file holds no questions")}
	}
	return questions, nil
}

func read(text []byte) (Question, error) {
	var q Question
	if err := json.Unmarshal(text, &q); err != nil {
		return Question{}, err
	}
	switch {
	case strings.TrimSpace(q.ID) == "":
		return Question{}, errors.New("id: is missing")
	case strings.TrimSpace(q.Query) == "":
		return Question{}, errors.New("query: is missing")
	case len(q.Gold) == 0:
		return Question{}, errors.New("gold: is missing; it lists the right pages")
	case q.Kind != Real && q.Kind != Synthetic:
		return Question{}, fmt.Errorf("kind: must be %s or %s (got %q)", Real, Synthetic, q.Kind)
	}
	for _, gold := range q.Gold {
		if strings.TrimSpace(gold) == "" {
			return Question{}, errors.New("gold: holds an empty entry")
		}
	}
	return q, nil
}
