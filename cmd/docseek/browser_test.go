//go:build chromium

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	chrome "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/docseek/docseek/internal/fakesite"
)

// The web page in a real browser, on a real server. The tests need Chromium,
// which make chromium brings.

// tab is a browser's tab on a server of docseek.
type tab struct {
	*testing.T
	ctx  context.Context //nolint:containedctx // it is chromedp's handle of the tab
	base string
	mu   sync.Mutex
	// requested are the addresses that were asked for, complaints what the console
	// shows, and expected is a part of the complaints that belong to the test.
	requested, complaints []string
	expected              string
}

// browser starts Chromium; each call of what it returns opens a tab.
func browser(t *testing.T) func(t *testing.T, base string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("Chromium is needed: make chromium brings it, or on Debian as root: apt-get install -y --no-install-recommends chromium")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's own does not work for root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return func(t *testing.T, base string) *tab {
		t.Helper()
		ctx, stop := context.WithTimeout(ctx, 3*patience) // several pages, on a busy machine
		t.Cleanup(stop)
		ctx, stop = chromedp.NewContext(ctx)
		t.Cleanup(stop)
		page := &tab{T: t, ctx: ctx, base: base}
		page.do(chromedp.EmulateViewport(1100, 800))
		if err := chromedp.Listen(ctx, page.heard); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(page.check)
		return page
	}
}

func (p *tab) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requested = append(p.requested, e.Request.URL)
	case *log.EventEntryAdded:
		p.complaints = append(p.complaints, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.complaints = append(p.complaints, string(e.Type))
	}
}

// check holds the tab to what is true of every page: nothing is asked of another
// host, and the console stays empty.
func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range p.requested {
		if !strings.HasPrefix(address, p.base+"/") && !strings.HasPrefix(address, "data:") {
			p.Errorf("the page asked for %s", address)
		}
	}
	if len(p.requested) == 0 {
		p.Error("no request was seen")
	}
	for _, complaint := range p.complaints {
		if p.expected != "" && strings.Contains(complaint, p.expected) {
			continue
		}
		p.Errorf("the console shows: %s", complaint)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

func (p *tab) open(path string) {
	p.Helper()
	p.do(chromedp.Navigate(p.base + path))
}

// leave does what leads to another page, and waits for that.
func (p *tab) leave(step chromedp.Action[chromedp.Void]) {
	p.Helper()
	if _, err := chromedp.RunResponse(p.ctx, step); err != nil {
		p.Fatal(err)
	}
}

// js is the value of an expression in the page.
func js[T any](p *tab, expression string, options ...chromedp.EvaluateOption) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return value
}

func (p *tab) text(selector string) string {
	p.Helper()
	return js[string](p, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.innerText).join(' | ')", selector))
}

func (p *tab) media(feature, value string) {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	}); err != nil {
		p.Fatal(err)
	}
}

func (p *tab) withoutScripts() {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		p.Fatal(err)
	}
}

// overheard is a program's standard error.
type overheard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *overheard) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *overheard) find(pattern *regexp.Regexp) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return pattern.FindStringSubmatch(w.text.String())
}

func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-deadline:
			t.Fatal(what)
		case <-tick.C:
		}
	}
}

// start runs a command that serves, until the test ends, and returns its address.
func start(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	said := &overheard{}
	a := newApp(streams{in: strings.NewReader(""), out: io.Discard, err: said}, []string{"NO_PROXY=127.0.0.1"})
	root := a.root()
	root.SetArgs(append([]string{"--data-dir", t.TempDir()}, args...))
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%v ended: %v", args, err)
		}
	})
	address := regexp.MustCompile(`The web page is at (\S+)/\n`)
	await(t, "the page's address is not printed", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%v ended: %v\n%s", args, err, &said.text)
		default:
		}
		return said.find(address) != nil
	})
	return said.find(address)[1]
}

const loopback = "127.0.0.1:0"

