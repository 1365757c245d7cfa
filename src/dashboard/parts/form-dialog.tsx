/** A dialog with a form: it stays open, with the server's words, until its action succeeds. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { Dialog } from "./dialog.tsx";

interface FormDialogProps {
  readonly title: string;
  /** On the button. */
  readonly action: string;
  readonly onClose: () => void;
  /** With what is in the fields that are not empty. Closes the dialog when it resolves. */
  readonly onSubmit: (fields: Readonly<Record<string, string>>, form: FormData) => Promise<void>;
  readonly children: ComponentChildren;
}

export function FormDialog({ title, action, onClose, onSubmit, children }: FormDialogProps) {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    try {
      await onSubmit(fieldsIn(form), form);
      onClose();
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        {children}
        {error !== undefined && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <div class="foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={isBusy}>
            {isBusy ? "Working…" : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function fieldsIn(form: FormData): Readonly<Record<string, string>> {
  const pairs = [...form].flatMap(([name, value]) => (typeof value === "string" && value.trim() !== "" ? [[name, value.trim()]] : []));
  return Object.fromEntries(pairs) as Readonly<Record<string, string>>;
}
