// Talks to a docseek server as its users' agents do: with the official clients
// of both generations, over HTTP and over stdio, in both protocol eras.
//
//   node clients.mjs URL [COMMAND ARGUMENT...]
//
// URL is the server's /mcp. COMMAND starts the same server on stdio; without it
// stdio is left out. The server must have at least one indexed page. Exits 1
// when anything differs from what is expected.

import assert from "node:assert/strict";
import { overHTTP, overStdio } from "./generations.mjs";

const [url, command, ...args] = process.argv.slice(2);
if (!url) {
  console.error("usage: node clients.mjs URL [COMMAND ARGUMENT...]");
  process.exit(2);
}

const runs = overHTTP(url);
if (command) {
  runs.push(...overStdio({ command, args }));
}

/** Calls a tool, which must succeed in both forms, and returns the structured one. */
async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`);
  assert.equal(result.content[0].type, "text");
  assert.ok(result.content[0].text.length > 0, `${name} has no text`);
  assert.equal(typeof result.structuredContent, "object", `${name} has no structured content`);
  return result.structuredContent;
}

/** The path of a page's URL, as docs:// addresses have it. */
const resourceOf = (source, page) => {
  const { pathname, search } = new URL(page);
  return `docs://${source}${pathname}${search}`;
};

async function check(run) {
  const client = run.client();
  await client.connect(run.transport());
  try {
    assert.equal(client.getServerVersion().name, "docseek");
    assert.match(client.getInstructions(), /^Search this server first/);
    const negotiated = client.getNegotiatedProtocolVersion?.();
    if (negotiated !== undefined) {
      assert.equal(negotiated, run.version);
    }

    // The clients hold every structured answer below to these schemas.
    const tools = [];
    for (let cursor; ; ) {
      const page = await client.listTools(cursor && { cursor });
      tools.push(...page.tools);
      cursor = page.nextCursor;
      if (!cursor) break;
    }
    assert.equal(new Set(tools.map((t) => t.name)).size, tools.length, "a tool is listed twice");
    for (const name of ["search_docs", "read_docs", "list_docs"]) {
      const tool = tools.find((t) => t.name === name);
      assert.ok(tool, `${name} is not in tools/list`);
      assert.equal(tool.annotations.readOnlyHint, true, `${name} is not marked read-only`);
      assert.ok(tool.outputSchema, `${name} has no output schema`);
    }

    const { sources } = await call(client, "list_docs", {});
    const source = sources.find((s) => s.pages > 0);
    assert.ok(source, "no source has a page");
    const pages = [];
    for (let cursor; ; ) {
      const page = await call(client, "list_docs", { source: source.name, cursor });
      pages.push(...page.pages);
      cursor = page.next_cursor;
      if (!cursor) break;
    }
    assert.equal(new Set(pages.map((p) => p.url)).size, source.pages, `${source.name} does not list its pages, each once`);

    const page = await call(client, "read_docs", { url: pages[0].url });
    assert.ok(page.text.length > 0, `${pages[0].url} has no text`);

    const found = await call(client, "search_docs", { query: page.title, source: source.name, limit: "3" });
    assert.ok(found.results.length > 0, `nothing is found for ${page.title}`);
    assert.ok(found.results.length <= 3, "a limit written as a string is not heeded");
    for (const hit of found.results) {
      assert.equal(hit.source, source.name);
      assert.ok(hit.url.startsWith("http"), hit.url);
      assert.ok(hit.text.length > 0, `${hit.url} has no text`);
    }
    const again = await call(client, "search_docs", { q: page.title, source: source.name, limit: 3 });
    assert.deepEqual(again.results, found.results, "the same question has another answer");

    const refused = await client.callTool({ name: "search_docs", arguments: { query: ["x"] } });
    assert.equal(refused.isError, true);
    assert.equal(refused.content[0].text, "query must be a string, got a list");
    assert.equal(refused.structuredContent, undefined);
    await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), (error) => error.code === -32602);

    assert.deepEqual((await client.listResources()).resources, []);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates.length, 1);
    const { contents } = await client.readResource({ uri: resourceOf(source.name, pages[0].url) });
    assert.equal(contents[0].mimeType, "text/markdown");
    assert.ok(contents[0].text.length > 0, `${contents[0].uri} has no text`);
    await assert.rejects(client.readResource({ uri: `docs://${source.name}/no/such/page` }));

    const { prompts } = await client.listPrompts();
    assert.equal(prompts.length, 1);
    const prompt = await client.getPrompt({ name: prompts[0].name, arguments: { question: "What is this?" } });
    assert.match(prompt.messages[0].content.text, /What is this\?/);

    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: resourceTemplates[0].uriTemplate },
      argument: { name: "source", value: source.name.slice(0, 1) },
    });
    assert.ok(completion.values.includes(source.name), `${source.name} is not completed`);

    const gone = new AbortController();
    gone.abort(new Error("changed my mind"));
    await assert.rejects(client.callTool({ name: "list_docs", arguments: {} }, { signal: gone.signal }));
    await call(client, "list_docs", {});

    const many = await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.callTool({ name: "search_docs", arguments: { query: "x", limit: i + 30 } })),
    );
    many.forEach((result, i) => assert.equal(result.content[0].text, `limit must be at most 20, got ${i + 30}`));
  } finally {
    await client.close();
  }
}

let failed = false;
for (const run of runs) {
  try {
    await check(run);
    console.log(`ok    ${run.name}`);
  } catch (error) {
    failed = true;
    console.log(`FAIL  ${run.name}\n${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
