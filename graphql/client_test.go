package graphql

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server and gives a client of it.
func serve(t *testing.T, handler http.HandlerFunc, options ...func(*ClientOptions)) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o := ClientOptions{URL: server.URL + "/graphql", Transport: server.Client().Transport}
	for _, set := range options {
		set(&o)
	}
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientRequest(t *testing.T) {
	var got struct {
		header http.Header
		body   string
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.header, got.body = r.Header, string(body)
		_, _ = io.WriteString(w, `{"data":{"id":9007199254740993,"d":0.1000000000000000055},"errors":[],"extensions":{"cost":1}}`)
	}, func(o *ClientOptions) {
		o.Headers = http.Header{"authorization": {"Bearer secret"}, "Content-Type": {"text/plain"}, "X-Tenant": {"all"}}
	})
	response, err := c.Do(t.Context(), Request{
		Query: "query A($id: Long) { a }", OperationName: "A", Variables: json.RawMessage(`{"id":9223372036854775807}`),
		Header: http.Header{"X-Tenant": {"one"}, "Accept-Encoding": {"br"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"query":"query A($id: Long) { a }","operationName":"A","variables":{"id":9223372036854775807}}`; got.body != want {
		t.Errorf("the body is %s\nwant %s", got.body, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "Content-Type": "application/json", "X-Tenant": "one", "Accept-Encoding": "gzip",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
		}
	}
	if want := `{"id":9007199254740993,"d":0.1000000000000000055}`; string(response.Data) != want || len(response.Errors) != 0 || string(response.Extensions) != `{"cost":1}` {
		t.Errorf("the answer is %s %v %s", response.Data, response.Errors, response.Extensions)
	}
}

func TestClientAnswers(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		status                  int
		data                    string
		errors                  string // the errors as JSON, or what the failure says
	}{
		{"charset", "application/graphql-response+json; charset=utf-8", `{"data":{"a":1}}`, 200, `{"a":1}`, `null`},
		{
			"partial", "application/json", `{"data":{"a":null},"errors":[{"message":"x","path":["a",0,"b"],"locations":[{"line":1,"column":3}],"extensions":{"code":"NOPE","n":12345678901234567890}}]}`, 200, `{"a":null}`,
			`[{"message":"x","locations":[{"line":1,"column":3}],"path":["a",0,"b"],"extensions":{"code":"NOPE","n":12345678901234567890}}]`,
		},
		{"status 400", "application/json", `{"errors":[{"message":"unknown field"}]}`, 400, ``, `[{"message":"unknown field"}]`},
		{"data null", "application/json", `{"data":null,"errors":null}`, 200, ``, `it has no data, and no error that says why`},
		{"no errors and no data", "application/json", `{"errors":[]}`, 200, ``, `it has no data, and no error that says why`},
		{"errors empty", "application/json", `{"data":{"a":1},"errors":[]}`, 200, `{"a":1}`, `null`},
		{"data that is a list", "application/json", `{"data":[1]}`, 200, ``, `its data is no object`},
		{"data that is a text", "application/json", `{"data":"a"}`, 200, ``, `its data is no object`},
		{"not UTF-8", "application/json", "{\"data\":{\"a\":\"\xffb\"},\"errors\":[{\"message\":\"\xff\u202ec\\u001b[1m\"}]}", 200, "{\"a\":\"\ufffdb\"}", `[{"message":"c[1m"}]`},
		{"what cannot be seen", "text/plain", "no\u202e\u200bt\x1b J\xffSON", 502, ``, `the answer is no JSON object: not JSON`},
		{"a path of objects", "application/json", `{"errors":[{"message":"a","path":[{"b":[]}]}]}`, 200, ``, `[{"message":"a"}]`},
		{
			"a long path", "application/json", `{"errors":[{"message":"a","path":[` + strings.Repeat("1,", 1000) + `1]}]}`, 200, ``,
			`[{"message":"a","path":[` + strings.Repeat("1,", 63) + `1]}]`,
		},
		{"byte order mark", "application/json", "\ufeff{\"data\":{}}", 200, `{}`, `null`},
		{"an error that is a text", "application/json", `{"errors":"[API] Invalid API key"}`, 401, ``, `[{"message":"[API] Invalid API key"}]`},
		{"errors that are texts", "application/json", `{"errors":["a","b"]}`, 200, ``, `[{"message":"a"},{"message":"b"}]`},
		{"an error with a path that is none", "application/json", `{"errors":[{"message":"a","path":"x"}]}`, 200, ``, `[{"message":"a"}]`},
		{"an error without a message", "application/json", `{"errors":[{"code":7}]}`, 200, ``, `[{"message":"{\"code\":7}"}]`},
		{"other JSON", "application/json", `{"message":"Bad credentials"}`, 401, ``, `HTTP status 401: the answer is no GraphQL answer: it has neither data nor errors: {"message":"Bad credentials"}`},
		{"HTML", "text/html", "<html>\n\n<b>Bad\x00 gateway</b>", 502, ``, `HTTP status 502: the answer is no JSON object: <html> <b>Bad gateway</b>`},
		{"a list", "application/json", `[]`, 200, ``, `the answer is no JSON object: []`},
		{"nothing", "application/json", ``, 200, ``, `the answer is no JSON object`},
		{"parts", "multipart/mixed; boundary=\"-\"", "---\r\n", 200, ``, `incremental delivery is unsupported`},
		{"events", "text/event-stream", "event: next", 200, ``, `incremental delivery is unsupported`},
		{"an echo of the credentials", "text/plain", `no such token: s3cret-t0ken`, 403, ``, `no such token: ***`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}, func(o *ClientOptions) { o.Headers = http.Header{"Authorization": {"Bearer s3cret-t0ken"}} })
			response, err := c.Do(t.Context(), Request{Query: "{a}"})
			if err != nil {
				failure, ok := errors.AsType[*CallError](err)
				if !ok || !failure.Sent || failure.Status != test.status || failure.RetryAfter != 7*time.Second {
					t.Errorf("the failure is %#v", err)
				}
				if !strings.Contains(err.Error(), test.errors) {
					t.Errorf("the failure says %q, want %q", err, test.errors)
				}
				return
			}
			got, _ := json.Marshal(response.Errors)
			if string(response.Data) != test.data || string(got) != test.errors || response.Status != test.status || response.RetryAfter != 7*time.Second {
				t.Errorf("the answer is %d %s %s", response.Status, response.Data, got)
			}
		})
	}
}

// What an endpoint gives back of the credentials is hidden wherever an error
// has text, also where one is the beginning of another, and in every notation.
func TestClientHidesCredentials(t *testing.T) {
	const short, long, quoted, cookie = "tok_0123", "tok_0123456789", `pass"w/rd`, "c00kie-v4lue"
	headers := http.Header{"X-A": {short}, "X-B": {long}, "X-C": {quoted}, "Cookie": {"session=" + cookie + "; theme=d"}, "Api-Version": {"2025-01-01"}}
	for _, status := range []int{200, 401} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			said := r.Header.Get("X-B") + " " + r.Header.Get("X-A") + " " + cookie + " " + r.Header.Get("X-C") + " " + r.Header.Get("X-Own") + " 2025-01-01"
			w.WriteHeader(status)
			e := map[string]any{"message": said, "path": []any{said, 1}, "extensions": map[string]any{"code": said, "url": r.URL.String()}}
			_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{e}})
		}, func(o *ClientOptions) { o.Headers, o.URL = headers, o.URL+"?key=k%2Fy-s3cret" })
		for range 20 { // in whatever order the headers come
			response, err := c.Do(t.Context(), Request{Query: "{a}", Header: http.Header{"X-Own": {"of-the-caller"}}})
			if err != nil || len(response.Errors) != 1 {
				t.Fatal(response, err)
			}
			const want = "*** *** *** *** *** 2025-01-01"
			e := response.Errors[0]
			if e.Message != want || e.Code() != want || e.Path[0] != want || !strings.Contains(string(e.Extensions), `?key=***"`) {
				t.Fatalf("the error is %q %v %s", e.Message, e.Path, e.Extensions)
			}
			if _, _, err := Introspect(t.Context(), c, Rung{}, "the API", Options{}); err == nil || !strings.Contains(err.Error(), want[:15]) {
				t.Fatalf("the introspection fails with %v", err)
			}
		}
	}
}

