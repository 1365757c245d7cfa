/** Signs in with an API key, which is sent once and not kept on the page, or at an OpenID Connect provider. */
import { useState } from "preact/hooks";
import { api, messageOf } from "../api.ts";
import { BrandMark } from "../parts/icon.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { signIn, startOidc } from "./session.ts";

export function SignIn({ why }: { readonly why: string | undefined }) {
  const [error, setError] = useState(why);
  const [isBusy, setBusy] = useState(false);
  const { value: ways } = useLoaded((signal) => api.session.ways(signal), { of: [] });
  const leave = async (): Promise<void> => {
    setBusy(true);
    try {
      await startOidc();
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = new FormData(form).get("key");
    if (typeof key !== "string" || key.trim() === "") return;
    setBusy(true);
    try {
      await signIn(key.trim());
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form class="card form" onSubmit={(event) => void submit(event)}>
        <h1 class="brand">
          <BrandMark /> AgentBox
        </h1>
        {ways?.oidc !== undefined && (
          <>
            <button type="button" class="button primary" disabled={isBusy} onClick={() => void leave()}>
              Sign in with {ways.oidc.name}
            </button>
            <p class="hint">Or with an API key:</p>
          </>
        )}
        <label class="field">
          API key
          <input
            class="input mono"
            name="key"
            type="password"
            autocomplete="off"
            placeholder="e2b_…"
            autofocus
            required
            aria-describedby="key-help"
          />
        </label>
        <p class="hint" id="key-help">
          <code>make up</code> shows the first key when it starts. <code>agentbox key create</code> makes another one.
        </p>
        {error !== undefined && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class={ways?.oidc === undefined ? "button primary" : "button"} disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
