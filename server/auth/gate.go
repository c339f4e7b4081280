package auth

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Access is how a route may be entered.
type Access int

const (
	// ByToken takes a bearer token in the Authorization header. It is the zero
	// value, so that a route nobody thought of is closed.
	ByToken Access = iota
	// ByPage takes a token or the cookie of a login: routes of the web page.
	ByPage
	// Open takes everybody; who sends a token is known by it.
	Open
)

// Gate lets callers in. Make one with [NewGate].
type Gate struct {
	verifiers []Verifier
	access    func(*http.Request) Access
	metadata  func(*http.Request) string
	scopes    string
	log       *slog.Logger
}

// Options configure a gate.
type Options struct {
	// Verifiers are asked in turn who a token belongs to; without any everybody
	// is let in as a trusted, anonymous caller.
	Verifiers []Verifier
	// Access says how the route of a request may be entered.
	Access func(*http.Request) Access
	// Metadata gives the URL of the protected resource metadata (RFC 9728); nil
	// where there is no authorization server.
	Metadata func(*http.Request) string
	// Scopes are those that a client is told to ask for.
	Scopes []string
	// Log receives refusals, without the token.
	Log *slog.Logger
}

// NewGate makes a gate.
func NewGate(o Options) *Gate {
	return &Gate{
		verifiers: o.Verifiers, access: o.Access, metadata: o.Metadata,
		scopes: strings.Join(o.Scopes, " "), log: o.Log,
	}
}

// On reports whether callers have to show who they are.
func (g *Gate) On() bool { return len(g.verifiers) > 0 }

// arrival is what was found out about a request before anything is refused.
type arrival struct {
	token  bool // one was sent
	caller Caller
	err    error
}

type arrivalKey struct{}

// Identify finds out who calls, and passes every request on: [Gate.Enforce]
// refuses those that may not go on. What stands between the two, such as a rate
// limit, knows the caller.
func (g *Gate) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := g.arrive(r)
		ctx := context.WithValue(r.Context(), arrivalKey{}, a)
		if a.err == nil {
			ctx = WithCaller(ctx, a.caller)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// errNoToken means that a request holds no token where one is needed.
var errNoToken = errors.New("no token")

func (g *Gate) arrive(r *http.Request) arrival {
	if !g.On() {
		return arrival{caller: Trusted("anonymous")}
	}
	token, err := bearer(r)
	if token == "" && err == nil && g.access(r) == ByPage {
		token = cookieToken(r)
	}
	if token == "" {
		if err == nil {
			err = errNoToken
		}
		return arrival{err: err}
	}
	caller, err := g.Verify(r.Context(), token)
	return arrival{token: true, caller: caller, err: err}
}

// Verify tells who a token belongs to.
func (g *Gate) Verify(ctx context.Context, token string) (Caller, error) {
	if len(token) > maxTokenBytes {
		return Caller{}, ErrUnknown
	}
	err := ErrUnknown
	for _, v := range g.verifiers {
		caller, fault := v.Verify(ctx, token)
		if fault == nil {
			return caller, nil
		}
		// That it could not be found out weighs more than that another did not know it.
		if !errors.Is(err, ErrUnavailable) {
			err = fault
		}
	}
	return Caller{}, err
}

var errScheme = errors.New("the Authorization header must be Bearer and a token, once")

// bearer is the token of the Authorization header (RFC 6750 §2.1); empty without
// one. Tokens in the query or a form are not taken.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return "", errScheme
	}
	return token, nil
}

// Enforce refuses requests that may not enter their route.
func (g *Gate) Enforce(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := r.Context().Value(arrivalKey{}).(arrival)
		switch {
		case ok && a.err == nil:
			if g.On() {
				r.Header.Del("Authorization") // it has done its work, and is for nobody else
			}
			next.ServeHTTP(w, r)
		case g.access(r) == Open:
			next.ServeHTTP(w, r)
		default:
			g.refuse(w, r, a)
		}
	})
}

// retryIssuer is when a client may ask again while tokens cannot be checked.
const retryIssuer = 5 * time.Second

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, a arrival) {
	switch {
	case errors.Is(a.err, ErrUnavailable):
		w.Header().Set("Retry-After", strconv.Itoa(int(retryIssuer.Seconds())))
		Refuse(w, http.StatusServiceUnavailable, "the token cannot be checked now, since its issuer does not answer: try again in a few seconds")
	case errors.Is(a.err, errScheme):
		g.challenge(w, r, `error="invalid_request"`)
		Refuse(w, http.StatusBadRequest, "the Authorization header cannot be read: send it once, as \"Authorization: Bearer TOKEN\"")
	case a.token:
		g.log.LogAttrs(r.Context(), slog.LevelInfo, "token refused", slog.String("path", r.URL.Path), slog.Any("error", a.err))
		g.challenge(w, r, `error="invalid_token"`)
		Refuse(w, http.StatusUnauthorized, "the token is not accepted: it is unknown, has expired, or was issued for another server")
	case g.access(r) == ByPage && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	default:
		// A request without credentials is told what to bring, not that it erred
		// (RFC 6750 §3.1).
		g.challenge(w, r, "")
		Refuse(w, http.StatusUnauthorized, "a token is needed: send it as \"Authorization: Bearer TOKEN\"")
	}
}

// challenge writes the WWW-Authenticate header (RFC 6750 §3, RFC 9728 §5.1).
func (g *Gate) challenge(w http.ResponseWriter, r *http.Request, parameters string) {
	var all []string
	if parameters != "" {
		all = append(all, parameters)
	}
	if g.metadata != nil {
		all = append(all, `resource_metadata="`+g.metadata(r)+`"`)
		if g.scopes != "" && !strings.Contains(parameters, "scope=") {
			all = append(all, `scope="`+g.scopes+`"`)
		}
	}
	value := "Bearer"
	if len(all) > 0 {
		value += " " + strings.Join(all, ", ")
	}
	w.Header().Set("WWW-Authenticate", value)
}

// InsufficientScope answers 403 to a caller whose token lacks scopes: the
// challenge names all that the call needs at once (RFC 6750 §3.1).
func (g *Gate) InsufficientScope(w http.ResponseWriter, r *http.Request, scopes ...string) {
	g.challenge(w, r, `error="insufficient_scope", scope="`+strings.Join(scopes, " ")+`"`)
	Refuse(w, http.StatusForbidden, "the token has not the scope for this: "+strings.Join(scopes, " "))
}

// Refuse answers with an error as JSON-RPC has it, without an id, since the
// message was not read. It is what MCP clients show, and people can read it too.
func Refuse(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": refusedCode, "message": sentence},
	})
}

// refusedCode is of the range that JSON-RPC leaves to servers.
const refusedCode = -32001
