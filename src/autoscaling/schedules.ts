/** Floors that apply at planned times. `sandbox/envs/schedule.ts` parses cron expressions. */
import type { EnvSchedule } from "#model/env-autoscaling.ts";
import { nextStart } from "#sandbox/envs/schedule.ts";

export interface ScheduledFloor {
  readonly minReplicas: number;
  /** Name of the schedule that it comes from; undefined when none applies. */
  readonly name: string | undefined;
}

/** The highest floor that applies now. A schedule that cannot be read applies never: `checkEnv` says what is wrong with it. */
export function scheduledFloor(schedules: readonly EnvSchedule[], nowMs: number): ScheduledFloor {
  let floor: ScheduledFloor = { minReplicas: 0, name: undefined };
  for (const schedule of schedules) {
    if (schedule.minReplicas > floor.minReplicas && isOn(schedule, nowMs))
      floor = { minReplicas: schedule.minReplicas, name: schedule.name };
  }
  return floor;
}

/** It is on when it began less than its duration ago: the first start after that moment has come already. */
function isOn(schedule: EnvSchedule, nowMs: number): boolean {
  const began = nextStart(schedule, nowMs - schedule.durationSeconds * 1000);
  return began !== undefined && began <= nowMs;
}
