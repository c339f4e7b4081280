package embed

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Bounds of a DiskCache.
const (
	// DefaultCacheBytes is room for about 330,000 vectors of 384 dimensions.
	DefaultCacheBytes = 512 << 20
	// MinCacheBytes is the least bound on a cache's size.
	MinCacheBytes = 1 << 20
	// segmentsPerCache is into how many files the bound is divided: one of them
	// is forgotten at a time.
	segmentsPerCache = 16
	segmentSuffix    = ".vectors"
	useSuffix        = ".used"
	spaceLength      = 16
	// lockPatience is how long another process may keep the cache from being
	// written; lockRetry how often it is asked for.
	lockPatience = 10 * time.Second
	lockRetry    = 5 * time.Millisecond
	scanBuffer   = 256 << 10
)

// DiskCache is a Cache in a directory of its own. Records are appended to
// numbered segment files, each of one fingerprint; when the cache is full, the
// oldest segment goes, and [DiskCache.Keep] removes those of fingerprints that are
// out of use.
// Several processes may use one directory: those that write take turns, those
// that read need not. Every record carries a checksum, and what a crash leaves of
// a half-written one is cut off by the next that opens or writes. Records are not
// forced to the disk: a power failure may cost the newest.
type DiskCache struct {
	dir          string
	root         *os.Root
	maxBytes     int64
	segmentBytes int64

	mu     sync.Mutex
	lock   *flock.Flock
	index  map[cacheKey]place
	known  map[segment]int64      // up to where a segment is in the index
	newest uint64                 // number ever seen
	used   map[space]*flock.Flock // shared locks on what this cache has got or put
	buf    []byte
}

var _ Cache = (*DiskCache)(nil)

// space names a fingerprint in the names of files: the start of its SHA-256, in hex.
type space string

func spaceOf(fingerprint string) space { return space(TextHash(fingerprint)[:spaceLength]) }

func (of space) valid() bool {
	return len(of) == spaceLength && strings.Trim(string(of), "0123456789abcdef") == ""
}

// segment is a file of records of one fingerprint. Numbers are given out once.
type segment struct {
	number uint64
	space  space
}

func (s segment) name() string { return fmt.Sprintf("%08d-%s%s", s.number, s.space, segmentSuffix) }

// segmentNamed is the segment that a file's name says.
func segmentNamed(name string) (s segment, ok bool) {
	stem, isSegment := strings.CutSuffix(name, segmentSuffix)
	number, of, _ := strings.Cut(stem, "-")
	n, err := strconv.ParseUint(number, 10, 63)
	s = segment{n, space(of)}
	return s, isSegment && err == nil && s.space.valid() && s.name() == name
}

// place is where a record stands.
type place struct {
	segment segment
	offset  int64
	size    int64
}

// OpenDiskCache opens the cache in dir, which is made if it is missing. The
// cache is kept within maxBytes; 0 means DefaultCacheBytes.
func OpenDiskCache(ctx context.Context, dir string, maxBytes int64) (*DiskCache, error) {
	if maxBytes == 0 {
		maxBytes = DefaultCacheBytes
	}
	if maxBytes < MinCacheBytes {
		return nil, fmt.Errorf("open the vector cache %s: a bound of %d bytes is below the least, %d", dir, maxBytes, MinCacheBytes)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the vector cache: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the vector cache: %w", err)
	}
	c := &DiskCache{
		dir: dir, root: root, maxBytes: maxBytes, segmentBytes: maxBytes / segmentsPerCache,
		lock:  flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600)),
		index: map[cacheKey]place{},
		known: map[segment]int64{},
		used:  map[space]*flock.Flock{},
	}
	if err := c.exclusively(ctx, func() error { return c.prune(0) }); err != nil {
		return nil, errors.Join(fmt.Errorf("open the vector cache %s: %w", dir, err), c.Close())
	}
	return c, nil
}

// Close lets the directory go. What was put is in the files already.
func (c *DiskCache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{c.lock.Close()}
	for _, use := range c.used {
		errs = append(errs, use.Close())
	}
	return errors.Join(append(errs, c.root.Close())...)
}

