/** Acting as a tenant: the dialog that begins it, and the banner that stays on every page until it ends. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { actAs, signedIn, stopActing } from "./session.ts";

const isAsking = signal(false);

export function askWhomToActAs(): void {
  isAsking.value = true;
}

export function ActingBanner() {
  const { caller, isActing } = signedIn();
  if (!isActing) return null;
  return (
    <div class="acting" role="status">
      <span>
        You act as team <strong>{caller.team}</strong>
        {caller.user !== undefined && (
          <>
            , user <strong>{caller.user}</strong>
          </>
        )}
        . What you change counts as its own; the audit log names you.
      </span>
      <button type="button" class="button" onClick={() => void stopActing()}>
        Be admin again
      </button>
    </div>
  );
}

export function ActAsDialog() {
  return isAsking.value ? <OpenDialog /> : null;
}

function OpenDialog() {
  const [error, setError] = useState<string>();
  const close = (): void => {
    isAsking.value = false;
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const [team, user] = [textIn(form, "team"), textIn(form, "user")];
    try {
      await actAs({ team, ...(user !== "" && { user }) });
      close();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <Dialog title="Act as a team" onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <p>This page then shows and changes only what that team may. Other pages of this browser go on as they are.</p>
        <label class="field">
          Team
          <input class="input" name="team" required autofocus />
        </label>
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
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Act as it
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
