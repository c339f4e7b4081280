package auth

import (
	"encoding/base64"
	"errors"
	"net/http"
)

// cookieName holds the token of a login in a browser.
const cookieName = "docseek_token"

// loginSeconds is how long a browser keeps a login.
const loginSeconds = 12 * 60 * 60

const maxFormBytes = maxTokenBytes + 1<<10

func cookieToken(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	token, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	return string(token)
}

// Login takes the form field token of a POST and, if the token is accepted,
// keeps it in a cookie for the web page and leads to "/". failed shows the form
// again, with a sentence on what was wrong; it has to write the answer. secure
// says whether the browser reaches the server by https.
func (g *Gate) Login(secure func(*http.Request) bool, failed func(w http.ResponseWriter, r *http.Request, status int, sentence string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
		token := r.PostFormValue("token")
		if token == "" {
			failed(w, r, http.StatusBadRequest, "Paste a token.")
			return
		}
		switch _, err := g.Verify(r.Context(), token); {
		case errors.Is(err, ErrUnavailable):
			failed(w, r, http.StatusServiceUnavailable, "The token cannot be checked now, since its issuer does not answer. Try again in a few seconds.")
		case err != nil:
			failed(w, r, http.StatusUnauthorized, "The token is not accepted: it is unknown, has expired, or was issued for another server.")
		default:
			http.SetCookie(w, cookie(token, loginSeconds, secure(r)))
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}
	})
}

// Logout takes the cookie away and leads to "/".
func Logout(secure func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, cookie("", -1, secure(r)))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}

func cookie(value string, seconds int, secure bool) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure where the browser comes by https: on loopback it does not
		// A cookie takes fewer characters than a header.
		Name: cookieName, Value: base64.RawURLEncoding.EncodeToString([]byte(value)),
		Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}
