/** Logs and metrics of the control plane, discarded. */
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { failureCode } from "./failure-code.ts";
import type { Trace } from "./trace.ts";

export const noMetrics: Metrics = {
  counter: () => ({ add: () => {} }),
  gauge: () => ({ set: () => {}, follow: () => () => {} }),
  histogram: () => ({ observe: () => {} }),
};

/** Warnings and errors become part of the trace. */
export function tracedLog(trace: Trace, who: string): Logger {
  const add = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    const told = Object.entries(fields).map(
      ([key, value]) => `${key}=${value instanceof Error ? failureCode(value) : JSON.stringify(value)}`,
    );
    trace.add(who, `${message} ${told.join(" ")}`);
  };
  const log: Logger = { info: () => {}, warn: add, error: add, with: () => log };
  return log;
}
