package qdrant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// schemaVersion is that of the collections and payloads.
const schemaVersion = 2

// Keys of the metadata that mark a collection as one of ours.
const (
	metaSchema      = "docseek_schema"
	metaRole        = "docseek_role"
	metaFingerprint = "docseek_fingerprint"
)

// Roles of collections.
const (
	// roleMeta is the one collection without vectors: the state, generations,
	// page records, statistics, sources and leases.
	roleMeta = "meta"
	// rolePlain is the one collection of chunks that are not embedded (yet).
	rolePlain = "plain"
	// roleChunks are the collections of embedded chunks, one for each fingerprint.
	roleChunks = "chunks"
)

// segmentsWhileFilled is how many segments a collection of embedded chunks may have
// until its first commit. With as few as the cores, the server merges them all the
// time, and each time writes most of what is there anew.
const segmentsWhileFilled = 32

// collection describes one that the store needs.
type collection struct {
	name, role, fingerprint string
	dim                     int // of the dense vectors, for roleChunks
}

func (s *Store) meta() string  { return s.options.Collection + "_meta" }
func (s *Store) plain() string { return s.options.Collection + "_plain" }

// setDigest is the length of what stands for a fingerprint in a name.
const setDigest = 16

// chunks is the first name of the collection of a fingerprint, see record.use.
func (s *Store) chunks(fingerprint string) string {
	sum := sha256.Sum256([]byte(fingerprint))
	return s.options.Collection + "_" + hex.EncodeToString(sum[:setDigest/2])
}

// firstName is the first name of what a collection of that name succeeds.
func firstName(name string) string {
	if i := strings.LastIndexByte(name, '_'); len(name)-i-1 != setDigest {
		return name[:i]
	}
	return name
}

