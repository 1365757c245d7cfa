/** What tools take and give at most, in bytes unless said otherwise. docs/mcp.md has them too. */
const kib = 1024;

export const mcpLimits = {
  /** Of each of a command's two outputs that is shown. */
  shownOutput: 32 * kib,
  /** … and that is kept in a file of the sandbox when it is more. */
  keptOutput: 1024 * kib,
  /** One read_file. */
  readText: { usual: 64 * kib, most: 1024 * kib },
  /** The largest file that is edited. */
  editText: 1024 * kib,
  /** What an edit may make of it, in characters. */
  editedText: 2 * 1024 * kib,
  /** Places that one edit replaces. */
  editPlaces: 10_000,
  writeText: 4 * 1024 * kib,
  upload: 8 * 1024 * kib,
  /** One download_file. */
  download: { usual: 1024 * kib, most: 4 * 1024 * kib },
  logs: 256 * kib,
  /** A picture of run_code. */
  picture: 4 * 1024 * kib,
  /** Of a request to /mcp: an upload in base64, and the rest of its call. */
  requestBody: 12 * 1024 * kib,
  /** In a list of messages. */
  messages: 20,
  /** Seconds. */
  timeout: { usual: 60, most: 600 },
  /** Seconds that a sandbox stays without use, if the session does not keep it and says nothing else. */
  idle: 15 * 60,
  entries: { usual: 200, most: 2000 },
  /** Of a search, before it is cut to its matches. */
  searchOutput: 1024 * kib,
  matches: { usual: 100, most: 1000 },
  sandboxes: { usual: 50, most: 200 },
  logLines: { usual: 200, most: 2000 },
} as const;
