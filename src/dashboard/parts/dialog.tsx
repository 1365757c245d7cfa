/** A modal dialog of the browser: it keeps the focus inside, closes with Escape and restores the focus. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useModal();
  return (
    <dialog ref={element} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

export function useModal() {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return element;
}

interface ConfirmProps extends DialogProps {
  readonly action: string;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
}

export function ConfirmDialog({ action, isBusy = false, onConfirm, ...dialog }: ConfirmProps) {
  return (
    <Dialog {...dialog}>
      {dialog.children}
      <div class="foot">
        <button type="button" class="button" onClick={dialog.onClose}>
          Cancel
        </button>
        <button type="button" class="button danger" disabled={isBusy} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
