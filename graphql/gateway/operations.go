package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/graphql/schemasearch"
)

// snapshot is one state of an endpoint: schema, field index, operations and
// documents that belong together. It does not change.
type snapshot struct {
	schema *graphql.Snapshot[*schemasearch.Index] // nil where none could be had
	set    operations.Set
	inputs [sha256.Size]byte // digest of the files that set is of
	// withheld says that a strict reload refused the operations and there were
	// none before: the schema is used without them.
	withheld bool
}

func (s *snapshot) schemaOf() *graphql.Snapshot[*schemasearch.Index] {
	if s == nil {
		return nil
	}
	return s.schema
}

// report is how the last look at an endpoint's files went.
type report struct {
	// set is what they hold, whether or not it was taken.
	set operations.Set
	// faults are what was found broken, which may be the name of another
	// endpoint's operation.
	faults []operations.Fault
	// refusal is why they were not taken; nil if they were.
	refusal error
}

// OperationsInfo says how the operations of an endpoint do.
type OperationsInfo struct {
	// Published are tools, Withheld are not, for the reasons that they have.
	Published, Withheld int
	// Faults say what is broken in the files as they are now.
	Faults []operations.Fault
	// Refusal is why the files as they are now are not used, and those before
	// them are; nil if they are used.
	Refusal error
}

func (g *Gateway) operationsInfo(e *endpoint) *OperationsInfo {
	now := e.report.Load()
	info := &OperationsInfo{Faults: slices.Concat(now.set.Faults, g.clashes(e, now.set)), Refusal: now.refusal}
	for _, p := range g.published.Load().all {
		if p.endpoint == e {
			info.Published++
		}
	}
	if s := e.current.Load(); s != nil {
		info.Withheld = len(s.set.Operations) - info.Published
	}
	return info
}

// Inventory is what is known of an endpoint's operations and what they are held to.
type Inventory struct {
	Endpoint string
	// Set is what the files hold as they are now.
	Set operations.Set
	// Clashes are names that other endpoints' operations have too.
	Clashes []operations.Fault
	// Schema is nil where none could be had.
	Schema *graphql.Schema
	// Refusal is why the files are not used; nil if they are.
	Refusal error
}

// Inventories are those of the endpoints, in the order of their configuration.
func (g *Gateway) Inventories() []Inventory {
	all := make([]Inventory, 0, len(g.endpoints))
	for _, e := range g.endpoints {
		now := e.report.Load()
		i := Inventory{Endpoint: e.Name, Set: now.set, Clashes: g.clashes(e, now.set), Refusal: now.refusal}
		if s := e.schema.Snapshot(); s != nil {
			i.Schema = s.Schema
		}
		all = append(all, i)
	}
	return all
}

// catalogue is what is published of all endpoints. It does not change.
type catalogue struct {
	all    []published // sorted by name
	byName map[string]published
}

// published is an operation, with the endpoint whose snapshot it is of.
type published struct {
	*operations.Operation
	endpoint *endpoint
}

// OnChange lets f be called whenever other tools are published, or the same with
// another description or schema. It has to be called before the gateway runs.
func (g *Gateway) OnChange(f func()) { g.changed = f }

// Operations are those that are published now, sorted by name.
func (g *Gateway) Operations() []*operations.Operation {
	all := g.published.Load().all
	list := make([]*operations.Operation, len(all))
	for i, p := range all {
		list[i] = p.Operation
	}
	return list
}

// Settle waits until the operations of all endpoints have been loaded once, but
// no longer than the gateway's patience.
func (g *Gateway) Settle(ctx context.Context) error {
	for _, e := range g.endpoints {
		if len(e.Operations) > 0 {
			if err := e.settle(ctx, g.options.Patience); err != nil {
				return err
			}
		}
	}
	return nil
}

// Refresh looks whether files have changed, those of operations and of schemas,
// and loads what has. What cannot be loaded stays as it was. Endpoints that are
// loaded for the first time just now are left to that.
func (g *Gateway) Refresh(ctx context.Context) error {
	return g.each(func(e *endpoint) error {
		select {
		case <-e.tried:
		default:
			return nil
		}
		if e.schemaFileChanged() {
			return e.reload(ctx)
		}
		return g.update(ctx, e)
	})
}

