/** A table as an answer in CSV, of which no more is in memory than one piece. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

export async function csvStream(reply: FastifyReply, name: string, pieces: AsyncGenerator<string>): Promise<Readable> {
  // The first piece comes before the answer begins, so that a failure is an ordinary answer.
  const first = await pieces.next();
  reply.type("text/csv; charset=utf-8").header("content-disposition", `attachment; filename="${name}.csv"`);
  return Readable.from(joined(first, pieces), { objectMode: false });
}

async function* joined(first: IteratorResult<string, unknown>, pieces: AsyncGenerator<string>): AsyncGenerator<string, void> {
  if (first.done === true) return;
  yield first.value;
  yield* pieces;
}
