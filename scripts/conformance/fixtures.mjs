// What takes a server with tools made for it (server/fixture_test.go): the
// official clients cancel calls, get every note of progress, show a token, and
// find out where to get one.
//
//   node fixtures.mjs URL PROTECTED_URL TOKEN COMMAND
//
// COMMAND starts the server of URL on stdio; that of PROTECTED_URL asks for
// TOKEN. Exits 1 when anything differs from what is expected.

import assert from "node:assert/strict";
import * as v1 from "@modelcontextprotocol/sdk/client/auth.js";
import * as v2 from "@modelcontextprotocol/client";
import { overHTTP, overStdio } from "./generations.mjs";

const [url, protectedURL, token, command] = process.argv.slice(2);
if (!command) {
  console.error("usage: node fixtures.mjs URL PROTECTED_URL TOKEN COMMAND");
  process.exit(2);
}

/** Calls a tool and returns its result; options are the client's own. */
const call = (client, name, options) => client.callTool({ name, arguments: {} }, ...options(client));

/** The clients' options of a call: the first generation has a result schema before them. */
const withOptions = (run, options) => () => (run.name.startsWith("sdk 1") ? [undefined, options] : [options]);

/**
 * Fifty calls that report three steps each: none is lost, and they come in order before the answer. They are counted
 * where they arrive: on stdio these clients hand on no note that they read in one go with the answer.
 */
async function progress(run, client) {
  const receive = client.transport.onmessage;
  let steps;
  client.transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress") steps.push(`${message.params.progress} ${message.params.message}`);
    receive(message, extra);
  };
  for (let n = 0; n < 50; n++) {
    steps = [];
    const result = await call(
      client,
      "test_tool_with_progress",
      withOptions(run, { onprogress: () => {} }),
    );
    assert.ok(!result.isError, result.content[0]?.text);
    assert.deepEqual(steps, ["1 begun", "2 half done", "3 done"], `call ${n}`);
  }
}

/** A call that is given up ends at the server, too. */
async function cancel(run, client) {
  const gone = new AbortController();
  const options = withOptions(run, {
    signal: gone.signal,
    onprogress: () => gone.abort(new Error("changed my mind")),
  });
  await assert.rejects(call(client, "test_waiting", options));
  const seen = await client.callTool({ name: "test_cancelled", arguments: {} });
  assert.equal(seen.content[0].text, "cancelled");
}

async function check(run, steps) {
  const client = run.client();
  await client.connect(run.transport());
  try {
    for (const step of steps) {
      await step(run, client);
    }
  } finally {
    await client.close();
  }
}

/** Both generations find the issuer from the challenge of a server that asks for a token. */
async function discovery() {
  for (const auth of [v1, v2]) {
    const refused = await fetch(protectedURL, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    assert.equal(refused.status, 401);
    const { resourceMetadataUrl, scope } = auth.extractWWWAuthenticateParams(refused);
    assert.ok(scope.includes("docs:read"), scope);
    for (const named of [resourceMetadataUrl, undefined]) {
      const metadata = await auth.discoverOAuthProtectedResourceMetadata(protectedURL, { resourceMetadataUrl: named });
      assert.equal(metadata.resource, new URL(protectedURL).origin);
      assert.ok(await auth.selectResourceURL(protectedURL, {}, metadata), "the resource is not that of the server");
      assert.deepEqual(metadata.authorization_servers, ["https://issuer.example.com"]);
    }
  }
  for (const run of overHTTP(protectedURL)) {
    await assert.rejects(run.client().connect(run.transport()), run.name);
  }
}

const stdio = { command, args: [], env: { DOCSEEK_TEST_SERVE: "stdio", DOCSEEK_TEST_FIXTURES: "1" } };
const checks = [
  ...[...overHTTP(url), ...overStdio(stdio)].map((run) => [`${run.name}: progress, cancellation`, () => check(run, [progress, cancel])]),
  ...overHTTP(protectedURL, { Authorization: `Bearer ${token}` }).map((run) => [
    `${run.name}, with a token: progress, cancellation`,
    () => check(run, [progress, cancel]),
  ]),
  ["where to get a token", discovery],
];

let failed = false;
for (const [name, run] of checks) {
  try {
    await run();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed = true;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
