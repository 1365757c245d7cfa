import { agoText } from "../format.ts";
import { now } from "./now.ts";

/** How long ago; the moment itself is its title. */
export function Ago({ time }: { readonly time: string | undefined }) {
  if (time === undefined) return <>–</>;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {agoText(time, now.value)}
    </time>
  );
}
