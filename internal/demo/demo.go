// Package demo is a documentation site inside the binary, with a GraphQL API
// beside it: those of Tidewater, an invented payments platform. It shows what
// docseek does without a network, and has what real sites have: two versions that
// differ, two languages, code, tabs, tables, admonitions, reference entries, a
// sitemap index with a compressed part, robots.txt, validators.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/demo/api"
)

// Name is the name of the site's source.
const Name = "tidewater"

const (
	headerTimeout   = 10 * time.Second
	shutdownTimeout = 2 * time.Second
)

//go:embed operations
var operations embed.FS

// Operations are the operations of the API that agents get as tools: annotated
// documents.
func Operations() (fs.FS, error) { return fs.Sub(operations, "operations") }

// Scalars are the JSON Schemas of the API's own scalars.
func Scalars() map[string]map[string]any {
	return map[string]map[string]any{
		"DateTime": {"type": "string", "format": "date-time"},
		"Long":     {"type": "integer"},
	}
}

// APIPath is where the GraphQL API is served beside the site.
const APIPath = "/graphql"

// Serve serves the site and the API until ctx is done, and then closes the listener.
func Serve(ctx context.Context, listener net.Listener) error {
	graphql, err := api.New()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle(APIPath, graphql)
	mux.Handle("/", Site())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve the demo site on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	// Whoever asks must not lose the answer, but a stuck client must not hold up the end.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // it closes what Shutdown waited for; the first error says why
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the demo site on %s: %w", listener.Addr(), err)
	}
	return nil
}

// Source is how the site is indexed when it is served at baseURL, as in
// http://127.0.0.1:8090.
func Source(baseURL string) docseek.Source {
	return docseek.Source{
		Name:    Name,
		Start:   strings.TrimRight(baseURL, "/") + "/sitemap.xml",
		Version: docseek.Version{FromPath: "/docs/{version}/**"},
	}
}

// Questions are things to ask that the site answers.
func Questions() []string {
	return []string{
		"How do I verify the signature of a webhook in Go?",
		"What happens when I send the same Idempotency-Key with another body?",
		"Until when can I cancel a payout that is already scheduled?",
	}
}