func TestPageInBrowser(t *testing.T) {
	open := browser(t)
	base := start(t, "demo", "--listen", loopback)
	for name, test := range map[string]func(*tab){
		"search":          testSearch,
		"keyboard":        testKeyboard,
		"colours":         testColours,
		"narrow":          testNarrow,
		"without scripts": testWithoutScripts,
		"copy":            testCopy,
	} {
		t.Run(name, func(t *testing.T) { test(open(t, base)) })
	}
}

// pages are all there are, with what they show at their best.
func pages() []string {
	return []string{"/", "/?q=how+do+I+verify+the+signature+of+a+webhook", "/sources", "/tools", "/connect"}
}

func testSearch(p *tab) {
	p.open("/")
	if focus := js[string](p, "document.activeElement.id"); focus != "q" {
		p.Errorf("the focus is on %q, not in the search field", focus)
	}
	p.leave(chromedp.KeyEvent("Idempotency-Key with another body\r"))
	if first := p.text(".results > li:first-child"); !strings.Contains(strings.ToLower(first), "idempotency") {
		p.Errorf("the first result is %s", first)
	}
	if n := js[int](p, "document.querySelectorAll('.passage mark b').length"); n == 0 {
		p.Error("nothing is highlighted")
	}
	if links := js[[]string](p, "[...document.querySelectorAll('.results h2 a')].map(a => a.rel)"); len(links) == 0 ||
		slices.ContainsFunc(links, func(rel string) bool { return rel != "noopener noreferrer nofollow" }) {
		p.Errorf("links to the originals: %q", links)
	}

	// The form keeps the question, and filters narrow it.
	p.do(chromedp.SetValue("select[name=version]", "1.x"))
	p.leave(chromedp.Click("button"))
	versions := js[[]string](p, "[...document.querySelectorAll('.facts')].map(f => f.children[1].textContent)")
	if len(versions) == 0 || slices.ContainsFunc(versions, func(v string) bool { return v != "1.x" }) {
		p.Errorf("versions %q with the filter 1.x", versions)
	}
	p.do(chromedp.SetValue("select[name=version]", ""), chromedp.SetValue("select[name=language]", "de"))
	p.leave(chromedp.Click("button"))
	languages := js[[]string](p, "[...document.querySelectorAll('.facts')].map(f => f.children[2].textContent)")
	if len(languages) == 0 || slices.ContainsFunc(languages, func(l string) bool { return l != "de" }) {
		p.Errorf("languages %q with the filter de", languages)
	}
	p.leave(chromedp.Click(".summary a"))
	if value := js[string](p, "document.getElementById('q').value + document.querySelector('select[name=language]').value"); value != "Idempotency-Key with another body" {
		p.Errorf("without filters the form has %q", value)
	}
	first := p.text(".results > li:first-child h2")
	p.leave(chromedp.Click(".more a"))
	if next := p.text(".results > li:first-child h2"); next == "" || next == first {
		p.Errorf("more results begin with %q", next)
	}
}

func testKeyboard(p *tab) {
	p.open("/tools")
	p.do(chromedp.KeyEvent("\t"))
	if focus := p.text(":focus"); focus != "Skip to the content" {
		p.Fatalf("the first stop is %q", focus)
	}
	if top := js[float64](p, "document.activeElement.getBoundingClientRect().top"); top < 0 {
		p.Error("the skip link is out of sight when it has the focus")
	}
	p.do(chromedp.KeyEvent("\r"))
	if focus := js[string](p, "document.activeElement.id"); focus != "main" {
		p.Errorf("the skip link leads to %q", focus)
	}

	p.open(pages()[1])
	p.do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("/"))
	if focus := js[string](p, "document.activeElement.id"); focus != "q" {
		p.Errorf("/ leads to %q", focus)
	}
	// Field, button, filters, then results; each stop can be seen and is named.
	var stops []string
	for range 12 {
		p.do(chromedp.KeyEvent("\t"))
		stops = append(stops, js[string](p, "document.activeElement.tagName"))
		if outline := js[string](p, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
			p.Errorf("the focus on %s cannot be seen", stops[len(stops)-1])
		}
	}
	if !slices.Equal(stops[:3], []string{"BUTTON", "SELECT", "SELECT"}) || !slices.Contains(stops[3:], "A") {
		p.Errorf("stops %q", stops)
	}
	for _, path := range pages() {
		p.open(path)
		if unnamed := js[[]string](p, `[...document.querySelectorAll("input, select, button, a, progress")].filter(e =>
			!(e.labels?.length || e.ariaLabel || e.textContent.trim())).map(e => e.outerHTML)`); len(unnamed) > 0 {
			p.Errorf("%s: without a name: %q", path, unnamed)
		}
		if headings := js[[]string](p, `[...document.querySelectorAll("h1, h2, h3")].map(h => h.tagName)`); headings[0] != "H1" || slices.Contains(headings[1:], "H1") {
			p.Errorf("%s: headings %q", path, headings)
		}
	}
}

