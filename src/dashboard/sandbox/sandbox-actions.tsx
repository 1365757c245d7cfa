/** Actions on a live sandbox: pause, resume, copy, change timeouts, end. */
import { useState } from "preact/hooks";
import type { Sandbox } from "#client/sandbox-types.ts";
import { api } from "../api.ts";
import { ConfirmDialog, Dialog } from "../parts/dialog.tsx";
import { attempt } from "../parts/toasts.tsx";
import { CopyActions } from "./copy-actions.tsx";

export function SandboxActions({ sandbox }: { readonly sandbox: Sandbox }) {
  const { sandboxId, status } = sandbox;
  const [open, setOpen] = useState<"end" | "time">();
  const [isBusy, setBusy] = useState(false);
  const act = async (work: () => Promise<unknown>, done: string): Promise<void> => {
    setBusy(true);
    if (await attempt(work, done)) setOpen(undefined);
    setBusy(false);
  };
  return (
    <div class="actions">
      {status === "Running" && (
        <button
          type="button"
          class="button"
          disabled={isBusy}
          onClick={() => void act(() => api.sandboxes.pause(sandboxId), "Sandbox paused")}
        >
          Pause
        </button>
      )}
      {status === "Paused" && (
        <button
          type="button"
          class="button"
          disabled={isBusy}
          onClick={() => void act(() => api.sandboxes.resume(sandboxId), "Sandbox resumed")}
        >
          Resume
        </button>
      )}
      {(status === "Running" || status === "Paused") && <CopyActions sandboxId={sandboxId} isRunning={status === "Running"} />}
      <button type="button" class="button" disabled={status === "Stopping"} onClick={() => setOpen("time")}>
        Change its time…
      </button>
      <button type="button" class="button danger" disabled={status === "Stopping"} onClick={() => setOpen("end")}>
        End…
      </button>
      {open === "time" && (
        <TimeDialog
          sandbox={sandbox}
          isBusy={isBusy}
          onClose={() => setOpen(undefined)}
          onSave={(wish) => void act(() => api.sandboxes.setTimeouts(sandboxId, wish), "Timeouts changed")}
        />
      )}
      {open === "end" && (
        <ConfirmDialog
          title="End this sandbox?"
          action="End"
          isBusy={isBusy}
          onClose={() => setOpen(undefined)}
          onConfirm={() => void act(() => api.sandboxes.end(sandboxId), "The sandbox ends")}
        >
          <p>What runs in it is killed, and its files are gone. Its record and its logs stay.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

interface TimeDialogProps {
  readonly sandbox: Sandbox;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onSave: (wish: { readonly lifetime?: string | null; readonly idleTimeout?: string }) => void;
}

function TimeDialog({ sandbox, isBusy, onClose, onSave }: TimeDialogProps) {
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const [lifetime, idleTimeout] = [textIn(form, "lifetime"), textIn(form, "idle")];
    onSave({
      ...(lifetime !== "" && { lifetime: lifetime === "never" ? null : lifetime }),
      ...(idleTimeout !== "" && { idleTimeout }),
    });
  };
  return (
    <Dialog title="Change its time" onClose={onClose}>
      <form onSubmit={submit}>
        <label class="field">
          Lives from now on for
          <input class="input" name="lifetime" placeholder="1h30m, or never; empty: as it is" />
        </label>
        <label class="field">
          Ends after so long without traffic
          <input class="input" name="idle" placeholder={`${sandbox.idleTimeout ?? "no limit"} now; 30m, or 0 for no limit`} />
        </label>
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={isBusy}>
            Change
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}
