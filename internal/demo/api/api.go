// Package api is the GraphQL API of the demo: that of Tidewater, the invented
// payments platform whose documentation the demo serves too. It has what real
// APIs have, small: an interface, unions, a connection, mutations that are
// rejected for a reason, a field that fails, numbers beyond 53 bits.
package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

//go:embed schema.graphql
var schemaText string

// Bounds on a request.
const (
	maxBody   = 256 << 10
	maxTokens = 5000
)

// Question is something to ask an agent that the API answers.
const Question = "What is the available balance of the account with the IBAN DE02120300000000202051, and what was paid out of it?"

// API answers GraphQL over HTTP by POST. Its accounts are in memory: what a
// mutation changes is gone with the process.
type API struct {
	schema *ast.Schema
	mu     sync.Mutex // one operation at a time
	books  *books
}

// New makes the API.
func New() (*API, error) {
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: schemaText})
	if err != nil {
		return nil, fmt.Errorf("load the demo schema: %w", err)
	}
	return &API{schema: schema, books: newBooks()}, nil
}

type request struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
}

type response struct {
	Data   any           `json:"data,omitempty"`
	Errors gqlerror.List `json:"errors,omitempty"`
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "GraphQL requests are sent by POST", http.StatusMethodNotAllowed)
		return
	}
	var q request
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.UseNumber()
	if err := d.Decode(&q); err != nil {
		a.write(w, r, http.StatusBadRequest, response{Errors: gqlerror.List{gqlerror.Errorf("the body is no GraphQL request: %v", err)}})
		return
	}
	answer, status := a.answer(q)
	a.write(w, r, status, answer)
}

// write sends an answer in the media type that the client takes (GraphQL over
// HTTP §6); in the older one every GraphQL answer has status 200.
func (a *API) write(w http.ResponseWriter, r *http.Request, status int, answer response) {
	media := "application/graphql-response+json; charset=utf-8"
	if !strings.Contains(r.Header.Get("Accept"), "application/graphql-response+json") {
		media, status = "application/json; charset=utf-8", http.StatusOK
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(answer) // a client that has gone needs no answer
}

func (a *API) answer(q request) (response, int) {
	refused := func(errs ...*gqlerror.Error) (response, int) {
		return response{Errors: errs}, http.StatusBadRequest
	}
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: q.Query}, maxTokens)
	if err != nil {
		return refused(gqlerror.Wrap(err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if errs := validator.ValidateWithRules(a.schema, document, rules.NewDefaultRules()); len(errs) > 0 {
		return refused(errs...)
	}
	operation := document.Operations.ForName(q.OperationName)
	if operation == nil {
		return refused(gqlerror.Errorf("there is no operation %q in the document", q.OperationName))
	}
	variables, err := validator.VariableValues(a.schema, operation, q.Variables)
	if err != nil {
		return refused(gqlerror.Wrap(err))
	}
	run := &execution{schema: a.schema, variables: variables}
	var root object
	switch operation.Operation {
	case ast.Query:
		root = a.books.query(a.schema)
	case ast.Mutation:
		root = a.books.mutation()
	default:
		return refused(gqlerror.Errorf("subscriptions are not supported"))
	}
	data, _ := run.object(root, operation.SelectionSet, nil)
	return response{Data: data, Errors: run.errors}, http.StatusOK
}
