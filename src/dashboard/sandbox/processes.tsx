/** What runs in the sandbox now. */
import { api } from "../api.ts";
import { bytesText } from "../format.ts";
import { attempt } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { parseProcesses, processCommand } from "./process-list.ts";

export function Processes({ sandboxId }: { readonly sandboxId: string }) {
  const { value, error, reload } = useLoaded(
    async (signal) => parseProcesses((await api.sandboxes.exec(sandboxId, { command: processCommand, timeout: "10s" }, signal)).stdout),
    { of: [sandboxId], everyMs: 5000 },
  );
  const stop = (pid: number): void => {
    void attempt(async () => {
      const { exitCode, stderr } = await api.sandboxes.exec(sandboxId, { command: ["kill", String(pid)] });
      if (exitCode !== 0) throw new Error(stderr);
    }, `Process ${pid} was asked to exit`).then(reload);
  };
  return (
    <>
      {error !== undefined && <p class="error">{error}</p>}
      <div class="table-wrap">
        <table>
          <thead>
            <tr>
              <th class="number">Process</th>
              <th>Command</th>
              <th>State</th>
              <th class="number">User</th>
              <th class="number">Memory</th>
              <th>
                <span class="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {(value ?? []).map(({ pid, command, state, user, memoryBytes }) => (
              <tr key={pid}>
                <td class="number mono">{pid}</td>
                <td class="mono" style={{ overflowWrap: "anywhere" }}>
                  {command}
                </td>
                <td>{state}</td>
                <td class="number">{user}</td>
                <td class="number">{bytesText(memoryBytes)}</td>
                <td>
                  {pid !== 1 && (
                    <div class="actions">
                      <button type="button" class="button" aria-label={`End process ${pid}`} onClick={() => stop(pid)}>
                        End
                      </button>
                    </div>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
