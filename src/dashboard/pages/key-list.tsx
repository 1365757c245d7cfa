/** API keys: create one, which is shown once, and revoke keys. */
import { useState } from "preact/hooks";
import type { ApiKeyInfo, ApiKeyWish, NewApiKey } from "#client/keys.ts";
import { api, messageOf } from "../api.ts";
import { Ago } from "../parts/ago.tsx";
import { ConfirmDialog, Dialog } from "../parts/dialog.tsx";
import { attempt, tell } from "../parts/toasts.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { signedIn } from "../session/session.ts";

export function KeyList() {
  const { value, error, reload } = useLoaded(() => api.keys.list(), { of: [], everyMs: 15_000 });
  const [isMaking, setMaking] = useState(false);
  const [doomed, setDoomed] = useState<ApiKeyInfo>();
  const { keyId } = signedIn().caller;
  return (
    <div class="page">
      <div class="page-head">
        <h1>API keys</h1>
        <div class="actions">
          <button type="button" class="button primary" onClick={() => setMaking(true)}>
            New key
          </button>
        </div>
      </div>
      {error !== undefined && <p class="error">{error}</p>}
      <div class="table-wrap">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>For</th>
              <th>Id</th>
              <th>Made</th>
              <th>Expires</th>
              <th>
                <span class="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {(value ?? []).map((key) => (
              <tr key={key.id}>
                <td>
                  {key.name} {key.id === keyId && <span class="hint">(this session)</span>}
                </td>
                <td>{ownerText(key)}</td>
                <td class="mono">{key.id}</td>
                <td>
                  <Ago time={key.createdAt} />
                </td>
                <td>{key.expiresAt === undefined ? "never" : <Ago time={key.expiresAt} />}</td>
                <td>
                  {key.source === undefined && (
                    <div class="actions">
                      <button type="button" class="button danger" aria-label={`Revoke key ${key.name}`} onClick={() => setDoomed(key)}>
                        Revoke…
                      </button>
                    </div>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isMaking && <NewKeyDialog onClose={() => setMaking(false)} onMade={reload} />}
      {doomed !== undefined && <RevokeDialog doomed={doomed} onClose={() => setDoomed(undefined)} onDone={reload} />}
    </div>
  );
}

function ownerText({ role, team, user }: ApiKeyInfo): string {
  if (role === "admin") return "admin";
  return [`team ${team ?? ""}`, user].filter((part) => part !== undefined).join(", user ");
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onMade: () => void;
}

function NewKeyDialog({ onClose, onMade }: DialogProps) {
  const [made, setMade] = useState<NewApiKey>();
  const [error, setError] = useState<string>();
  const isAdmin = signedIn().caller.role === "admin";
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      setMade(await api.keys.create(wishIn(new FormData(event.currentTarget as HTMLFormElement))));
      onMade();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  if (made !== undefined) return <MadeKey made={made} onClose={onClose} />;
  return (
    <Dialog title="New API key" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <label class="field">
          What it is for
          <input class="input" name="name" autofocus />
        </label>
        {isAdmin && (
          <label class="field">
            Rights
            <select class="input" name="role">
              <option value="tenant">Of one team</option>
              <option value="admin">Admin: everything</option>
            </select>
          </label>
        )}
        {isAdmin && (
          <label class="field">
            Team
            <input class="input" name="team" placeholder="required, except for an admin key" />
          </label>
        )}
        <label class="field">
          User of the team
          <input class="input" name="user" placeholder="the whole team" />
        </label>
        {error !== undefined && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Make it
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function wishIn(form: FormData): ApiKeyWish {
  const wish = Object.fromEntries([...form].filter(([, value]) => typeof value === "string" && value.trim() !== ""));
  return wish;
}

function MadeKey({ made, onClose }: { readonly made: NewApiKey; readonly onClose: () => void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>It is shown this once. Keep it where secrets are kept.</p>
      <div class="secret">
        <code>{made.key}</code>
        <button type="button" class="button" onClick={() => void navigator.clipboard.writeText(made.key).then(() => tell("Copied"))}>
          Copy
        </button>
      </div>
      <div class="foot">
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}

interface RevokeProps {
  readonly doomed: ApiKeyInfo;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RevokeDialog({ doomed, onClose, onDone }: RevokeProps) {
  const [keeps, setKeeps] = useState(false);
  const revoke = async (): Promise<void> => {
    if (await attempt(() => api.keys.revoke(doomed.id, keeps ? "keep" : "revoke"), `Key ${doomed.name} is revoked`)) onClose();
    onDone();
  };
  return (
    <ConfirmDialog title={`Revoke key ${doomed.name}?`} action="Revoke" onClose={onClose} onConfirm={() => void revoke()}>
      <p>Requests with it are refused from now on, and its sessions of the console end.</p>
      <label class="actions">
        <input type="checkbox" checked={keeps} onChange={(event) => setKeeps(event.currentTarget.checked)} />
        <span>Keep the keys that were made with it</span>
      </label>
    </ConfirmDialog>
  );
}
