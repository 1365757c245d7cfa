/** Shows what a newer template would change in an Env's members, before doing it. */
import type { EnvName, EnvRefresh } from "#client/envs.ts";
import { api } from "../api.ts";
import { ConfirmDialog, Dialog } from "../parts/dialog.tsx";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";

export function RefreshDialog({ env, onClose }: { readonly env: EnvName; readonly onClose: () => void }) {
  const { value, error } = useLoaded((signal) => api.envs.refresh(env, { dryRun: true }, signal), { of: [env.namespace, env.name] });
  const changed = value?.members.filter(({ changes }) => changes.length > 0) ?? [];
  if (value === undefined || changed.length === 0) {
    return (
      <Dialog title="Update to the current template" onClose={onClose}>
        <p>{error ?? (value === undefined ? "Comparing…" : "All members are up to date with the template.")}</p>
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  }
  const refresh = async (): Promise<void> => {
    if (await attempt(() => api.envs.refresh(env), "Members updated to the template")) onClose();
  };
  return (
    <ConfirmDialog title="Update to the current template?" action="Update" onClose={onClose} onConfirm={() => void refresh()}>
      <p>Idle pods are replaced. Sandboxes that run are not touched.</p>
      {changed.map((member) => (
        <MemberChanges key={member.name} member={member} />
      ))}
    </ConfirmDialog>
  );
}

function MemberChanges({ member: { name, changes } }: { readonly member: EnvRefresh["members"][number] }) {
  return (
    <section class="form">
      <h3>{name}</h3>
      <table>
        <thead>
          <tr>
            <th>Field</th>
            <th>Now</th>
            <th>Then</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ field, from, to }) => (
            <tr key={field}>
              <td class="mono">{field}</td>
              <td class="mono">{from === undefined ? "–" : JSON.stringify(from)}</td>
              <td class="mono">{to === undefined ? "–" : JSON.stringify(to)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