// lowContrast lists the texts whose contrast to what is behind them is less than
// 4.5 (WCAG 2.2, 1.4.3).
const lowContrast = `(() => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).filter(e => {
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map(e => e.outerHTML.slice(0, 120));
})()`

func testColours(p *tab) {
	back := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		p.media("prefers-color-scheme", scheme)
		for _, path := range pages() {
			p.open(path)
			if faint := js[[]string](p, lowContrast); len(faint) > 0 {
				p.Errorf("%s, %s: too little contrast: %q", scheme, path, faint)
			}
		}
		back[scheme] = js[string](p, "getComputedStyle(document.body).backgroundColor")
	}
	if back["light"] == back["dark"] {
		p.Errorf("light and dark look alike: %v", back)
	}
}

func testNarrow(p *tab) {
	p.do(chromedp.EmulateViewport(320, 640, chromedp.EmulateMobile))
	for _, path := range pages() {
		p.open(path)
		if moved := js[float64](p, `new Promise(done => {
			let sum = 0;
			new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value; }).observe({type: "layout-shift", buffered: true});
			requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
		})`, chromedp.EvalAwaitPromise); moved != 0 {
			p.Errorf("%s: the layout shifts by %v", path, moved)
		}
		js[bool](p, "document.querySelectorAll('details').forEach(d => d.open = true), true")
		if width := js[int](p, "document.documentElement.scrollWidth"); width > 320 {
			p.Errorf("%s is %d pixels wide", path, width)
		}
	}
}

func testWithoutScripts(p *tab) {
	p.withoutScripts()
	p.open("/")
	p.do(chromedp.SendKeys("#q", "refund a payment"))
	p.leave(chromedp.Click("button"))
	if got := p.text(".results h2"); !strings.Contains(strings.ToLower(got), "refund") {
		p.Errorf("results %q", got)
	}
	for path, want := range map[string]string{"/sources": "tidewater", "/tools": "search_docs", "/connect": "claude mcp add"} {
		p.open(path)
		if got := p.text("main"); !strings.Contains(got, want) {
			p.Errorf("%s does not show %q", path, want)
		}
	}
	if buttons := p.text("main button"); buttons != "" {
		p.Errorf("buttons that do nothing: %q", buttons)
	}
}

func testCopy(p *tab) {
	if _, err := chromedp.CallBrowser(p.ctx, chrome.SetPermission, chrome.SetPermissionParams{
		Permission: &chrome.PermissionDescriptor{Name: "clipboard-read"}, Setting: chrome.PermissionSettingGranted, Origin: p.base,
	}); err != nil {
		p.Fatal(err)
	}
	p.open("/connect")
	p.do(chromedp.Click("#claude-code ~ .copying button"), chromedp.WaitVisible("//button[text()='Copied']"))
	if got := js[string](p, "navigator.clipboard.readText()", chromedp.EvalAwaitPromise); got != "claude mcp add --transport http docs "+p.base+"/mcp" {
		p.Errorf("copied %q", got)
	}
}

