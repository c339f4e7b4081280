package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// issuerTimeout bounds one request to the issuer.
	issuerTimeout = 5 * time.Second
	// maxIssuerBytes bounds one of its answers.
	maxIssuerBytes = 1 << 20
	// askEvery is the least time between two requests for the same document: who
	// sends tokens with made-up keys does not make this server ask all the time.
	askEvery = 5 * time.Second
	// renewKeys is the age from which the issuer's documents are read again, so that
	// a key that was taken back is not accepted for long.
	renewKeys = time.Hour
	// renewAgain is when that is tried again after it failed.
	renewAgain = time.Minute
	// clockSkew is how far a token's times may be off.
	clockSkew = time.Minute
)

// OAuth accepts access tokens (JWTs, RFC 9068) of one authorization server. Its
// keys are found by OpenID Connect discovery, with the first token.
type OAuth struct {
	issuer    string
	audiences []string
	now       func() time.Time
	log       *slog.Logger
	client    *http.Client

	mu    sync.Mutex
	keys  oidc.KeySet
	renew time.Time
	// warned is when the log last heard that the issuer does not answer.
	warned time.Time
}

var _ Verifier = (*OAuth)(nil)

// OAuthOptions say whose tokens are accepted.
type OAuthOptions struct {
	// Issuer is the issuer's URL.
	Issuer string
	// Audiences are the values of which a token's aud must have one: it was issued
	// for this server (RFC 8707, RFC 9068 §4).
	Audiences []string
	// Now is the clock.
	Now func() time.Time
	// Log receives why the issuer does not answer.
	Log *slog.Logger
	// Transport carries the requests to the issuer; nil means the default one.
	Transport http.RoundTripper
}

// NewOAuth asks nobody yet: the issuer may be down while the server starts.
func NewOAuth(o OAuthOptions) *OAuth {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &OAuth{
		issuer: o.Issuer, audiences: o.Audiences, now: o.Now, log: o.Log,
		client: &http.Client{
			Transport: &sparing{next: o.Transport, now: o.Now, answers: map[string]issuerAnswer{}},
			Timeout:   issuerTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return errors.New("the issuer sends elsewhere")
			},
		},
	}
}

// algorithms are those that sign with a private key. A shared secret would make
// the server's own configuration good for issuing tokens.
func algorithms() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512,
		oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
	}
}

// Verify checks signature, issuer, audience, expiry and not-before of an access
// token.
func (o *OAuth) Verify(ctx context.Context, token string) (Caller, error) {
	if strings.Count(token, ".") != 2 {
		return Caller{}, fmt.Errorf("%w: it is no JWT", ErrUnknown)
	}
	keys := &watchedKeys{from: o}
	verifier := oidc.NewVerifier(o.issuer, keys, &oidc.Config{
		SupportedSigningAlgs: algorithms(),
		SkipClientIDCheck:    true, // there may be several audiences
		Now:                  func() time.Time { return o.now().Add(-clockSkew) },
	})
	verified, err := verifier.Verify(ctx, token)
	switch {
	case keys.failure != nil:
		return Caller{}, fmt.Errorf("%w: %w", ErrUnavailable, keys.failure)
	case errors.As(err, new(*oidc.TokenExpiredError)):
		return Caller{}, fmt.Errorf("%w: it has expired", ErrUnknown)
	case err != nil:
		// The library quotes the token, which has no place in an ordinary log.
		o.log.LogAttrs(ctx, slog.LevelDebug, "access token refused", slog.Any("error", err))
		return Caller{}, fmt.Errorf("%w: its form, signature or issuer is wrong", ErrUnknown)
	case !slices.ContainsFunc(verified.Audience, func(a string) bool { return slices.Contains(o.audiences, a) }):
		return Caller{}, fmt.Errorf("%w: it was issued for another audience", ErrUnknown)
	}
	var claims accessClaims
	if err := verified.Claims(&claims); err != nil {
		return Caller{}, fmt.Errorf("%w: its claims cannot be read", ErrUnknown)
	}
	if claims.NotBefore != 0 && o.now().Add(clockSkew).Before(time.Unix(int64(claims.NotBefore), 0)) {
		return Caller{}, fmt.Errorf("%w: its time has not come", ErrUnknown)
	}
	return Caller{Name: claims.name(verified.Subject), Scopes: claims.scopes()}, nil
}

// accessClaims are what an access token says of its bearer.
type accessClaims struct {
	// Scope is a list with spaces (RFC 9068 §2.2.3); others write scp, as a list
	// or as an array.
	Scope     words   `json:"scope"`
	SCP       words   `json:"scp"`
	ClientID  string  `json:"client_id"`
	AZP       string  `json:"azp"`
	NotBefore float64 `json:"nbf"`
}

func (c accessClaims) scopes() []string { return append(slices.Clone([]string(c.Scope)), c.SCP...) }

// maxName bounds a subject in a caller's name, in bytes.
const maxName = 128

// subjectPrefix keeps subjects apart from the names of the tokens file, which have
// no colon: who chooses a subject takes over nobody's place in the log, nor a
// part of another's rate.
const subjectPrefix = "oauth:"

