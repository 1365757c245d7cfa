/** Downloads what the page shows as a table for spreadsheets. */
import { useState } from "preact/hooks";
import { download } from "./download.ts";
import { attempt } from "./toasts.tsx";

export function CsvButton({ name, load }: { readonly name: string; readonly load: () => Promise<Response> }) {
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    await attempt(async () => download(await (await load()).blob(), `${name}.csv`));
    setBusy(false);
  };
  return (
    <button type="button" class="button" disabled={isBusy} onClick={() => void run()}>
      {isBusy ? "Downloading…" : "Download CSV"}
    </button>
  );
}