// Get returns the vectors that the cache has, with what other processes have put
// meanwhile.
func (c *DiskCache) Get(ctx context.Context, fingerprint string, hashes []string) (map[string][]float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if of := spaceOf(fingerprint); c.used[of] == nil {
		err = c.exclusively(ctx, func() error { return c.use(of) })
	} else {
		err = c.refresh(false)
	}
	if err != nil {
		return nil, fmt.Errorf("read the vector cache %s: %w", c.dir, err)
	}
	bySegment := map[segment]map[string]cacheKey{}
	for _, hash := range hashes {
		key, err := keyOf(fingerprint, hash)
		if err != nil {
			return nil, fmt.Errorf("read the vector cache %s: %w", c.dir, err)
		}
		if at, ok := c.index[key]; ok {
			if bySegment[at.segment] == nil {
				bySegment[at.segment] = map[string]cacheKey{}
			}
			bySegment[at.segment][hash] = key
		}
	}
	vectors := map[string][]float32{}
	for segment, keys := range bySegment {
		if ctx.Err() != nil {
			return vectors, context.Cause(ctx)
		}
		c.read(segment, keys, vectors)
	}
	return vectors, nil
}

// read adds the vectors of one segment. What cannot be read is forgotten: it may
// have been pruned by another process, or damaged.
func (c *DiskCache) read(segment segment, keys map[string]cacheKey, vectors map[string][]float32) {
	file, err := c.root.Open(segment.name())
	if err != nil {
		c.forget(segment)
		return
	}
	defer func() { _ = file.Close() }()
	for hash, key := range keys {
		at := c.index[key]
		var r record
		r, c.buf, err = readRecord(io.NewSectionReader(file, at.offset, at.size), c.buf)
		if err != nil || r.key != key {
			delete(c.index, key)
			continue
		}
		vectors[hash] = r.vector()
	}
}

// Put appends the vectors that the cache does not have yet.
func (c *DiskCache) Put(ctx context.Context, fingerprint string, vectors map[string][]float32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := spaceOf(fingerprint)
	err := c.exclusively(ctx, func() error {
		if err := c.use(of); err != nil {
			return err
		}
		var batch []byte
		for _, hash := range slices.Sorted(maps.Keys(vectors)) {
			key, err := keyOf(fingerprint, hash)
			if err != nil {
				return err
			}
			vector := vectors[hash]
			if len(vector) == 0 || len(vector) > maxCachedDimension {
				return fmt.Errorf("a vector of %d dimensions", len(vector))
			}
			if _, ok := c.index[key]; ok {
				continue
			}
			if len(batch) > 0 && int64(len(batch))+recordSize(len(vector)) > c.segmentBytes {
				if err := c.write(of, batch); err != nil {
					return err
				}
				batch = batch[:0]
			}
			batch = appendRecord(batch, key, vector)
		}
		return c.write(of, batch)
	})
	if err != nil {
		return fmt.Errorf("write the vector cache %s: %w", c.dir, err)
	}
	return nil
}

// use marks a fingerprint as in use by this process. The caller holds the lock.
func (c *DiskCache) use(of space) error {
	if c.used[of] != nil {
		return nil
	}
	use := c.useOf(of)
	if _, err := use.TryRLock(); err != nil {
		return errors.Join(err, use.Close())
	}
	c.used[of] = use
	return nil
}

func (c *DiskCache) useOf(of space) *flock.Flock {
	return flock.New(filepath.Join(c.dir, string(of)+useSuffix), flock.SetPermissions(0o600))
}

