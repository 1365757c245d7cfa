/** The values of a body in which each line is one (NDJSON), as they come. */
export async function* jsonLines<Line>(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Line, void> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as Line;
  }
  // What stands after the last line break is a line that the connection broke in.
}
