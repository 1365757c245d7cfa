/** `get -w`: lists the objects, then shows each change as one more row or document, until the signal or an error ends it. */
import type { ObjectClient } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { CliContext } from "./context.ts";
import { ObjectTable } from "./print/print-tables.ts";
import { type ObjectFormat, printObjects } from "./print/print-objects.ts";
import type { Selection } from "./select-objects.ts";

export interface WatchRequest {
  readonly selection: Selection;
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  readonly output: "table" | "wide" | ObjectFormat;
  readonly headers: boolean;
}

export async function watchObjects(context: CliContext, client: ObjectClient, request: WatchRequest): Promise<never> {
  const { type, names } = request.selection;
  const options = {
    namespace: type.namespaced ? request.namespace : undefined,
    labelSelector: request.labelSelector,
    fieldSelector: names?.[0] === undefined ? request.fieldSelector : `metadata.name=${names[0]}`,
    signal: context.signal,
  };
  const print = printerFor(context, request);
  // A name that does not exist is an error, not something to wait for.
  if (names?.[0] !== undefined) await client.get(type, { namespace: options.namespace, name: names[0] }, { signal: context.signal });
  const list = await client.list(type, options);
  await print(list.items);
  let from = list.resourceVersion;
  // Servers end watches from time to time; the next watch continues where the last one ended.
  for (;;) {
    for await (const event of client.watch(type, { ...options, resourceVersion: from, bookmarks: true })) {
      from = event.type === "BOOKMARK" ? event.resourceVersion : (event.object.metadata.resourceVersion ?? from);
      if (event.type !== "BOOKMARK") await print([event.object]);
    }
  }
}

function printerFor(context: CliContext, request: WatchRequest): (objects: readonly ApiObject[]) => Promise<void> {
  const { output } = request;
  if (output === "table" || output === "wide") {
    const table = new ObjectTable(request.selection.type, request);
    return async (objects) => void context.stdout.write(table.rows(objects, context.clock.now()));
  }
  let separator = "";
  return async (objects) => {
    for (const object of objects) {
      context.stdout.write(separator + (await printObjects([object], output, true)));
      separator = output === "yaml" ? "---\n" : "";
    }
  };
}
