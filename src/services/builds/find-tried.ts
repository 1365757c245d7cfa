import { isDeepStrictEqual } from "node:util";
import type { Caller } from "#services/caller.ts";
import type { BuildBook } from "./build-book.ts";
import { ownerOf } from "./build-records.ts";

/** Whether an earlier build of the same owner has seen these start and ready commands work on these layers. */
export function findTried(book: Pick<BuildBook, "builds">, owner: Caller, finalKey: string): boolean {
  const whose = ownerOf(owner);
  return Iterator.from(book.builds()).some(
    (build) => build.status === "ready" && build.result?.finalKey === finalKey && isDeepStrictEqual(build.owner, whose),
  );
}
