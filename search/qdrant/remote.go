package qdrant

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ErrUnreachable means that the server does not answer.
var ErrUnreachable = errors.New("the Qdrant server cannot be reached")

const (
	defaultPort = 6334
	restPort    = 6333
	// maxReceive bounds an answer. The largest that is asked for are two lists of
	// a thousand candidates with their texts; the library's own bound is 4 MiB.
	maxReceive = 64 << 20
	// A search that the server does not answer at once fails soon; a run waits for
	// a server that restarts.
	readPatience              = 2 * time.Second
	readAttempt, writeAttempt = 10 * time.Second, time.Minute
	firstDelay, lastDelay     = 50 * time.Millisecond, 2 * time.Second
	// The oldest supported server: conditional writes came with 1.16.
	oldestMajor, oldestMinor = 1, 16
)

// remote is the server as the store talks to it: every request has a deadline,
// and what fails for a moment is tried again as long as patience lasts. All
// requests may be repeated: writes are of points with fixed ids, or conditional.
type remote struct {
	*qdrant.Client
	session           *session
	address           string
	patience, attempt time.Duration
	runPatience       time.Duration
	// consistency is that of reads; nil means any replica's word.
	consistency *qdrant.ReadConsistency
	// decides says that a single point is read to decide by it, see getOne.
	decides bool
}

// dial prepares the connections; the server is not asked yet.
func dial(o Options) (remote, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return remote{}, fmt.Errorf("the address of the Qdrant server must be http://host:%d or https://host:%d (got %q)", defaultPort, defaultPort, o.URL)
	}
	port := defaultPort
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return remote{}, fmt.Errorf("the port of the Qdrant server must be 1 to 65535 (got %q)", u.Port())
		}
	}
	secure := u.Scheme == "https"
	if o.APIKey != "" && !secure && !private(u.Hostname()) {
		o.Logger.Error(
			"THE API KEY OF THE QDRANT SERVER IS SENT UNENCRYPTED over a public network: use an https address",
			slog.String("url", u.Redacted()))
	}
	config := &qdrant.Config{
		Host: u.Hostname(), Port: port, UseTLS: secure, TLSConfig: o.TLS,
		SkipCompatibilityCheck: true, // the version is asked for in prepare
		GrpcOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceive)),
			grpc.WithChainUnaryInterceptor(withKey(o.APIKey)),
			// A server that is up again is found by the next search: the library would
			// come to leave it alone for two minutes.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: firstDelay, Multiplier: backoff.DefaultConfig.Multiplier, Jitter: backoff.DefaultConfig.Jitter, MaxDelay: readPatience / 2},
				MinConnectTimeout: readAttempt,
			}),
		},
	}
	if secure && config.TLSConfig == nil {
		config.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	client, err := qdrant.NewClient(config)
	if err != nil {
		return remote{}, fmt.Errorf("prepare the connection to %s: %w", u.Redacted(), err)
	}
	return remote{
		Client: client, session: newSession(), address: net.JoinHostPort(u.Hostname(), strconv.Itoa(port)),
		patience: readPatience, attempt: readAttempt, runPatience: o.Patience, consistency: o.ReadConsistency.value(),
	}, nil
}

// value is the consistency as requests carry it.
func (c ReadConsistency) value() *qdrant.ReadConsistency {
	switch c {
	case QuorumReplicas:
		return qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Quorum)
	case MajorityReplicas:
		return qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_Majority)
	case AllReplicas:
		return qdrant.NewReadConsistencyType(qdrant.ReadConsistencyType_All)
	default:
		return nil
	}
}

// withKey sends the key with every request. The library's own way logs a warning
// for each connection that is not encrypted, also within one machine.
func withKey(key string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "api-key", key)
		}
		return invoke(ctx, method, request, reply, cc, opts...)
	}
}

// private reports whether an address stays on the machine or the local network.
// A name without a dot is one of a container network.
func private(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".local", ".internal", ".localhost", ".svc"}, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}

