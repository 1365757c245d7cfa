/**
 * A signal that looks before it answers. Aborts usually come from a timer or another event, and after a process has slept
 * (a stopped virtual machine, a long pause) other callbacks may run before those. Reading `aborted`, `reason` or calling
 * `throwIfAborted()` of a checked signal runs `check` first, which aborts the controller if the time for it has come.
 *
 * Listeners are told as usual, and so are signals made with `AbortSignal.any`; those do not check when they are read.
 */
export function checkedSignal(controller: AbortController, check: () => void): AbortSignal {
  const { signal } = controller;
  const read = (property: "aborted" | "reason"): unknown => {
    check();
    return Reflect.get(AbortSignal.prototype, property, signal);
  };
  return Object.defineProperties(signal, {
    aborted: { get: () => read("aborted") },
    reason: { get: () => read("reason") },
    throwIfAborted: {
      value: () => {
        check();
        AbortSignal.prototype.throwIfAborted.call(signal);
      },
    },
  });
}
