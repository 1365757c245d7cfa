import { agoText } from "../format.ts";
import { now } from "./now.ts";

/** The age of a moment; the exact time is its title. */
export function Ago({ time }: { readonly time: string | undefined }) {
  if (time === undefined) return <>–</>;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {agoText(time, now.value)}
    </time>
  );
}
