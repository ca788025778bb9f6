/** What the page's policy admits styles with. Browsers hide the attribute from selectors; the property has it. */
export function styleNonce(): string {
  return document.querySelector<HTMLLinkElement>('link[rel="stylesheet"]')?.nonce ?? ''
}
