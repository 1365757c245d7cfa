/** Tools for files in a sandbox, all within bounds: what is longer is read on with an offset. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { Type } from "typebox";
import { Turns } from "#lib/turns.ts";
import { Collected, textOfPiece } from "./clip.ts";
import { editText } from "./edit-text.ts";
import { input, offset, path, sandboxId, whole } from "./inputs.ts";
import { mcpLimits } from "./limits.ts";
import type { FolderEntry } from "./sandboxes.ts";
import { jsonResult, textResult, tool, type ToolCall, ToolFailure } from "./tool.ts";

/** Of the edits of all calls. */
const turns = new Turns();

const noText = "is not UTF-8 text: download_file gives its bytes";

const readFile = tool({
  name: "read_file",
  title: "Read a text file",
  description: "Reads a text file, or a part of it. If there is more, the last line says the offset to go on with.",
  readOnly: true,
  input: input({ sandboxId, path, offset: offset("Byte to begin at"), limit: whole("Bytes at most", mcpLimits.readText) }),
  run: async ({ sandboxId: id, path: file, offset: from = 0, limit = mcpLimits.readText.usual }, { sandboxes, signal }) => {
    const { bytes, size } = await sandboxes.readFile(id, { path: file, offset: from, length: limit }, signal);
    const end = from + bytes.length;
    const piece = textOfPiece(bytes, end >= size);
    if (piece === undefined) throw new ToolFailure(`${file} ${noText}`);
    const next = from + piece.used;
    const more = next < size ? [`\n[${size - next} of ${size} bytes follow: read on with offset ${next}]`] : [];
    return textResult([piece.text, ...more].join(""));
  },
});

const writeFile = tool({
  name: "write_file",
  title: "Write a text file",
  description: "Writes a text file, and the folders above it that are missing. An existing file is replaced.",
  destructive: true,
  input: input({ sandboxId, path, text: Type.String({ maxLength: mcpLimits.writeText, description: "The whole contents" }) }),
  run: async ({ sandboxId: id, path: file, text }, { sandboxes, signal }) => {
    const bytes = Buffer.from(text);
    await sandboxes.writeFile(id, file, bytes, signal);
    return textResult(`wrote ${bytes.length} bytes to ${file}`);
  },
});

const editFile = tool({
  name: "edit_file",
  title: "Edit a text file",
  description: "Replaces pieces of text in a file, all or none. Each oldText must occur exactly once unless replaceAll is true.",
  destructive: true,
  input: input({
    sandboxId,
    path,
    edits: Type.Array(
      input({
        oldText: Type.String({ minLength: 1, description: "Exactly as it stands in the file" }),
        newText: Type.String(),
        replaceAll: Type.Optional(Type.Boolean({ default: false })),
      }),
      { minItems: 1, maxItems: 100 },
    ),
  }),
  run: async ({ sandboxId: id, path: file, edits }, { sandboxes, signal }) => {
    const { bytes, size } = await sandboxes.readFile(id, { path: file, offset: 0, length: mcpLimits.editText }, signal);
    if (size > bytes.length)
      throw new ToolFailure(`${file} has ${size} bytes; files of up to ${mcpLimits.editText} can be edited: use run_command with sed`);
    const piece = textOfPiece(bytes, true);
    if (piece === undefined) throw new ToolFailure(`${file} ${noText}`);
    let [edited, places] = [piece.text, 0];
    for (const [index, edit] of edits.entries()) {
      // A hundred edits of a large file are a second of work.
      await turns.next();
      const one = editText(edited, edit, index);
      if (one.kind === "refused") throw new ToolFailure(one.message);
      [edited, places] = [one.text, places + one.places];
    }
    await sandboxes.writeFile(id, file, Buffer.from(edited), signal);
    return textResult(`replaced ${places} ${places === 1 ? "place" : "places"} in ${file}`);
  },
});

const listFiles = tool({
  name: "list_files",
  title: "List a folder",
  description: "Lists files and folders with their sizes. If there are more, the result says the offset to go on with.",
  readOnly: true,
  input: input({
    sandboxId,
    path: Type.Optional({ ...path, default: "." }),
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 1, description: "How deep; 1: the folder's own entries" })),
    offset: offset("Entries to pass over"),
    limit: whole("Entries at most", mcpLimits.entries),
  }),
  run: async (
    { sandboxId: id, path: folder = ".", depth = 1, offset: from = 0, limit = mcpLimits.entries.usual },
    { sandboxes, signal },
  ) => {
    const entries = await sandboxes.listFolder(id, { path: folder, depth }, signal);
    const page = entries.slice(from, from + limit);
    const next = from + page.length;
    return jsonResult({ entries: page.map(entryShown), total: entries.length, ...(next < entries.length && { nextOffset: next }) });
  },
});

function entryShown({ path: name, type, size }: FolderEntry): Readonly<Record<string, unknown>> {
  return { path: name, type, ...(type === "file" && { size }) };
}

