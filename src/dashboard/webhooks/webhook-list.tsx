/** Webhooks: where a team is told what happens to its sandboxes, and what they have not taken. */
import { useState } from "preact/hooks";
import type { WebhookInfo } from "#client/webhooks.ts";
import { api } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { Table } from "../parts/table.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { ownerText } from "../stored/owner-text.ts";
import { Deliveries } from "./deliveries.tsx";
import { NewWebhookDialog } from "./new-webhook-dialog.tsx";

export function WebhookList() {
  const { value, error, reload } = useLoaded((signal) => api.webhooks.list(signal), { of: [], everyMs: 10_000 });
  const [isMaking, setMaking] = useState(false);
  const [doomed, setDoomed] = useState<WebhookInfo>();
  const [opened, setOpened] = useState<WebhookInfo>();
  const remove = async ({ id, name }: WebhookInfo): Promise<void> => {
    if (await attempt(() => api.webhooks.remove(id), `Webhook ${name} is deleted`)) setDoomed(undefined);
    reload();
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>Webhooks</h1>
        <div class="actions">
          <button type="button" class="button primary" onClick={() => setMaking(true)}>
            New webhook
          </button>
        </div>
      </div>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.length === 0 && (
        <div class="card">
          <Empty title="There is no webhook">
            <p>A webhook is told when sandboxes are created, paused, resumed, changed or ended, signed and until it has taken it.</p>
          </Empty>
        </div>
      )}
      {value !== undefined && value.length > 0 && (
        <Table columns={["Webhook", "State", "Owner", "Events", "Made"]} hasActions>
          {value.map((webhook) => (
            <Row
              key={webhook.id}
              webhook={webhook}
              onChanged={reload}
              onOpen={() => setOpened(webhook)}
              onDelete={() => setDoomed(webhook)}
            />
          ))}
        </Table>
      )}
      {isMaking && <NewWebhookDialog onClose={() => setMaking(false)} onMade={reload} />}
      {opened !== undefined && <Deliveries webhook={opened} onClose={() => setOpened(undefined)} />}
      {doomed !== undefined && (
        <ConfirmDialog
          title={`Delete webhook ${doomed.name}?`}
          action="Delete"
          onClose={() => setDoomed(undefined)}
          onConfirm={() => void remove(doomed)}
        >
          <p>What it has not taken is dropped.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

interface RowProps {
  readonly webhook: WebhookInfo;
  readonly onChanged: () => void;
  readonly onOpen: () => void;
  readonly onDelete: () => void;
}

function Row({ webhook, onChanged, onOpen, onDelete }: RowProps) {
  const { id, name, url, enabled, events, createdAt } = webhook;
  const change = async (): Promise<void> => {
    await attempt(() => api.webhooks.setEnabled(id, !enabled), enabled ? `${name} is told nothing now` : `${name} is told events again`);
    onChanged();
  };
  return (
    <tr>
      <td>
        <div>{name}</div>
        <span class="mono hint">{url}</span>
      </td>
      <td>
        <StatusBadge status={enabled ? "Ready" : "Off"} />
      </td>
      <td>{ownerText(webhook)}</td>
      <td>{events.map(shortEvent).join(", ")}</td>
      <td>
        <Ago time={createdAt} />
      </td>
      <td>
        <div class="actions">
          <button type="button" class="button" aria-label={`Deliveries of ${name}`} onClick={onOpen}>
            Deliveries…
          </button>
          <button type="button" class="button" aria-label={`Switch ${name} ${enabled ? "off" : "on"}`} onClick={() => void change()}>
            {enabled ? "Switch off" : "Switch on"}
          </button>
          <button type="button" class="button danger" aria-label={`Delete webhook ${name}`} onClick={onDelete}>
            Delete…
          </button>
        </div>
      </td>
    </tr>
  );
}

export function shortEvent(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
