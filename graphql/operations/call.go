package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

// Persisted says what is sent for an operation.
type Persisted string

// What can be sent for an operation.
const (
	// SendText sends the document's text.
	SendText Persisted = "text"
	// SendDocumentID sends the document's id as documentId.
	SendDocumentID Persisted = "document_id"
	// SendExtension sends the document's id as extensions.persistedQuery.
	SendExtension Persisted = "extension"
)

// AuthProfile are credentials for one host.
type AuthProfile struct {
	// Host is the only one that the credentials are sent to, with its port where
	// it is not the scheme's own.
	Host string
	// Credentials are the headers to send; it is called for each call.
	Credentials func() (http.Header, error)
}

// RunnerOptions configure a runner.
type RunnerOptions struct {
	// Caller sends requests to the endpoint. It is needed.
	Caller execute.Caller
	// URL is the endpoint's address, to whose host auth profiles are bound.
	URL string
	// Persisted says what is sent; empty means the text.
	Persisted Persisted
	// AuthProfiles are the credentials that operations may name.
	AuthProfiles map[string]AuthProfile
	Limits       execute.Limits
	// Tries is how often a query is sent at most; 0 means the default of
	// [execute.Options]. A mutation is sent once.
	Tries int
	// Log is needed.
	Log *slog.Logger
}

// Runner calls the operations of one endpoint. Its methods may be called
// concurrently.
type Runner struct {
	options  RunnerOptions
	executor *execute.Executor
}

// NewRunner makes a runner.
func NewRunner(o RunnerOptions) (*Runner, error) {
	switch o.Persisted {
	case "":
		o.Persisted = SendText
	case SendText, SendDocumentID, SendExtension:
	default:
		return nil, fmt.Errorf("make a runner: there is no setting persisted: %s; use text, document_id or extension", o.Persisted)
	}
	if o.Caller == nil || o.Log == nil {
		return nil, errors.New("make a runner: Caller and Log are needed")
	}
	executor, err := execute.New(execute.Options{Caller: o.Caller, Limits: o.Limits, Tries: o.Tries, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return &Runner{options: o, executor: executor}, nil
}

// Call runs an operation: it holds the arguments to the operation's input, maps
// them to variables, sends the request, and maps the answer. header is sent with
// it; of a caller's headers, only those that may be sent on belong in it.
//
// Arguments that do not fit and answers that are failures come back as a result.
// The error is an [*execute.Error] where nothing came back, or the context's.
func (r *Runner) Call(ctx context.Context, op *Operation, input json.RawMessage, header http.Header) (Result, error) {
	variables, faults := op.variables(input)
	if len(faults) > 0 {
		return Result{State: Failed, Errors: faults, Hint: "Nothing was sent: correct the arguments and call again."}, nil
	}
	credentials, err := r.credentials(op)
	if err != nil {
		return Result{}, err
	}
	request := r.request(op, variables)
	shown := request
	shown.Header = op.headers.Clone()
	request.Header = http.Header{}
	for _, from := range []http.Header{header, op.headers, credentials} {
		for name, values := range from {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	answer, err := r.executor.Send(ctx, op.Type == Mutation, request)
	if err != nil {
		return Result{State: Failed, Errors: []execute.Fault{}, Sent: &shown}, r.unpublished(op, err)
	}
	if answer.Data != nil && credentials != nil {
		answer.Data = json.RawMessage(graphql.Hide(string(answer.Data), credentials))
	}
	if r.options.Persisted != SendText && answer.Data == nil && slices.ContainsFunc(answer.Errors, unknownDocument) {
		answer.Errors = append([]execute.Fault{{Message: notPublished(op)}}, answer.Errors...)
	}
	result := op.mapping.result(answer)
	result.Sent = &shown
	return result, nil
}

// request is what is sent for an operation, without headers.
func (r *Runner) request(op *Operation, variables json.RawMessage) graphql.Request {
	request := graphql.Request{OperationName: op.OperationName, Variables: variables}
	switch r.options.Persisted {
	case SendDocumentID:
		request.DocumentID = op.ID
	case SendExtension:
		request.Extensions = json.RawMessage(`{"persistedQuery":{"version":1,"sha256Hash":"` + op.ID + `"}}`)
	default:
		request.Query = op.Document
	}
	return request
}

// credentials are those of the operation's auth profile; nil where it has none.
// They go to the host that they are for and to no other.
func (r *Runner) credentials(op *Operation) (http.Header, error) {
	if op.AuthProfile == "" {
		return nil, nil
	}
	refused := func(err error) error {
		return &execute.Error{Kind: execute.Refused, Message: fmt.Sprintf("%s was not called: auth profile %s: %v", op.Name, op.AuthProfile, err), Err: err}
	}
	profile, ok := r.options.AuthProfiles[op.AuthProfile]
	if !ok {
		return nil, refused(errors.New("there is none of this name under auth_profiles"))
	}
	if err := checkHost(profile.Host, r.options.URL); err != nil {
		return nil, refused(err)
	}
	header, err := profile.Credentials()
	if err != nil {
		return nil, refused(err)
	}
	return header, nil
}

// checkHost refuses to send what is for one host to the address of another.
func checkHost(host, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return errors.New("the endpoint's address is no URL")
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), ""
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if !strings.EqualFold(name, u.Hostname()) || cmp.Or(port, usual) != cmp.Or(u.Port(), usual) {
		return fmt.Errorf("its credentials are for %s, and the endpoint is at %s", host, u.Host)
	}
	return nil
}

// unpublished adds to an error what it may mean where ids are sent.
func (r *Runner) unpublished(op *Operation, err error) error {
	call, failed := errors.AsType[*graphql.CallError](err)
	refused, explained := errors.AsType[*execute.Error](err)
	if r.options.Persisted == SendText || !failed || !explained || call.Status != http.StatusBadRequest && call.Status != http.StatusNotFound {
		return err
	}
	said := *refused
	said.Message += " (perhaps " + notPublished(op) + ")"
	return &said
}

func notPublished(op *Operation) string {
	return fmt.Sprintf("the manifest was not published: the endpoint does not know document %s of %s; docseek operations build writes it", op.ID, op.Name)
}

// notFound matches what servers say of a document that they do not know, and
// what those say that look for a text alone.
var notFound = regexp.MustCompile(`(?i)persisted.?(query|document|operation).?(id )?(is |was )?not.?(found|supported|known)|` +
	`(unknown|no such|no) (persisted |trusted )?(document|operation|query)|(document|operation|query) .{0,90}not (found|known)|` +
	`must (provide|have|contain) (a |an )?"?(graphql )?(query|document)|query.{0,20} (missing|required|empty)`)

func unknownDocument(f execute.Fault) bool {
	return notFound.MatchString(f.Message) || notFound.MatchString(f.Code)
}
