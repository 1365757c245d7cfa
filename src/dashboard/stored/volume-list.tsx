/** Volumes: files that outlive sandboxes. */
import { useState } from "preact/hooks";
import type { Volume } from "#client/volumes.ts";
import { api } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { ConfirmDialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Link } from "../parts/link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { Table } from "../parts/table.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";
import { ownerText } from "./owner-text.ts";

export function VolumeList() {
  const { value, error, reload } = useLoaded(() => api.volumes.list(), { of: [], everyMs: 5000 });
  const [isMaking, setMaking] = useState(false);
  const [doomed, setDoomed] = useState<Volume>();
  return (
    <div class="page">
      <div class="page-head">
        <h1>Volumes</h1>
        <div class="actions">
          <button type="button" class="button primary" onClick={() => setMaking(true)}>
            New volume
          </button>
        </div>
      </div>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.length === 0 && (
        <div class="card">
          <Empty title="There is no volume">
            <p>A volume keeps files when sandboxes end, and several sandboxes can have it at once:</p>
            <pre class="code">agentbox run --volume NAME:/data base</pre>
          </Empty>
        </div>
      )}
      {value !== undefined && value.length > 0 && (
        <Table columns={["Volume", "State", "Owner", "Size", "Mounted by", "Made"]} hasActions>
          {value.map((volume) => (
            <Row key={volume.id} volume={volume} onDelete={() => setDoomed(volume)} />
          ))}
        </Table>
      )}
      {isMaking && <NewVolumeDialog onClose={() => setMaking(false)} onMade={reload} />}
      {doomed !== undefined && <DeleteDialog volume={doomed} onClose={() => setDoomed(undefined)} onDone={reload} />}
    </div>
  );
}

function Row({ volume, onDelete }: { readonly volume: Volume; readonly onDelete: () => void }) {
  const { id, name, phase, message, sizeMiB, mountedBy, createdAt } = volume;
  return (
    <tr>
      <td>
        <div>{name}</div>
        <span class="mono hint">{id}</span>
      </td>
      <td>
        <StatusBadge status={phase} /> {message}
      </td>
      <td>{ownerText(volume)}</td>
      <td>{sizeMiB} MiB</td>
      <td>
        {mountedBy.length === 0 && "–"}
        {mountedBy.map((sandboxId) => (
          <div key={sandboxId} class="mono">
            <Link href={hrefOf(["sandboxes", sandboxId])}>{sandboxId}</Link>
          </div>
        ))}
      </td>
      <td>
        <Ago time={createdAt} />
      </td>
      <td>
        <div class="actions">
          <button type="button" class="button danger" aria-label={`Delete volume ${name}`} onClick={onDelete}>
            Delete…
          </button>
        </div>
      </td>
    </tr>
  );
}

interface ChangeProps {
  readonly onClose: () => void;
  readonly onMade: () => void;
}

function NewVolumeDialog({ onClose, onMade }: ChangeProps) {
  const make = async ({ name = "", size }: Readonly<Record<string, string>>): Promise<void> => {
    await api.volumes.create({ name, ...(size !== undefined && { sizeMiB: Number(size) }) });
    onMade();
  };
  return (
    <FormDialog title="New volume" action="Make it" onClose={onClose} onSubmit={make}>
      <label class="field">
        Name
        <input class="input" name="name" required autofocus />
      </label>
      <label class="field">
        Size in MiB
        <input class="input" name="size" type="number" min="1" step="1" placeholder="as usual" />
      </label>
    </FormDialog>
  );
}

interface DeleteProps {
  readonly volume: Volume;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DeleteDialog({ volume: { name, id, mountedBy }, onClose, onDone }: DeleteProps) {
  const isUsed = mountedBy.length > 0;
  const remove = async (): Promise<void> => {
    if (await attempt(() => api.volumes.remove(id, { force: isUsed }), `Volume ${name} is deleted`)) onClose();
    onDone();
  };
  return (
    <ConfirmDialog title={`Delete volume ${name}?`} action="Delete" onClose={onClose} onConfirm={() => void remove()}>
      <p>All files in it are gone.</p>
      {isUsed && <p>{mountedBy.length} sandboxes have it mounted. They keep it until they end.</p>}
    </ConfirmDialog>
  );
}
