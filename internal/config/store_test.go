package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/internal/config"
)

func TestStore(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"a server": {
			"store: {kind: qdrant, url: \"https://q.example:6334\", api_key: k, collection: docs, shards: 2, replicas: 2, write_consistency: 2, read_consistency: majority, quantization: scalar, oversampling: 2.5, on_disk: true}",
			nil,
		},
		"no address": {
			"store: {kind: qdrant}",
			[]string{"c.yaml:1:8: store.url: is missing: the address of the Qdrant server, such as http://localhost:6334"},
		},
		"a folder with an address": {
			"store: {url: \"http://q.example:6334\"}",
			[]string{"c.yaml:1:8: store.kind: local is a folder on disk and takes no other setting; for a server write kind: qdrant"},
		},
		"all wrong": {
			"store:\n  kind: qdrant\n  url: q.example:6334\n  collection: a/b\n  shards: -1\n  replicas: 99\n  quantization: fp4\n  write_consistency: 100\n  read_consistency: most\n  oversampling: 0.5\n",
			[]string{
				`c.yaml:3:8: store.url: must be http://host:6334 or https://host:6334 (got "q.example:6334")`,
				`c.yaml:4:15: store.collection: must be 1 to 100 of A-Z, a-z, 0-9, '_', '.' and '-', beginning with a letter or digit (got "a/b")`,
				`c.yaml:5:11: store.shards: must be 0 to 1024 (got -1)`,
				`c.yaml:6:13: store.replicas: must be 0 to 16 (got 99)`,
				`c.yaml:7:17: store.quantization: must be none or scalar or binary (got "fp4")`,
				`c.yaml:8:22: store.write_consistency: must be 0 to the number of replicas, 99 (got 100)`,
				`c.yaml:9:21: store.read_consistency: must be any or quorum or majority or all (got "most")`,
				`c.yaml:10:17: store.oversampling: must be 1 to 100 (got 0.5)`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("c.yaml", []byte(test.text), nil)
			if test.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(test.want, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
