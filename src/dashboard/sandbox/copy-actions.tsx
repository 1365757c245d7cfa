/** Makes something of a sandbox that stays as it is: a checkpoint of its files, or more sandboxes like it. */
import { api } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { tell } from "../parts/toasts.tsx";
import { go, hrefOf, place, setQuery } from "../route.ts";

interface CopyProps {
  readonly sandboxId: string;
  /** A paused one is not forked. */
  readonly isRunning: boolean;
}

export function CopyActions({ sandboxId, isRunning }: CopyProps) {
  // In the address, so that the palette opens them too.
  const open = place.value.query.get("make");
  const setOpen = (make: "snapshot" | "fork" | undefined): void => setQuery({ make });
  const close = (): void => setOpen(undefined);
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen("snapshot")}>
        Snapshot…
      </button>
      {isRunning && (
        <button type="button" class="button" onClick={() => setOpen("fork")}>
          Fork…
        </button>
      )}
      {open === "snapshot" && <SnapshotDialog sandboxId={sandboxId} onClose={close} />}
      {open === "fork" && isRunning && <ForkDialog sandboxId={sandboxId} onClose={close} />}
    </>
  );
}

interface CopyDialogProps {
  readonly sandboxId: string;
  readonly onClose: () => void;
}

function SnapshotDialog({ sandboxId, onClose }: CopyDialogProps) {
  const take = async ({ alias, ttl }: Readonly<Record<string, string>>): Promise<void> => {
    const { id } = await api.checkpoints.take(sandboxId, { ...(alias !== undefined && { alias }), ...(ttl !== undefined && { ttl }) });
    tell(`Checkpoint ${alias ?? id} is there`);
    go(hrefOf(["checkpoints"]));
  };
  return (
    <FormDialog title="Snapshot of its files" action="Take it" onClose={onClose} onSubmit={take}>
      <p>The sandbox stands still while its changed files are copied, and goes on. Processes and memory are not kept.</p>
      <label class="field">
        Name
        <input class="input" name="alias" placeholder="such as prepared or prepared:v1; may be empty" autofocus />
      </label>
      <label class="field">
        Kept for
        <input class="input" name="ttl" placeholder="24h; empty: until it is deleted" />
      </label>
    </FormDialog>
  );
}

function ForkDialog({ sandboxId, onClose }: CopyDialogProps) {
  const fork = async ({ count = "1", lifetime }: Readonly<Record<string, string>>): Promise<void> => {
    const { sandboxes, failures } = await api.checkpoints.fork(sandboxId, {
      count: Number(count),
      ...(lifetime !== undefined && { lifetime }),
    });
    if (failures.length > 0) tell(`${failures.length} were not made: ${failures[0]?.message ?? ""}`);
    const [only] = sandboxes;
    if (only === undefined) throw new Error(failures[0]?.message ?? "none was made");
    tell(sandboxes.length === 1 ? `Sandbox ${only.sandbox.sandboxId} runs` : `${sandboxes.length} sandboxes run`);
    go(sandboxes.length === 1 ? hrefOf(["sandboxes", only.sandbox.sandboxId]) : hrefOf(["sandboxes"]));
  };
  return (
    <FormDialog title="More sandboxes like this one" action="Fork" onClose={onClose} onSubmit={fork}>
      <p>Each starts with its files, metadata and variables. Processes stay with the original.</p>
      <label class="field">
        How many
        <input class="input" name="count" type="number" min="1" max="100" value="1" required autofocus />
      </label>
      <label class="field">
        Each lives for
        <input class="input" name="lifetime" placeholder="1h30m; empty: what the original has left" />
      </label>
    </FormDialog>
  );
}