// patient is the server as runs talk to it: what they compare and set is read
// from more than half of the replicas. Searches go on with a single one.
func (r remote) patient() remote {
	r.patience, r.attempt, r.decides = r.runPatience, writeAttempt, true
	return r
}

// call makes one request, again where that may help.
func call[T any](ctx context.Context, r remote, what string, request func(ctx context.Context) (T, error)) (T, error) {
	var none T
	delay := firstDelay
	for start := time.Now(); ; {
		answer, err := try(ctx, r, request)
		if err == nil {
			return answer, nil
		}
		if errors.Is(err, errClosed) {
			return none, fmt.Errorf("%s on %s: %w", what, r.address, err)
		}
		if ctx.Err() != nil {
			return none, r.gaveUp(ctx, what, err)
		}
		again, wait := transient(err)
		wait = max(wait, delay/2+rand.N(delay)) //nolint:gosec // spreads requests
		if !again || time.Since(start)+wait > r.patience {
			return none, r.explain(what, err)
		}
		delay = min(2*delay, lastDelay)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return none, r.gaveUp(ctx, what, err)
		case <-timer.C:
		}
	}
}

var errClosed = errors.New("the store has been closed")

// session is the time in which the connections may be used: the library's client
// panics after that.
type session struct {
	using  sync.RWMutex
	closed bool
	ctx    context.Context //nolint:containedctx // of all requests
	end    context.CancelFunc
}

func newSession() *session {
	s := new(session)
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// try makes one request, which ends with the session.
func try[T any](ctx context.Context, r remote, request func(ctx context.Context) (T, error)) (T, error) {
	r.session.using.RLock()
	defer r.session.using.RUnlock()
	if r.session.closed {
		var none T
		return none, errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, r.attempt)
	defer cancel()
	defer context.AfterFunc(r.session.ctx, cancel)() //nolint:contextcheck // a request ends with either
	return request(ctx)
}

// Close ends the requests under way, and the connections.
func (r remote) Close() error {
	r.session.end()
	r.session.using.Lock()
	defer r.session.using.Unlock()
	if r.session.closed {
		return nil
	}
	r.session.closed = true
	return r.Client.Close()
}

// gaveUp says that a request was ended before it had an answer.
func (r remote) gaveUp(ctx context.Context, what string, err error) error {
	return fmt.Errorf("%s on %s: %w: %w", what, r.address, whyEnded(ctx), err)
}

// whyEnded is why a context has ended that waited for the server.
func whyEnded(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%w in time: %w", ErrUnreachable, cause)
	}
	return cause
}

// transient reports whether a request may succeed when it is made again, and how
// long the server wants to be left alone before.
func transient(err error) (again bool, after time.Duration) {
	if limited, ok := errors.AsType[*qdrant.QdrantResourceExhaustedError](err); ok {
		return true, time.Duration(limited.RetryAfterS) * time.Second
	}
	switch status.Code(err) {
	// What the server itself ends at the deadline arrives as Unknown, without a reason.
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unknown, codes.Aborted, codes.Internal:
		return true, 0
	default:
		return false, 0
	}
}

// refused reports whether a smaller request may be accepted.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.OutOfRange, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

func notFound(err error) bool { return status.Code(err) == codes.NotFound }

// explain says what to do about an error.
func (r remote) explain(what string, err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unknown:
		hint := ""
		if strings.HasSuffix(r.address, ":"+strconv.Itoa(restPort)) {
			hint = fmt.Sprintf(" (%d is the port of its HTTP interface; docseek speaks gRPC, by default on port %d)", restPort, defaultPort)
		}
		return fmt.Errorf("%s on %s: %w%s: %w", what, r.address, ErrUnreachable, hint, err)
	case codes.Internal:
		if strings.Contains(err.Error(), "No space left on device") {
			return fmt.Errorf("%s on %s: the server's disk is full: make room there and run it again: %w", what, r.address, err)
		}
		return fmt.Errorf("%s on %s: the server could not do it; if it is a cluster, see whether all of its nodes are up: %w", what, r.address, err)
	case codes.NotFound:
		return fmt.Errorf("%s on %s: a collection of the index has gone; the next docseek reindex makes it anew: %w", what, r.address, err)
	case codes.Unauthenticated, codes.PermissionDenied:
		return fmt.Errorf("%s on %s: the server does not accept the API key, or not for this: check store.api_key: %w", what, r.address, err)
	default:
		return fmt.Errorf("%s on %s: %w", what, r.address, err)
	}
}

