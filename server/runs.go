package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/docseek/docseek/server/auth"
)

// Runs starts index runs for POST /runs, the hook of a deployment.
type Runs interface {
	// Sources are the names of those that can be run.
	Sources() []string
	// Start has the sources run as soon as the run under way is done.
	Start(sources []string)
}

// maxRunRequestBytes bounds the body of POST /runs.
const maxRunRequestBytes = 64 << 10

// startRuns takes {"sources":["docs"]}, or nothing for all that the caller may use.
func (s *Server) startRuns(runs Runs, gate *auth.Gate) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller := auth.CallerFrom(r.Context())
		if !caller.Has(auth.RunsWrite) {
			gate.InsufficientScope(w, r, auth.RunsWrite)
			return
		}
		known := slices.DeleteFunc(slices.Clone(runs.Sources()), func(name string) bool { return !caller.MayUseSource(name) })
		var asked struct {
			Sources []string `json:"sources"`
		}
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRunRequestBytes))
		d.DisallowUnknownFields()
		if err := d.Decode(&asked); err != nil && !errors.Is(err, io.EOF) {
			refuseRun(w, http.StatusBadRequest, `the body has to be {"sources":["NAME"]}, or empty for all`)
			return
		}
		slices.Sort(asked.Sources)
		asked.Sources = slices.Compact(asked.Sources)
		if len(asked.Sources) == 0 {
			asked.Sources = known
		}
		for _, name := range asked.Sources {
			if !slices.Contains(known, name) {
				refuseRun(w, http.StatusNotFound, "there is no source of that name to run: "+strings.Join(known, ", "))
				return
			}
		}
		if len(asked.Sources) == 0 {
			refuseRun(w, http.StatusNotFound, "there is no source to run")
			return
		}
		runs.Start(asked.Sources)
		writeJSON(w, http.StatusAccepted, map[string]any{"accepted": asked.Sources})
	}
}

func refuseRun(w http.ResponseWriter, status int, sentence string) {
	writeJSON(w, status, map[string]string{"error": sentence})
}
