package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// AuthProfile are credentials for one host.
type AuthProfile struct {
	// Type is bearer, basic or header.
	Type string `yaml:"type"`
	// Host is the only one that the credentials are sent to, with its port where
	// the address has one.
	Host string `yaml:"host"`
	// Token is that of bearer.
	Token Secret `yaml:"token,omitempty"`
	// User and Password are those of basic.
	User     string `yaml:"user,omitempty"`
	Password Secret `yaml:"password,omitempty"`
	// Header is the name of the header, and Value its value.
	Header string `yaml:"header,omitempty"`
	Value  Secret `yaml:"value,omitempty"`
	// File is where the token, the password or the value is read from instead.
	File string `yaml:"file,omitempty"`
}

// Types of auth profiles.
const (
	AuthBearer = "bearer"
	AuthBasic  = "basic"
	AuthHeader = "header"
)

// maxSecretBytes bounds a file that holds a credential.
const maxSecretBytes = 64 << 10

// Credentials is the header that the profile stands for. A file is read each
// time, so that a credential that was renewed is used. No error holds a secret.
func (p AuthProfile) Credentials() (http.Header, error) {
	secret := cmp.Or(p.Token, p.Password, p.Value).Reveal()
	if p.File != "" {
		f, err := os.Open(p.File)
		if err != nil {
			return nil, fmt.Errorf("read a credential: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
		if err != nil {
			return nil, fmt.Errorf("read a credential: %w", err)
		}
		secret = strings.TrimSpace(string(text))
		if secret == "" || len(text) > maxSecretBytes || strings.ContainsAny(secret, "\r\n") {
			return nil, fmt.Errorf("read a credential: %s must hold one line of at most %d bytes", p.File, maxSecretBytes)
		}
	}
	if p.Type == AuthBasic {
		request := http.Request{Header: http.Header{}}
		request.SetBasicAuth(p.User, secret)
		return request.Header, nil
	}
	if p.Type == AuthBearer {
		secret = "Bearer " + secret
	}
	return http.Header{p.HeaderName(): {secret}}, nil
}

// HeaderName is the name of the header that the credentials are sent in.
func (p AuthProfile) HeaderName() string {
	if p.Type == AuthHeader {
		return http.CanonicalHeaderKey(p.Header)
	}
	return "Authorization"
}

// scalarName is what GraphQL calls a Name (October 2021, §2.1.9).
var scalarName = regexp.MustCompile(`^[_A-Za-z][_0-9A-Za-z]*$`)

func (v *validator) operations(at string, g GraphQL) {
	for i, glob := range g.Operations {
		field := fmt.Sprintf("%soperations[%d]", at, i)
		switch strings.ToLower(path.Ext(filepath.ToSlash(glob))) {
		case ".graphql", ".gql", ".yaml", ".yml", ".json":
		default:
			v.fault(field, "must end in .graphql, .gql, .yaml, .yml or .json (got %q)", glob)
		}
		if _, err := path.Match(filepath.ToSlash(glob), ""); err != nil {
			v.fault(field, "is no glob (got %q)", glob)
		}
	}
	v.oneOf(at+"persisted", cmp.Or(g.Persisted, PersistedText), PersistedText, PersistedDocumentID, PersistedExtension)
	for _, name := range slices.Sorted(maps.Keys(g.Scalars)) {
		if !scalarName.MatchString(name) {
			v.fault(at+"scalars", "%q is no name of a scalar", name)
		}
	}
}

func (v *validator) authProfiles(all map[string]AuthProfile) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := "auth_profiles." + name
		p := all[name]
		if !sourceName.MatchString(name) {
			v.fault(at, "the name must be 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit")
		}
		if err := p.check(); err != nil {
			v.fault(at, "%v", err)
		}
	}
}

// check says what is wrong with a profile, and shows no secret.
func (p AuthProfile) check() error {
	own := map[string]struct {
		secret Secret
		needs  string
		ok     bool
		others []string
	}{
		AuthBearer: {p.Token, "token", true, []string{p.User, string(p.Password), p.Header, string(p.Value)}},
		AuthBasic:  {p.Password, "password", p.User != "" && !strings.Contains(p.User, ":"), []string{string(p.Token), p.Header, string(p.Value)}},
		AuthHeader: {p.Value, "value", validHeader(p.Header) && !ownHeader(p.Header), []string{string(p.Token), p.User, string(p.Password)}},
	}
	kind, known := own[p.Type]
	switch u, err := url.Parse("//" + p.Host); {
	case !known:
		return fmt.Errorf("type must be bearer, basic or header (got %q)", p.Type)
	case p.Host == "":
		return errors.New("host is missing: the host of the endpoint that the credentials are for")
	case err != nil || u.Host != p.Host || strings.ContainsAny(p.Host, "*"):
		return fmt.Errorf("host must be the host of one endpoint, such as api.example.com (got %q)", p.Host)
	case cmp.Or(kind.others...) != "":
		return fmt.Errorf("type %s takes host, %s, file%s", p.Type, kind.needs, map[string]string{AuthBasic: ", user", AuthHeader: ", header"}[p.Type])
	case !kind.ok && p.Type == AuthBasic:
		return errors.New("user is missing, or holds a colon")
	case !kind.ok:
		return fmt.Errorf("header must be the name of a header that docseek does not set itself (got %q)", p.Header)
	case (kind.secret == "") == (p.File == ""):
		return fmt.Errorf("must have one of %s and file", kind.needs)
	case strings.ContainsAny(string(kind.secret), "\r\n"):
		return fmt.Errorf("%s must be one line", kind.needs)
	}
	return nil
}