// checkVersion makes sure that the server knows conditional writes: an older one
// would ignore the condition without a word.
func (r remote) checkVersion(ctx context.Context) error {
	answer, err := call(ctx, r, "ask for the version", r.HealthCheck)
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(answer.GetVersion(), "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("read the version %.40q of the server %s: %w", answer.GetVersion(), r.address, err)
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fmt.Errorf("the server %s is Qdrant %s: %d.%d or newer is needed", r.address, answer.GetVersion(), oldestMajor, oldestMinor)
	}
	return nil
}

// strong writes are made by one node of a cluster, one after the other, whichever
// node they are sent to. While that one is down there are none.
func strong() *qdrant.WriteOrdering {
	return &qdrant.WriteOrdering{Type: qdrant.WriteOrderingType_Strong}
}

// getPoints reads points by id, in no order; those that do not exist are left out.
func (r remote) getPoints(ctx context.Context, collection string, ids []*qdrant.PointId) ([]*qdrant.RetrievedPoint, error) {
	return call(ctx, r, "read "+collection, func(ctx context.Context) ([]*qdrant.RetrievedPoint, error) {
		return r.Get(ctx, &qdrant.GetPoints{
			CollectionName: collection, Ids: ids, WithPayload: qdrant.NewWithPayload(true), ReadConsistency: r.consistency,
		})
	})
}

// getOne reads the payload of a point, nil if there is none. To decide by it, more
// than half of the replicas are read, so that one of them has the last strong
// write. A point that they do not agree on, as while it is written, is left out of
// the answer: then they are asked again.
func (r remote) getOne(ctx context.Context, collection string, id *qdrant.PointId) (payload, error) {
	ids := []*qdrant.PointId{id}
	if !r.decides {
		points, err := r.getPoints(ctx, collection, ids)
		if err != nil || len(points) == 0 {
			return nil, err
		}
		return points[0].GetPayload(), nil
	}
	one := r
	r.consistency, one.consistency = QuorumReplicas.value(), nil
	for start := time.Now(); ; {
		points, err := r.getPoints(ctx, collection, ids)
		if err != nil {
			return nil, err
		}
		if len(points) > 0 {
			return points[0].GetPayload(), nil
		}
		if points, err = one.getPoints(ctx, collection, ids); err != nil || len(points) == 0 {
			return nil, err
		}
		if time.Since(start) > r.patience {
			return nil, fmt.Errorf("read %s on %s: its replicas do not agree: see whether all nodes of the cluster are well: %w", collection, r.address, ErrUnreachable)
		}
		if err := pause(ctx, firstDelay/2+rand.N(firstDelay)); err != nil { //nolint:gosec // spreads requests
			return nil, err
		}
	}
}

// scroll describes points to be read: those that meet all conditions.
type scroll struct {
	collection string
	must       []*qdrant.Condition
	payload    []string // what to read of it; nil for all
	vectors    []string
	page       uint32 // points per request
}

