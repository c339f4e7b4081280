// The official clients of both generations, as the users' agents have them: how
// each connects, and the protocol version that it should end up with.

import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HTTPV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HTTPV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";

const info = { name: "docseek-conformance", version: "1.0.0" };

const generations = (way, v1, v2) => [
  { name: `sdk 1, ${way}`, version: "2025-11-25", client: () => new ClientV1(info), transport: v1 },
  {
    name: `client 2 (auto), ${way}`,
    version: "2026-07-28",
    client: () => new ClientV2(info, { versionNegotiation: { mode: "auto" } }),
    transport: v2,
  },
  {
    name: `client 2 (legacy), ${way}`,
    version: "2025-11-25",
    client: () => new ClientV2(info, { versionNegotiation: { mode: "legacy" } }),
    transport: v2,
  },
];

/** The clients of the server at url; headers go with each request. */
export const overHTTP = (url, headers = {}) => {
  const options = { requestInit: { headers } };
  return generations("HTTP", () => new HTTPV1(new URL(url), options), () => new HTTPV2(new URL(url), options));
};

/** The clients that start a server: its command, args and env. */
export const overStdio = (server) =>
  generations("stdio", () => new StdioV1({ stderr: "ignore", ...server }), () => new StdioV2({ stderr: "ignore", ...server }));
