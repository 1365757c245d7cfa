/** Parses a body of NDJSON, one value per line, as it arrives. */
export async function* jsonLines<Line>(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Line, void> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as Line;
  }
  // An incomplete last line means that the connection broke in it.
}
