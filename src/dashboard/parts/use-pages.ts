/** A list that the server searches and gives out page by page. */
import { useEffect, useState } from "preact/hooks";
import { isClientError } from "#client/client-error.ts";
import { messageOf } from "../api.ts";
import { sessionEnded } from "../session/session.ts";

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next?: string | undefined;
}

export interface Pages<Row> extends Page<Row> {
  readonly error?: string;
  readonly isLoading: boolean;
  /** Adds the next page. */
  readonly more: () => void;
}

export type LoadPage<Row> = (cursor: { readonly cursor?: string }, signal?: AbortSignal) => Promise<Page<Row>>;

/** Loaded anew when `of` changes, which is the text of the filters. */
export function usePages<Row>(load: LoadPage<Row>, of: string): Pages<Row> {
  const nothing: Omit<Pages<Row>, "more"> = { rows: [], isLoading: true };
  const [found, setFound] = useState(nothing);
  const read = async (before: Page<Row>, signal?: AbortSignal): Promise<void> => {
    try {
      const page = await load(before.next === undefined ? {} : { cursor: before.next }, signal);
      if (signal?.aborted !== true) setFound({ rows: [...before.rows, ...page.rows], next: page.next, isLoading: false });
    } catch (error) {
      if (signal?.aborted === true) return;
      if (isClientError(error, "unauthenticated")) sessionEnded();
      setFound({ ...before, error: messageOf(error), isLoading: false });
    }
  };
  useEffect(() => {
    const end = new AbortController();
    // One request after the user stops typing.
    const timer = window.setTimeout(() => void read(nothing, end.signal), 200);
    return () => {
      window.clearTimeout(timer);
      end.abort();
    };
  }, [of]);
  return { ...found, more: () => void read(found) };
}
