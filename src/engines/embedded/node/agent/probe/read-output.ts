/** The first part of what a stream says. The rest is read too, and forgotten: who writes must not be held up. */
export function readOutput(stream: NodeJS.ReadableStream, maxBytes = 1_024): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const done = (): void => resolve(Buffer.concat(chunks).subarray(0, maxBytes).toString());
    stream.on("data", (chunk: Buffer | string) => {
      if (bytes < maxBytes) chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
    });
    stream.on("end", done);
    stream.on("close", done);
    stream.on("error", done);
  });
}