// each yields the points in no order.
func (r remote) each(ctx context.Context, s scroll, yield func(*qdrant.RetrievedPoint) error) error {
	payload := qdrant.NewWithPayload(true)
	if s.payload != nil {
		payload = qdrant.NewWithPayloadInclude(s.payload...)
	}
	var vectors *qdrant.WithVectorsSelector
	if s.vectors != nil {
		vectors = qdrant.NewWithVectorsInclude(s.vectors...)
	}
	type answer struct {
		points []*qdrant.RetrievedPoint
		next   *qdrant.PointId
	}
	var offset *qdrant.PointId
	for {
		got, err := call(ctx, r, "read "+s.collection, func(ctx context.Context) (answer, error) {
			points, next, err := r.ScrollAndOffset(ctx, &qdrant.ScrollPoints{
				CollectionName: s.collection, Filter: &qdrant.Filter{Must: s.must}, Offset: offset, Limit: &s.page,
				WithPayload: payload, WithVectors: vectors, ReadConsistency: r.consistency,
			})
			return answer{points, next}, err
		})
		if err != nil {
			return err
		}
		for _, p := range got.points {
			if err := yield(p); err != nil {
				return err
			}
		}
		if got.next == nil {
			return nil
		}
		offset = got.next
	}
}

func (r remote) count(ctx context.Context, collection string, must []*qdrant.Condition) (int, error) {
	exact := true
	n, err := call(ctx, r, "count in "+collection, func(ctx context.Context) (uint64, error) {
		return r.Count(ctx, &qdrant.CountPoints{
			CollectionName: collection, Filter: &qdrant.Filter{Must: must}, Exact: &exact, ReadConsistency: r.consistency,
		})
	})
	return int(n), err
}

// values lists the distinct values of an indexed field, sorted.
func (r remote) values(ctx context.Context, collection, field string, must []*qdrant.Condition) ([]string, error) {
	exact, limit := true, uint64(maxLimit)
	hits, err := call(ctx, r, "list the values in "+collection, func(ctx context.Context) ([]*qdrant.FacetHit, error) {
		return r.Facet(ctx, &qdrant.FacetCounts{
			CollectionName: collection, Key: field, Filter: &qdrant.Filter{Must: must}, Exact: &exact, Limit: &limit,
			ReadConsistency: r.consistency,
		})
	})
	list := make([]string, len(hits))
	for i, h := range hits {
		list[i] = h.GetValue().GetStringValue()
	}
	slices.Sort(list)
	return list, err
}

// setPayload changes fields of the points that meet all conditions. A collection
// that does not exist has none.
func (r remote) setPayload(ctx context.Context, collection string, fields map[string]*qdrant.Value, must []*qdrant.Condition) error {
	wait := true
	_, err := call(ctx, r, "mark points of "+collection, func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return r.SetPayload(ctx, &qdrant.SetPayloadPoints{
			CollectionName: collection, Wait: &wait, Payload: fields,
			PointsSelector: qdrant.NewPointsSelectorFilter(&qdrant.Filter{Must: must}),
		})
	})
	if notFound(err) {
		return nil
	}
	return err
}

// remove deletes the points that meet all conditions. It takes no fewer than two
// of them, so that a mistake cannot empty a collection. A collection that does
// not exist has none.
func (r remote) remove(ctx context.Context, collection string, first, second *qdrant.Condition, more ...*qdrant.Condition) error {
	wait := true
	_, err := call(ctx, r, "delete from "+collection, func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return r.Delete(ctx, &qdrant.DeletePoints{
			CollectionName: collection, Wait: &wait,
			Points: qdrant.NewPointsSelectorFilter(&qdrant.Filter{Must: append([]*qdrant.Condition{first, second}, more...)}),
		})
	})
	if notFound(err) {
		return nil
	}
	return err
}

// upsert writes a few points, those that exist already only if they meet all conditions.
func (r remote) upsert(ctx context.Context, collection string, points []*qdrant.PointStruct, unless ...*qdrant.Condition) error {
	wait := true
	var update *qdrant.Filter
	if len(unless) > 0 {
		update = &qdrant.Filter{Must: unless}
	}
	_, err := call(ctx, r, "write "+collection, func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return r.Upsert(ctx, &qdrant.UpsertPoints{
			CollectionName: collection, Wait: &wait, Points: points, Ordering: strong(), UpdateFilter: update,
		})
	})
	return err
}
