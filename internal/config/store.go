package config

import (
	"cmp"
	"net/url"
	"regexp"
)

// Store says where the index is kept.
type Store struct {
	// Kind is local (a folder on this machine's disk) or qdrant (a Qdrant server).
	Kind string `yaml:"kind" env:"KIND"`
	// URL is that of the server's gRPC interface, by default on port 6334.
	URL string `yaml:"url,omitempty" env:"URL"`
	// APIKey is sent with every request.
	APIKey Secret `yaml:"api_key,omitempty" env:"API_KEY"`
	// Collection begins the names of the index's collections; empty means docseek.
	Collection string `yaml:"collection,omitempty" env:"COLLECTION"`
	// Shards, Replicas, WriteConsistency (the replicas that a write needs),
	// Quantization and OnDisk are those of collections that are made; 0 and empty
	// leave them to the server.
	Shards           int    `yaml:"shards,omitempty" env:"SHARDS"`
	Replicas         int    `yaml:"replicas,omitempty" env:"REPLICAS"`
	WriteConsistency int    `yaml:"write_consistency,omitempty" env:"WRITE_CONSISTENCY"`
	Quantization     string `yaml:"quantization,omitempty" env:"QUANTIZATION"`
	OnDisk           bool   `yaml:"on_disk,omitempty" env:"ON_DISK"`
	// ReadConsistency is how many replicas have to agree on what a search finds:
	// any (one), quorum (more than half), majority (of all of them) or all. Empty
	// means any.
	ReadConsistency string `yaml:"read_consistency,omitempty" env:"READ_CONSISTENCY"`
	// Oversampling is how many times more candidates are taken by quantized vectors
	// than by exact ones; 0 means 3.
	Oversampling float64 `yaml:"oversampling,omitempty" env:"OVERSAMPLING"`
}

// Kinds of stores.
const (
	Local  = "local"
	Qdrant = "qdrant"
)

// maxReplicas bounds the copies of a shard.
const maxReplicas = 16

// collectionPrefix is what collections may be called.
var collectionPrefix = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

func (v *validator) store(s Store) {
	v.oneOf("store.kind", s.Kind, Local, Qdrant)
	if s.Kind != Qdrant {
		if s != (Store{Kind: s.Kind}) {
			v.fault("store.kind", "%s is a folder on disk and takes no other setting; for a server write kind: qdrant", s.Kind)
		}
		return
	}
	switch u, err := url.Parse(s.URL); {
	case s.URL == "":
		v.fault("store.url", "is missing: the address of the Qdrant server, such as http://localhost:6334")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		v.fault("store.url", "must be http://host:6334 or https://host:6334 (got %q)", s.URL)
	case u.User != nil:
		v.fault("store.url", "must not hold a user or password; use api_key")
	}
	if s.Collection != "" && !collectionPrefix.MatchString(s.Collection) {
		v.fault("store.collection", "must be 1 to 100 of A-Z, a-z, 0-9, '_', '.' and '-', beginning with a letter or digit (got %q)", s.Collection)
	}
	if s.Shards < 0 || s.Shards > 1024 {
		v.fault("store.shards", "must be 0 to 1024 (got %d)", s.Shards)
	}
	if s.Replicas < 0 || s.Replicas > maxReplicas {
		v.fault("store.replicas", "must be 0 to %d (got %d)", maxReplicas, s.Replicas)
	}
	if most := cmp.Or(s.Replicas, maxReplicas); s.WriteConsistency < 0 || s.WriteConsistency > most {
		v.fault("store.write_consistency", "must be 0 to the number of replicas, %d (got %d)", most, s.WriteConsistency)
	}
	if s.ReadConsistency != "" {
		v.oneOf("store.read_consistency", s.ReadConsistency, "any", "quorum", "majority", "all")
	}
	if s.Oversampling != 0 && !(s.Oversampling >= 1 && s.Oversampling <= 100) {
		v.fault("store.oversampling", "must be 1 to 100 (got %v)", s.Oversampling)
	}
	if s.Quantization != "" {
		v.oneOf("store.quantization", s.Quantization, "none", "scalar", "binary")
	}
}