// Keep removes the vectors of every fingerprint that is none of these, unless
// another process that has the cache open has asked for some or put some.
func (c *DiskCache) Keep(ctx context.Context, fingerprints ...string) error {
	kept := map[space]bool{}
	for _, fingerprint := range fingerprints {
		kept[spaceOf(fingerprint)] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.exclusively(ctx, func() error {
		others := map[space][]segment{}
		marks, err := fs.Glob(c.root.FS(), "*"+useSuffix)
		if err != nil {
			return err
		}
		for _, mark := range marks {
			if of := space(strings.TrimSuffix(mark, useSuffix)); of.valid() && !kept[of] {
				others[of] = nil
			}
		}
		for s := range c.known {
			if !kept[s.space] {
				others[s.space] = append(others[s.space], s)
			}
		}
		for of, segments := range others {
			if err := c.discard(of, segments); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("prune the vector cache %s: %w", c.dir, err)
	}
	return nil
}

// discard removes a fingerprint's segments unless another process uses it. The
// caller holds the lock.
func (c *DiskCache) discard(of space, segments []segment) error {
	if own := c.used[of]; own != nil {
		delete(c.used, of)
		if err := own.Close(); err != nil {
			return err
		}
	}
	use := c.useOf(of)
	alone, err := use.TryLock()
	if err := errors.Join(err, use.Close()); err != nil || !alone {
		return err
	}
	if err := c.root.Remove(string(of) + useSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, s := range segments {
		if err := c.remove(s); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a segment. The caller holds the lock.
func (c *DiskCache) remove(s segment) error {
	if err := c.root.Remove(s.name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.forget(s)
	return nil
}

// write appends whole records of one fingerprint, to its newest segment as long as
// they fit. The caller holds the lock.
func (c *DiskCache) write(of space, records []byte) error {
	if len(records) == 0 {
		return nil
	}
	size := int64(len(records))
	if err := c.prune(size); err != nil {
		return err
	}
	to := segment{space: of}
	for s := range c.known {
		if s.space == of && s.number > to.number {
			to = s
		}
	}
	start, ok := c.known[to]
	if !ok || start+size > c.segmentBytes {
		// Also a directory that was emptied gets no number again: another process
		// may still know the segment that had it.
		to.number, start = max(c.newest+1, uint64(time.Now().UnixNano())), 0
	}
	file, err := c.root.OpenFile(to.name(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(records, start); err != nil {
		return errors.Join(err, file.Truncate(start), file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	return c.scan(to, start+size, true)
}

// prune removes the oldest segments until there is room for more bytes.
func (c *DiskCache) prune(more int64) error {
	total := more
	for _, size := range c.known {
		total += size
	}
	oldest := slices.SortedFunc(maps.Keys(c.known), func(a, b segment) int { return cmp.Compare(a.number, b.number) })
	for _, s := range oldest {
		if total <= c.maxBytes {
			return nil
		}
		total -= c.known[s]
		if err := c.remove(s); err != nil {
			return err
		}
	}
	return nil
}

// exclusively runs f while no other process writes, with the index up to date
// and torn ends cut off.
func (c *DiskCache) exclusively(ctx context.Context, f func() error) error {
	waiting, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	if _, err := c.lock.TryLockContext(waiting, lockRetry); err != nil {
		return fmt.Errorf("wait for the process that writes it: %w", err)
	}
	if err := c.refresh(true); err != nil {
		return errors.Join(err, c.lock.Unlock())
	}
	return errors.Join(f(), c.lock.Unlock())
}

// refresh brings the index up to what the directory holds. With repair, which
// needs the lock, what follows the last whole record of a segment is cut off.
func (c *DiskCache) refresh(repair bool) error {
	entries, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return err
	}
	present := map[segment]bool{}
	for _, entry := range entries {
		segment, ok := segmentNamed(entry.Name())
		if !ok {
			continue
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		present[segment] = true
		if err := c.scan(segment, info.Size(), repair); err != nil {
			return err
		}
	}
	for segment := range c.known {
		if !present[segment] {
			c.forget(segment)
		}
	}
	return nil
}

// scan indexes what a segment of the given size holds beyond what is known of it.
func (c *DiskCache) scan(segment segment, size int64, repair bool) error {
	if size < c.known[segment] {
		c.forget(segment)
	}
	at, seen := c.known[segment]
	if seen && at == size {
		return nil
	}
	mode := os.O_RDONLY
	if repair {
		mode = os.O_RDWR
	}
	file, err := c.root.OpenFile(segment.name(), mode, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	reader := bufio.NewReaderSize(io.NewSectionReader(file, at, size-at), int(min(size-at, scanBuffer)))
	for {
		var r record
		r, c.buf, err = readRecord(reader, c.buf)
		if err != nil {
			break
		}
		length := recordSize(len(r.bytes) / 4)
		c.index[r.key] = place{segment: segment, offset: at, size: length}
		at += length
	}
	c.known[segment] = at
	c.newest = max(c.newest, segment.number)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case !errors.Is(err, errTorn):
		return err
	case repair:
		return file.Truncate(at)
	default:
		return nil
	}
}

// forget drops a segment from the index.
func (c *DiskCache) forget(segment segment) {
	maps.DeleteFunc(c.index, func(_ cacheKey, at place) bool { return at.segment == segment })
	delete(c.known, segment)
}
