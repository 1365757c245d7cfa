/** A link to a page of the console that does not reload the page. */
import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { go } from "../route.ts";

interface LinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly current?: boolean;
}

export function Link({ href, children, current = false, ...rest }: LinkProps) {
  return (
    <a href={href} {...rest} {...(current && { "aria-current": "page" as const })} onClick={(event) => follow(event, href)}>
      {children}
    </a>
  );
}

/** Modified clicks are left to the browser, which opens a tab or window. */
function follow(event: TargetedMouseEvent<HTMLAnchorElement>, href: string): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(href);
}