// name is what the log calls the caller: the subject, or the client where a
// token is nobody's.
func (c accessClaims) name(subject string) string {
	for _, name := range []string{subject, c.ClientID, c.AZP} {
		if name != "" {
			return subjectPrefix + strings.ToValidUTF8(name[:min(len(name), maxName)], "")
		}
	}
	return subjectPrefix + "unnamed"
}

// words is a claim that is a list of words, however it is written.
type words []string

// UnmarshalJSON reads a string with spaces, or an array of strings.
func (w *words) UnmarshalJSON(text []byte) error {
	var list []string
	if json.Unmarshal(text, &list) == nil {
		*w = list
		return nil
	}
	var line string
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	*w = strings.Fields(line)
	return nil
}

// watchedKeys notes whether the keys could be had at all, which the library does
// not tell from a wrong signature.
type watchedKeys struct {
	from    *OAuth
	failure error
}

// VerifySignature is called by the library.
func (k *watchedKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.from.verifySignature(ctx, jwt)
	if _, silent := errors.AsType[*issuerError](err); silent || ctx.Err() != nil {
		k.failure = err
	}
	return payload, err
}

func (o *OAuth) verifySignature(ctx context.Context, jwt string) ([]byte, error) {
	keys, due := o.current()
	if due {
		fresh, payload, err := o.discover(ctx, jwt)
		if _, silent := errors.AsType[*issuerError](err); !silent {
			o.mu.Lock()
			o.keys, o.renew = fresh, o.now().Add(renewKeys)
			o.mu.Unlock()
			return payload, err
		}
		o.warn(ctx, err)
		if keys == nil {
			return nil, err
		}
	}
	return keys.VerifySignature(ctx, jwt)
}

// warn logs that the issuer does not answer, now and then.
func (o *OAuth) warn(ctx context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); now.Sub(o.warned) >= renewAgain {
		o.warned = now
		o.log.LogAttrs(ctx, slog.LevelWarn, "the issuer of tokens does not answer", slog.Any("error", err))
	}
}

// current are the keys in use, nil before the first, and whether the caller is
// the one to renew them.
func (o *OAuth) current() (keys oidc.KeySet, due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys == nil {
		return nil, true
	}
	if due = !o.now().Before(o.renew); due {
		o.renew = o.now().Add(renewAgain)
	}
	return o.keys, due
}

// discover reads the issuer's metadata (OpenID Connect Discovery 1.0 §4) and
// checks a signature by the keys that it names.
func (o *OAuth) discover(ctx context.Context, jwt string) (oidc.KeySet, []byte, error) {
	ctx = oidc.ClientContext(ctx, o.client)
	provider, err := oidc.NewProvider(ctx, o.issuer)
	if err != nil {
		return nil, nil, &issuerError{fmt.Errorf("read the metadata of %s: %w", o.issuer, err)}
	}
	var metadata struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil || metadata.Keys == "" {
		return nil, nil, &issuerError{fmt.Errorf("the metadata of %s names no keys (jwks_uri)", o.issuer)}
	}
	keys := oidc.NewRemoteKeySet(ctx, metadata.Keys)
	payload, err := keys.VerifySignature(ctx, jwt)
	return keys, payload, err
}

// issuerError is a document of the issuer that could not be had.
type issuerError struct{ err error }

func (e *issuerError) Error() string { return e.err.Error() }
func (e *issuerError) Unwrap() error { return e.err }

// sparing fetches the issuer's documents, within bounds, and gives the last
// answer again to whoever asks too soon.
type sparing struct {
	next http.RoundTripper
	now  func() time.Time

	mu      sync.Mutex
	answers map[string]issuerAnswer // of two URLs: metadata and keys
}

type issuerAnswer struct {
	at     time.Time
	header http.Header
	body   []byte
	err    error
}

// maxAnswers bounds the documents that are kept, should an issuer name its keys
// anew each time.
const maxAnswers = 8

// RoundTrip answers 200 with the whole document, or fails with an *issuerError.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.URL.String()
	answer, asked := s.answers[key]
	if !asked || s.now().Sub(answer.at) >= askEvery {
		answer = s.fetch(r)
		if !errors.Is(r.Context().Err(), context.Canceled) { // a caller that is gone says nothing of the issuer
			if len(s.answers) >= maxAnswers {
				clear(s.answers)
			}
			s.answers[key] = answer
		}
	}
	if answer.err != nil {
		return nil, answer.err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.header.Clone(), Body: io.NopCloser(bytes.NewReader(answer.body)), ContentLength: int64(len(answer.body)), Request: r,
	}, nil
}

func (s *sparing) fetch(r *http.Request) issuerAnswer {
	fail := func(err error) issuerAnswer {
		return issuerAnswer{at: s.now(), err: &issuerError{fmt.Errorf("fetch %s: %w", r.URL.Redacted(), err)}}
	}
	response, err := s.next.RoundTrip(r)
	if err != nil {
		return fail(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxIssuerBytes+1))
	switch {
	case err != nil:
		return fail(err)
	case response.StatusCode != http.StatusOK:
		return fail(fmt.Errorf("status %d", response.StatusCode))
	case len(body) > maxIssuerBytes:
		return fail(fmt.Errorf("the answer is larger than %d bytes", maxIssuerBytes))
	case !json.Valid(body):
		return fail(errors.New("the answer is not JSON"))
	}
	return issuerAnswer{at: s.now(), header: response.Header, body: body}
}
