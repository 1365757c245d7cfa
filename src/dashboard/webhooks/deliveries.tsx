/** What a webhook has not taken: events that wait for the next try, and those that were given up. */
import type { WebhookInfo } from "#client/webhooks.ts";
import { api } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Link } from "../parts/link.tsx";
import { Table } from "../parts/table.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";

export function Deliveries({ webhook: { id, name }, onClose }: { readonly webhook: WebhookInfo; readonly onClose: () => void }) {
  const { value, error } = useLoaded((signal) => api.webhooks.deliveries(id, signal), { of: [id], everyMs: 5000 });
  return (
    <Dialog title={`Deliveries of ${name}`} onClose={onClose}>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.length === 0 && <p>It has taken all events until now.</p>}
      {value !== undefined && value.length > 0 && (
        <Table columns={["Event", "Sandbox", "State", "Last failure"]}>
          {value.map(({ event, sandboxId, at, state, attempts, dueAt, lastError }) => (
            <tr key={`${sandboxId} ${event} ${at}`}>
              <td>{event}</td>
              <td class="mono">
                <Link href={hrefOf(["sandboxes", sandboxId])}>{sandboxId}</Link>
              </td>
              <td>
                {state === "dead" ? "given up" : "tried again"} <Ago time={dueAt} /> ({attempts} tries)
              </td>
              <td>{lastError ?? "–"}</td>
            </tr>
          ))}
        </Table>
      )}
      <div class="foot">
        <button type="button" class="button primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