// Folders are where files can appear or change that the endpoints are loaded from.
func (g *Gateway) Folders() []string {
	var all []string
	for _, e := range g.endpoints {
		if e.SchemaFile != "" {
			all = append(all, filepath.Dir(e.SchemaFile))
		}
		_, folders, err := expand(e.Operations)
		if err == nil {
			all = append(all, folders...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// schemaFileChanged reports whether the schema's file is another than the one
// that was looked at last.
func (e *endpoint) schemaFileChanged() bool {
	if e.SchemaFile == "" {
		return false
	}
	now, err := os.Stat(e.SchemaFile)
	if err != nil {
		return false // the poll says what is wrong with it
	}
	before := e.schemaFile.Swap(&now)
	return before != nil && (!os.SameFile(*before, now) || !(*before).ModTime().Equal(now.ModTime()) || (*before).Size() != now.Size())
}

// maxAgain bounds how often files are read again because they changed while
// they were loaded.
const maxAgain = 5

// update makes the next snapshot of an endpoint from the schema as it is loaded
// and the files as they are now, and swaps it in. Where the files changed
// meanwhile, it begins again: the newest input wins.
func (g *Gateway) update(ctx context.Context, e *endpoint) error {
	g.updating.Lock()
	defer g.updating.Unlock()
	before := e.current.Load()
	schema := e.schema.Snapshot()
	in, err := g.read(e)
	if err == nil && before != nil && !before.withheld {
		err = in.broken // without its lock, what was tested would be taken away
	}
	if err != nil {
		return g.refuse(ctx, e, schema, *e.report.Load(), err)
	}
	last := e.report.Load()
	if before != nil && !before.withheld && before.schema == schema && before.inputs == in.digest {
		if last.refusal != nil { // it was about what is no more
			e.report.Store(&report{set: before.set, faults: last.faults})
		}
		return nil
	}
	var set operations.Set
	for range maxAgain {
		set = g.load(e, schema, in)
		again, err := g.read(e)
		if err != nil || again.broken != nil || again.digest == in.digest {
			break
		}
		in = again
	}
	now := report{set: set, faults: slices.Concat(set.Faults, g.clashes(e, set))}
	g.logFaults(ctx, e, last, now)
	// Without a schema much cannot be looked at, and is not broken for that.
	if e.Strict && schema != nil && len(now.faults) > 0 {
		return g.refuse(ctx, e, schema, now, fmt.Errorf("the operations of %s are not reloaded (strict): %d broken, the first is %s",
			e.Name, len(now.faults), now.faults[0]))
	}
	e.report.Store(&now)
	g.swap(ctx, e, &snapshot{schema: schema, set: set, inputs: in.digest})
	return nil
}

// refuse leaves an endpoint as it is. Where there never were operations, the
// schema is used without any.
func (g *Gateway) refuse(ctx context.Context, e *endpoint, schema *graphql.Snapshot[*schemasearch.Index], now report, err error) error {
	if last := e.report.Load().refusal; last == nil || last.Error() != err.Error() {
		g.options.Log.LogAttrs(ctx, slog.LevelError, "operations not reloaded",
			slog.String("endpoint", e.Name), slog.Any("error", err), slog.Bool("previous_stay", e.current.Load() != nil))
	}
	now.refusal = err
	e.report.Store(&now)
	if before := e.current.Load(); before == nil || before.withheld {
		g.swap(ctx, e, &snapshot{schema: schema, withheld: true})
	}
	return err
}

// logFaults says what is broken, where it was not said before.
func (g *Gateway) logFaults(ctx context.Context, e *endpoint, last *report, now report) {
	for _, f := range now.faults {
		if !slices.Contains(last.faults, f) {
			g.options.Log.LogAttrs(ctx, slog.LevelError, "operation is broken",
				slog.String("endpoint", e.Name), slog.String("place", f.Place.String()),
				slog.String("operation", f.Operation), slog.String("fault", f.Message))
		}
	}
	for _, f := range now.set.Warnings {
		if !slices.Contains(last.set.Warnings, f) {
			g.options.Log.LogAttrs(ctx, slog.LevelWarn, "operation is worth a look",
				slog.String("endpoint", e.Name), slog.String("place", f.Place.String()),
				slog.String("operation", f.Operation), slog.String("warning", f.Message))
		}
	}
}

// swap makes a snapshot the present one, and publishes what it holds.
func (g *Gateway) swap(ctx context.Context, e *endpoint, next *snapshot) {
	e.current.Store(next)
	before, now := g.published.Load(), g.collect()
	g.published.Store(now)
	if slices.EqualFunc(before.all, now.all, sameTool) {
		return
	}
	g.options.Log.LogAttrs(ctx, slog.LevelInfo, "operations published",
		slog.String("endpoint", e.Name), slog.Int("operations", len(now.all)))
	if most := g.options.MaxOperations; most > 0 && len(now.all) > most && len(before.all) <= most {
		g.options.Log.LogAttrs(ctx, slog.LevelWarn, "many operations are published: clients cope badly with long lists of tools; "+
			"publish fewer (narrower globs, exclude: true) and leave the rest to schema search, or raise max_operations",
			slog.Int("operations", len(now.all)), slog.Int("max_operations", most))
	}
	if g.changed != nil {
		g.changed()
	}
}

// sameTool reports whether a client sees the same in two operations.
func sameTool(a, b published) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Type == b.Type && a.endpoint == b.endpoint &&
		bytes.Equal(a.Input, b.Input) && bytes.Equal(a.Output, b.Output)
}

// collect is what the present snapshots publish. A name that two endpoints have
// is none of both's.
func (g *Gateway) collect() *catalogue {
	c := &catalogue{byName: map[string]published{}}
	count := map[string]int{}
	for _, e := range g.endpoints {
		if s := e.current.Load(); s != nil {
			for _, o := range s.set.Published() {
				count[o.Name]++
				c.byName[o.Name] = published{o, e}
			}
		}
	}
	for name, p := range c.byName {
		if count[name] > 1 {
			delete(c.byName, name)
			continue
		}
		c.all = append(c.all, p)
	}
	slices.SortFunc(c.all, func(a, b published) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// clashes are the names that operations of other endpoints have too.
func (g *Gateway) clashes(e *endpoint, set operations.Set) []operations.Fault {
	var faults []operations.Fault
	for _, o := range set.Published() {
		for _, other := range g.endpoints {
			s := other.current.Load()
			if other == e || s == nil {
				continue
			}
			for _, p := range s.set.Published() {
				if p.Name == o.Name {
					faults = append(faults, operations.Fault{Place: o.Place, Operation: o.Name, Message: fmt.Sprintf(
						"the tool's name is also that of an operation of the endpoint %s, at %s: give one of them another name", other.Name, p.Place)})
				}
			}
		}
	}
	return faults
}

// inputs are the files of an endpoint's operations.
type inputs struct {
	files  []operations.File
	lock   operations.Lock
	digest [sha256.Size]byte
	// broken is why a lock cannot be read, which is among files too; nil if all can.
	broken error
}

// read reads the files, and the locks beside them.
func (g *Gateway) read(e *endpoint) (inputs, error) {
	if len(e.Operations) == 0 {
		return inputs{}, nil
	}
	names, folders, err := expand(e.Operations)
	if err != nil {
		return inputs{}, err
	}
	if err := present(names, folders); err != nil {
		return inputs{}, err
	}
	beside := map[string]struct{}{}
	for _, name := range names {
		beside[filepath.Join(filepath.Dir(name), operations.LockName)] = struct{}{}
	}
	locks := sorted(beside)
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Base(name) == operations.LockName })
	all, err := readAll(slices.Concat(names, locks))
	if err != nil {
		return inputs{}, err
	}
	in := inputs{digest: digest(all)}
	for _, f := range all {
		if _, isLock := beside[f.path]; !isLock {
			in.files = append(in.files, operations.File{Path: g.shown(f.path), Text: f.text, Err: f.err})
			continue
		}
		lock, err := operations.Lock{}, f.err
		if err == nil {
			lock, err = operations.ReadLock([]byte(f.text))
		}
		if err != nil {
			in.broken = fmt.Errorf("%s: %w", f.path, err)
			in.files = append(in.files, operations.File{Path: g.shown(f.path), Err: err})
		}
		in.lock = in.lock.Merge(lock)
	}
	return in, nil
}

// shown is how a file is called.
func (g *Gateway) shown(path string) string {
	if short, err := filepath.Rel(g.options.Base, path); g.options.Base != "" && err == nil && filepath.IsLocal(short) {
		return filepath.ToSlash(short)
	}
	return path
}

// load makes operations of the files.
func (g *Gateway) load(e *endpoint, schema *graphql.Snapshot[*schemasearch.Index], in inputs) operations.Set {
	return operations.Load(g.loading(e, schema, in))
}

func (g *Gateway) loading(e *endpoint, schema *graphql.Snapshot[*schemasearch.Index], in inputs) operations.Options {
	o := operations.Options{
		Endpoint: e.Name, URL: e.URL, Files: in.files, Scalars: e.Scalars, Lock: in.lock, RequireTest: e.RequireTest,
		Reserved: g.options.Reserved, AuthProfiles: map[string]string{}, Limits: e.Limits, Strict: e.Strict,
	}
	if schema != nil {
		o.Schema = schema.Schema
	}
	for name, p := range g.options.AuthProfiles {
		o.AuthProfiles[name] = p.Host
	}
	return o
}

// LoadFile loads one operation file by itself, whether or not it was tested, for
// the endpoint of a name, or without one for that whose patterns name the file,
// or the only one. The faults say what is wrong with the file.
func (g *Gateway) LoadFile(endpoint, path string) (*operations.Operation, operations.File, []operations.Fault, error) {
	e, err := g.endpointFor(endpoint, path)
	if err != nil {
		return nil, operations.File{}, nil, err
	}
	text, err := readFile(path)
	if err != nil {
		return nil, operations.File{}, nil, err
	}
	file := operations.File{Path: g.shown(path), Text: string(text)}
	o := g.loading(e, e.schema.Snapshot(), inputs{files: []operations.File{file}})
	o.RequireTest = false
	set := operations.Load(o)
	if len(set.Operations) != 1 || len(set.Faults) > 0 {
		return nil, file, set.Faults, nil
	}
	return set.Operations[0], file, nil, nil
}

func (g *Gateway) endpointFor(name, path string) (*endpoint, error) {
	if name == "" && len(g.endpoints) > 1 {
		for _, e := range g.endpoints {
			if files, _, err := expand(e.Operations); err == nil && slices.Contains(files, path) {
				return e, nil
			}
		}
	}
	return g.find(name, func(*endpoint) bool { return true }, "call operations")
}

// Try runs an operation that [Gateway.LoadFile] loaded.
func (g *Gateway) Try(ctx context.Context, o *operations.Operation, input json.RawMessage) (operations.Result, error) {
	e, err := g.endpointFor(o.Endpoint, "")
	if err != nil {
		return operations.Result{}, err
	}
	return e.runner.Call(ctx, o, input, nil)
}

// OperationCall is one call of an operation that is published.
type OperationCall struct {
	// Name is the tool's name.
	Name string
	// Input are its arguments, a JSON object.
	Input json.RawMessage
	// Header is that of the caller's request; what of it is sent on, the
	// endpoint's configuration says.
	Header http.Header
}

// Call runs an operation that is published: see [operations.Runner.Call].
func (g *Gateway) Call(ctx context.Context, c OperationCall) (operations.Result, error) {
	p, ok := g.published.Load().byName[c.Name]
	if !ok {
		return operations.Result{}, refuse("the operation %q is not published: list the tools again", c.Name)
	}
	return p.endpoint.runner.Call(ctx, p.Operation, c.Input, p.endpoint.forwarded(c.Header))
}
