/** Sets the minimum and maximum size of a group; shows the effect before saving. */
import { useState } from "preact/hooks";
import type { EnvGroup, EnvName } from "#client/envs.ts";
import { api } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { attempt } from "../parts/toasts.tsx";
import { boundsEffect, changedPolicy } from "./group-bounds.ts";

interface BoundsDialogProps {
  readonly env: EnvName;
  readonly group: EnvGroup;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function BoundsDialog({ env, group, onClose, onSaved }: BoundsDialogProps) {
  const { policy } = group;
  const [enabled, setEnabled] = useState(group.enabled);
  const [min, setMin] = useState(String(policy?.minReplicas ?? 0));
  const [max, setMax] = useState(policy?.maxReplicas === undefined ? "" : String(policy.maxReplicas));
  const bounds = { enabled, min: Number(min), max: max === "" ? undefined : Number(max) };
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!(await attempt(() => api.envs.putGroup(env, group.name, changedPolicy(policy, bounds)), `Group ${group.name} is changed`))) return;
    onSaved();
    onClose();
  };
  return (
    <Dialog title={`Bounds of group ${group.name}`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label class="actions">
          <input type="checkbox" checked={enabled} onChange={(event) => setEnabled(event.currentTarget.checked)} />
          <span>The autoscaler sizes it</span>
        </label>
        <label class="field">
          Fewest pods
          <input class="input" type="number" min="0" required value={min} onInput={(event) => setMin(event.currentTarget.value)} />
        </label>
        <label class="field">
          Most pods
          <input
            class="input"
            type="number"
            min="0"
            placeholder="no limit"
            value={max}
            onInput={(event) => setMax(event.currentTarget.value)}
          />
        </label>
        <p class="notice" role="status">
          {boundsEffect(group, bounds)}
        </p>
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
