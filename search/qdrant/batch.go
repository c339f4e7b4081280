package qdrant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"
)

const (
	// batchPoints and batchBytes bound one request, well below the 32 MiB that
	// servers and proxies in front of them accept.
	batchPoints = 512
	batchBytes  = 8 << 20
	// batchPages bounds the pages that one request names.
	batchPages = 256
	// maxPointBytes bounds a point: no request could carry a larger one.
	maxPointBytes = 24 << 20
)

// item is a page as it is buffered. One without a record is a removed page.
type item struct {
	url             string
	embedded, plain []*qdrant.PointStruct
	record          *qdrant.PointStruct
	terms           [][]uint32
	bytes           int
}

// batch buffers pages until a request is worth it. A page that comes again
// replaces itself.
type batch struct {
	items         []item
	points, bytes int
}

func (b *batch) put(it item) {
	if i := slices.IndexFunc(b.items, func(o item) bool { return o.url == it.url }); i >= 0 {
		b.points -= b.items[i].points()
		b.bytes -= b.items[i].bytes
		b.items = slices.Delete(b.items, i, i+1)
	}
	b.items = append(b.items, it)
	b.points += it.points()
	b.bytes += it.bytes
}

func (it item) points() int { return len(it.embedded) + len(it.plain) }

func (b *batch) full() bool {
	return b.points >= batchPoints || b.bytes >= batchBytes || len(b.items) >= batchPages
}

func (b *batch) take() []item {
	items := b.items
	*b = batch{}
	return items
}

// pointSize is what a point takes in a request.
func pointSize(p *qdrant.PointStruct) (int, error) {
	size := proto.Size(p)
	if size > maxPointBytes {
		return size, fmt.Errorf("it takes %d bytes, more than the %d that a server accepts", size, maxPointBytes)
	}
	return size, nil
}

var errUTF8 = errors.New("its text is not valid UTF-8")

func checkUTF8(parts ...string) error {
	if slices.ContainsFunc(parts, func(s string) bool { return !utf8.ValidString(s) }) {
		return errUTF8
	}
	return nil
}

// send writes points in as many requests as their sizes need. alive is asked
// before each.
func (r remote) send(ctx context.Context, collection string, points []*qdrant.PointStruct, alive func() error) error {
	for len(points) > 0 {
		n, bytes := 0, 0
		for n < len(points) && n < batchPoints {
			size := proto.Size(points[n])
			if n > 0 && bytes+size > batchBytes {
				break
			}
			bytes += size
			n++
		}
		if err := r.sendOne(ctx, collection, points[:n], alive); err != nil {
			return err
		}
		points = points[n:]
	}
	return nil
}

// sendOne writes points with one request, or with smaller ones when the server
// refuses it.
func (r remote) sendOne(ctx context.Context, collection string, points []*qdrant.PointStruct, alive func() error) error {
	if err := alive(); err != nil {
		return err
	}
	wait := true
	_, err := call(ctx, r, "write "+collection, func(ctx context.Context) (*qdrant.UpdateResult, error) {
		return r.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: collection, Wait: &wait, Points: points})
	})
	switch {
	case err == nil || !refused(err):
		return err
	case len(points) == 1:
		p := points[0].GetPayload()
		return fmt.Errorf("write chunk %s of %s (%d bytes): %w", p["id"].GetStringValue(), p[fieldURL].GetStringValue(), proto.Size(points[0]), err)
	}
	half := len(points) / 2
	if err := r.sendOne(ctx, collection, points[:half], alive); err != nil {
		return err
	}
	return r.sendOne(ctx, collection, points[half:], alive)
}
