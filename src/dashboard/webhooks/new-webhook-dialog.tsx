/** Makes a webhook. Its secret is made here, shown in the form, and never again. */
import { useState } from "preact/hooks";
import { eventName, sandboxEventTypes } from "#model/sandbox-event.ts";
import { api } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";

interface NewWebhookProps {
  readonly onClose: () => void;
  readonly onMade: () => void;
}

export function NewWebhookDialog({ onClose, onMade }: NewWebhookProps) {
  const [secret] = useState(newSecret);
  const make = async ({ name = "", url = "", secret: signatureSecret = "" }: Readonly<Record<string, string>>, form: FormData) => {
    const events = form.getAll("event").filter((event) => typeof event === "string");
    await api.webhooks.create({ name, url, signatureSecret, events });
    onMade();
  };
  return (
    <FormDialog title="New webhook" action="Make it" onClose={onClose} onSubmit={make}>
      <label class="field">
        Name
        <input class="input" name="name" required autofocus />
      </label>
      <label class="field">
        Address
        <input class="input" name="url" type="url" placeholder="https://example.com/hook" required />
      </label>
      <label class="field">
        Secret that signs what is sent: keep it, it is not shown again
        <input class="input mono" name="secret" value={secret} required />
      </label>
      <fieldset class="choices">
        <legend>Events</legend>
        {sandboxEventTypes.map((type) => (
          <label key={type} class="actions">
            <input type="checkbox" name="event" value={eventName(type)} checked />
            <span>{type}</span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}

function newSecret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
