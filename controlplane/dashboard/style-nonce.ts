/**
 * Returns the style nonce of the content security policy. Browsers hide the attribute from selectors, not the property.
 */
export function styleNonce(): string {
  return document.querySelector<HTMLLinkElement>('link[rel="stylesheet"]')?.nonce ?? ''
}
