package openai

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/docseek/docseek/embed"
)

// maxMessage is how much of a server's own words is passed on, in characters.
const maxMessage = 300

// refusal is what a server says about a failure.
type refusal struct {
	message string
	code    string
}

// readRefusal finds the message in the shapes that servers write it:
// {"error":{"message","code","type"}}, {"error":"…"}, {"message":"…"} and
// {"detail":"…"}; any other text is the message itself.
func readRefusal(body []byte) refusal {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return refusal{message: plain(string(body))}
	}
	var inner struct {
		Message json.RawMessage `json:"message"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
	}
	if json.Unmarshal(shape.Error, &inner) == nil && len(inner.Message) > 0 {
		return refusal{message: plain(textOf(inner.Message)), code: textOf(inner.Code) + " " + textOf(inner.Type)}
	}
	for _, part := range []json.RawMessage{shape.Error, shape.Message, shape.Detail} {
		if text := textOf(part); text != "" && text != "null" {
			return refusal{message: plain(text)}
		}
	}
	return refusal{}
}

// textOf is a JSON string's text, or other JSON as it stands.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// plain makes one short line of a server's text.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}

// refusal makes an embed.Error of what went wrong, without the API's key in it.
func (m *Model) refusal(ctx context.Context, a *answer, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("embed with %s: %w", m.where, context.Cause(ctx))
	}
	out := &embed.Error{
		Op:         fmt.Sprintf("embed a batch of %d with %s", a.texts, m.where),
		RetryAfter: a.retryAfter,
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err
	}
	switch {
	case a.status == 0:
		out.Err = m.redacted(err)
		out.Temporary = !isCertificate(err)
		out.Hint = "check base_url, and that the server runs"
		if !out.Temporary {
			out.Hint = "check base_url, or name the certificate authority in SSL_CERT_FILE"
		}
	case a.status < 300:
		out.Err = m.redacted(err)
		out.Hint = "check that base_url is that of an OpenAI-compatible API; most end in /v1"
	default:
		out.Status = a.status
		out.Err = errors.New(m.withoutKey(a.refusal.message))
		if a.refusal.message == "" {
			out.Err = errors.New(strings.ToLower(http.StatusText(a.status)))
		}
		m.judge(out, a)
	}
	return out
}

// judge says what a status means for the request, and what to do about it.
func (m *Model) judge(e *embed.Error, a *answer) {
	e.TooLarge = tooLarge(a)
	switch status := a.status; {
	case e.TooLarge:
		e.Hint = "the model takes less at once"
	case status < 400:
		e.Hint = "set base_url to where it redirects"
		if at, err := url.Parse(a.location); err == nil && at.Host != "" {
			e.Hint += ": " + at.Scheme + "://" + at.Host + at.EscapedPath()
		}
	case status == http.StatusUnauthorized && m.o.APIKey == "":
		e.Hint = "set api_key"
	case status == http.StatusUnauthorized:
		e.Hint = "check api_key"
	case status == http.StatusForbidden:
		e.Hint = "check that api_key may use this model"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		e.Hint = "check model and base_url; most base URLs end in /v1"
	case status == http.StatusTooManyRequests && strings.Contains(a.refusal.code, "insufficient_quota"):
		e.Hint = "the account has no quota left"
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests:
		e.Temporary = true
	case status >= 500:
		e.Temporary = status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
	case strings.Contains(a.refusal.message, m.dialect.inputType):
		e.Hint = "set query_input_type and passage_input_type to what the model takes, or to nothing"
	default:
		e.Hint = "check model and dimensions"
	}
}

// tooLarge tells a batch or text that is more than the model takes from other
// refusals. There is no code for it that all servers share, so the words count.
func tooLarge(a *answer) bool {
	switch a.status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	message := strings.ToLower(a.refusal.message + " " + a.refusal.code)
	for _, sign := range []string{
		"context length", "context_length", "context size", "context_size", "too long", "too large", "too many",
		"exceed", "at most", "batch size", "max allowed", "must have less than", "longer than", "larger than",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

func isCertificate(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// redacted is the error itself, unless its text holds the key.
func (m *Model) redacted(err error) error {
	if text := err.Error(); m.withoutKey(text) != text {
		return errors.New(m.withoutKey(text))
	}
	return err
}

// withoutKey blackens the key. A few characters are no secret, but a word that
// local servers are given as a key because they want one.
func (m *Model) withoutKey(text string) string {
	if len(m.o.APIKey) < 4 {
		return text
	}
	return strings.ReplaceAll(text, m.o.APIKey, "[api_key]")
}
