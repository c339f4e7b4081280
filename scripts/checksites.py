#!/usr/bin/env python3
"""checksites.py BINARY SITES QUESTIONS [--floor MODE:MRR:HIT5]... SITE...

Serves the folder SITES on loopback, indexes each SITE (a folder in it with a sitemap.xml) with BINARY, and checks that
every page of the sitemap is accounted for, that a second run embeds nothing and changes nothing, that every anchor in
the answers exists in the page's HTML, and that the questions in QUESTIONS/SITE.jsonl are answered: prints the figures
per site and mode, and fails when those over all sites fall below a --floor. Exits 1 on the first broken promise."""
import argparse, functools, html, http.server, json, os, pathlib, re, subprocess, sys, tempfile, threading, time, urllib.parse

def serve(folder, lists):
    """Serves a folder, and the texts of lists by their paths."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *args): pass
        def do_GET(self):
            if self.path not in lists: return super().do_GET()
            body = lists[self.path].encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]

def fail(text):
    print("FAILED:", text)
    sys.exit(1)

class Docseek:
    def __init__(self, binary, data): self.command = [binary, "--data-dir", data, "--log-level", "error", "--json"]
    def __call__(self, *args, ok=(0,)):
        p = subprocess.run(self.command + list(args), capture_output=True, text=True)
        if p.returncode not in ok: fail(f"docseek {' '.join(args)}: exit code {p.returncode}\n{p.stderr}")
        return json.loads(p.stdout)

def rebase(site_dir, prefix):
    """The addresses of the site's sitemaps, on the port that the folder is served on."""
    text = "".join(f.read_text() for f in sorted(site_dir.rglob("sitemap.xml")))
    locs = list(dict.fromkeys(html.unescape(u) for u in re.findall(r"<loc>(.*?)</loc>", text)))
    if not locs: fail(f"{site_dir} has no sitemap.xml with addresses")
    return [prefix + re.sub(r"^https?://[^/]+/" + re.escape(site_dir.name) + "/", "", u) for u in locs]

def ids(page_file, cache={}):
    if page_file not in cache:
        text = page_file.read_bytes().decode("utf-8", "replace")
        cache[page_file] = {html.unescape(v).strip("\"'") for v in re.findall(r"""\b(?:id|name)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", text, re.I)}
    return cache[page_file]

def file_of(root, url):
    path = urllib.parse.unquote(urllib.parse.urlsplit(url).path).lstrip("/")
    f = root / path
    for candidate in (f / "index.html" if f.is_dir() else f, f.with_name(f.name + ".html")):
        if candidate.is_file(): return candidate
    fail(f"{url} is no page of the site")

def main():
    a = argparse.ArgumentParser()
    a.add_argument("binary"); a.add_argument("sites"); a.add_argument("questions"); a.add_argument("site", nargs="+")
    a.add_argument("--floor", action="append", default=[]); a.add_argument("--data"); a.add_argument("--out")
    a = a.parse_args()
    root = pathlib.Path(a.sites).resolve()
    lists = {}
    port = serve(root, lists)
    tmp = tempfile.TemporaryDirectory()
    docseek = Docseek(os.path.abspath(a.binary), a.data or tmp.name)
    totals, figures = {}, {}
    for site in a.site:
        prefix = f"http://127.0.0.1:{port}/{site}/"
        urls = rebase(root / site, prefix)
        lists[f"/{site}/sitemap.txt"] = "\n".join(urls) + "\n"
        start, began = prefix + "sitemap.txt", time.time()
        run = docseek("reindex", start)["runs"][0]
        pages = run["pages"]
        accounted = pages["new"] + pages["changed"] + pages["unchanged"] + pages["kept"] + pages["refused"]
        print(f"{site}: {run['outcome']} in {time.time()-began:.0f} s: {len(urls)} URLs, {pages}, {run['chunks']} chunks, {run['embedded']} embedded, "
              + ", ".join(f"{r['reason']}: {r['count']}" for r in run["reasons"]), flush=True)
        if accounted < len(set(urls)): fail(f"{site}: {len(set(urls))} URLs in the sitemap, {accounted} accounted for")
        again = docseek("reindex", start)["runs"][0]
        if again["outcome"] != "unchanged" or again["embedded"]: fail(f"{site}: the second run: {again}")
        source = run["source"]
        questions = pathlib.Path(a.questions) / f"{site}.jsonl"
        if not questions.exists(): continue
        report = docseek("eval", str(questions), "--source", source)
        for mode, kinds in report["modes"].items():
            for kind, m in kinds.items():
                if not m["n"]: continue
                print(f"  {mode:8} {kind:9} n={m['n']:3} MRR@10 {m['MRR@10']:.3f} hit@1 {m['hit@1']:.3f} hit@5 {m['hit@5']:.3f} hit@10 {m['hit@10']:.3f} nDCG@10 {m['nDCG@10']:.3f}", flush=True)
                figures.setdefault(site, {}).setdefault(mode, {})[kind] = m
                if kind == "all":
                    t = totals.setdefault(mode, [0, 0, 0])
                    t[0] += m["n"]; t[1] += m["n"] * m["MRR@10"]; t[2] += m["n"] * m["hit@5"]
        seen = 0
        for line in list(questions.open())[:25]:
            for hit in docseek("search", "--source", source, "--limit", "10", "--max-chars", "30000", "--", json.loads(line)["query"])["results"]:
                page, _, anchor = hit["url"].partition("#")
                f = file_of(root, page)
                seen += 1
                if anchor and urllib.parse.unquote(anchor) not in ids(f): fail(f"{hit['url']}: the page has no such anchor")
        print(f"  {seen} hits, every anchor exists", flush=True)
    for mode, (n, mrr, hit5) in totals.items():
        print(f"all sites, {mode}: n={n} MRR@10 {mrr/n:.3f} hit@5 {hit5/n:.3f}")
    if a.out: pathlib.Path(a.out).write_text(json.dumps(figures, indent=1))
    for floor in a.floor:
        mode, mrr, hit5 = floor.split(":")
        n, m, h = totals[mode]
        if m / n < float(mrr) or h / n < float(hit5): fail(f"{mode}: MRR@10 {m/n:.3f}, hit@5 {h/n:.3f}; the floor is {mrr}, {hit5}")

main()
