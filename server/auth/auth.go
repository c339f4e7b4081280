// Package auth knows who calls the server and what that caller may use: bearer
// tokens from a file of hashes, and access tokens of an OAuth 2.1 authorization
// server.
package auth

import (
	"context"
	"errors"
	"slices"
)

// The scopes. A tool belongs to one of them.
const (
	// DocsRead is for the tools and resources over the documentation.
	DocsRead = "docs:read"
	// GraphQLRead is for the schema of the GraphQL APIs, and for queries.
	GraphQLRead = "graphql:read"
	// GraphQLWrite is for what may be a mutation.
	GraphQLWrite = "graphql:write"
	// RunsWrite is for starting a run.
	RunsWrite = "runs:write"
)

// Scopes are all scopes, in the order in which they are shown.
func Scopes() []string { return []string{DocsRead, GraphQLRead, GraphQLWrite, RunsWrite} }

// ReadScopes are what a token may do unless more is said.
func ReadScopes() []string { return []string{DocsRead, GraphQLRead} }

// Caller is who asks. The zero Caller may use nothing.
type Caller struct {
	// Name is shown in the log: that of the token or, after "oauth:", the subject
	// of an access token.
	Name string
	// Scopes are what it may do.
	Scopes []string
	// Sources and Endpoints are the names of those it may use; nil means all.
	Sources   []string
	Endpoints []string
	// Anonymous says that nobody was asked who it is.
	Anonymous bool
}

// Trusted is a caller that may use everything, since nothing checks who asks or
// the caller started the process itself.
func Trusted(name string) Caller {
	return Caller{Name: name, Scopes: Scopes(), Anonymous: true}
}

// Has reports whether the caller has a scope. Who may write may read, too.
func (c Caller) Has(scope string) bool {
	return slices.Contains(c.Scopes, scope) || scope == GraphQLRead && slices.Contains(c.Scopes, GraphQLWrite)
}

// MayUseSource reports whether the caller may see a source.
func (c Caller) MayUseSource(name string) bool {
	return c.Sources == nil || slices.Contains(c.Sources, name)
}

// MayUseEndpoint reports whether the caller may see an endpoint.
func (c Caller) MayUseEndpoint(name string) bool {
	return c.Endpoints == nil || slices.Contains(c.Endpoints, name)
}

type callerKey struct{}

// WithCaller gives the context its caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the context's caller, or the zero Caller.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// ErrUnknown means that a token is not known, has expired, or is meant for
// somebody else. The error that wraps it may be told to the caller.
var ErrUnknown = errors.New("the token is not accepted")

// ErrUnavailable means that it cannot be found out now whether a token is good.
var ErrUnavailable = errors.New("the token cannot be checked now")

// Verifier tells who a token belongs to. The error is [ErrUnknown] or
// [ErrUnavailable].
type Verifier interface {
	Verify(ctx context.Context, token string) (Caller, error)
}
