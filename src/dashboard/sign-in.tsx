/** Signs in with an API key, which is sent once and not kept on the page. */
import { useState } from "preact/hooks";
import { messageOf } from "./api.ts";
import { BrandMark } from "./parts/icon.tsx";
import { signIn } from "./session.ts";

export function SignIn({ why }: { readonly why: string | undefined }) {
  const [error, setError] = useState(why);
  const [isBusy, setBusy] = useState(false);
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
        <button type="submit" class="button primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