func TestClientBoundsTheDecodedAnswer(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"data":{"a":"`+strings.Repeat("x", 1<<20)+`"}}`)
		_ = z.Close()
	}, func(o *ClientOptions) { o.MaxResponse = 1 << 16 })
	if _, err := c.Do(t.Context(), Request{Query: "{a}"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the failure is %v", err)
	}
}

func TestClientRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the request went on to another host")
	}))
	defer other.Close()
	targets := map[string]struct {
		status int
		to     string
		want   string // what the failure says; empty for none
	}{
		"/same":  {http.StatusPermanentRedirect, "/done", ""},
		"/lost":  {http.StatusMovedPermanently, "/done", "loses the request"},
		"/other": {http.StatusTemporaryRedirect, other.URL + "/x?token=1", "which is sent no credentials"},
		"/loop":  {http.StatusTemporaryRedirect, "/loop", "more than 3 times"},
	}
	for path, target := range targets {
		t.Run(path, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/done" {
					if body, _ := io.ReadAll(r.Body); r.Method != http.MethodPost || string(body) != `{"query":"{a}"}` || r.Header.Get("X-Key") != "k" {
						t.Errorf("%s arrives as %s %s", path, r.Method, body)
					}
					_, _ = io.WriteString(w, `{"data":{}}`)
					return
				}
				http.Redirect(w, r, target.to, target.status)
			}))
			defer server.Close()
			c, err := NewClient(ClientOptions{URL: server.URL + path, Headers: http.Header{"X-Key": {"k"}}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Do(t.Context(), Request{Query: "{a}"})
			if target.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			failure, ok := errors.AsType[*CallError](err)
			if !ok || failure.Sent != (target.want == "loses the request") || !strings.Contains(err.Error(), target.want) || strings.Contains(err.Error(), "token=1") {
				t.Errorf("the failure is %v", err)
			}
		})
	}
}

func TestClientFailures(t *testing.T) {
	t.Run("time", func(t *testing.T) {
		c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}, func(o *ClientOptions) { o.Timeout, o.URL = 20*time.Millisecond, o.URL+"?key=secret" })
		_, err := c.Do(t.Context(), Request{Query: "{a}"})
		failure, ok := errors.AsType[*CallError](err)
		if !ok || !failure.Sent || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "secret") {
			t.Errorf("the failure is %v", err)
		}
	})
	t.Run("the caller gives up", func(t *testing.T) {
		arrived, gone := make(chan struct{}), make(chan struct{})
		c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			close(arrived)
			<-r.Context().Done()
			close(gone)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		if _, err := c.Do(ctx, Request{Query: "{a}"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the failure is %v", err)
		}
		<-gone
	})
	t.Run("connection lost after it was sent", func(t *testing.T) {
		var requests atomic.Int64
		c := serve(t, func(http.ResponseWriter, *http.Request) {
			requests.Add(1)
			panic(http.ErrAbortHandler)
		})
		_, err := c.Do(t.Context(), Request{Query: "mutation {a}"})
		if failure, ok := errors.AsType[*CallError](err); !ok || !failure.Sent || requests.Load() != 1 {
			t.Errorf("the failure is %v after %d requests", err, requests.Load())
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		c, err := NewClient(ClientOptions{URL: "http://" + l.Addr().String() + "/?key=secret"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(t.Context(), Request{Query: "{a}"})
		if failure, ok := errors.AsType[*CallError](err); !ok || failure.Sent || strings.Contains(err.Error(), "secret") {
			t.Errorf("the failure is %v", err)
		}
	})
}

func TestClientOptions(t *testing.T) {
	for address, want := range map[string]string{
		"":                            "must be an http or https URL",
		"ftp://a.test":                "must be an http or https URL",
		"https://user:pw@a.test/":     "must not hold a user or password",
		"https://a.test/#f":           "must not have a fragment",
		"https://a.test/%zz?k=s3cr3t": "is no URL",
	} {
		if _, err := NewClient(ClientOptions{URL: address}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the failure is %v, want %q", address, err, want)
		}
	}
}

func TestErrorCode(t *testing.T) {
	for extensions, want := range map[string]string{`{"code":"THROTTLED"}`: "THROTTLED", `{"code":7}`: "", `[]`: "", ``: ""} {
		if got := (Error{Extensions: json.RawMessage(extensions)}).Code(); got != want {
			t.Errorf("the code of %s is %q, want %q", extensions, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{"3": 3 * time.Second, "-1": 0, "x": 0, "": 0, "99999999": 24 * time.Hour, "Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := retryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("Retry-After %q is %s, want %s", value, got, want)
		}
	}
}
