package config_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/internal/config"
)

func TestAuthProfiles(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"secret": "f1le-secret\n",
		"docseek.yaml": `
graphql:
  - {name: a, url: "https://a.example/graphql", operations: ["ops/**/*.yaml", /abs/*.gql]}
auth_profiles:
  orders-api: {type: bearer, token: "${TOKEN}", host: a.example}
  erp: {type: basic, user: docseek, file: secret, host: "erp.example:8443"}
  crm: {type: header, header: x-api-key, value: s3cret-value, host: crm.example}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(filepath.Join(folder, "docseek.yaml"), []string{"TOKEN=s3cret-token"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(folder, "ops/**/*.yaml"), "/abs/*.gql"}, c.GraphQL[0].Operations); diff != "" {
		t.Errorf("globs differ (-want +got):\n%s", diff)
	}
	for name, want := range map[string]http.Header{
		"orders-api": {"Authorization": {"Bearer s3cret-token"}},
		"erp":        {"Authorization": {"Basic ZG9jc2VlazpmMWxlLXNlY3JldA=="}},
		"crm":        {"X-Api-Key": {"s3cret-value"}},
	} {
		got, err := c.AuthProfiles[name].Credentials()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, header differs (-want +got):\n%s", name, err, diff)
		}
	}
	// A credential that was renewed is used; one that cannot be read is said.
	erp := c.AuthProfiles["erp"]
	if err := os.WriteFile(erp.File, []byte("two\nlines"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := erp.Credentials(); err == nil || !strings.Contains(err.Error(), "must hold one line") || strings.Contains(err.Error(), "two") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(erp.File); err != nil {
		t.Fatal(err)
	}
	if _, err := erp.Credentials(); err == nil || !strings.Contains(err.Error(), "read a credential") {
		t.Errorf("error %v", err)
	}
	yaml, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	json, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if shown := string(yaml) + string(json); strings.Contains(shown, "s3cret") || !strings.Contains(shown, "host: a.example") {
		t.Errorf("printed as\n%s", shown)
	}
}

func TestAuthProfileFaults(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte(`auth_profiles:
  a: {type: token, host: h}
  b: {type: bearer, token: s3cret}
  c-d: {type: bearer, token: s3cret, file: f, host: h}
  e: {type: bearer, host: h}
  f: {type: bearer, token: s3cret, host: "https://h/graphql"}
  g: {type: bearer, token: s3cret, user: u, host: h}
  h: {type: basic, password: s3cret, host: h}
  i: {type: header, header: Content-Type, value: s3cret, host: h}
  j: {type: header, header: X-Key, value: "s3cret\nX: y", host: h}
  K: {type: bearer, token: s3cret, host: h}
  l: {type: bearer, token: s3cret, host: "*.example"}
`), nil)
	got := strings.Join(faultsOf(t, err), "\n")
	for _, want := range []string{
		`f.yaml:2:6: auth_profiles.a: type must be bearer, basic or header`,
		`auth_profiles.b: host is missing`,
		`f.yaml:4:8: auth_profiles.c-d: must have one of token and file`,
		`auth_profiles.e: must have one of token and file`,
		`auth_profiles.f: host must be the host of one endpoint`,
		`auth_profiles.g: type bearer takes host, token, file`,
		`auth_profiles.h: user is missing`,
		`auth_profiles.i: header must be the name of a header`,
		`auth_profiles.j: value must be one line`,
		`auth_profiles.K: the name must be 1 to 64`,
		`auth_profiles.l: host must be the host of one endpoint`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no fault %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("a secret is shown:\n%s", got)
	}
}
