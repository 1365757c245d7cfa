/** Files and logs of sandboxes as resources, for clients that show or attach them. */
import { type McpServer, ProtocolError, ProtocolErrorCode, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server";
import { clip, textOfPiece } from "./clip.ts";
import { fileUri } from "./file-tools.ts";
import { mcpLimits } from "./limits.ts";
import type { McpServerDeps } from "./mcp-server.ts";
import { ToolFailure } from "./tool.ts";

type ResourceDeps = Pick<McpServerDeps, "sandboxes" | "signal">;

export function addResources(server: McpServer, deps: ResourceDeps): void {
  addLogs(server, deps);
  addFiles(server, deps);
}

function addLogs(server: McpServer, { sandboxes, signal = new AbortController().signal }: ResourceDeps): void {
  const list = async () => {
    const page = await told("sandbox://", sandboxes.list({ limit: mcpLimits.sandboxes.most, includeEnded: false }));
    const resources = page.sandboxes.map(({ sandboxId, poolName }) => ({
      uri: `sandbox://${sandboxId}/logs`,
      name: `log of ${sandboxId} (${poolName})`,
      mimeType: "text/plain",
    }));
    return { resources };
  };
  const template = new ResourceTemplate("sandbox://{sandboxId}/logs", { list });
  const about = { title: "Log of a sandbox", description: "The last lines that its container wrote", mimeType: "text/plain" };
  server.registerResource("sandbox-log", template, about, async (uri, { sandboxId }) => {
    const text = await told(uri.href, sandboxes.logs(String(sandboxId), mcpLimits.logLines.usual, signal));
    return { contents: [{ uri: uri.href, mimeType: "text/plain", text: clip(Buffer.from(text), mcpLimits.logs).text }] };
  });
}

function addFiles(server: McpServer, { sandboxes, signal = new AbortController().signal }: ResourceDeps): void {
  const template = new ResourceTemplate("sandbox://{sandboxId}/files/{+path}", { list: undefined });
  const description = "Contents of a file; an absolute path has two slashes before it: sandbox://<id>/files//etc/hosts";
  server.registerResource("sandbox-file", template, { title: "File of a sandbox", description }, async (uri, { sandboxId, path }) => {
    const [id, file] = [String(sandboxId), decoded(String(path))];
    const length = mcpLimits.readText.most;
    const { bytes, size } = await told(uri.href, sandboxes.readFile(id, { path: file, offset: 0, length }, signal));
    if (size > bytes.length)
      throw invalid(`the file has ${size} bytes, and a resource at most ${length}: use download_file with an offset`);
    const piece = textOfPiece(bytes, true);
    const shown = piece === undefined ? { blob: bytes.toString("base64") } : { text: piece.text };
    const mimeType = piece === undefined ? "application/octet-stream" : "text/plain";
    return { contents: [{ uri: fileUri(id, file), mimeType, ...shown }] };
  });
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalid("the path in the URI has escapes that are none");
  }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** What a client may know of a failure; anything else goes on as it is, to be told as an internal error. */
async function told<Result>(uri: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ToolFailure) throw new ResourceNotFoundError(uri, error.message);
    throw new ProtocolError(ProtocolErrorCode.InternalError, "internal error; the server's log has the reason");
  }
}
