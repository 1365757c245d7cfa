/** Short messages about results of actions, also for screen readers. */
import { signal } from "@preact/signals";
import { messageOf } from "../api.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
}

const toasts = signal<readonly Toast[]>([]);
let count = 0;
const shownMs = 7000;

export function tell(text: string): void {
  const id = ++count;
  toasts.value = [...toasts.value, { id, text }];
  window.setTimeout(() => {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
  }, shownMs);
}

/** Runs the action and shows the result. True on success. */
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work();
    if (done !== undefined) tell(done);
    return true;
  } catch (error) {
    tell(messageOf(error));
    return false;
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text }) => (
        <div class="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
}