/** $1 is what is looked for, $2 the folder, $3 the names, $4 the first match, $5 how many. One more shows that there are more. */
const searches = {
  content: 'grep -rnIE ${3:+--include="$3"} -e "$1" -- "$2" 2>/dev/null | tail -n "+$4" | head -n "$5" | cut -c 1-500',
  name: 'find "$2" -name "$1" 2>/dev/null | sort | tail -n "+$4" | head -n "$5"',
} as const;

const searchFiles = tool({
  name: "search_files",
  title: "Search files",
  description:
    "Finds lines that match an extended regular expression (in: content), or files whose name matches a pattern such as *.py (in: name). " +
    "If there are more, the last line says the offset to go on with.",
  readOnly: true,
  input: input({
    sandboxId,
    pattern: Type.String({ minLength: 1, maxLength: 1000, pattern: "^[^\\u0000]*$" }),
    in: Type.Optional(Type.Enum(["content", "name"], { default: "content" })),
    path: Type.Optional({ ...path, default: "." }),
    files: Type.Optional(Type.String({ minLength: 1, description: "Only in files with such names, such as *.ts (in: content)" })),
    offset: offset("Matches to pass over"),
    limit: whole("Matches at most", mcpLimits.matches),
  }),
  run: async (wish, call) => await search(wish, call),
});

interface SearchWish {
  readonly sandboxId: string;
  readonly pattern: string;
  readonly in?: "content" | "name";
  readonly path?: string;
  readonly files?: string;
  readonly offset?: number;
  readonly limit?: number;
}

async function search(wish: SearchWish, { sandboxes, signal }: ToolCall): Promise<CallToolResult> {
  const { pattern, in: where = "content", path: folder = ".", files = "", offset: from = 0, limit = mcpLimits.matches.usual } = wish;
  // The sandbox's programs may have been replaced, so what they cut is no bound.
  const output = new Collected(mcpLimits.searchOutput);
  // A folder whose name begins with a dash is no option.
  const place = folder.startsWith("-") ? `./${folder}` : folder;
  const argv = ["/bin/sh", "-c", searches[where], "sh", pattern, place, files, String(from + 1), String(limit + 1)];
  const end = await sandboxes.run(wish.sandboxId, { argv, timeoutMs: 60_000, onOutput: (_, bytes) => output.add(bytes) }, signal);
  if (end.timedOut) throw new ToolFailure("the search took longer than 60 s: search in a smaller folder");
  const lines = output.bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
  if (lines.length === 0) return textResult(from === 0 ? "no matches" : "no more matches");
  const more = lines.length > limit ? [`[there are more: go on with offset ${from + limit}]`] : [];
  return textResult([...lines.slice(0, limit), ...more].join("\n"));
}

const uploadFile = tool({
  name: "upload_file",
  title: "Upload a file",
  description: `Writes a file from base64, at most ${mcpLimits.upload} bytes. An existing file is replaced.`,
  destructive: true,
  input: input({ sandboxId, path, base64: Type.String({ description: "The whole contents, in base64" }) }),
  run: async ({ sandboxId: id, path: file, base64 }, { sandboxes, signal }) => {
    const bytes = Buffer.from(base64, "base64");
    if (bytes.toString("base64").replace(/=+$/, "") !== base64.replaceAll(/\s/g, "").replace(/=+$/, ""))
      throw new ToolFailure("base64 is not base64");
    if (bytes.length > mcpLimits.upload) {
      throw new ToolFailure(
        `the file has ${bytes.length} bytes, and at most ${mcpLimits.upload} can be uploaded in one call: fetch it with run_command, or send parts`,
      );
    }
    await sandboxes.writeFile(id, file, bytes, signal);
    return textResult(`wrote ${bytes.length} bytes to ${file}`);
  },
});

const downloadFile = tool({
  name: "download_file",
  title: "Download a file",
  description: "Gives the bytes of a file, or of a part of it, in base64. If there is more, the text says the offset to go on with.",
  readOnly: true,
  input: input({ sandboxId, path, offset: offset("Byte to begin at"), limit: whole("Bytes at most", mcpLimits.download) }),
  run: async ({ sandboxId: id, path: file, offset: from = 0, limit = mcpLimits.download.usual }, { sandboxes, signal }) => {
    const { bytes, size } = await sandboxes.readFile(id, { path: file, offset: from, length: limit }, signal);
    const next = from + bytes.length;
    const more = next < size ? `; ${size - next} follow: go on with offset ${next}` : "";
    return {
      content: [
        { type: "text", text: `${bytes.length} of ${size} bytes${more}` },
        { type: "resource", resource: { uri: fileUri(id, file), mimeType: "application/octet-stream", blob: bytes.toString("base64") } },
      ],
    };
  },
});

export function fileUri(id: string, file: string): string {
  const parts = file.split("/").map(encodeURIComponent);
  return `sandbox://${id}/files/${parts.join("/")}`;
}

export const fileTools = [readFile, writeFile, editFile, listFiles, searchFiles, uploadFile, downloadFile] as const;
