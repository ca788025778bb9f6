/**
 * Returns the style nonce of the content security policy. Browsers hide the value of the `nonce` attribute, but not of
 * the `nonce` property.
 */
export function styleNonce(): string {
  return document.querySelector<HTMLLinkElement>('link[rel="stylesheet"]')?.nonce ?? ''
}