// TestRunInBrowser follows a run: its progress appears and goes without a word
// from the reader.
func TestRunInBrowser(t *testing.T) {
	archive, err := os.ReadFile("testdata/sites/docs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := fakesite.Start(t, string(archive))
	const last = "/reference/errors"
	release := s.Hold(last)
	open := browser(t)
	base := start(t, "serve", "--listen", loopback, s.URL("/sitemap.xml"))
	await(t, last+" is not asked for", func() bool { return s.Waiting(last) > 0 })

	p := open(t, base)
	p.open("/sources")
	if got := p.text(".running"); !strings.Contains(strings.ToLower(got), "crawling") && !strings.Contains(strings.ToLower(got), "starting") {
		t.Errorf("the run shows as %q", got)
	}
	if width := js[float64](p, "document.querySelector('progress').getBoundingClientRect().width"); width < 100 {
		t.Errorf("the bar is %v pixels wide", width)
	}
	plain := open(t, base)
	plain.withoutScripts()
	plain.open("/sources")
	if !strings.Contains(js[string](plain, "document.head.innerHTML"), `http-equiv="refresh"`) {
		t.Error("without scripts the page does not ask again")
	}

	release()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[bool]("!document.querySelector('progress') && !!document.querySelector('.report')")); err != nil {
		t.Fatalf("the end of the run does not show: %v", err)
	}
	if got := p.text(".report"); !strings.Contains(got, "published") {
		t.Errorf("the report is %q", got)
	}
}

// TestLoginInBrowser signs in with a token and out again.
func TestLoginInBrowser(t *testing.T) {
	archive, err := os.ReadFile("testdata/sites/docs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := fakesite.Start(t, string(archive))
	var printed strings.Builder
	if code := run([]string{"--json", "token", "new", "--name", "ann"}, streams{out: &printed, err: t.Output()}, nil); code != exitDone {
		t.Fatalf("token new: exit code %d", code)
	}
	var made struct{ Token, Line string }
	if err := json.Unmarshal([]byte(printed.String()), &made); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"tokens.yaml":  made.Line + "\n",
		"docseek.yaml": "sources: [{name: acme, start: " + s.URL("/sitemap.xml") + "}]\nserver: {listen: '" + loopback + "', auth: {tokens_file: tokens.yaml}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := browser(t)(t, start(t, "--config", filepath.Join(dir, "docseek.yaml"), "serve"))
	p.expected = "401"

	p.open("/sources")
	if path := js[string](p, "location.pathname"); path != "/login" {
		t.Fatalf("without a token one is at %s", path)
	}
	if back := js[string](p, "getComputedStyle(document.querySelector('button')).borderRadius"); back != "8px" {
		t.Error("the page that asks for a token has no style")
	}
	if faint := js[[]string](p, lowContrast); len(faint) > 0 {
		t.Errorf("too little contrast: %q", faint)
	}
	p.leave(chromedp.KeyEvent("wrong\r"))
	if alert := p.text("[role=alert]"); !strings.Contains(alert, "not accepted") {
		t.Errorf("a wrong token is answered with %q", alert)
	}
	p.leave(chromedp.KeyEvent(made.Token + "\r"))
	if path := js[string](p, "location.pathname"); path != "/" {
		t.Fatalf("a token leads to %s", path)
	}
	if seen := js[string](p, "document.cookie"); seen != "" {
		t.Errorf("scripts can read %s", seen)
	}
	p.open("/connect")
	if got := p.text("#claude-code ~ .copying pre"); !strings.Contains(got, "Bearer $DOCSEEK_TOKEN") || strings.Contains(got, made.Token) {
		t.Errorf("the set-up is %s", got)
	}
	p.leave(chromedp.Click(".out button"))
	if path := js[string](p, "location.pathname"); path != "/login" {
		t.Errorf("signed out one is at %s", path)
	}
	p.open("/sources")
	if path := js[string](p, "location.pathname"); path != "/login" {
		t.Errorf("signed out one sees %s", path)
	}
}