// ensure makes a collection, unless it exists, and makes sure that it is ours.
// Two processes may do it at once.
func (s *Store) ensure(ctx context.Context, c collection) error {
	info, err := s.describe(ctx, c.name)
	if notFound(err) {
		if err := s.create(ctx, c); err != nil {
			return err
		}
		info, err = s.describe(ctx, c.name)
	}
	if err != nil {
		return err
	}
	if err := check(c, info); err != nil {
		return err
	}
	// Indexes are made before the first point, so that the graph knows them.
	for field, index := range indexes(c.role) {
		if _, ok := info.GetPayloadSchema()[field]; ok {
			continue
		}
		wait, kind := true, index.kind
		if _, err := call(ctx, s.remote.patient(), "index field "+field+" of "+c.name, func(ctx context.Context) (*qdrant.UpdateResult, error) {
			return s.remote.CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{
				CollectionName: c.name, Wait: &wait, FieldName: field, FieldType: &kind, FieldIndexParams: index.params,
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) describe(ctx context.Context, name string) (*qdrant.CollectionInfo, error) {
	return call(ctx, s.remote, "describe collection "+name, func(ctx context.Context) (*qdrant.CollectionInfo, error) {
		return s.remote.GetCollectionInfo(ctx, name)
	})
}

// dimOf returns the dimension of the vectors in a fingerprint's collection; 0 while
// there is none.
func (s *Store) dimOf(ctx context.Context, name, fingerprint string) (int, error) {
	info, err := s.describe(ctx, name)
	if notFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	dim := vectorSize(info)
	return dim, check(collection{name: name, role: roleChunks, fingerprint: fingerprint, dim: dim}, info)
}

func vectorSize(info *qdrant.CollectionInfo) int {
	return int(info.GetConfig().GetParams().GetVectorsConfig().GetParamsMap().GetMap()[denseVector].GetSize())
}

// check makes sure that a collection is what the store would have made.
func check(c collection, info *qdrant.CollectionInfo) error {
	metadata := info.GetConfig().GetMetadata()
	schema, err := strconv.Atoi(metadata[metaSchema].GetStringValue())
	switch {
	case err != nil || metadata[metaRole].GetStringValue() != c.role || metadata[metaFingerprint].GetStringValue() != c.fingerprint:
		return fmt.Errorf("collection %s was not made by docseek for this: set another store.collection, or delete it if nothing needs it", c.name)
	case schema > schemaVersion:
		return fmt.Errorf("collection %s was made by a newer docseek (schema %d, this one knows %d): use that docseek, or set another store.collection", c.name, schema, schemaVersion)
	case schema < schemaVersion:
		return fmt.Errorf("collection %s was made by an older docseek (schema %d, this one writes %d): set another store.collection and reindex", c.name, schema, schemaVersion)
	case c.role == roleChunks && vectorSize(info) != c.dim:
		return fmt.Errorf("collection %s: %w", c.name, wrongDim(c.dim, vectorSize(info)))
	}
	return nil
}

func (s *Store) create(ctx context.Context, c collection) error {
	o := s.options
	noLinks := uint64(0)
	request := &qdrant.CreateCollection{
		CollectionName: c.name,
		Metadata: map[string]*qdrant.Value{
			metaSchema: text(strconv.Itoa(schemaVersion)), metaRole: text(c.role), metaFingerprint: text(c.fingerprint),
		},
	}
	if o.Replicas > 0 {
		request.ReplicationFactor = &o.Replicas
	}
	if o.WriteConsistency > 0 {
		request.WriteConsistencyFactor = &o.WriteConsistency
	}
	if c.role == roleMeta {
		one := uint32(1)
		request.ShardNumber = &one
		if o.Replicas > 1 { // a majority of two is both
			replicas := max(o.Replicas, 3)
			written := max(o.WriteConsistency, replicas/2+1)
			request.ReplicationFactor, request.WriteConsistencyFactor = &replicas, &written
		}
		request.VectorsConfig = qdrant.NewVectorsConfigMap(map[string]*qdrant.VectorParams{})
	} else {
		if o.Shards > 0 {
			request.ShardNumber = &o.Shards
		}
		request.OnDiskPayload = &o.OnDisk
		request.SparseVectorsConfig = qdrant.NewSparseVectorsConfig(map[string]*qdrant.SparseVectorParams{
			// The query brings the inverse document frequencies.
			lexicalVector: {Index: &qdrant.SparseIndexConfig{OnDisk: &o.OnDisk}},
		})
	}
	if c.role == roleChunks {
		request.VectorsConfig = qdrant.NewVectorsConfigMap(map[string]*qdrant.VectorParams{
			// Vectors have length 1, so this is the cosine, and they are kept as they are.
			denseVector: {Size: uint64(c.dim), Distance: qdrant.Distance_Dot, OnDisk: &o.OnDisk, HnswConfig: &qdrant.HnswConfigDiff{M: &noLinks}},
		})
		request.QuantizationConfig = quantization(o.Quantization)
	}
	made, err := call(ctx, s.remote.patient(), "create collection "+c.name, func(ctx context.Context) (bool, error) {
		err := s.remote.CreateCollection(ctx, request)
		if status.Code(err) == codes.AlreadyExists {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil || !made || c.role != roleChunks {
		return err
	}
	// A collection that is made with a number begins with as many segments.
	most := uint64(segmentsWhileFilled)
	return s.reconfigure(ctx, &qdrant.UpdateCollection{
		CollectionName: c.name, OptimizersConfig: &qdrant.OptimizersConfigDiff{DefaultSegmentNumber: &most},
	})
}

func (s *Store) reconfigure(ctx context.Context, request *qdrant.UpdateCollection) error {
	_, err := call(ctx, s.remote.patient(), "reconfigure collection "+request.GetCollectionName(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.remote.UpdateCollection(ctx, request)
	})
	return err
}

// link has the server join a collection's vectors to a graph, and its segments to
// few, unless it has been told to. A collection is made without: each point that is
// written to a segment costs as much as the segment is large, as the server walks
// the whole list of each of the point's terms, until the segment is closed and the
// next one begun. A graph takes so long that segments grow meanwhile.
func (s *Store) link(ctx context.Context, name string) error {
	info, err := s.describe(ctx, name)
	if err != nil {
		return err
	}
	links := info.GetConfig().GetHnswConfig().GetM() // as the server is set
	dense := info.GetConfig().GetParams().GetVectorsConfig().GetParamsMap().GetMap()[denseVector].GetHnswConfig()
	if dense == nil || dense.M == nil || dense.GetM() == links {
		return nil
	}
	byCores := uint64(0)
	return s.reconfigure(ctx, &qdrant.UpdateCollection{
		CollectionName:   name,
		VectorsConfig:    qdrant.NewVectorsConfigDiffMap(map[string]*qdrant.VectorParamsDiff{denseVector: {HnswConfig: &qdrant.HnswConfigDiff{M: &links}}}),
		OptimizersConfig: &qdrant.OptimizersConfigDiff{DefaultSegmentNumber: &byCores},
	})
}

func quantization(kind Quantization) *qdrant.QuantizationConfig {
	ram := true
	switch kind {
	case Scalar:
		return qdrant.NewQuantizationScalar(&qdrant.ScalarQuantization{Type: qdrant.QuantizationType_Int8, AlwaysRam: &ram})
	case Binary:
		return qdrant.NewQuantizationBinary(&qdrant.BinaryQuantization{AlwaysRam: &ram})
	default:
		return nil
	}
}

type index struct {
	kind   qdrant.FieldType
	params *qdrant.PayloadIndexParams
}

// indexes are the fields that conditions are on. Only what narrows a search gets
// links of its own in the graph.
func indexes(role string) map[string]index {
	yes, no := true, false
	tenant := index{qdrant.FieldType_FieldTypeKeyword, qdrant.NewPayloadIndexParamsKeyword(&qdrant.KeywordIndexParams{IsTenant: &yes})}
	linked := index{qdrant.FieldType_FieldTypeKeyword, qdrant.NewPayloadIndexParamsKeyword(&qdrant.KeywordIndexParams{})}
	word := index{qdrant.FieldType_FieldTypeKeyword, qdrant.NewPayloadIndexParamsKeyword(&qdrant.KeywordIndexParams{EnableHnsw: &no})}
	integer := index{qdrant.FieldType_FieldTypeInteger, qdrant.NewPayloadIndexParamsInt(&qdrant.IntegerIndexParams{Lookup: &yes, Range: &yes, EnableHnsw: &no})}
	hash := index{qdrant.FieldType_FieldTypeUuid, qdrant.NewPayloadIndexParamsUUID(&qdrant.UuidIndexParams{EnableHnsw: &no})}
	if role == roleMeta {
		return map[string]index{
			fieldKind: word, fieldSource: word, fieldURL: word, fieldFrom: integer, fieldTo: integer, fieldSeq: integer,
			fieldVersion: word, fieldLanguage: word, fieldToken: word, fieldRev: integer, fieldBeat: integer, fieldChecked: integer,
		}
	}
	return map[string]index{
		fieldSource: tenant, fieldURL: word, fieldFrom: integer, fieldTo: integer, fieldOrdinal: integer, fieldHash: hash,
		fieldVersion: linked, fieldLangs: linked, fieldPaths: linked,
	}
}

var errEnded = errors.New("the run has ended")
