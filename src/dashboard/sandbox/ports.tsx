/** The listening ports of the sandbox and their addresses. */
import type { Sandbox } from "#client/sandbox-types.ts";
import { api } from "../api.ts";
import { Empty } from "../parts/empty.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { signedIn } from "../session/session.ts";
import { listeningPorts } from "./listening-ports.ts";

const command = ["sh", "-c", "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null"];

export function Ports({ sandbox: { sandboxId, privateTraffic = false } }: { readonly sandbox: Sandbox }) {
  const { value, error } = useLoaded(
    async (signal) => listeningPorts((await api.sandboxes.exec(sandboxId, { command, timeout: "10s" }, signal)).stdout),
    { of: [sandboxId], everyMs: 5000 },
  );
  const { domain } = signedIn();
  if (error !== undefined) return <p class="error">{error}</p>;
  if (value !== undefined && value.length === 0) {
    return (
      <Empty title="Nothing listens in this sandbox">
        <p>Start a server in its terminal, for example:</p>
        <pre class="code">python3 -m http.server 8000</pre>
      </Empty>
    );
  }
  return (
    <>
      {privateTraffic && (
        <p class="hint">Requests to its ports need the traffic token from the create's answer, in the header e2b-traffic-access-token.</p>
      )}
      <div class="table-wrap">
        <table>
          <thead>
            <tr>
              <th class="number">Port</th>
              <th>Address</th>
            </tr>
          </thead>
          <tbody>
            {(value ?? []).map(({ port, isLocal }) => {
              const url = `https://${port}-${sandboxId}.${domain}`;
              return (
                <tr key={port}>
                  <td class="number mono">{port}</td>
                  <td>
                    {isLocal ? <span class="hint">listens on localhost in the sandbox; the gateway reaches it too: </span> : null}
                    <a class="mono" href={url} target="_blank" rel="noreferrer noopener">
                      {url}
                    </a>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
