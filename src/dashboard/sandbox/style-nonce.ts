/** Lets terminal and editor add style elements: the page allows none without its nonce. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
}

/** While `work` runs, new style elements get the nonce: the terminal has no setting for it. */
export function withStyleNonce(work: () => void): void {
  const create = document.createElement.bind(document);
  const createWithNonce = (tag: string, options?: ElementCreationOptions): HTMLElement => {
    const element = create(tag, options);
    if (tag === "style") element.setAttribute("nonce", styleNonce());
    return element;
  };
  document.createElement = createWithNonce;
  try {
    work();
  } finally {
    // Restores the method of the prototype.
    Reflect.deleteProperty(document, "createElement");
  }
}
