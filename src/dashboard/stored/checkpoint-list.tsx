/** Checkpoints: files of sandboxes that were kept; new sandboxes start from them. */
import { useState } from "preact/hooks";
import type { Checkpoint } from "#client/checkpoints.ts";
import { api } from "../api.ts";
import { bytesText } from "../format.ts";
import { Ago } from "../parts/ago.tsx";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { Table } from "../parts/table.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { go, hrefOf } from "../route.ts";
import { ownerText } from "./owner-text.ts";

export function CheckpointList() {
  const { value, error, reload } = useLoaded((signal) => api.checkpoints.list({}, signal), { of: [], everyMs: 5000 });
  const [source, setSource] = useState<Checkpoint>();
  const [doomed, setDoomed] = useState<Checkpoint>();
  const remove = async ({ id }: Checkpoint): Promise<void> => {
    if (await attempt(() => api.checkpoints.delete(id), "Checkpoint deleted")) setDoomed(undefined);
    reload();
  };
  return (
    <div class="page">
      <h1>Checkpoints</h1>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.length === 0 && (
        <div class="card">
          <Empty title="No checkpoint is kept">
            <p>
              A checkpoint keeps the files of a sandbox at one moment. Take one with <em>Snapshot…</em> on the page of a{" "}
              <Link href={hrefOf(["sandboxes"])}>sandbox</Link>.
            </p>
          </Empty>
        </div>
      )}
      {value !== undefined && value.length > 0 && (
        <Table columns={["Checkpoint", "State", "From", "Owner", "Size", "Taken"]} hasActions>
          {value.map((checkpoint) => (
            <Row key={checkpoint.id} checkpoint={checkpoint} onUse={() => setSource(checkpoint)} onDelete={() => setDoomed(checkpoint)} />
          ))}
        </Table>
      )}
      {source !== undefined && <CreateDialog checkpoint={source} onClose={() => setSource(undefined)} />}
      {doomed !== undefined && (
        <ConfirmDialog
          title={`Delete checkpoint ${nameOf(doomed)}?`}
          action="Delete"
          onClose={() => setDoomed(undefined)}
          onConfirm={() => void remove(doomed)}
        >
          <p>No sandbox can start from it any more. Those that run on it go on.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

interface RowProps {
  readonly checkpoint: Checkpoint;
  readonly onUse: () => void;
  readonly onDelete: () => void;
}

function Row({ checkpoint, onUse, onDelete }: RowProps) {
  const { alias, id, phase, message, sandboxId, sizeBytes, createdAt } = checkpoint;
  return (
    <tr>
      <td>
        {alias !== undefined && <div>{alias}</div>}
        <span class="mono hint">{id}</span>
      </td>
      <td>
        <StatusBadge status={phase} /> {message}
      </td>
      <td class="mono">
        <Link href={hrefOf(["sandboxes", sandboxId])}>{sandboxId}</Link>
      </td>
      <td>{ownerText(checkpoint)}</td>
      <td>{sizeBytes === undefined ? "–" : bytesText(sizeBytes)}</td>
      <td>
        <Ago time={createdAt} />
      </td>
      <td>
        <div class="actions">
          {phase === "Succeeded" && (
            <button type="button" class="button" aria-label={`New sandbox from ${nameOf(checkpoint)}`} onClick={onUse}>
              Run…
            </button>
          )}
          <button type="button" class="button danger" aria-label={`Delete ${nameOf(checkpoint)}`} onClick={onDelete}>
            Delete…
          </button>
        </div>
      </td>
    </tr>
  );
}

function CreateDialog({ checkpoint, onClose }: { readonly checkpoint: Checkpoint; readonly onClose: () => void }) {
  const create = async ({ lifetime }: Readonly<Record<string, string>>): Promise<void> => {
    const { sandbox } = await api.sandboxes.create({ poolName: checkpoint.id, ...(lifetime !== undefined && { lifetime }) });
    go(hrefOf(["sandboxes", sandbox.sandboxId]));
  };
  return (
    <FormDialog title={`New sandbox from ${nameOf(checkpoint)}`} action="Create" onClose={onClose} onSubmit={create}>
      <label class="field">
        Lives for
        <input class="input" name="lifetime" placeholder="1h30m; empty: as its pool says" autofocus />
      </label>
    </FormDialog>
  );
}

function nameOf({ alias, id }: Checkpoint): string {
  return alias ?? id;
}
