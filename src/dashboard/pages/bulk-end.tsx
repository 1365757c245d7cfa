/** Ends all selected sandboxes after listing them. */
import { useState } from "preact/hooks";
import type { Sandbox } from "#client/sandbox-types.ts";
import { api } from "../api.ts";
import { agoText } from "../format.ts";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { now } from "../parts/now.ts";
import { tell } from "../parts/toasts.tsx";

/** Requests at a time: the server has other callers. */
const atOnce = 8;
const shownRows = 8;

export function BulkEnd({ chosen, onClear }: { readonly chosen: readonly Sandbox[]; readonly onClear: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const end = async (): Promise<void> => {
    setBusy(true);
    const failed = await endAll(chosen.map(({ sandboxId }) => sandboxId));
    tell(failed === 0 ? `${chosen.length} sandboxes are ended` : `${failed} of ${chosen.length} sandboxes could not be ended`);
    setBusy(false);
    setAsking(false);
    onClear();
  };
  return (
    <div class="bulk">
      <strong>{chosen.length} selected</strong>
      <button type="button" class="button danger" onClick={() => setAsking(true)}>
        End them…
      </button>
      <button type="button" class="button" onClick={onClear}>
        Clear
      </button>
      {isAsking && (
        <ConfirmDialog
          title={chosen.length === 1 ? "End this sandbox?" : `End these ${chosen.length} sandboxes?`}
          action={isBusy ? "Ending…" : "End"}
          isBusy={isBusy}
          onClose={() => setAsking(false)}
          onConfirm={() => void end()}
        >
          <p>What runs in them is killed, and their files are gone.</p>
          <table>
            <tbody>
              {chosen.slice(0, shownRows).map(({ sandboxId, poolName, claimedAt }) => (
                <tr key={sandboxId}>
                  <td class="mono">{sandboxId}</td>
                  <td>{poolName}</td>
                  <td>{agoText(claimedAt, now.value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {chosen.length > shownRows && <p class="hint">and {chosen.length - shownRows} more</p>}
        </ConfirmDialog>
      )}
    </div>
  );
}

/** Resolves with the number of sandboxes that could not be ended. */
async function endAll(ids: readonly string[]): Promise<number> {
  const rest = [...ids];
  let failed = 0;
  const worker = async (): Promise<void> => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
      await api.sandboxes.end(id).catch(() => {
        failed += 1;
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return failed;
}
